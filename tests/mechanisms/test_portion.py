"""Regression mechanisms, draw by draw: with outcomes pinned, no row and no person moves the draws by more than the price."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from sordino.errors import QueryError
from sordino.lab.recording import record
from sordino.mechanisms import (
    BoostedRegression,
    LeastSquares,
    LogisticRegression,
    MomentMatrix,
    MRegression,
    MultinomialRegression,
    NoisyDescent,
    NormalEquations,
)
from sordino.mechanisms.estimate import root_down, root_up, whole_theta
from sordino.mechanisms.gaussian import largest_mu
from sordino.mechanisms.normal_equations import solved, swapped
from sordino.noise import draw
from sordino.session.owned import owned
from sordino.summaries.moment import FINE, LARGEST

SMALL = Fraction(1, 10**6)
RNG = np.random.default_rng(12)
BASE = RNG.uniform(-1, 1, (40, 3)).tolist()
CORNERS = [list(corner) for corner in itertools.product((-1.0, 1.0), repeat=3)]
HOSTILE = [*CORNERS, [0.0, 0.0, 0.0], [1.0, 0.0, -1.0], [0.5, -0.2, 1.0]]


def moved(mechanism: object, one: list, other: list) -> list[np.ndarray]:
    """For every draw, how far neighbours' locations lie apart in units of the noise, all outcomes pinned."""
    first = record(mechanism, owned(mechanism, one), draw)
    outcomes = iter(first.draws)
    second = record(mechanism, owned(mechanism, other), lambda law: next(outcomes).outcome)
    assert first.visible == second.visible
    assert first.requests == second.requests
    gaps = []
    for a, b in zip(first.draws, second.draws, strict=True):
        assert a.public == b.public
        assert a.private.scale == b.private.scale
        scale = np.array([float(s) for s in a.private.scale] if isinstance(a.private.scale, list) else float(a.private.scale))
        gaps.append((np.atleast_1d(a.private.location) - np.atleast_1d(b.private.location)) / scale)
    return gaps


def spent(mechanism: object, one: list, other: list) -> float:
    """The mu, or the epsilon, that a pair of neighbours really uses."""
    gaps = moved(mechanism, one, other)
    if mechanism.delta:  # type: ignore[attr-defined]
        return math.sqrt(sum(float(gap @ gap) for gap in gaps))
    return sum(float(np.abs(gap).sum()) for gap in gaps)


@pytest.mark.parametrize(
    "mechanism",
    [
        NormalEquations(1, SMALL, 3),
        MomentMatrix(1, SMALL, 4),
        LeastSquares(1, SMALL, 3),
        LogisticRegression(1, SMALL, 3),
        LogisticRegression(1, SMALL, 3, capped=False),
        LeastSquares(1, 0, 3),
        LogisticRegression(1, 0, 3),
        MultinomialRegression(1, SMALL, 3),
        MultinomialRegression(1, 0, 3, classes=4),
        MRegression(1, SMALL, 3),
        BoostedRegression(1, SMALL, 3, rounds=4),
        BoostedRegression(1, SMALL, 3, rounds=2, clip="1.35"),
        NoisyDescent(1, SMALL, rounds=4, dimension=3, bound="0.7"),
        NoisyDescent(1, rounds=4, dimension=3, bound="0.7", size=40),
        NoisyDescent(1, rounds=3, dimension=3),
        NoisyDescent(1, SMALL, rounds=4, dimension=3, loss="logistic"),
    ],
    ids=lambda m: f"{type(m).__name__} {m.delta}",
)
def test_no_added_row_moves_the_draws_by_more_than_the_price(mechanism: object) -> None:
    price = float(largest_mu(Fraction(1), SMALL)) if mechanism.delta else 1.0  # type: ignore[attr-defined]
    used = [spent(mechanism, base, [*base, row]) for base in (BASE, []) for row in HOSTILE]
    assert max(used) <= price
    if getattr(mechanism, "loss", "huber") == "huber":
        assert max(used) > 0.5 * price  # the worst row is among them, and the price is not far above what it uses


@pytest.mark.parametrize(
    "mechanism",
    [
        NormalEquations(1, SMALL, 3, "replace"),
        MomentMatrix(1, SMALL, 4, "replace"),
        LeastSquares(1, SMALL, 3, "replace"),
        LogisticRegression(1, SMALL, 3, "replace"),
        LeastSquares(1, 0, 3, "replace"),
        LogisticRegression(1, 0, 3, "replace"),
        MultinomialRegression(1, SMALL, 3, "replace"),
        MRegression(1, SMALL, 3, "replace"),
        BoostedRegression(1, SMALL, 3, rounds=3, relation="replace"),
        NoisyDescent(1, SMALL, rounds=3, dimension=3, size=40, relation="replace"),
        NoisyDescent(1, rounds=3, dimension=3, size=40, relation="replace"),
    ],
    ids=lambda m: f"{type(m).__name__} {m.delta}",
)
def test_no_replaced_row_moves_the_draws_by_more_than_the_price(mechanism: object) -> None:
    price = float(largest_mu(Fraction(1), SMALL)) if mechanism.delta else 1.0  # type: ignore[attr-defined]
    used = [spent(mechanism, [*BASE, a], [*BASE, b]) for a, b in itertools.product(HOSTILE[::2], HOSTILE)]
    assert max(used) <= price
    assert max(used) > 0.5 * price


def test_the_price_of_added_rows_does_not_cover_replaced_ones() -> None:
    """The broken twin: the same mechanism, asked about the other relation."""
    price = float(largest_mu(Fraction(1), SMALL))
    for mechanism in (NormalEquations(1, SMALL, 3), LeastSquares(1, SMALL, 3), LogisticRegression(1, SMALL, 3)):
        assert max(spent(mechanism, [*BASE, a], [*BASE, b]) for a, b in itertools.product(CORNERS, CORNERS)) > price


def test_a_person_with_three_rows_is_within_the_price_of_three() -> None:
    price = float(largest_mu(Fraction(1), SMALL))
    for kind in (NormalEquations, LeastSquares, LogisticRegression, BoostedRegression):
        three, one = kind(1, SMALL, 3, max_rows=3), kind(1, SMALL, 3)
        person = [[1.0, 1.0, 1.0]] * 3
        assert spent(three, BASE, [*BASE, *person]) <= price
        assert spent(one, BASE, [*BASE, *person]) > price


def test_rows_outside_the_bounds_are_clamped_before_they_count() -> None:
    price = float(largest_mu(Fraction(1), SMALL))
    wild = [[1e300, -1e300, 1e300], [math.inf, -math.inf, math.inf], [5.0, 5.0, -7.0]]
    for mechanism in (NormalEquations(1, SMALL, 3), LeastSquares(1, SMALL, 3), BoostedRegression(1, SMALL, 3, rounds=3)):
        assert all(spent(mechanism, BASE, [*BASE, row]) <= price for row in wild)
        assert spent(mechanism, BASE, [*BASE, [math.nan, 1.0, 1.0]]) == 0


@pytest.mark.parametrize("d", [1, 2, 3, 4])
def test_two_rows_products_are_never_further_apart_than_swapped_says(d: int) -> None:
    weights = Fraction(1), Fraction(7, 3)
    rows = [np.array(c) for c in itertools.product((-1.0, 0.0, 0.4, 1.0), repeat=d + 1)]

    def products(row: np.ndarray) -> np.ndarray:
        x, y = row[:-1], row[-1]
        upper = np.outer(x, x)[np.triu_indices(d, 1)]
        return np.concatenate([upper, x * x / math.sqrt(2), math.sqrt(weights[1]) * x * y])

    made = np.array([products(row) for row in rows])
    squares = (made**2).sum(axis=1)
    worst = max(float((squares[i] + squares - 2 * made @ made[i]).max()) for i in range(len(made)))
    assert worst <= float(swapped(d, *weights)) + 1e-9
    assert float(swapped(d, *weights)) < 1.3 * worst


def test_the_noise_of_the_normal_equations_is_what_the_solver_believes() -> None:
    """b - A t is Gaussian with covariance (sb^2 + sA^2 |t|^2) I + sA^2 t t': the whitened squares are chi-squared."""
    mechanism = NormalEquations(1, SMALL, 3)
    rows = np.array(BASE)
    x = np.column_stack([np.ones(len(rows)), rows[:, :2]])
    ask = owned(mechanism, BASE)
    t = np.linalg.solve(x.T @ x, x.T @ rows[:, 2]) * 1.0
    found = []
    for _ in range(400):
        drawn = mechanism.release(ask, draw)
        left = np.array(drawn.moment) - np.array(drawn.square) @ t
        cov = (drawn.noise[1] ** 2 + drawn.noise[0] ** 2 * (t @ t)) * np.eye(3) + drawn.noise[0] ** 2 * np.outer(t, t)
        found.append(left @ np.linalg.solve(cov, left))
    # the mean of 400 chi-squared numbers of 3 degrees is 3 with a deviation of 0.123: six of them
    assert abs(np.mean(found) - 3) < 0.74


def test_coefficients_are_right_when_the_noise_is_small() -> None:
    rows = RNG.uniform(-1, 1, (20_000, 2))
    data = np.column_stack([rows, 0.3 + rows @ [0.4, -0.2] + RNG.normal(0, 0.05, 20_000)])
    for mechanism in (NormalEquations(20, SMALL, 3), BoostedRegression(20, SMALL, 3)):
        value = mechanism.release(owned(mechanism, data), draw)
        line = solved(value) if isinstance(mechanism, NormalEquations) else value
        assert line.theta == pytest.approx((0.3, 0.4, -0.2), abs=0.01)
        assert line.rows == pytest.approx(20_000, rel=0.02)
    location = NoisyDescent(20, rounds=30, size=20_000, rate=1)
    assert location.release(owned(location, data[:, -1:]), draw) == pytest.approx((float(np.mean(data[:, -1])),), abs=0.01)


def test_coefficients_of_a_request_are_whole_and_leave_room_for_an_exact_predictor() -> None:
    for theta in ([0.5, -0.25], [1e9, 1.0], [math.nan, math.inf], [1e-12] * 50, [64.0] * 1000):
        whole = whole_theta(np.array(theta))
        assert all(type(t) is int for t in whole)
        assert sum(map(abs, whole)) <= LARGEST
    assert whole_theta(np.array([0.5, -0.25])) == (FINE // 2, -FINE // 4)


def test_roots_are_rounded_the_safe_way() -> None:
    for square in (Fraction(2), Fraction(1, 3), Fraction(4), Fraction(10**12, 7)):
        assert root_down(square) ** 2 <= square <= root_up(square) ** 2
        assert root_up(square) - root_down(square) <= Fraction(2, 10**15)


def test_prices_that_need_impossible_noise_are_refused() -> None:
    rare = Fraction(1, 10**30)
    for build in (lambda: NormalEquations("1e-9", rare, 50), lambda: BoostedRegression("1e-9", rare, 50), lambda: NoisyDescent("1e-12")):
        with pytest.raises(QueryError):
            build()
