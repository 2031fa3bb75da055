"""The families against scipy, their own integrals and the figures of the theory."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from sordino.errors import QueryError
from sordino.privacy.families import GaussianLaw, GeneralizedCauchy, LaplaceLaw, PowerLaw, StudentT

POINTS = np.array([0.0, 1e-9, 0.03, 0.5, 1.0, 1.7, 6.0, 50.0])


@pytest.mark.parametrize(
    ("law", "known"),
    [
        (LaplaceLaw(), stats.laplace),
        (GaussianLaw(), stats.norm),
        *((StudentT(nu), stats.t(nu)) for nu in (1, 2, 3, 4, 9)),
        (GeneralizedCauchy(Fraction(2)), stats.cauchy),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_known_families_agree_with_scipy(law: Any, known: Any) -> None:
    assert law.log_density(POINTS) == pytest.approx(known.logpdf(POINTS), rel=1e-12)
    assert law.tail(POINTS) == pytest.approx(2 * known.sf(POINTS), rel=1e-9)
    assert law.magnitude(np.array([1e-9, 0.2, 0.9])) == pytest.approx(known.isf(np.array([1e-9, 0.2, 0.9]) / 2), rel=1e-9)
    if law != GeneralizedCauchy(Fraction(2)) and law not in (StudentT(1), StudentT(2)):
        assert law.variance == pytest.approx(known.var())
    else:
        assert law.variance == math.inf


@pytest.mark.parametrize("gamma", ["1.2", "1.5", "3", "4", "7.5", "40"])
def test_generalised_cauchy_laws_integrate_to_their_tails(gamma: str) -> None:
    law, g = GeneralizedCauchy(Fraction(gamma)), float(gamma)
    whole = 2 * math.pi / (g * math.sin(math.pi / g))
    assert law.density(POINTS) == pytest.approx(1 / (1 + POINTS**g) / whole, rel=1e-12)
    for z in (0.2, 0.9, 1.0, 1.1, 3.0):
        inside = quad(lambda x: 1 / (1 + x**g), 0, z)[0] * 2 / whole
        assert law.tail(z) == pytest.approx(1 - inside, rel=1e-7)
    if g > 3:
        assert law.variance == pytest.approx(2 * quad(lambda z: z * z * float(law.density(z)), 0, math.inf)[0], rel=1e-6)
    else:
        assert law.variance == math.inf


@pytest.mark.parametrize("gamma", [1, "0.5", -2, 0, None, math.inf, "x"])
def test_a_generalised_cauchy_law_needs_gamma_above_one(gamma: Any) -> None:
    with pytest.raises(QueryError, match="SRD-103"):
        GeneralizedCauchy(gamma)


@pytest.mark.parametrize("nu", [0, -1, None, "x", math.nan])
def test_student_laws_need_positive_degrees_of_freedom(nu: Any) -> None:
    with pytest.raises(QueryError, match="SRD-103"):
        StudentT(nu)


@pytest.mark.parametrize("epsilon", ["0.1", "1", "3"])
@pytest.mark.parametrize("share", ["0.05", "0.3", "0.5", "0.95"])
def test_the_power_law_is_a_continuous_density_with_slope_that_uses_the_whole_budget(epsilon: str, share: str) -> None:
    e, beta = float(epsilon), float(epsilon) * float(share)
    law = PowerLaw(Fraction(epsilon), Fraction(epsilon) * Fraction(share))
    (kink,) = law.kinks
    assert kink == pytest.approx(1 / e)
    mass = quad(lambda z: float(law.density(z)), 0, kink)[0] + quad(lambda z: float(law.density(z)), kink, math.inf)[0]
    assert 2 * mass == pytest.approx(1, rel=1e-8)
    below, above = law.log_density(kink * (1 - 1e-12)), law.log_density(kink * (1 + 1e-12))
    assert below == pytest.approx(above, abs=1e-9)
    for z in (0.1 * kink, 0.9 * kink, 1.1 * kink, 30 * kink):
        slope = -float(law.log_density(z * (1 + 1e-6)) - law.log_density(z * (1 - 1e-6))) / (2e-6 * z)
        allowed = (e - beta) / (1 - beta * z) if z < kink else (e + beta) / (1 + beta * z)
        assert slope == pytest.approx(allowed, rel=1e-4)


@pytest.mark.parametrize(("share", "mean"), [("0.05", 1.06), ("0.1", 1.13), ("0.3", 1.52), ("0.5", 2.22)])
def test_the_power_laws_mean_size_is_the_theorys(share: str, mean: float) -> None:
    law = PowerLaw(Fraction(1), Fraction(share))
    size = 2 * sum(quad(lambda z: z * float(law.density(z)), *ends, limit=200)[0] for ends in ((0, 1), (1, 50), (50, math.inf)))
    assert size == pytest.approx(mean, abs=0.006)


def test_the_power_law_tends_to_laplace_and_loses_its_variance_at_half_epsilon() -> None:
    near = PowerLaw(Fraction(2), Fraction(1, 10**9))
    assert near.tail(POINTS) == pytest.approx(np.exp(-2 * POINTS), rel=1e-6, abs=1e-15)
    assert PowerLaw(Fraction(1), Fraction(1, 2)).variance == math.inf
    assert 2 < PowerLaw(Fraction(1), Fraction(1, 10)).variance < 4


@pytest.mark.parametrize(("epsilon", "beta"), [(1, 1), (1, 2), (0, 0.1), (1, 0), (1, -1), (math.inf, 1), (1, None), (1e9, 1)])
def test_a_power_law_needs_beta_between_zero_and_epsilon(epsilon: Any, beta: Any) -> None:
    with pytest.raises(QueryError, match=r"SRD-10[13]"):
        PowerLaw(epsilon, beta)


@pytest.mark.parametrize(
    "law", [LaplaceLaw(), GaussianLaw(), StudentT(2), StudentT(5), GeneralizedCauchy(Fraction(3, 2)), PowerLaw()], ids=lambda law: law.name
)
def test_tails_reach_zero_at_infinity_without_a_warning(law: Any) -> None:
    assert law.tail(np.array([0.0, np.inf])).tolist() == [1.0, 0.0]
