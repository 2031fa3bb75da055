"""Intervals of quantiles: what they cover, exactly; how wide they are; when the planner draws none; what they cost."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom
from statistics_world import HUGE, context, seeded

from sordino import statistics as st
from sordino.privacy.cost import Cost
from sordino.schema.column import Column
from sordino.statistics.ends import IntervalStep, sampling_ranks
from sordino.statistics.ranks import RankStep
from sordino.summaries.request import rank_window

ONE, ZERO = Fraction(1), Fraction(0)
INCOME = Column("income", "int", bounds=(0, 10**6))
TINY = Column("income", "int", bounds=(0, 3))


def incomes(rng: Any, rows: int = 1000) -> Any:
    return np.sort(np.minimum(np.exp(rng.normal(10, 1, rows)), 10**6).astype(np.int64))


def asked(x: Any, high: int = 10**6) -> Any:
    return lambda request: iter([tuple(rank_window(x, q, request.radius, 0, high) for q in request.q)])


def released(statistic: Any, x: Any, epsilon: Any = 1, **facts: Any) -> Any:
    return statistic.step(Fraction(epsilon), ZERO, context(INCOME, **facts)).release(asked(x), seeded(), None)[0]


def test_a_median_of_a_thousand_incomes_is_enclosed_more_tightly_than_by_three_plain_draws() -> None:
    rng = np.random.default_rng(8)
    draw, step = seeded(), st.median("income").step(ONE, ZERO, context(INCOME))
    assert isinstance(step, IntervalStep)
    third = st.median("income", interval=False).step(ONE / 3, ZERO, context(INCOME))
    far = third.rank_width(0.95)  # of three draws at a third the ends must be this many ranks out to cover on every table
    ends, three, covered, repeats = [], [], 0, 200
    for _ in range(repeats):
        x = incomes(rng)
        answer = step.release(asked(x), draw, None)[0]
        assert answer.low <= answer.value <= answer.high
        covered += answer.low <= np.median(x) <= answer.high
        ends.append((answer.high - answer.low) / 2)
        three.append((x[min(999, math.ceil(500 + far))] - x[max(0, math.floor(500 - far))]) / 2)
    assert covered >= 0.985 * repeats
    assert 1500 < np.mean(ends) < 1950
    assert np.mean(ends) < 0.7 * np.mean(three)
    assert 30 < step.rank_width() < 31.3


def test_ends_are_tied_to_the_level_and_to_nothing_else() -> None:
    at = {level: st.median("income", level=level).step(ONE, ZERO, context(INCOME)).rank_width() for level in ("0.8", "0.95", "0.999")}
    assert at["0.8"] < at["0.95"] < at["0.999"]
    assert st.median("income", level="0.8").question() == st.median("income").question()


def exact_miss(step: Any, table: tuple[int, ...], wrong: Any) -> float:
    """The exact probability of a wrong end, over all middles the draw can give."""
    x = np.sort(np.array(table, np.int64))
    (mechanism,), ((low, high),) = step.middle.mechanisms, step.ends
    middles = np.exp(mechanism.log_probability(x, np.arange(step.grid.width + 1)))
    total = 0.0
    for middle, chance in enumerate(middles):
        for end in (low.around(middle), high.around(middle)):
            law = np.exp(end.log_probability(x))
            total += chance * float(law[[wrong(int(p), end.upper) for p in end.points]].sum())
    return total


@pytest.mark.parametrize("q", ["1/4", "1/2", "9/10"])
def test_the_whole_interval_covers_on_every_small_table(q: str) -> None:
    """Middle and both ends, exactly: all tables of one to four rows on four values, at two prices."""
    for epsilon in ("1", "6"):
        step = st.quantile("income", Fraction(q), interval=True).ways(Fraction(epsilon), ZERO, context(TINY))["interval"]()
        for size in range(1, 5):
            for table in itertools.combinations_with_replacement(range(4), size):
                low, high = table[math.ceil(Fraction(q) * size) - 1], table[min(math.floor(Fraction(q) * size), size - 1)]
                assert exact_miss(step, table, lambda p, upper, a=low, b=high: p < b if upper else p > a) <= 0.05


@pytest.mark.parametrize("size", [5, 8])
def test_an_interval_about_the_population_covers_it_exactly_often_enough(size: int) -> None:
    """Five independent rows of a law on four values, where five or at most eight are declared: every sample, every draw."""
    law = (Fraction(1, 10), Fraction(5, 10), Fraction(3, 10), Fraction(1, 10))
    step = st.median("income", interval="total").ways(Fraction(6), ZERO, context(TINY, size=size))["interval"]()
    missed = 0.0
    for table in itertools.combinations_with_replacement(range(4), 5):
        often = math.factorial(5) / math.prod(math.factorial(n) for n in Counter(table).values())
        chance = often * math.prod(float(law[v]) for v in table)
        missed += chance * exact_miss(step, table, lambda p, upper: p < 1 if upper else p > 1)
    assert missed <= 0.05


@pytest.mark.parametrize("rare", [0.02, 0.004])
def test_the_ranks_of_sampling_hold_for_every_smaller_number_of_rows(rare: float) -> None:
    for q in (Fraction(1, 20), Fraction(1, 3), Fraction(1, 2), Fraction(19, 20)):
        for most in (1, 7, 40, 250):
            far = sampling_ranks(most, q, rare)
            for rows in range(1, most + 1):
                assert binom.cdf(math.ceil(float(q) * rows - far) - 1, rows, float(q)) <= rare


def test_where_the_population_cannot_be_known_it_is_said_before_paying() -> None:
    total = st.median("income", interval="total")
    with pytest.raises(Exception, match="number of rows, which is unknown"):
        total.step(ONE, ZERO, context(INCOME))
    with pytest.raises(Exception, match="not independent"):
        total.step(ONE, ZERO, context(INCOME, person=True, m=3, size=10_000))
    wide = total.step(ONE, ZERO, context(INCOME, size=10_000))
    assert wide.rank_width() > st.median("income").step(ONE, ZERO, context(INCOME)).rank_width() + 100
    assert "population" in wide.covers


def test_with_too_few_rows_all_goes_to_the_point_and_that_is_said() -> None:
    few = st.median("income").step(ONE, ZERO, context(INCOME, size=60, rows=60))
    assert isinstance(few, RankStep)
    assert few.cost == Cost.bounded_range(1)
    assert "an interval needs about 90 rows" in few.warning(60)
    assert isinstance(st.median("income").step(ONE, ZERO, context(INCOME, size=100, rows=100)), IntervalStep)
    assert isinstance(st.median("income").step(ONE, ZERO, context(INCOME)), IntervalStep)
    groups = tuple((i,) for i in range(50))
    assert isinstance(st.median("income").step(ONE, ZERO, context(INCOME, size=1000, grouped=True, keys=groups)), RankStep)
    assert isinstance(st.median("income").step(ONE, ZERO, context(INCOME, size=100_000, grouped=True, keys=groups)), IntervalStep)
    cheap = st.median("income").step(Fraction(1, 10**5), ZERO, context(INCOME))
    assert isinstance(cheap, RankStep)
    assert "larger price" in cheap.warning(None)


def test_many_levels_have_ends_only_where_enough_rows_are_known() -> None:
    deciles = st.quantiles("income", [Fraction(j, 10) for j in range(1, 10)])
    assert not isinstance(deciles.step(ONE, ZERO, context(INCOME)), IntervalStep)
    assert isinstance(deciles.step(ONE, ZERO, context(INCOME, size=10**6, rows=10**6)), IntervalStep)


PLACES: list[dict[str, Any]] = [{}, {"person": True, "m": 3}, {"relation": "replace", "size": 5000}, {"grouped": True, "keys": (("a",),)}]


@pytest.mark.parametrize("facts", PLACES)
def test_the_price_is_the_one_asked_and_every_part_is_certified(facts: dict[str, Any]) -> None:
    for statistic in (st.median("income"), st.quantiles("income", ["0.25", "0.5", "0.75"])):
        step = statistic.ways(ONE, ZERO, context(INCOME, **facts))["interval"]()
        assert step.cost.epsilon == 1
        assert all(certificate.check().sound for certificate in step.certificates())


def test_wide_bounds_do_not_make_the_interval_wide() -> None:
    """Bounds of two trillion: the nearest point is one unit of the column from the middle, not two millions."""
    wide = Column("income", "float", bounds=(-(10**12), 10**12))
    step = st.median("income").step(ONE, ZERO, context(wide))
    unit = int(1 / wide.grid().step)
    x = (incomes(np.random.default_rng(3)) + 10**12) * unit
    answer = step.release(asked(x, wide.grid().width), seeded(), None)[0]
    truth = float(np.median(x) / unit - 10**12)
    assert answer.low <= truth <= answer.high
    assert answer.high - answer.low < 6_000


def test_at_a_huge_price_the_interval_is_the_quantile() -> None:
    x = incomes(np.random.default_rng(4), 1001)
    answer = released(st.median("income"), x, HUGE)
    assert answer.low == answer.value == answer.high == x[500] or answer.high - answer.low <= 1
    three = released(st.quantiles("income", ["0.25", "0.5", "0.75"]), x, HUGE)
    assert all(low <= value <= high for low, value, high in zip(three.low, three.value, three.high, strict=True))


def test_a_record_keeps_the_point_as_an_answer_of_its_own() -> None:
    step = st.median("income").step(ONE, ZERO, context(INCOME))
    answer = step.release(asked(incomes(np.random.default_rng(5))), seeded(), None)[0]
    kept = step.drawn([answer])  # type: ignore[attr-defined]
    assert kept["level"] == 0.95
    assert Cost.from_dict(kept["point"]["cost"]) == Cost.bounded_range(Fraction("0.4"))
    assert kept["point"]["values"] == [answer.raw[0]]
    assert kept["point"]["ranks"] == pytest.approx(41.9, abs=0.1)
