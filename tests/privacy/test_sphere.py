"""Vector noise for a smooth scale: closed forms against brute force, bounds against sampling, wrong scales refuted."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from sordino.errors import QueryError
from sordino.privacy.cost import gaussian_delta
from sordino.privacy.families import StudentT
from sordino.privacy.sphere import PlacedVector, ProductSpread, SphericalSpread, SphericalT, least_spread

ONE, SMALL = Fraction(1), Fraction(1, 10**6)


def brute(law: SphericalT, slide: float, lam: float) -> float:
    """The largest |ln N/W| on a net in the plane of the slide and one direction across it; by symmetry that is all there is."""
    far = np.geomspace(12, 1e7, 120)
    along = np.concatenate([-far, np.linspace(-12, 12, 601), far])
    across = np.concatenate([np.linspace(0, 12, 31), far[::3]]) if law.dimension > 1 else np.zeros(1)
    z = np.stack(np.meshgrid(along, across), axis=-1)  # the density sees lengths only, so two coordinates stand for all
    w = (z - [slide, 0.0]) * math.exp(-lam)
    return float(np.abs(law.log_density(z) - law.log_density(w) + law.dimension * lam).max())


@pytest.mark.parametrize(("d", "nu"), [(1, 2), (2, 2), (2, 4), (3, 8), (5, 2), (11, 12)])
@pytest.mark.parametrize("slide", [0.1, 0.8, 2.0])
def test_the_log_ratio_of_t_laws_is_a_hyperbolic_distance(d: int, nu: int, slide: float) -> None:
    law, worst = SphericalT(d, nu), 0.0
    for lam in (0.0, 0.05, 0.2, 0.5):
        closed = SphericalSpread(law, 1 / slide, 0.5).at(lam)
        assert brute(law, slide, lam) == pytest.approx(closed, rel=2e-3)
        assert brute(law, slide, lam) <= closed * (1 + 1e-9)
        worst = max(worst, closed)
    spread = SphericalSpread(law, 1 / slide, 0.5)
    assert worst <= spread.sup() * (1 + 1e-12)
    assert max(spread.at(lam) for lam in np.linspace(0, 0.5, 101)) <= spread.sup()


def test_one_dimension_is_the_student_law() -> None:
    z = np.linspace(-5, 5, 11)
    assert SphericalT(1, 4).log_density(z[:, None]) == pytest.approx(StudentT(4).log_density(z))


@pytest.mark.parametrize(("d", "nu", "epsilon"), [(1, 4, "1"), (2, 4, "0.1"), (11, 12, "1"), (4, 2, "3"), (3, 10, "0.5")])
def test_the_least_scale_of_t_noise_is_tight(d: int, nu: int, epsilon: str) -> None:
    e = Fraction(epsilon)
    beta = e / (2 * max(nu, d))
    s = least_spread("student_t", d, nu, beta=beta, epsilon=e, delta=Fraction(0))
    assert SphericalSpread(SphericalT(d, nu), float(s), float(beta)).sup() <= float(e)
    assert SphericalSpread(SphericalT(d, nu), float(s) * 0.999, float(beta)).sup() > float(e)


def test_a_beta_beyond_the_tail_has_no_scale() -> None:
    for d, nu in ((2, 4), (9, 4)):
        with pytest.raises(QueryError, match="SRD-110"):
            least_spread("student_t", d, nu, beta=Fraction(1, max(d, nu)), epsilon=ONE, delta=Fraction(0))
        assert least_spread("student_t", d, nu, beta=Fraction(99, 100 * max(d, nu)), epsilon=ONE, delta=Fraction(0))


@pytest.mark.parametrize(("d", "scale"), [(2, 1.31), (5, 1.33), (10, 1.32)])
def test_vector_laplace_needs_two_thirds_of_the_notes_noise(d: int, scale: float) -> None:
    beta = ONE / (4 * Fraction(str(round(d + math.log(2e6), 9))))
    assert scale * 0.97 < least_spread("laplace", d, 2, beta=beta, epsilon=ONE, delta=SMALL) <= scale


@pytest.mark.parametrize("kind", ["laplace", "gaussian"])
def test_the_bound_on_product_noise_holds_for_the_worst_pair(kind: str) -> None:
    """The exact hockey stick of one slid coordinate, all dilated: integrate over it, the others by their sum."""
    d, beta, epsilon = 3, 0.05, 1.0
    spread = ProductSpread(kind, d, 1.6 if kind == "laplace" else 3.0, beta)
    slide, grown = 1 / spread.s, math.exp(beta)
    if kind == "laplace":
        one, other = stats.laplace(), stats.laplace(loc=slide, scale=grown)
        rest, loss = stats.gamma(d - 1, scale=grown), lambda g: -(d - 1) * beta + g * (1 - 1 / grown)
    else:
        one, other = stats.norm(), stats.norm(loc=slide, scale=grown)
        rest, loss = stats.chi2(d - 1, scale=grown**2), lambda g: -(d - 1) * beta + g * (1 - grown**-2) / 2

    def stick(level: float) -> float:
        z = np.linspace(-60, 60, 12_001)
        return float(np.trapezoid(np.maximum(other.pdf(z) - math.exp(level) * one.pdf(z), 0), z))

    net = np.linspace(0, rest.isf(1e-9), 400)
    attained = np.trapezoid([rest.pdf(g) * stick(epsilon - loss(g)) for g in net], net)
    assert 1e-7 < attained <= spread.delta(epsilon)


def test_without_dilation_the_gaussian_bound_is_its_profile() -> None:
    spread = ProductSpread("gaussian", 2, 3.0, 1e-9)
    assert gaussian_delta(1 / 3, 0.98) <= spread.delta(1.0) <= gaussian_delta(1 / 3, 0.9)


def test_a_placed_vector_is_whole_and_fits_its_law() -> None:
    law = SphericalT(2, 4)
    for place in ([0.5, 1.0], [1], [1, 2, 3]):
        with pytest.raises(QueryError):
            law.at(np.array(place), ONE)
    with pytest.raises(QueryError):
        PlacedVector(law, np.array([1, 2]), ONE, grid=3)
    for dimension, nu in ((0, 4), (2, 0), (2, 3), (True, 4)):
        with pytest.raises(QueryError):
            SphericalT(dimension, nu)
