"""Descent with its noise off: it falls as fast as its public facts say, and the default number of steps takes it below its own noise."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sordino.mechanisms import NoisyDescent
from sordino.session.owned import owned

SMALL = Fraction(1, 10**6)
RNG = np.random.default_rng(8)
Y = np.clip(RNG.normal(0.3, 0.2, 801), -1, 1)
X = RNG.uniform(-1, 1, (801, 2))
FACTS = {"dimension": 5, "loss": "logistic", "rate": Fraction(7, 2), "curvature": Fraction(1, 30), "radius": Fraction(4)}
LINE = np.column_stack([X, np.clip(0.2 + X @ [0.4, -0.5] + RNG.normal(0, 0.02, 801), -1, 1)])


def silent(law):
    """The noise turned off: what is drawn is what was placed."""
    return law.location


def path(mechanism, rows):
    """Every point at which the descent asked for a gradient, and the last one."""
    ask, points = owned(mechanism, rows), []

    def asked(request):
        if hasattr(request, "theta"):
            points.append(np.array(request.theta) / 2**24)
        return ask(request)

    last = mechanism.release(asked, silent)
    return np.array([*points, last])


def located(c):
    """Huber's location and the least share of rows within c on the way to it from 0."""
    low, high = -1.0, 1.0
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if np.clip(Y - middle, -c, c).sum() > 0 else (low, middle)
    return low, min(np.mean(np.abs(Y - t) <= c) for t in np.linspace(0, low, 201))


@pytest.mark.parametrize("price", [{}, {"delta": SMALL}, {"size": 801}, {"delta": SMALL, "size": 801, "relation": "replace"}])
@pytest.mark.parametrize(("bound", "rate"), [("0.5", 1), ("0.5", "0.5"), ("0.2", "0.25")])
def test_a_location_falls_geometrically_and_ends_below_its_target(price, bound, rate):
    goal, share = located(float(Fraction(bound)))
    mechanism = NoisyDescent(Fraction(1), bound=bound, rate=rate, curvature=Fraction(math.floor(share * 100), 100), **price)
    left = np.abs(path(mechanism, Y[:, None].tolist())[:, 0] - goal)
    assert len(left) == mechanism.rounds + 1
    for step, rest in enumerate(left):
        assert rest <= mechanism.fall(step) + 1e-5
    assert left[-1] <= mechanism.target(mechanism.rounds)
    assert mechanism.fall(mechanism.rounds - 1) > mechanism.target(mechanism.rounds - 1)  # one step less would not do


@pytest.mark.parametrize("delta", [0, SMALL])
def test_a_regression_falls_geometrically_and_ends_below_its_target(delta):
    rows = np.column_stack([np.ones(len(X)), X])
    values = np.linalg.eigvalsh(rows.T @ rows / len(rows))
    goal = np.linalg.lstsq(rows, LINE[:, -1], rcond=None)[0]
    facts = {"dimension": 3, "bound": 4, "rate": Fraction(9, 10), "curvature": Fraction(math.floor(values[0] * 1000), 1000)}
    assert values[-1] * 0.9 < 1 + (1 - 0.9 * values[0])  # no direction overshoots by more than the slowest one lags
    mechanism = NoisyDescent(Fraction(1), delta, **facts)
    left = np.linalg.norm(path(mechanism, LINE.tolist()) - goal, axis=1)
    for step, rest in enumerate(left):
        assert rest <= mechanism.fall(step) + 1e-5
    assert left[-1] <= mechanism.target(mechanism.rounds)


def test_the_default_number_of_steps_is_the_printed_formula_and_knows_public_facts_only():
    for size in (None, 100, 10_000, 10**6):
        for delta in (Fraction(0), SMALL):
            mechanism = NoisyDescent(Fraction(1), delta, **FACTS, size=size)
            slow = 1 - float(mechanism.rate * mechanism.curvature)
            rounds = mechanism.rounds
            assert math.ceil(math.log(4 / mechanism.target(rounds)) / -math.log(slow)) <= rounds
            assert math.ceil(math.log(4 / mechanism.target(rounds - 1)) / -math.log(slow)) > rounds - 1
    few, many = (NoisyDescent(Fraction(1), SMALL, **FACTS, size=size).rounds for size in (100, 10**6))
    assert few < many


def test_a_descent_that_stops_too_early_is_above_its_target():
    """The formula is not idle: a third of its steps would leave the location far away."""
    goal, share = located(0.2)
    facts = {"bound": "0.2", "rate": "0.25", "curvature": Fraction(math.floor(share * 100), 100), "size": 10**6}
    planned = NoisyDescent(Fraction(1), SMALL, **facts)
    early = NoisyDescent(Fraction(1), SMALL, planned.rounds // 3, **facts)
    rows = Y[:, None].tolist()
    assert abs(_with(early, rows) - goal) > early.target(early.rounds)


def _with(mechanism, rows):
    """The public size says a million rows where there are 801: scale the sums as a table of that size would have them."""
    ask = owned(mechanism, rows)

    def asked(request):
        found = ask(request)
        return type(found)(found.keys, np.array([[v * 10**6 // len(rows) for v in found.values[0]]], object), found.octaves)

    return mechanism.release(asked, silent)[0]
