"""A query is an immutable question, checked against the schema as it is built."""

import pytest

from schema.worlds import COLUMNS
from sordino.errors import QueryError
from sordino.plan.condition import parse_predicate
from sordino.plan.query_plan import QueryPlan
from sordino.schema.column import Column
from sordino.schema.expression import And
from sordino.statistics.port import Counted

from .fakes import COUNT, MEDIAN, Fake

PEOPLE = QueryPlan("people", {**COLUMNS, "zip": Column("zip", "cat"), "height": Column("height", "float")})


def test_builders_return_new_queries():
    asked = PEOPLE.with_where("age >= 18").group_by("sex", "zip").agg(n=COUNT, med=MEDIAN)
    assert asked.by == ("sex", "zip")
    assert dict(asked.statistics) == {"n": COUNT, "med": MEDIAN}
    assert PEOPLE.where is None
    assert PEOPLE.by == ()
    assert not PEOPLE.statistics
    assert hash(asked) == hash(PEOPLE.with_where("age >= 18").group_by("sex", "zip").agg(n=COUNT, med=MEDIAN))
    with pytest.raises(AttributeError):
        asked.by = ()
    with pytest.raises(TypeError):
        asked.statistics["x"] = COUNT


def test_wheres_are_joined_by_and():
    both = PEOPLE.with_where("age >= 18").with_where("sex = 'f' AND smoker").with_where(parse_predicate("kids = 1 OR kids = 2", COLUMNS))
    assert isinstance(both.where, And)
    assert both.where == PEOPLE.with_where("age >= 18 AND sex = 'f' AND smoker AND (kids = 1 OR kids = 2)").where


def test_a_thousand_wheres_stay_flat():
    query = PEOPLE
    for number in range(1000):
        query = query.with_where(f"age <> {number}")
    assert len(query.where.parts) == 1000


def test_the_table_may_be_named_in_a_where():
    assert PEOPLE.with_where("people.age > 5") == PEOPLE.with_where("age > 5")
    with pytest.raises(QueryError, match="SRD-206"):
        PEOPLE.with_where("others.age > 5")


@pytest.mark.parametrize(
    ("names", "code", "hint"),
    [
        (("sexx",), "SRD-201", "Did you mean 'sex'"),
        ((5,), "SRD-201", "Known columns"),
        ((), "SRD-208", "at least one"),
        (("sex", "sex"), "SRD-208", "once"),
        (("income",), "SRD-203", "histogram"),
        (("born",), "SRD-203", "histogram"),
        (("price",), "SRD-203", "histogram"),
        (("person",), "SRD-203", "another"),
        (("note",), "SRD-203", "another"),
        (("pers",), "SRD-201", "Known columns"),
    ],
)
def test_a_group_must_be_a_groupable_column(names, code, hint):
    with pytest.raises(QueryError) as caught:
        PEOPLE.group_by(*names)
    assert caught.value.code == code
    assert hint in caught.value.fix
    assert "'person'" not in caught.value.fix


def test_public_private_int_and_bool_groups_are_legal():
    assert PEOPLE.group_by("sex", "zip", "kids", "smoker").by == ("sex", "zip", "kids", "smoker")


def test_a_cross_product_has_at_most_a_million_cells():
    wide = {name: Column(name, "cat", keys=tuple(map(str, range(1000)))) for name in "abc"}
    query = QueryPlan("t", {**wide, "p": Column("p", "cat")})
    assert query.group_by("a", "b").by == ("a", "b")
    with pytest.raises(QueryError, match=r"SRD-207.*1,000,000,000 cells"):
        query.group_by("a", "b", "c")
    with pytest.raises(QueryError, match="SRD-207"):
        query.group_by("a", "b", "c", "p")
    assert query.group_by("p", "a", "b", "c").by  # private keys: only what occurs


@pytest.mark.parametrize(
    ("statistic", "code", "hint"),
    [
        (Fake(columns=("incom",)), "SRD-201", "Did you mean 'income'"),
        (Fake(columns=("sex",)), "SRD-203", "counts"),
        (Fake(columns=("height",)), "SRD-202", "bounds"),
        (Fake(columns=("person",)), "SRD-203", "another"),
        (Fake(columns=("note",)), "SRD-203", "another"),
        (Fake(columns=("income", "zip")), "SRD-203", "counts"),
        (Fake(cells=Counted("zipp")), "SRD-201", "Did you mean 'zip'"),
        (Fake(cells=Counted("note")), "SRD-203", "another"),
        (Fake(looks="incomee"), "SRD-201", "Did you mean"),
        ("median", "SRD-208", "count()"),
        (None, "SRD-208", "count()"),
    ],
)
def test_a_statistic_must_fit_the_schema(statistic, code, hint):
    with pytest.raises(QueryError) as caught:
        PEOPLE.agg(x=statistic)
    assert caught.value.code == code
    assert hint in caught.value.fix


def test_answers_have_different_names():
    for build in (
        lambda: PEOPLE.agg(n=COUNT).agg(n=MEDIAN),
        lambda: PEOPLE.agg(n=COUNT, n_low=MEDIAN),
        lambda: PEOPLE.agg(n_high=COUNT, n=MEDIAN),
        lambda: PEOPLE.group_by("sex").agg(sex=COUNT),
        lambda: PEOPLE.agg(sex=COUNT).group_by("sex"),
        lambda: PEOPLE.agg(**{"": COUNT}),
        lambda: PEOPLE.agg(**{"a\x00": COUNT}),
        lambda: PEOPLE.agg(),
    ):
        with pytest.raises(QueryError, match="SRD-208"):
            build()


def test_a_key_error_of_the_statistic_itself_is_not_hidden():
    class Broken(Fake):
        def counted(self, context):
            raise KeyError("income")

    with pytest.raises(KeyError):
        PEOPLE.agg(x=Broken())


def test_a_whole_number_of_few_values_is_a_group_with_all_of_them():
    low, high = COLUMNS["age"].bounds
    assert PEOPLE.group_by("age").columns["age"].keys == tuple(range(low, high + 1))
