"""Hockey sticks, crossings and largest ratios against quadrature and brute force."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from sordino.privacy import Law, dilation
from sordino.privacy.dilation import Dilation
from sordino.privacy.families import GaussianLaw, GeneralizedCauchy, LaplaceLaw, PowerLaw, StudentT

HEAVY = [
    *(StudentT(nu) for nu in (1, 2, 4)),
    *(GeneralizedCauchy(Fraction(g)) for g in ("2", "4", "1.5")),
    *(PowerLaw(Fraction(e), Fraction(b)) for e, b in (("1", "0.3"), ("2", "1.9"), ("0.1", "0.01"))),
]
LAWS = [LaplaceLaw(), GaussianLaw(), *HEAVY]
SLIDES = (0.0, 0.03, 1.7)
DILATIONS = (0.0, 0.02, 0.7)
EPSILONS = (0.0, 0.1, 0.5, 1.5)


def named(law: Any) -> str:
    return f"{law.name}-{float(law.epsilon):g}-{float(law.beta):g}" if isinstance(law, PowerLaw) else str(law.name)


def density(law: Any, z: NDArray[np.float64]) -> NDArray[np.float64]:
    """The density from scipy or from the textbook, not from the package."""
    match law:
        case LaplaceLaw():
            return stats.laplace.pdf(z)
        case GaussianLaw():
            return stats.norm.pdf(z)
        case StudentT():
            return stats.t.pdf(z, law.nu)
        case GeneralizedCauchy():
            g = float(law.gamma)
            return g * math.sin(math.pi / g) / (2 * math.pi) / (1 + np.abs(z) ** g)
        case PowerLaw():
            e, b = float(law.epsilon), float(law.beta)
            a, x = e / b, b * np.abs(z)
            c = (1 - 1 / a) ** (a - 1) * (1 + 1 / a) ** (a + 1)
            half = (1 - (1 - 1 / a) ** a + (1 - 1 / a) ** (a - 1) * (1 + 1 / a)) / a
            return b / (2 * half) * np.where(x <= 1 / a, (1 - np.minimum(x, 1 / a)) ** (a - 1), c * (1 + x) ** -(a + 1))
    raise TypeError(law)


NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)


def quadrature(law: Any, slide: float, stretch: float, pieces: int = 5_000) -> tuple[NDArray[np.float64], ...]:
    """Weights and both densities on a line wound up by sinh, far enough out for each tail."""
    far = 7.0 if isinstance(law, LaplaceLaw | GaussianLaw) else 36.0
    edges = np.linspace(-far, far, pieces + 1)
    t = ((edges[1:] + edges[:-1])[:, None] / 2 + (edges[1] - edges[0]) / 2 * NODES[None, :]).ravel()
    z = slide / 2 + np.sinh(t)
    weight = np.tile(WEIGHTS, pieces) * (edges[1] - edges[0]) / 2 * np.cosh(t)
    return weight, density(law, z), np.exp(-stretch) * density(law, (z - slide) * math.exp(-stretch))


@pytest.mark.parametrize("law", LAWS, ids=named)
def test_hockey_sticks_agree_with_quadrature(law: Any) -> None:
    for slide, stretch in product(SLIDES, DILATIONS):
        weight, narrow, wide = quadrature(law, slide, stretch)
        for wide_first, epsilon in product((True, False), EPSILONS):
            first, second = (wide, narrow) if wide_first else (narrow, wide)
            truth = float(weight @ np.maximum(first - math.exp(epsilon) * second, 0))
            assert Dilation(law, slide, stretch, wide_first=wide_first).delta(epsilon) == pytest.approx(truth, rel=1e-5, abs=2e-6)


@pytest.mark.parametrize("law", LAWS, ids=named)
def test_loss_tails_are_the_hockey_stick_less_its_slope(law: Any) -> None:
    for slide, stretch, epsilon, wide_first in product((0.3, 1.1), (0.07, 0.4), (0.05, 0.21, 0.93), (True, False)):
        pair = Dilation(law, slide, stretch, wide_first=wide_first)
        slope = (pair.delta(epsilon + 1e-5) - pair.delta(epsilon - 1e-5)) / 2e-5
        assert pair.loss_tail(epsilon) == pytest.approx(pair.delta(epsilon) - slope, abs=2e-4)


def test_a_crossing_that_falls_on_a_kink_is_not_lost_to_rounding() -> None:
    for exponent in range(200):
        slide = 1 + exponent / 16
        for share in (0.25, 0.5, 0.75):  # epsilon + dilation = slide puts the crossing on the wider law's centre
            pair = Dilation(LaplaceLaw(), slide, slide * share)
            assert pair.delta(slide * (1 - share)) == pytest.approx(pair.delta(slide * (1 - share) * (1 + 1e-9)), rel=1e-6)


@pytest.mark.parametrize("law", [LaplaceLaw(), GaussianLaw()], ids=named)
def test_closed_crossings_agree_with_the_root_finder(law: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [(s, d, e, w) for s in (0.01, 0.3, 1.0, 4.0) for d in (0.0, 1e-3, 0.05, 0.6) for e in EPSILONS for w in (True, False)]
    closed = [Dilation(law, s, d, wide_first=w).delta(e) for s, d, e, w in cases]
    monkeypatch.setattr(dilation, "_closed_crossings", lambda *_: None)
    assert [Dilation(law, s, d, wide_first=w).delta(e) for s, d, e, w in cases] == pytest.approx(closed, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("law", HEAVY, ids=named)
def test_the_largest_ratio_is_that_of_a_dense_net(law: Any) -> None:
    net = np.concatenate([-np.geomspace(1e-9, 1e14, 30_000)[::-1], [0.0], np.geomspace(1e-9, 1e14, 30_000)])
    for slide in (0.0, 0.05, 1.0, 1e3):
        for stretch in (0.0, 0.02, 2.0):
            points = np.unique(np.concatenate([net, slide + net]))
            with np.errstate(divide="ignore", invalid="ignore"):  # the textbook's density underflows where ours does not
                gap = np.log(density(law, (points - slide) * math.exp(-stretch))) - stretch - np.log(density(law, points))
            gap = gap[np.isfinite(gap)]
            for wide_first, truth in ((True, gap.max()), (False, (-gap).max())):
                ours = Dilation(law, slide, stretch, wide_first=wide_first).sup()
                assert ours >= truth - 1e-9 * max(1, truth)
                assert ours <= truth + 1e-4 * max(1, truth)


@pytest.mark.parametrize("nu", [1, 2, 4])
@pytest.mark.parametrize("slide", [1e-4, 0.1, 1.0, 30.0, 1e6])
@pytest.mark.parametrize("stretch", [0.0, 0.01, 0.3, 3.0])
def test_the_largest_student_ratio_is_the_hyperbolic_distance(nu: int, slide: float, stretch: float) -> None:
    known = (nu + 1) / 2 * math.acosh(math.cosh(stretch) + slide**2 * math.exp(-stretch) / (2 * nu)) + (nu - 1) / 2 * stretch
    both = max(Dilation(StudentT(nu), slide, stretch, wide_first=w).sup() for w in (True, False))
    assert both == pytest.approx(known, rel=1e-6, abs=1e-10)


@pytest.mark.parametrize("law", [LaplaceLaw(), GaussianLaw()], ids=named)
def test_a_light_tail_has_no_largest_ratio_under_dilation(law: Any) -> None:
    assert Dilation(law, 0.1, 0.01).sup() == math.inf
    assert Dilation(LaplaceLaw(), 0.4, 0.0).sup() == pytest.approx(0.4)
    assert Dilation(GaussianLaw(), 0.4, 0.0).sup() == math.inf
    assert Dilation(law, 0.0, 0.0).sup() == 0.0


@settings(max_examples=150)
@given(st.sampled_from(LAWS), st.tuples(st.floats(0, 4), st.floats(0, 1.5)), st.floats(1e-4, 2), st.floats(0, 3), st.booleans())
def test_hockey_sticks_grow_with_the_slide(law: Any, shape: tuple[float, float], more: float, epsilon: float, wide_first: bool) -> None:
    slide, stretch = shape
    near, far = (Dilation(law, by, stretch, wide_first=wide_first).delta(epsilon) for by in (slide, slide + more))
    assert near <= far + 1e-12


@settings(max_examples=150)
@given(st.sampled_from(LAWS), st.tuples(st.floats(0, 4), st.floats(0, 1.5)), st.floats(0, 3), st.floats(0, 2), st.booleans())
def test_hockey_sticks_fall_with_epsilon(law: Any, shape: tuple[float, float], epsilon: float, more: float, wide_first: bool) -> None:
    pair = Dilation(law, *shape, wide_first=wide_first)
    assert pair.delta(epsilon + more) <= pair.delta(epsilon) + 1e-12
    assert pair.delta(epsilon) <= pair.loss_tail(epsilon) + 1e-12 <= 1 + 1e-9


@pytest.mark.parametrize("scale", [1e-4, 0.01, 1.0, 50.0])
def test_a_law_of_ones_own_is_measured_at_whatever_scale_it_was_written(scale: float) -> None:
    own = Law(
        lambda z: stats.norm.pdf(z, scale=scale), lambda z: stats.norm.cdf(z, scale=scale), lambda u: stats.norm.ppf(u, scale=scale), "own"
    )
    for slide, stretch, epsilon in ((1.0, 0.05, 1.5), (0.2, 0.02, 0.5), (0.3, 0.0, 1.0)):
        for wide_first in (True, False):
            ours = Dilation(own, slide * scale, stretch, wide_first=wide_first).delta(epsilon)
            assert ours == pytest.approx(Dilation(GaussianLaw(), slide, stretch, wide_first=wide_first).delta(epsilon), rel=1e-6, abs=1e-13)


def test_a_law_with_an_end_pays_for_what_lies_beyond_it() -> None:
    uniform = Law(
        lambda z: np.where(np.abs(z) <= 10, 0.05, 0.0),
        lambda z: np.clip((np.asarray(z) + 10) / 20, 0, 1),
        lambda u: 20 * np.asarray(u) - 10,
        "uniform",
        (10.0,),
    )
    wide = 20 * math.exp(0.1)
    assert Dilation(uniform, 1.0, 0.1).delta(1.0) == pytest.approx((wide - 20) / wide, rel=1e-9)
    assert Dilation(uniform, 1.0, 0.0).delta(3.0) == pytest.approx(0.05)
    assert Dilation(uniform, 1.0, 0.0, wide_first=False).delta(3.0) == pytest.approx(0.05)
    assert Dilation(uniform, 1.0, 0.1).sup() == math.inf
    assert Dilation(uniform, 1.0, 0.0).sup() == math.inf


@pytest.mark.parametrize("law", LAWS, ids=named)
def test_extreme_parameters_give_numbers_and_no_warning(law: Any) -> None:
    for slide in (0.0, 1e-200, 1e-12, 1e9):
        for stretch in (0.0, 1e-200, 1e-12, 30.0):
            for wide_first in (True, False):
                pair = Dilation(law, slide, stretch, wide_first=wide_first)
                for epsilon in (0.0, 1e-9, 50.0, 1e6):
                    assert 0 <= pair.delta(epsilon) <= 1 + 1e-9
                assert pair.sup() >= 0
