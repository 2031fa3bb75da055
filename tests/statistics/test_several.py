"""Several quantiles at once: who answers them, by public facts alone, and what each way says and costs."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from statistics_world import HUGE, Copies, World, context, income, pinned, seeded

from sordino import statistics as st
from sordino.mechanisms import JointExponential
from sordino.schema.column import Column
from sordino.statistics.ranks import HalvingStep, JointStep, RankStep, placed, share
from sordino.summaries.totals import ALL, MOST_ROWS, Rows

WORLD = income()
X = np.sort(np.array(WORLD.values["income"]))
INCOME = WORLD.columns["income"]
DECILES = [Fraction(j, 10) for j in range(1, 10)]
PERCENT = [Fraction(j, 100) for j in range(1, 100)]
WAYS = ("joint_exponential", "approximate", "exponential")


def first(question: Any, epsilon: str = "1", **facts: Any) -> str:
    return next(iter(question.ways(Fraction(epsilon), Fraction(0), context(INCOME, **facts))))


def missed(answer: Any, levels: Any) -> float:
    """Rows between a level and its answer, ties counted for the answer, on average over the levels."""
    y, aim = np.array(answer.value), len(X) * np.array(levels, float)
    off = np.maximum(np.searchsorted(X, y) - aim, aim - np.searchsorted(X, y, "right"))
    return float(np.maximum(off, 0).mean())


def test_the_planner_draws_together_what_it_can_and_halves_the_rest() -> None:
    assert first(st.iqr("income")) == first(st.quantiles("income", DECILES, interval=False)) == "joint_exponential"
    assert first(st.quantiles("income", PERCENT, interval=False)) == "approximate"
    assert first(st.quantiles("income", [Fraction(1, 2)], interval=False)) == "exponential"
    assert first(st.quantiles("income", DECILES, interval=False), "0.0001") == "approximate"
    assert first(st.iqr("income"), "0.00001") == "exponential"
    assert first(st.quantiles("income", [Fraction(1, 3**20), Fraction(1, 2)], interval=False)) == "exponential"
    groups = tuple((i,) for i in range(500))
    assert first(st.quantiles("income", DECILES, interval=False), "0.5", grouped=True, keys=groups) == "approximate"
    for question in (st.iqr("income"), st.quantiles("income", PERCENT, interval=False), st.quantiles("income", DECILES, interval=False)):
        assert set(question.ways(Fraction(1), Fraction(0), context(INCOME))) == set(WAYS)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("grouped", [False, True])
def test_every_way_finds_the_ranks_at_a_huge_price(way: str, grouped: bool, relation: str) -> None:
    groups = (("a",), ("b",), ("none",)) if grouped else None
    world = World(WORLD.columns, WORLD.values, group=[("a" if i % 3 else "b",) for i in range(1000)] if grouped else None, public=groups)
    about = context(INCOME, relation=relation, grouped=grouped, keys=groups)
    step = st.quantiles("income", DECILES, interval=False).ways(HUGE, Fraction(0), about)[way]()
    draws = {"joint_exponential": 1, "approximate": 4, "exponential": 9}[way]  # nine levels: four layers, or nine draws
    assert step.cost.epsilon == HUGE
    if way != "approximate":  # which also counts the rows, at a hundredth of the price
        assert step.cost.rho == HUGE**2 / (8 * draws)
    assert step.bar == "rank"
    assert all(certificate.check().sound for certificate in step.certificates())
    answers = step.release(world.ask, seeded(), groups)
    for key, answer in zip(groups or ((),), answers, strict=True):
        x = next(world.table.ask(Rows("income", (key,)))).values
        if not len(x):
            continue
        y, aim = np.array(answer.value), len(x) * np.array(DECILES, float)
        near = 1 if way == "approximate" else 0  # a split may leave a row on the wrong side
        assert np.all((np.searchsorted(x, y) <= aim + near) & (np.searchsorted(x, y, "right") >= aim - near))


def test_nine_deciles_in_one_draw_miss_few_rows_and_fewer_than_nine_draws() -> None:
    for relation, most in (("replace", 7), ("add_remove", 6)):
        copies = Copies(WORLD, 60)
        steps = st.quantiles("income", DECILES, interval=False).ways(Fraction(1), Fraction(0), context(INCOME, relation=relation))
        found = {way: np.mean([missed(a, DECILES) for a in steps[way]().release(copies.ask, seeded(), copies.groups)]) for way in WAYS}
        assert found["joint_exponential"] < most
        assert found["joint_exponential"] < 1.05 * found["approximate"] < 0.8 * found["exponential"]


def test_rank_bars_are_public_and_hold_for_all_levels_at_once() -> None:
    for way, levels in (("joint_exponential", DECILES), ("approximate", PERCENT), ("exponential", DECILES)):
        copies = Copies(WORLD, 60)
        step = st.quantiles("income", levels).ways(Fraction(2), Fraction(0), context(INCOME))[way]()
        for answer in step.release(copies.ask, seeded(), copies.groups):
            assert answer.ranks == (-step.rank_width(), step.rank_width())
            y, aim = np.array(answer.value), len(X) * np.array(levels, float)
            assert np.all((np.searchsorted(X, y) <= aim + answer.ranks[1]) & (np.searchsorted(X, y, "right") >= aim - answer.ranks[1]))
        assert step.rank_width(0.99) > step.rank_width()
        assert step.interval(answer, 0.9) is step.width(None) is step.rmse(None) is None


def test_where_rows_are_too_many_a_share_that_was_drawn_is_read() -> None:
    assert share(-5) == share(MOST_ROWS) == ALL
    assert share(2 * MOST_ROWS) == ALL // 2
    step = st.quantiles("income", PERCENT, interval=False).step(Fraction(1), Fraction(0), context(INCOME))
    assert isinstance(step, HalvingStep)
    world = income()
    drawn = step.release(world.ask, pinned(10**8), None)
    assert isinstance(world.asked[-1], Rows)
    assert world.asked[-1].shares == (ALL * MOST_ROWS // 10**8,)
    assert len(drawn[0].value) == 99
    assert step.count.epsilon + step.mechanism.epsilon == 1


def test_base_measures_follow_from_the_bounds_and_from_what_the_caller_says_of_them() -> None:
    cases = {(0, 120): (0, 0), (0, 10**6): (0, 0), (0, 10**8): (0, 1), (-(10**12), 10**12): (1, 1)}
    for bounds, wide in cases.items():
        grid = Column("x", "float", bounds).grid()
        assert tuple("base" in placed(grid, private=private) for private in (False, True)) == wide
    days = Column("d", "date", ("0001-01-01", "9999-12-31")).grid()
    assert "base" not in placed(days, private=True)
    for question in (st.median("x", bounds="private"), st.iqr("x", bounds="private"), st.quantiles("x", DECILES, bounds="private")):
        column = Column("x", "float", (0, 10**8))
        assert "arsinh" in question.step(Fraction(1), Fraction(0), context(column)).name
        assert question.question()["bounds"] == "private"
    assert "bounds" not in st.median("x").question()


def test_joint_and_single_draws_read_the_same_kind_of_window() -> None:
    for kind in (JointStep, RankStep):
        world = income()
        kind("income", tuple(DECILES), "many", Fraction(1), context(INCOME)).release(world.ask, seeded(), None)
        assert [type(request).__name__ for request in world.asked] == ["Ranks"]
    assert isinstance(JointStep("income", tuple(DECILES), "many", Fraction(1), context(INCOME)).mechanism, JointExponential)
