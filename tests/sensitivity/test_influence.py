"""Influence functions against their definition: the derivative, and the difference at a fixed share."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from scipy import integrate, stats

from sordino.errors import QueryError
from sordino.privacy.relation import Relation
from sordino.sensitivity import influence, smooth
from sordino.sensitivity.influence import huber, least_squares, location, planning_bound, regression
from sordino.sensitivity.location import Location, Ramps

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


@pytest.mark.parametrize("curve", [huber(), huber(0.5), least_squares], ids=lambda c: c.name)
def test_fixed_scale_influence_tends_to_the_closed_one_as_the_share_of_bad_rows_falls(curve: influence.Curve) -> None:
    """The gap shrinks in proportion to the share, down to what a sample of this size can tell."""
    for fit, x, y in ((location(SAMPLE, curve), [1.0], 30.0), (regression(ROWS, TARGET, curve), [1.0, -0.5, 0.8], 20.0)):
        closed = fit.influence(x, y)[0]
        gaps = [np.linalg.norm(fit.fixed_scale(x, y, share) - closed) / np.linalg.norm(closed) for share in (0.1, 0.01, 0.001, 0.0001)]
        assert all(later < earlier / 2 or later < 0.01 for earlier, later in pairwise(gaps))
        assert gaps[0] > 0.05 or curve is least_squares
        assert gaps[-1] < 0.01


STEP = 1e-6  # grid steps of the columns below, in standard deviations


def column(seed: int, n: int, width: float) -> tuple[np.ndarray, int]:
    """Normal rows on a grid of this width about zero, sorted."""
    top = round(width / STEP)
    rows = np.rint(np.random.default_rng(seed).normal(0, 1, n) / STEP).astype(np.int64) + top // 2
    return np.sort(np.clip(rows, 0, top)), top


def huber_smooth(seed: int, n: int, *, width: float, beta: float, relation: str = "replace") -> float:
    """The smooth sensitivity of Huber's location at 1.345, in standard deviations."""
    rows, top = column(seed, n, width)
    psi = Ramps.through((-1.345, 1.345), (-1.345, 1.345), round(1 / STEP))
    return Location(rows, top, psi, Relation.of(relation)).ladder().smooth(beta) * STEP


def test_smooth_over_gross_error_sensitivity_is_bounded_for_huber_and_median_and_diverges_for_the_mean() -> None:
    """n S/GES as n grows and as the public bounds widen; GES at the normal law, for the mean that of Huber's estimator as a yardstick."""
    robust = 1.345 / (stats.norm.cdf(1.345) - stats.norm.cdf(-1.345))
    middle = 1 / (2 * stats.norm.pdf(0))
    found: dict[str, list[float]] = {"huber": [], "median": [], "mean": []}
    for n, width in ((4_000, 1e2), (4_000, 1e4), (16_000, 1e6), (64_000, 1e6)):
        rows, top = column(n, n, width)
        found["huber"].append(n * huber_smooth(n, n, width=width, beta=0.1) / robust)
        found["median"].append(n * smooth.median(rows, bounds=(0, top), beta=0.1, relation="replace") * STEP / middle)
        found["mean"].append(n * smooth.mean(rows, bounds=(0, top), beta=0.1, relation="replace") * STEP / robust)
    assert max(found["huber"]) < 5
    assert max(found["median"]) < 30  # the gaps of about ten rows either side
    assert max(found["median"][2:]) < 3 * max(found["median"][:2])
    assert found["mean"][0] > 50
    assert found["mean"][-1] > 1e5


def test_the_planning_bound_covers_the_simulated_smooth_sensitivity() -> None:
    """Sixty pinned samples at eta = 0.1: at least nine in ten lie under the bound, and it is less than four times what they need."""
    eta, n, width, beta = 0.1, 40_000, 100.0, 0.1
    public = np.random.default_rng(99).normal(0, 1, 20_000)
    plan = planning_bound(public, c=1.345, width=width, n=n, beta=beta, eta=eta)
    seen = np.array([huber_smooth(seed, n, width=width, beta=beta) for seed in range(60)])
    assert np.mean(seen <= plan) >= 1 - eta
    assert plan < 4 * seen.max()
