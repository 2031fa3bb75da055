"""Many means in one release: the error grows like d under Laplace noise and like sqrt(d) under Gaussian noise, and the plan knows where."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from statistics_world import SMALL, context, seeded

from sordino import statistics as st
from sordino.mechanisms.gaussian import largest_mu
from sordino.schema.column import Column
from sordino.statistics.added import AddedGaussian
from sordino.statistics.column_mean import ROW
from sordino.statistics.reach import Reach
from sordino.summaries.totals import GroupTotals

N = 1_000_000
COLUMNS = tuple(Column(f"bit{i}", "bool") for i in range(1000))
ABOUT = context(*COLUMNS)

draw = seeded()


def step_of(d: int, epsilon: Fraction, delta: Fraction) -> Any:
    return st.means([c.name for c in COLUMNS[:d]]).step(epsilon, delta, ABOUT)


def rmse(step: Any, d: int, draws: int) -> float:
    """The root mean squared error of means that are one half, over at least `draws` of them."""
    groups = tuple((i,) for i in range(-(-draws // d)))

    def ask(request: Any) -> GroupTotals:
        full = {"rows": N, "sum": N // 2}
        return GroupTotals(groups, {item: np.full(len(groups), full[item.what], object) for item in request.items})

    found = np.array([answer.value for answer in step.release(ask, draw, groups)])
    return float(np.sqrt(np.mean((found - 0.5) ** 2)))


def half_width(step: Any, d: int, draws: int) -> float:
    """The 95% half-width of means near a bound, which is the one that is promised, from the law of the half that is drawn there."""
    drawn = step.noise.around(np.zeros(draws, np.int64), draw)
    return float(np.quantile(np.abs(drawn), 0.95))


@pytest.mark.parametrize("d", [1, 3, 10, 30, 100, 300, 1000])
def test_the_error_follows_d_and_the_root_of_d(d: int) -> None:
    one = Fraction(1)
    assert rmse(step_of(d, one, Fraction(0)), d, 20_000) == pytest.approx(d / N, rel=0.04)
    if d > 9:
        gaussian = step_of(d, one, SMALL)
        assert gaussian.name.startswith("Gaussian")
        found = rmse(gaussian, d, 20_000)
        assert found == pytest.approx(math.sqrt(d / 2) / float(largest_mu(one, SMALL)) / N, rel=0.04)
        assert found <= math.sqrt(d * math.log(1e6)) / N


@pytest.mark.parametrize(("epsilon", "known"), [("0.1", 6), ("0.5", 7), ("1", 8), ("2", 9)])
def test_the_plan_switches_within_one_of_the_measured_crossing(epsilon: str, known: int) -> None:
    e = Fraction(epsilon)
    planned = next(d for d in range(1, 30) if step_of(d, e, SMALL).cost.delta)
    assert planned == known

    def better(d: int) -> bool:
        forced = step_of(d, e, SMALL)
        object.__setattr__(forced, "noise", AddedGaussian(e, SMALL, Reach(Fraction(d), Fraction(2 * d), ABOUT).second() * ROW, 2 * d))
        return half_width(forced, d, 60_000) < half_width(step_of(d, e, Fraction(0)), d, 60_000)

    measured = next(d for d in range(known - 3, 30) if better(d))
    assert abs(measured - planned) <= 1


def test_intervals_of_both_laws_hold() -> None:
    for d, delta in ((3, Fraction(0)), (40, SMALL)):
        step = step_of(d, Fraction(1), delta)
        groups = tuple((i,) for i in range(20_000 // d))

        def ask(request: Any, groups: Any = groups) -> GroupTotals:
            return GroupTotals(groups, {i: np.full(len(groups), {"rows": 1000, "sum": 300}[i.what], object) for i in request.items})

        answers = step.release(ask, draw, groups)
        low, high = (np.array([getattr(a, end) for a in answers]) for end in ("low", "high"))
        assert 0.944 <= np.mean((low <= 0.3) & (high >= 0.3)) <= 0.956


def test_counts_of_many_predicates_switch_too() -> None:
    few, many = (st.counts(["p"] * d).step(Fraction(1), SMALL, ABOUT) for d in (3, 200))
    assert few.cost.delta == 0
    assert many.cost.delta == SMALL
    assert many.width(None) < 0.2 * st.counts(["p"] * 200).step(Fraction(1), Fraction(0), ABOUT).width(None)


def test_with_a_public_number_of_rows_means_are_the_sums_over_it() -> None:
    columns = tuple(Column(name, "int", (0, 3), nulls=0) for name in ("x", "y"))
    public = context(*columns, relation="replace", size=3, filtered=False)
    step = st.means(["x", "y"]).step(Fraction(1), Fraction(0), public)
    tables = [((a, b), (c, 0), (0, 3)) for a in range(4) for b in range(4) for c in range(4)]
    worst = 0
    for table in tables:
        for row in ((0, 0), (3, 3), (0, 3), (2, 1)):
            moved = [abs(sum(r[i] for r in table) - sum(r[i] for r in (row, *table[1:]))) * ROW // 3 + 1 for i in (0, 1)]
            worst = max(worst, sum(moved))
    assert worst <= step.noise.reach <= 2 * (ROW + 1)  # type: ignore[attr-defined]
    wide = st.means(["x", "y"]).step(Fraction(1), Fraction(0), context(*columns, rows=3))
    assert step.width(1_000) <= wide.width(1_000)

    def ask(request: Any) -> GroupTotals:
        return GroupTotals(((),), {item: np.array([3 if item.what == "rows" else 6], object) for item in request.items})

    sure = st.means(["x", "y"]).step(Fraction(10**6), Fraction(0), public)
    (answer,) = sure.release(ask, draw, None)
    assert answer.value == pytest.approx((2, 2), abs=1e-4)
    assert sure.interval(answer, 0.95) == (answer.low, answer.high)
    assert all(low <= 2 <= high for low, high in zip(answer.low, answer.high, strict=True))
    assert step.certificates()[0].check().sound
