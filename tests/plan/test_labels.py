"""What the book calls an answer follows from the question and not from whoever asked it."""

from __future__ import annotations

from dataclasses import replace

from schema.worlds import COLUMNS
from sordino.plan.query_plan import QueryPlan, labels_of
from sordino.schema.column import Column

from .fakes import COUNT, MEAN, MEDIAN, Fake

PEOPLE = QueryPlan("people", COLUMNS)


def test_two_who_ask_the_same_share_the_labels_of_the_book():
    one = labels_of(PEOPLE.agg(n=COUNT, m=MEAN))
    other = labels_of(PEOPLE.agg(average=MEAN, number=COUNT))
    assert list(one.sealed.values()) == list(other.sealed.values())
    assert one.canonical == {"n": COUNT.label, "m": MEAN.label}
    assert other.canonical == {"average": MEAN.label, "number": COUNT.label}


def test_equal_statistics_are_one_draw():
    found = labels_of(PEOPLE.agg(a=COUNT, m=MEAN, b=COUNT))
    assert set(found.drawn.statistics) == {"a", "m"}
    assert found.canonical["a"] == found.canonical["b"] == COUNT.label
    assert (found.first("b"), found.first("m")) == ("a", "m")
    assert list(found.sealed) == list(found.drawn.statistics), "the order of the book, not the caller's"
    assert list(found.canonical) == ["a", "m", "b"]


def test_the_order_of_draws_is_that_of_the_book():
    orders = [{"q": MEDIAN, "n": COUNT, "m": MEAN}, {"m": MEAN, "q": MEDIAN, "n": COUNT}]
    first, second = (labels_of(PEOPLE.agg(**asked)).drawn for asked in orders)
    assert [s.question() for s in first.statistics.values()] == [s.question() for s in second.statistics.values()]


def test_different_statistics_under_one_label_are_numbered():
    other = replace(MEDIAN, level="9/10")
    assert other.label == MEDIAN.label
    for asked in ({"a": MEDIAN, "b": other}, {"a": other, "b": MEDIAN}):
        found = labels_of(PEOPLE.agg(**asked))
        assert sorted(found.canonical.values()) == [MEDIAN.label, f"{MEDIAN.label} 2"]
    names = [labels_of(PEOPLE.agg(a=x, b=y)).canonical for x, y in ((MEDIAN, other), (other, MEDIAN))]
    assert names[0]["a"] == names[1]["b"], "whichever came first"


def test_no_column_of_an_answer_has_the_name_of_a_group():
    table = QueryPlan("people", {**COLUMNS, "count": Column("count", "cat", keys=("x",))})
    assert labels_of(table.group_by("count").agg(n=COUNT)).canonical == {"n": "count 2"}
    low = QueryPlan("people", {**COLUMNS, "count_low": Column("count_low", "cat", keys=("x",))})
    assert labels_of(low.group_by("count_low").agg(n=COUNT)).canonical == {"n": "count 2"}
    assert labels_of(PEOPLE.agg(n=Fake("count"))).canonical == {"n": "count"}
