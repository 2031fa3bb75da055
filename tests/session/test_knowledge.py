"""More public knowledge never makes an answer worse: predicted errors do not grow with a size, tighter bounds, keys or recorded counts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import sordino as sd

ROWS = 400
DATA = {"x": [float(i % 90) for i in range(ROWS)], "k": ["a", "b"] * (ROWS // 2)}
ASKED = {
    "count": lambda t: t.count(),
    "sum": lambda t: t.sum("x"),
    "mean": lambda t: t.mean("x"),
    "variance": lambda t: t.variance("x"),
    "std": lambda t: t.std("x"),
    "means": lambda t: t.means(["x"]),
    "count and mean": lambda t: t.agg(n=sd.count(), m=sd.mean("x")),
    "by key": lambda t: t.group_by("k").count(),
    "sum by key": lambda t: t.group_by("k").sum("x"),
}
EPSILONS = ("0.05", "0.3", "1", "4")
PEOPLE = some.sampled_from(sorted(ASKED))


def errors(question: str, epsilon: str, *, rows: int | None = None, released: bool = False, **facts):
    """The half-widths a price list predicts; None where it cannot. `rows` is what they are predicted for where no size is declared."""
    known = {"bounds": {"x": (0, 100)}, "keys": {"k": ["a", "b"]}, **facts}
    with sd.table(DATA, **known, budget=sd.Budget(100, 1e-6), ledger=":memory:") as t:
        if released:
            t.count().release(epsilon=20)
        query = ASKED[question](t)
        view = sd.session.forecast.outlook(query, guess=False)
        plan = query.settle(epsilon, rows=view.rows)
        return {name: step.width(view.rows if view.rows is not None else rows) for name, step in plan.steps.items()}, {
            name: step.rmse(view.rows if view.rows is not None else rows) for name, step in plan.steps.items()
        }


def no_worse(more, less) -> None:
    for after, before in zip(more, less, strict=True):
        for name, width in after.items():
            if before.get(name) is not None:
                assert width is not None, f"{name} was predictable with less"
                assert width <= before[name] * (1 + 1e-6), name  # grids round to a millionth


@settings(max_examples=40, deadline=None)
@given(question=PEOPLE, epsilon=some.sampled_from(EPSILONS), relation=some.sampled_from(["add_remove", "replace"]))
def test_a_declared_size(question, epsilon, relation):
    if relation == "replace" and "key" in question:
        return  # a replaced person leaves one group and enters another: another promise, not more knowledge
    facts = {"columns": {"x": {"type": "float", "bounds": (0, 100), "nulls": 0}}, "bounds": {}}
    no_worse(errors(question, epsilon, size=ROWS, relation=relation, **facts), errors(question, epsilon, rows=ROWS, **facts))


@settings(max_examples=40, deadline=None)
@given(question=PEOPLE, epsilon=some.sampled_from(EPSILONS), low=some.integers(-50, 0), high=some.integers(100, 10_000),
       size=some.sampled_from([None, ROWS]))  # fmt: skip
def test_tighter_bounds(question, epsilon, low, high, size):
    tight = errors(question, epsilon, rows=ROWS, size=size)
    no_worse(tight, errors(question, epsilon, rows=ROWS, size=size, bounds={"x": (low, high)}))


@pytest.mark.parametrize("question", ["by key", "sum by key"])
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_listed_keys(question, epsilon):
    listed = errors(question, epsilon, rows=ROWS)
    no_worse(listed, errors(question, epsilon, rows=ROWS, keys={}, columns={"k": "cat"}))


@settings(max_examples=25, deadline=None)
@given(question=PEOPLE, epsilon=some.sampled_from(EPSILONS))
def test_a_recorded_count(question, epsilon):
    """At worst as bad as what was believed for the low end of that count."""
    no_worse(errors(question, epsilon, released=True), errors(question, epsilon, rows=ROWS - 5))


def test_a_table_that_forgets_its_size_is_caught():
    with pytest.raises(AssertionError):
        no_worse(errors("mean", "1", rows=ROWS // 2), errors("mean", "1", rows=ROWS))
