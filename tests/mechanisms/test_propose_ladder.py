"""Proposals on a ladder: the delta is that of the laws that are drawn, small worlds hold, and no guess is nearly as good as a right one."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mechanism_world import RELATIONS

import sordino as sd
from sordino.lab import check_statistic
from sordino.mechanisms import ProposeLadder, ProposeTestRelease
from sordino.noise import draw
from sordino.privacy.families import LaplaceLaw
from sordino.summaries import Near, Refused

SMALL = Fraction(1, 10**6)
RUNGS = (1, 2, 4, 8)


def test_the_delta_is_the_chance_that_any_rung_at_distance_nothing_passes() -> None:
    mechanism = ProposeLadder(1, Fraction(1, 100), RUNGS)
    unsafe = 1 - float(mechanism.law([0] * 4)[-1])
    assert 0.8 / 100 < unsafe <= 1 / 100
    first, second = mechanism.scales
    bars = np.asarray(draw(LaplaceLaw().at(np.full(40_000, mechanism.threshold), first)))
    noisy = np.asarray(draw(LaplaceLaw().at(np.zeros(160_000, np.int64), second))).reshape(4, -1)
    assert (noisy.max(axis=0) >= bars).mean() == pytest.approx(unsafe, abs=0.0025)


def test_the_law_of_the_rungs_is_the_one_that_is_drawn() -> None:
    mechanism = ProposeLadder(2, Fraction(1, 100), RUNGS)
    distances = [0, mechanism.threshold // 2, mechanism.threshold, mechanism.longest]

    def ask(request: Any) -> Near:
        return Near(distances[RUNGS.index(int(request.above))], 0)

    found = [mechanism.release(ask, draw) for _ in range(3_000)]
    shares = [sum(not isinstance(f, Refused) and f[1] == j for f in found) / len(found) for j in range(4)]
    assert shares == pytest.approx(mechanism.law(distances)[:-1].tolist(), abs=0.04)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "5"])
def test_hostile_distances_stay_below_delta(epsilon: str) -> None:
    mechanism = ProposeLadder(epsilon, SMALL, RUNGS)
    assert mechanism.certificate().check().sound
    assert 0.5e-6 < mechanism.hockey(float(epsilon)) <= 1e-6


def needed(mechanism: Any) -> int:
    """The distance from which a release with the right bound appears with 99%."""
    if isinstance(mechanism, ProposeTestRelease):
        return int(np.argmax(mechanism.chances()[0] >= 0.99))
    half = len(mechanism.ladder) // 2
    return next(d for d in range(mechanism.longest) if mechanism.law([0] * half + [d] * (len(mechanism.ladder) - half))[half] >= 0.99)


def test_not_knowing_the_bound_costs_a_few_times_the_distance_and_not_more() -> None:
    """The comparison with the single proposal, which somebody has to guess: noise is the same at the same bound."""
    one, many = ProposeTestRelease(1, SMALL, 8), ProposeLadder(1, SMALL, tuple(2**i for i in range(16)))
    assert one.split == many.split
    assert needed(one) < needed(many) < 6 * needed(one)


def middle(relation: str) -> Any:
    custom = sd.statistic(bounds=(0, 100), relation=relation)(lambda x: float(x[(len(x) + 1) // 2 - 1]) if len(x) else 0.0)

    @custom.sensitivity_at
    def _(x: Any, k: int) -> float:
        padded = np.concatenate([[0.0] * (k + 3), x, [100.0] * (k + 3)])
        r = (len(x) + 1) // 2
        return float(max(padded[r + t + k + 2] - padded[r + t - k - 2 + k + 2] for t in range(k + 3)))

    return custom


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_statistic_of_ones_own_needs_no_guess(relation: str) -> None:
    x = np.clip(np.random.default_rng(1).normal(50, 1, 3_000), 0, 100)
    facts: dict[str, Any] = {"bounds": {"x": (0, 100)}, "budget": sd.Budget(epsilon=100, delta=1e-3), "ledger": ":memory:"}
    with sd.table({"x": x}, relation=relation, size=3_000, **facts) as rows:
        asked = rows.apply(middle(relation), "x")
        answer = asked.release(epsilon=2, delta=1e-5, mechanism="ladder")
        assert answer.cost.epsilon == 2
        assert answer.cost.delta == pytest.approx(1e-5)
        assert "ProposeLadder" in answer.mechanism
        assert answer.refused or abs(answer.value - 50) < 8
    with sd.table({"x": [0.0, 100.0] * 3}, **facts) as few:
        assert few.apply(middle("add_remove"), "x").release(epsilon=1, delta=1e-5, mechanism="ladder").refused


def test_a_ladder_that_does_not_rise_is_refused() -> None:
    for bad in ((), (2, 1), (1, 1), tuple(range(1, 100))):
        with pytest.raises(sd.errors.QueryError):
            ProposeLadder(1, SMALL, bad)
    with pytest.raises(sd.errors.QueryError):
        ProposeLadder(1, Fraction(3, 5), RUNGS)
    assert math.isfinite(ProposeLadder("0.01", SMALL, RUNGS).threshold)


def test_nobody_draws_more_than_is_charged() -> None:
    found = check_statistic(lambda t: t.apply(middle("add_remove"), "age").by_mechanism("ladder"), places=("",))
    assert found.ok, found
