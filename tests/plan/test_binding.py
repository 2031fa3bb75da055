"""Frames and public facts follow from the question and the unit."""

import pytest

from schema.worlds import COLUMNS
from sordino.errors import QueryError
from sordino.plan.condition import parse_predicate
from sordino.plan.query_plan import QueryPlan
from sordino.plan.recall import context, frame
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.statistics.port import Counted

from .fakes import COUNT, MEAN, MEDIAN, Fake

PEOPLE = QueryPlan("people", {**COLUMNS, "zip": Column("zip", "cat"), "weight": Column("weight", "float", (0, 300), nulls=70)})
PERSON, ROW = PrivacyUnit("person", max_rows=8, max_groups=4), PrivacyUnit()


def test_a_frame_holds_what_an_engine_needs():
    old, young = parse_predicate("age > 60", COLUMNS), parse_predicate("age < 20", COLUMNS)
    query = (
        PEOPLE.with_where("income < 1000").group_by("sex").agg(n=COUNT, med=MEDIAN, avg=MEAN, parts=Fake("counts", predicates=(old, young)))
    )
    rows = frame(query, PERSON, fold_ids=True)
    assert rows.unit == PERSON
    assert rows.unit_column == COLUMNS["person"]
    assert rows.fold_ids
    assert rows.where == query.where
    assert rows.by == (COLUMNS["sex"],)
    assert [(column.name, column.bounds) for column in rows.columns] == [("income", (0, 1000))]
    assert rows.counted == (old, young)
    assert rows.edges is None


def test_repeated_predicates_keep_their_places():
    old = parse_predicate("age > 60", COLUMNS)
    query = PEOPLE.agg(a=Fake("counts", predicates=(old, old)), b=Fake("counts", predicates=(old,)))
    assert frame(query, ROW).counted == (old, old, old)


def test_a_counted_column_is_the_last_group():
    query = PEOPLE.group_by("sex").agg(top=Fake("top_k", cells=Counted("zip")))
    assert [column.name for column in frame(query, PERSON, counted=Counted("zip")).by] == ["sex", "zip"]
    assert frame(query, PERSON, counted=Counted("zip", keys=("8001", "8002"))).by[-1].keys == ("8001", "8002")
    bins = frame(query, PERSON, counted=Counted("age", edges=(0, 10, 20, 120)))
    assert bins.edges == (0, 10, 20, 120)
    assert bins.by[-1].keys == (0, 1, 2)
    with pytest.raises(QueryError, match="SRD-201"):
        frame(query, PERSON, counted=Counted("zipp"))


def test_a_frame_needs_a_statistic_and_a_declared_unit():
    with pytest.raises(QueryError, match="SRD-208"):
        frame(PEOPLE, ROW)
    for column in ("nobody", "age"):
        with pytest.raises(QueryError, match="SRD-201"):
            frame(PEOPLE.agg(n=COUNT), PrivacyUnit(column))


def test_context_of_a_plain_count_is_unfiltered():
    facts = context(PEOPLE.agg(n=COUNT), ROW, size=100)
    assert (facts.filtered, facts.grouped, facts.limits.groups, facts.size, facts.keys) == (False, False, 1, 100, ((),))


@pytest.mark.parametrize(
    ("query", "unit", "filtered"),
    [
        (PEOPLE.agg(n=COUNT), PERSON, True),
        (PEOPLE.with_where("age > 5").agg(n=COUNT), ROW, True),
        (PEOPLE.group_by("sex").agg(n=COUNT), ROW, True),
        (PEOPLE.agg(m=MEDIAN), ROW, True),
        (PEOPLE.agg(m=Fake(columns=("weight",))), ROW, False),
    ],
)
def test_rows_may_drop_out(query, unit, filtered):
    assert context(query, unit).filtered is filtered


def test_context_of_groups():
    public = context(PEOPLE.group_by("sex", "smoker").agg(n=COUNT), PERSON)
    assert (public.grouped, public.limits.groups) == (True, 4)
    assert public.keys == (("f", False), ("f", True), ("m", False), ("m", True))
    assert not public.private_keys
    private = context(PEOPLE.group_by("sex", "zip").agg(n=COUNT), PERSON)
    assert private.keys is None
    assert private.private_keys
    assert context(PEOPLE.group_by("sex").agg(n=COUNT), ROW).limits.groups == 1


def test_nobody_is_in_more_groups_than_there_are():
    two = QueryPlan("people", {**COLUMNS, "side": Column("side", "cat", keys=("left", "right"))}).group_by("side").agg(n=COUNT)
    assert context(two, PERSON).limits.groups == 2
    assert context(two, PrivacyUnit("person", max_rows=8, max_groups=1)).limits.groups == 1
    assert frame(two, PERSON).unit.max_groups == 4


def test_statistics_and_engines_see_the_same_narrowed_bounds():
    query = PEOPLE.with_where("income BETWEEN 10 AND 1000").agg(m=MEDIAN)
    assert context(query, ROW).columns["income"] == frame(query, ROW).columns[0]
    assert query.columns["income"].bounds == (0, 1_000_000)


@pytest.mark.parametrize("size", [0, -1, True, 1.5, "9"])
def test_a_size_is_a_whole_number(size):
    with pytest.raises(QueryError, match="SRD-204"):
        context(PEOPLE.agg(n=COUNT), ROW, size=size)
