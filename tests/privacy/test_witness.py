"""Witnesses against brute force over all the pairs they speak for."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp
from scipy.integrate import quad

from sordino.privacy.certificate import Closed, Dilated, Finite, GaussianShift, LaplaceShift, weighted_laplace
from sordino.privacy.dilation import Dilation
from sordino.privacy.families import GaussianLaw, GeneralizedCauchy, LaplaceLaw, PowerLaw, StudentT

HEAVY = [StudentT(1), StudentT(2), StudentT(4), GeneralizedCauchy(Fraction(2)), GeneralizedCauchy(Fraction(4)), PowerLaw()]
LAWS = [LaplaceLaw(), GaussianLaw(), *HEAVY]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
@pytest.mark.parametrize(("s", "beta", "epsilon"), [(1.3, 0.05, 1.0), (4.0, 0.2, 0.5), (0.6, 0.01, 2.0)])
def test_cells_are_never_below_a_fine_net_of_pairs_and_not_far_above(law: Any, s: float, beta: float, epsilon: float) -> None:
    """Slides up to 1/s and dilations up to beta, both ways, in units of the narrower law."""
    bound = Dilated(law, s, beta).delta(epsilon)
    worst = 0.0
    for stretch in np.linspace(0, beta, 25):
        for wide_first in (True, False):
            worst = max(worst, Dilation(law, 1 / s, stretch, wide_first=wide_first).delta(epsilon))
    for slide in (0.0, 0.3 / s, 0.8 / s):
        for stretch in (0.0, beta):
            worst = max(worst, *(Dilation(law, slide, stretch, wide_first=w).delta(epsilon) for w in (True, False)))
    assert bound >= worst
    assert bound <= worst * 1.15 + 1e-4


@pytest.mark.parametrize("law", HEAVY, ids=lambda law: law.name)
@pytest.mark.parametrize(("s", "beta"), [(1.0, 0.2), (3.0, 0.03), (0.5, 0.3)])
def test_pure_cells_are_never_below_a_fine_net_of_pairs_and_not_far_above(law: Any, s: float, beta: float) -> None:
    bound = Dilated(law, s, beta).sup()
    worst = max(Dilation(law, 1 / s, stretch, wide_first=w).sup() for stretch in np.linspace(0, beta, 49) for w in (True, False))
    assert bound >= worst * (1 - 1e-9)
    assert bound <= worst + beta / 48 + 1e-9


@pytest.mark.parametrize("law", HEAVY, ids=lambda law: law.name)
def test_within_one_cell_no_dilation_exceeds_the_cells_bound(law: Any) -> None:
    width = 0.2
    for slide in (0.1, 1.0):
        for start in (0.0, 0.15):
            wide, narrow = Dilation(law, slide, start + width), Dilation(law, slide, start, wide_first=False)
            inside = np.linspace(start, start + width, 41)
            assert wide.sup(width) >= max(Dilation(law, slide, by).sup() for by in inside) * (1 - 1e-9)
            assert narrow.sup(width) >= max(Dilation(law, slide, by, wide_first=False).sup() for by in inside) * (1 - 1e-9)


def test_without_dilation_one_pair_is_exact() -> None:
    assert Dilated(LaplaceLaw(), 2.0, 0.0).sup() == pytest.approx(0.5)
    assert Dilated(LaplaceLaw(), 0.5, 0.0).delta(1.0) == pytest.approx(1 - math.exp(-0.5), rel=1e-8)


@pytest.mark.parametrize("shift", [0.1, 1.0, 4.0])
def test_a_laplace_shift_has_its_integral(shift: float) -> None:
    for epsilon in (0.0, 0.3 * shift, 0.9 * shift, shift, 2 * shift):
        truth = quad(
            lambda z, e=epsilon: max(0.0, math.exp(-abs(z)) / 2 - math.exp(e - abs(z - shift)) / 2), -40, 40, points=[0.0, shift], limit=500
        )[0]
        assert LaplaceShift(shift).delta(epsilon) == pytest.approx(truth, abs=1e-7)
        assert LaplaceShift(shift, scalar=False).delta(epsilon) >= LaplaceShift(shift).delta(epsilon)
    assert LaplaceShift(shift).sup() == shift


def test_a_spread_laplace_shift_never_exceeds_its_bound() -> None:
    """Two coordinates, each moved by half: enumerated on a fine grid."""
    z = np.linspace(-14, 14, 1401)
    one = np.exp(-np.abs(z)) / 2
    for shift in (0.5, 2.0):
        moved = np.exp(-np.abs(z - shift / 2)) / 2
        for epsilon in (0.0, 0.2, 0.4, 1.1):
            gap = np.multiply.outer(one, one) - math.exp(epsilon) * np.multiply.outer(moved, moved)
            truth = np.maximum(gap, 0).sum() * (z[1] - z[0]) ** 2
            assert truth <= LaplaceShift(shift, scalar=False).delta(epsilon) + 2e-3


def test_a_gaussian_shift_is_the_exact_profile() -> None:
    with mp.workdps(40):
        truth = mp.ncdf(mp.mpf(1) / 2 - 1) - mp.e * mp.ncdf(-mp.mpf(1) / 2 - 1)
    assert GaussianShift(1.0).delta(1.0) == pytest.approx(float(truth), rel=1e-8)
    assert GaussianShift(1.0).sup() == math.inf


def test_finite_laws_are_summed_in_both_directions() -> None:
    pair = Finite({"a": 0.5, "b": 0.5}, {"a": 0.25, "c": 0.75})
    assert pair.delta(0.0) == pytest.approx(0.75)
    assert pair.delta(math.log(2)) == pytest.approx(0.75)
    assert pair.sup() == math.inf
    assert Finite([0.2, 0.8], [0.4, 0.6]).sup() == pytest.approx(math.log(2))
    assert Finite([0.2, 0.8], [0.4, 0.6], missing=(1e-3, 0.0)).delta(1.0) == pytest.approx(1e-3)
    assert Finite([1.0, 0.0], [0.0, 1.0]).delta(1e5) == 1.0


def test_a_closed_witness_says_what_it_was_told() -> None:
    assert Closed(lambda e: math.exp(-e)).delta(1.0) == pytest.approx(math.exp(-1))
    assert Closed(lambda e: 0.0, 2.0).sup() == 2.0
    assert Closed(lambda e: 0.0).sup() == math.inf


@pytest.mark.parametrize("p", [0.0, 0.2, 1.0])
@pytest.mark.parametrize("q", [0.0, 0.05, 0.9])
@pytest.mark.parametrize("shift", [0.0, 0.5, 3.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.4, 2.0])
def test_weighted_laplace_branches_have_their_integral(p: float, q: float, shift: float, epsilon: float) -> None:
    z = np.linspace(-45, 45, 400_001)
    gap = p * np.exp(-np.abs(z)) / 2 - math.exp(epsilon) * q * np.exp(-np.abs(z - shift)) / 2
    truth = np.maximum(gap, 0).sum() * (z[1] - z[0])
    assert float(weighted_laplace(p, q, shift, epsilon)) == pytest.approx(truth, abs=2e-6)
