"""With pinned draws everything visible, and every request, is equal on neighbouring tables."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from statistics_world import SMALL, World, context, pinned

from sordino import statistics as st
from sordino.schema.column import Column

X = Column("x", "int", (0, 1000))
Y = Column("y", "float", (-5, 5))
CITY = Column("city", "cat", keys=("u", "v"))
HIDDEN = Column("town", "cat")
GROUPS = (("a",), ("b",))
NUMBERS = [
    st.count(),
    st.count_units(),
    st.counts(["p"]),
    st.sum("x"),
    st.mean("x"),
    st.mean("y", "two_stage"),
    st.means(["x", "y"]),
    st.variance("y"),
    st.std("x"),
    st.median("y"),
    st.quantile("x", 0.9),
    st.quantiles("x", [0.2, 0.8]),
    st.quantiles("y", [j / 40 for j in range(1, 40)], bounds="private"),
    st.iqr("x"),
    st.min("x"),
    st.max("y"),
]
COUNTED = [st.mode("city"), st.top_k("city", 2), st.histogram("city"), st.mode("town"), st.histogram("town"), st.top_k("town", 2)]


def world(rows: list[tuple[int, str, int, int]], group: list[tuple[Any, ...]] | None, public: Any) -> World:
    columns = {c.name: c for c in (X, Y, CITY, HIDDEN)}
    values = {"x": [r[2] for r in rows], "y": [r[3] for r in rows]}
    return World(columns, values, [r[0] for r in rows], group, public, counted=[[r[2] > 3 for r in rows]])  # type: ignore[arg-type]


def neighbours(relation: str) -> list[list[tuple[int, str, int, int]]]:
    others = [(i, "ab"[i % 2], 37 * i % 1000, 10**9 * i) for i in range(1, 40)]
    mine = [(0, "a", 999, 0), (0, "a", 0, 10**12)]
    changed = [(0, "b", 5, 7)]
    return [others + mine, others + changed] if relation == "replace" else [others + mine, others]


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("grouped", [False, True])
@pytest.mark.parametrize("question", NUMBERS, ids=lambda q: q.label)
def test_numbers_hide_everything_but_the_draw(question: Any, grouped: bool, relation: str) -> None:
    groups = GROUPS if grouped else None
    about = context(X, Y, person=True, m=2, g=1, relation=relation, grouped=grouped, keys=groups, size=40)
    seen = []
    for rows in neighbours(relation):
        table = world(rows, [(r[1],) for r in rows] if grouped else None, groups)
        step = question.step(Fraction(1), Fraction(0), about)
        answers = step.release(table.ask, pinned(), groups)
        seen.append((repr(answers), repr(table.asked), step.name, step.bar, step.cost, step.width(None)))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("question", COUNTED, ids=lambda q: q.label)
def test_counted_columns_hide_everything_but_the_draw(question: Any, relation: str) -> None:
    about = context(CITY, HIDDEN, person=True, m=2, g=1, relation=relation)
    seen = []
    for rows in neighbours(relation):
        table = world(rows, [("u" if r[2] < 500 else "v",) for r in rows], None)
        step = question.step(Fraction(1), SMALL, about)
        seen.append((repr(step.release(table.ask, pinned(), None)), repr(table.asked), step.name, step.cost))
    assert seen[0] == seen[1]


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_a_plan_with_private_keys_hides_everything_but_the_draw(relation: str) -> None:
    about = context(X, Y, person=True, m=2, g=1, relation=relation, grouped=True)
    statistics = {"q": st.median("x"), "m": st.mean("x"), "v": st.variance("x"), "u": st.count_units()}
    seen = []
    for rows in neighbours(relation):
        table = world(rows, [(r[1],) for r in rows], None)
        plan = st.plan_steps(statistics, Fraction(1), SMALL, about)
        assert plan.keys is not None
        named = plan.keys.release(table.ask, pinned())
        answers = [part.release(table.ask, pinned(), named.keys) for part in plan.draws]
        seen.append((repr(named), repr(answers), repr(table.asked), plan.cost, plan.keys.withheld))
    assert seen[0] == seen[1]
