"""Errors and intervals in simulation: against the closed law, against the best peers, and as often right as they say."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from statistics_world import Copies, World, context, income, seeded

from sordino import statistics as st
from sordino.schema.column import Column
from sordino.statistics.added import laplace_tail, ratio_interval

DRAWS = 20_000
EPSILONS = ("0.1", "0.5", "1")
WORLD = income()
X = np.sort(np.array(WORLD.values["income"], float))
PLAIN = context(WORLD.columns["income"])

draw = seeded()


def simulated(question: Any, epsilon: str, about: Any = PLAIN, world: World = WORLD, draws: int = DRAWS) -> list[Any]:
    copies = Copies(world, draws)
    return list(question.step(Fraction(epsilon), Fraction(0), about).release(copies.ask, draw, copies.groups))


def errors(answers: list[Any], truth: float) -> np.ndarray[Any, Any]:
    return np.abs(np.array([a.value for a in answers], float) - truth)


def coverage(answers: list[Any], truth: float) -> float:
    return float(np.mean([a.low <= truth <= a.high for a in answers]))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_count_and_sum_follow_their_closed_laws(epsilon: str) -> None:
    e = float(epsilon)
    n = simulated(st.count(), epsilon)
    assert errors(n, 1000).mean() == pytest.approx(2 * math.exp(-e) / (1 - math.exp(-2 * e)), rel=0.03)
    assert coverage(n, 1000) >= 0.945 + 0.005 * (e >= 0.5)  # whole steps: the smallest interval with at least 95%
    shorter = st.count().step(Fraction(epsilon), Fraction(0), PLAIN).width(None) - 1
    assert np.mean(errors(n, 1000) <= shorter) < 0.955
    total = simulated(st.sum("income"), epsilon)
    assert np.median(errors(total, X.sum())) == pytest.approx(1e6 / e * math.log(2), rel=0.03)
    assert 0.945 <= coverage(total, X.sum()) <= 0.955


@pytest.mark.parametrize(("epsilon", "law"), list(zip(EPSILONS, (6590, 1320, 658), strict=True)))
def test_the_mean_follows_the_law_of_two_halves(epsilon: str, law: float) -> None:
    answers = simulated(st.mean("income"), epsilon)
    assert np.median(errors(answers, X.mean())) == pytest.approx(law, rel=0.04)
    assert 0.945 <= coverage(answers, X.mean()) <= 0.955


@pytest.mark.parametrize(("epsilon", "peer"), list(zip(EPSILONS, (3.1e9, 1.4e9, 7.7e8), strict=True)))
def test_the_variance_beats_the_best_peer_and_its_interval_holds(epsilon: str, peer: float) -> None:
    answers = simulated(st.variance("income"), epsilon)
    assert np.median(errors(answers, X.var())) <= 1.1 * peer
    assert 0.9455 <= coverage(answers, X.var()) <= 0.98  # near 0 for this noise: draws below it have no point for an interval
    assert all(a.low <= a.value <= a.high for a in answers)


@pytest.mark.parametrize("x", [[0] * 30, [1] * 5, [0, 1] * 200, [1] * 3000])
@pytest.mark.parametrize("question", [st.mean("bit"), st.variance("bit")])
def test_intervals_hold_at_the_ends_of_the_range_and_on_coarse_grids(question: Any, x: list[int]) -> None:
    column = Column("bit", "bool")
    world = World({"bit": column}, {"bit": [*x]})
    truth = float(np.mean(x)) if "mean" in question.label else float(np.var(x))
    answers = simulated(question, "0.5", context(column), world, 4000)
    assert coverage(answers, truth) >= 0.94  # at least 95% less four standard errors of 4,000 draws
    wider = question.step(Fraction(1, 2), Fraction(0), context(column)).interval(answers[0], 0.99)
    assert wider[0] <= answers[0].low
    assert answers[0].high <= wider[1]


def test_people_with_several_rows_have_the_noise_of_all_of_them() -> None:
    about = context(WORLD.columns["income"], person=True, m=4)
    answers = simulated(st.mean("income"), "1", about)
    assert np.median(errors(answers, X.mean())) == pytest.approx(4 * 658, rel=0.04)
    assert 0.945 <= coverage(answers, X.mean()) <= 0.955
    grouped = context(WORLD.columns["income"], person=True, m=4, g=3, grouped=True, keys=Copies(WORLD, DRAWS).groups)
    answers = simulated(st.sum("income"), "1", grouped)
    assert np.median(errors(answers, X.sum())) == pytest.approx(12e6 * math.log(2), rel=0.03)


def exact_law(mechanism: Any) -> np.ndarray[Any, Any]:
    return np.exp(mechanism.log_probability(X.astype(np.int64), np.arange(mechanism.high + 1)))


def law_median(law: np.ndarray[Any, Any], truth: float) -> float:
    distance = np.abs(np.arange(len(law)) - round(truth))
    return float(np.searchsorted(np.cumsum(np.bincount(distance, law)), 0.5))


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("q", ["0.5", "0.9"])
def test_quantiles_follow_the_mechanisms_own_law(q: str, epsilon: str) -> None:
    truth = float(np.quantile(X, float(q)))
    (mechanism,) = st.quantile("income", q, interval=False).step(Fraction(epsilon), Fraction(0), PLAIN).mechanisms  # type: ignore[attr-defined]
    found = errors(simulated(st.quantile("income", q, interval=False), epsilon, draws=6000), truth)
    assert np.mean(found <= 1.05 * law_median(exact_law(mechanism), truth) + 1) >= 0.5 - 4 * 0.5 / math.sqrt(6000)


@pytest.mark.parametrize(("epsilon", "peer"), list(zip(EPSILONS, (4741, 800, 566), strict=True)))
def test_the_interquartile_range_in_one_draw_beats_two_draws_and_every_peer(epsilon: str, peer: float) -> None:
    alone = st.iqr("income").ways(Fraction(epsilon), Fraction(0), PLAIN)["exponential"]()
    rng = np.random.default_rng(2)
    low, high = (np.searchsorted(np.cumsum(exact_law(m)), rng.random(100_000)) for m in alone.mechanisms)  # type: ignore[attr-defined]
    truth = float(np.quantile(X, 0.75) - np.quantile(X, 0.25))
    two = np.median(np.abs(np.maximum(high - low, 0) - truth))
    found = np.median(errors(simulated(st.iqr("income"), epsilon, draws=400), truth))
    assert found < 0.85 * two
    assert found < 0.8 * peer


@pytest.mark.parametrize(("q", "relation"), [("0.5", "add_remove"), ("0.9", "add_remove"), ("0.25", "replace")])
def test_rank_bars_hold_everywhere_and_are_tight_on_the_worst_table(q: str, relation: str) -> None:
    about = context(WORLD.columns["income"], relation=relation)
    step = st.quantile("income", q, interval=False).step(Fraction(1, 2), Fraction(0), about)
    (mechanism,), t = step.mechanisms, step.rank_width()  # type: ignore[attr-defined]
    points = np.arange(mechanism.high + 1)
    for x in (X.astype(np.int64), np.full(1000, 500_000)):
        below, upto = np.searchsorted(x, points, "left"), np.searchsorted(x, points, "right")
        off = np.maximum(0, np.maximum(below - float(q) * len(x), float(q) * len(x) - upto))
        held = float(np.exp(mechanism.log_probability(x, points))[off <= t].sum())
        assert held >= 0.95
    # a heap of rows whose edge is just beyond t rows away: nearly all the mass lies outside, as the bound assumes
    few = math.ceil(t / max(float(q), 1 - float(q))) + 1
    x = np.full(few, 500_000)
    held = float(np.exp(mechanism.log_probability(x, np.array([500_000])))[0])
    assert held == pytest.approx(0.95, abs=0.03) or q != "0.5"


def test_simultaneous_rank_bars_survive_sorting() -> None:
    levels = (0.25, 0.5, 0.75)
    step = st.quantiles("income", levels, interval=False).step(Fraction(3, 10), Fraction(0), PLAIN)
    held = 0
    for answer in simulated(st.quantiles("income", levels, interval=False), "0.3", draws=200):
        y, t = np.array(answer.value), answer.ranks[1]
        assert t == step.rank_width()
        below, upto = np.searchsorted(X, y, "left"), np.searchsorted(X, y, "right")
        n_q = np.array(levels) * len(X)
        held += bool(np.all((below <= n_q + t) & (upto >= n_q - t)))
    assert held == 200


def test_extremes_stay_inside_the_data_although_their_size_is_private() -> None:
    largest = [a.value for a in simulated(st.max("income"), "1", draws=1000)]
    smallest = [a.value for a in simulated(st.min("income"), "1", draws=1000)]
    assert np.quantile(X, 0.96) < np.median(largest) <= X[-1]
    assert X[0] <= np.median(smallest) < np.quantile(X, 0.04)
    step = st.max("income").step(Fraction(1), Fraction(0), PLAIN)
    assert step.name == "RankExponential, uniform, row 28 from the largest"
    t = step.rank_width()
    assert np.mean([len(X) - np.searchsorted(X, y, "right") <= t for y in largest]) >= 0.95
    few = income(20)
    wide = [a.value for a in simulated(st.max("income"), "1", world=few, draws=100)]
    assert min(few.values["income"]) <= np.median(wide) <= max(few.values["income"])  # of few rows the middle, not the void beyond


@pytest.mark.parametrize("size", [None, 30])
@pytest.mark.parametrize("question", [st.mean("bit"), st.variance("bit"), st.std("bit")])
@pytest.mark.parametrize("x", [[0] * 30, [1] * 30, [0, 1] * 15])
def test_what_is_drawn_beyond_an_end_is_no_interval_of_a_point(x: list[int], question: Any, size: int | None) -> None:
    column = Column("bit", "bool", nulls=0) if size else Column("bit", "bool")
    about = context(column, **({"relation": "replace", "size": size} if size else {}))
    answers = simulated(question, "0.2", about, World({"bit": column}, {"bit": [*x]}), 2000)
    beyond = [a for a in answers if a.value in (0, 0.5, 1)]
    assert beyond or "mean" in question.label
    assert min(a.high - a.low for a in answers) > 0.05


def test_no_share_is_lost_where_a_total_is_drawn_negative() -> None:
    """The interval holds every share that plain inversion of the test would keep."""
    ups, downs = (part.ravel().astype(float) for part in np.meshgrid(np.arange(-60, 200, 7), np.arange(-60, 200, 7)))

    def scales(t: Any) -> Any:
        return (1 - t) * 10.0, t * 10.0

    share, low, high = ratio_interval(ups, downs, scales, laplace_tail, slop=0.0, level=0.95)
    for t in np.linspace(0, 1, 101):
        kept = laplace_tail(scales(np.full_like(ups, t)), np.abs((1 - t) * ups - t * downs)) >= 0.05 + 1e-9
        assert (~kept | ((low <= t + 1e-9) & (t <= high + 1e-9))).all()
    assert ((low <= share) & (share <= high)).all()
    assert (high - low).min() > 0
