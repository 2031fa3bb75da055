"""Influence functions against their definition: the derivative, and the difference at a fixed share."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import integrate, stats

from sordino.errors import QueryError
from sordino.sensitivity import influence
from sordino.sensitivity.influence import huber, least_squares, location, planning_bound, regression

RNG = np.random.default_rng(6)
SAMPLE = RNG.normal(2.0, 1.0, 4_001)
ROWS = np.column_stack([np.ones(1_500), RNG.uniform(-1, 1, (1_500, 2))])
TARGET = ROWS @ [0.5, 1.0, -2.0] + RNG.standard_t(3, 1_500)


@pytest.mark.parametrize("curve", [huber(), huber(0.5), least_squares], ids=lambda c: c.name)
def test_influence_is_the_derivative_of_the_estimate(curve: influence.Curve) -> None:
    fit = regression(ROWS, TARGET, curve)
    for x, y in (([1.0, 0.3, -0.9], 4.0), ([1.0, 1.0, 1.0], -30.0), ([1.0, 0.0, 0.0], 0.4)):
        assert fit.fixed_scale(x, y, 1e-6) == pytest.approx(fit.influence(x, y)[0], rel=2e-2, abs=2e-3)


def test_the_variance_of_huber_at_the_normal_law_is_the_textbooks() -> None:
    c = 1.345
    squares = integrate.quad(lambda z: np.clip(z, -c, c) ** 2 * stats.norm.pdf(z), -12, 12)[0]
    slope = stats.norm.cdf(c) - stats.norm.cdf(-c)
    expected = squares / slope**2
    assert 1 / expected == pytest.approx(0.95, abs=0.001)  # what 1.345 is known for
    assert location(SAMPLE, huber(c)).variance[0, 0] == pytest.approx(expected, rel=0.1)
    assert location(SAMPLE, least_squares).variance[0, 0] == pytest.approx(1.0, rel=0.1)


def test_gross_errors_move_huber_by_a_bound_and_least_squares_without_one() -> None:
    robust, plain = location(SAMPLE, huber()), location(SAMPLE, least_squares)
    bound = robust.gross_error_sensitivity(1.0)
    assert plain.gross_error_sensitivity(1.0) == math.inf
    far = np.array([[1.0, y] for y in (-1e6, -5.0, 2.0, 5.0, 1e6)])
    assert robust.fixed_scale_sensitivity(far, 1e-4) == pytest.approx(bound, rel=0.01)
    assert plain.fixed_scale_sensitivity(far, 1e-4) > 1e5
    assert np.abs(robust.influence(np.ones((5, 1)), far[:, 1])).max() == pytest.approx(bound)


def test_a_leverage_point_moves_a_regression_however_robust_in_y() -> None:
    fit = regression(ROWS, TARGET, huber())
    near, far = fit.influence([1.0, 1.0, 0.0], 50.0)[0], fit.influence([1.0, 100.0, 0.0], 50.0)[0]
    assert np.linalg.norm(far) > 50 * np.linalg.norm(near)
    assert np.linalg.norm(fit.influence(ROWS, TARGET), axis=1).max() <= fit.gross_error_sensitivity(math.sqrt(3))


def test_the_planning_bound_covers_most_samples_and_is_vacuous_for_few_rows() -> None:
    facts = {"c": 1.345, "width": 1000.0, "beta": 0.1}
    assert planning_bound(SAMPLE, n=50, **facts) == 1000.0
    plan = planning_bound(SAMPLE, n=40_000, **facts)
    assert 2 * 1.345 / 40_000 < plan < 20 * 1.345 / 40_000
    assert planning_bound(SAMPLE, n=160_000, **facts) < plan / 3


def test_bad_data_and_parameters_are_refused() -> None:
    for call in (
        lambda: huber(0),
        lambda: regression(ROWS, TARGET[:-1], huber()),
        lambda: regression(ROWS * np.nan, TARGET, huber()),
        lambda: location([], huber()),
        lambda: location(SAMPLE, huber()).fixed_scale([1.0], 0.0, 0.0),
        lambda: planning_bound([], c=1, width=1, n=5, beta=1),
        lambda: planning_bound(SAMPLE, c=1, width=1, n=0, beta=1),
    ):
        with pytest.raises(QueryError):
            call()
