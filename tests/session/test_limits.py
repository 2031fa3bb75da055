"""A question may count less of a person than the owner declared: it then costs less, keeps less, and says so."""

from __future__ import annotations

import pytest
from tests.session.people import add, crowd, rows, table
from tests.session.twin import run

import sordino as sd
from sordino.errors import QueryError

HUGE = 100_000
PEOPLE, TAGS = 30, [f"g{i}" for i in range(6)]


def tagged(**extra):
    """Every person has two rows under each of six tags."""
    rows = [(f"p{i}", tag, value) for i in range(PEOPLE) for tag in TAGS for value in (1, 3)]
    data = {"person": [r[0] for r in rows], "tag": [r[1] for r in rows], "x": [r[2] for r in rows]}
    limits = {"max_rows": 12, "max_groups": 6, "max_rows_per_group": 2} | extra
    return sd.table(
        data, unit="person", keys={"tag": TAGS}, columns={"x": {"type": "int", "bounds": (0, 4)}}, ledger=":memory:",
        budget=sd.Budget(epsilon=1_000_000, delta=0.01), **limits,
    )  # fmt: skip


@pytest.fixture(scope="module")
def tags():
    with tagged() as opened:
        yield opened


def counted(query):
    return sum(query.release(epsilon=HUGE).to_dict()["count"])


@pytest.mark.parametrize(
    ("limits", "kept"),
    [
        ({"rows": 1}, 1),
        ({"rows": 5}, 5),
        ({"groups": 2}, 4),
        ({"rows_per_group": 1}, 6),
        ({"rows": 3, "groups": 2, "rows_per_group": 2}, 3),
    ],
)
def test_a_person_counts_as_often_as_the_question_says(tags, limits, kept):
    by = tags.group_by("tag")
    assert counted(by.limit(**limits).count()) == kept * PEOPLE
    assert counted(by.count().limit(**limits)) == kept * PEOPLE  # before the verb or after it
    narrow, wide = by.limit(**limits).count().settle(1), by.count().settle(1)
    assert narrow.context.limits.counted == kept
    assert wide.context.limits.counted == 12
    assert all(certificate.check().sound for certificate in narrow.certificates)
    per_row = float(narrow.steps["count"].noise.scale)
    assert per_row == pytest.approx(kept) or narrow.steps["count"].noise.name == "Gaussian"


def test_the_price_of_a_narrow_question_is_that_of_a_narrow_declaration(tags):
    with tagged(max_rows=2, max_groups=2, max_rows_per_group=1) as narrow:
        here = tags.group_by("tag").limit(rows=2, groups=2, rows_per_group=1).agg(m=sd.mean("x"), q=sd.median("x")).settle(1)
        there = narrow.group_by("tag").agg(m=sd.mean("x"), q=sd.median("x")).settle(1)
    assert here.cost == there.cost
    assert [step.width(1000) for step in here.steps.values()] == [step.width(1000) for step in there.steps.values()]


def test_without_groups_only_the_rows_can_be_fewer(tags):
    plain = tags.count()
    assert plain.limit(groups=1, rows_per_group=1).key() == plain.key()
    assert plain.limit(rows=1).key() != plain.key()
    assert plain.limit(rows=1).release(epsilon=HUGE).value == PEOPLE
    assert tags.histogram("tag").limit(groups=1).key() != tags.histogram("tag").key()  # its values are groups


def test_the_answer_says_what_it_kept_and_the_book_too(tags):
    made = tags.group_by("tag").limit(rows=1).count().release(epsilon=1)
    assert "at most 1 row of one person" in made.about
    assert made.card["privacy unit"]["max_rows"] == 1
    assert made.card["question"]["max_rows"] == 1
    again = tags.group_by("tag").limit(rows=1).count().release(epsilon=1)
    assert again.id == made.id
    assert tags.group_by("tag").count().release(epsilon=1).id != made.id
    assert "at most 1 row" in str(tags.group_by("tag").limit(rows=1).count().preview())


def test_a_statement_may_be_limited_afterwards(tags):
    query = tags.sql("SELECT tag, COUNT(*) AS n FROM t GROUP BY tag").limit(rows=1)
    assert query.key() == tags.group_by("tag").limit(rows=1).count().key()


@pytest.mark.parametrize("limits", [{"rows": 13}, {"rows": 0}, {"groups": 7}, {"rows_per_group": 3}, {"rows": True}, {"rows": 1.5}, {}])
def test_more_than_declared_is_refused_before_anything_is_spent(tags, limits):
    with pytest.raises(QueryError, match="limit"):
        tags.limit(**limits)


def test_rows_that_are_units_have_nothing_to_limit():
    with table(unit=None) as people, pytest.raises(QueryError, match="every row is a unit"):
        people.count().limit(rows=1)


def test_a_later_limit_replaces_only_what_it_names(tags):
    twice = tags.limit(rows=4).limit(groups=2).limit(rows=6).group_by("tag").count()
    assert (twice.unit.max_rows, twice.unit.max_groups) == (6, 2)


def test_members_of_a_narrow_bundle_are_found_alone(tags):
    with tagged() as own:
        by = own.group_by("tag").limit(rows=1)
        both = by.agg(n=sd.count(), people=sd.count_units()).release(epsilon=2)
        assert by.count_units().release(epsilon=1).card["release"] == both.card["release"]


@pytest.mark.usefixtures("_same_ids")
def test_a_crowded_neighbour_changes_nothing_visible_of_a_narrow_question():
    """Fifty rows of one more person under awkward keys: with the same draws everything that can be seen stays."""
    here, there = table(rows()), table(add(rows(), crowd()))
    with here, there:
        say = lambda people: people.group_by("sex").limit(rows=1).agg(n=sd.count(), q=sd.median("age"))  # noqa: E731
        first = run(say(here))
        second = run(say(there), pinned=first)
        assert first.asked == second.asked
        assert first.seen == second.seen
