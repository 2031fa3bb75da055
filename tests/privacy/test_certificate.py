"""Certificates: sound where the theorem holds, least where they claim it, and refuted a fifth below."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit

from sordino.errors import QueryError
from sordino.privacy import Certificate, Cost, Law
from sordino.privacy.certificate import Dilated, Finite, GaussianShift, LaplaceShift, Part, least_scale, whole_cost
from sordino.privacy.dilation import Dilation
from sordino.privacy.families import GaussianLaw, GeneralizedCauchy, LaplaceLaw, PowerLaw, StudentT
from sordino.privacy.pld import total

MILLIONTH = Fraction(1, 10**6)


def price(law: Any, s: float, beta: Any, epsilon: Any, delta: Any = 0) -> Any:
    return Certificate("smooth", Cost.approximate(epsilon, delta), (Dilated(law, s, float(beta)),)).check()


def brute_delta(law: Any, s: float, beta: float, epsilon: float) -> float:
    return max(Dilation(law, 1 / s, by, wide_first=w).delta(epsilon) for by in np.linspace(0, beta, 65) for w in (True, False))


def brute_sup(law: Any, s: float, beta: float) -> float:
    return max(Dilation(law, 1 / s, by, wide_first=w).sup() for by in np.linspace(0, beta, 65) for w in (True, False))


@lru_cache
def notes_beta(epsilon: str) -> Fraction:
    """epsilon / (2 ln(2/delta)) at delta = 1e-6."""
    return Fraction(epsilon) / Fraction(str(round(2 * math.log(2e6), 12)))


@pytest.mark.parametrize(("epsilon", "quoted"), [("0.1", 12.88), ("0.5", 2.78), ("1", 1.44), ("2", 0.755)])
def test_laplace_noise_needs_the_quoted_scale_at_the_notes_beta(epsilon: str, quoted: float) -> None:
    law, beta, e = LaplaceLaw(), notes_beta(epsilon), float(epsilon)
    s = float(least_scale(law, beta, Fraction(epsilon), MILLIONTH))
    assert s == pytest.approx(quoted, rel=4e-3)
    assert s < 2 / e  # what the notes ask for
    assert brute_delta(law, s, float(beta), e) <= 1e-6
    assert brute_delta(law, s * (1 - 2e-3), float(beta), e) > 1e-6
    assert price(law, s, beta, epsilon, MILLIONTH).sound
    assert not price(law, 0.8 * s, beta, epsilon, MILLIONTH).sound


@pytest.mark.parametrize("epsilon", ["0.1", "1"])
def test_gaussian_noise_needs_four_to_six_times_less_than_the_notes(epsilon: str) -> None:
    law, e = GaussianLaw(), float(epsilon)
    beta = Fraction(str(round(e / (4 * (1 + math.log(2e6))), 12)))
    s = float(least_scale(law, beta, Fraction(epsilon), MILLIONTH))
    assert 4.1 < 5 * math.sqrt(2 * math.log(2e6)) / e / s < 5.9
    assert brute_delta(law, s, float(beta), e) <= 1e-6
    assert brute_delta(law, s * (1 - 2e-3), float(beta), e) > 1e-6
    assert not price(law, 0.8 * s, beta, epsilon, MILLIONTH).sound


@pytest.mark.parametrize(("epsilon", "beta"), [("0.1", "0.01"), ("3", "0.5")])
@pytest.mark.parametrize("nu", [1, 2, 4])
def test_student_noise_has_its_closed_form(nu: int, epsilon: str, beta: str) -> None:
    e, b = float(epsilon), float(beta)

    def g(by: float) -> float:
        return math.exp(by) * (math.cosh((2 * e - (nu - 1) * by) / (nu + 1)) - math.cosh(by))

    exact = (2 * nu * min(g(0), g(b))) ** -0.5
    s = float(least_scale(StudentT(nu), Fraction(beta), Fraction(epsilon), Fraction(0)))
    assert exact * (1 - 1e-9) <= s <= exact * (1 + max(2e-3, b / 48 / e * 4))
    assert brute_sup(StudentT(nu), s, b) <= e * (1 + 1e-9)
    assert not price(StudentT(nu), 0.8 * s, beta, epsilon).sound


def test_cauchy_noise_needs_one_over_twice_the_hyperbolic_sine_even_at_a_large_epsilon() -> None:
    s = float(least_scale(StudentT(1), Fraction(1, 2), Fraction(20), Fraction(0)))
    assert s == pytest.approx(1 / (2 * math.sinh(10)), rel=2e-3)


@pytest.mark.parametrize("gamma", ["1.5", "4"])
def test_generalised_cauchy_scales_are_least(gamma: str) -> None:
    law, beta = GeneralizedCauchy(Fraction(gamma)), Fraction(1, 10)
    s = float(least_scale(law, beta, Fraction(1), Fraction(0)))
    g = float(gamma)
    proved = (g - 1) ** ((g - 1) / g) / (1 - max(1.0, g - 1) * 0.1)  # kappa / (epsilon - max(1, gamma - 1) beta)
    assert s <= proved
    assert brute_sup(law, s, 0.1) <= 1 + 1e-9
    assert brute_sup(law, s * (1 - 4e-3), 0.1) > 1
    assert not price(law, 0.8 * s, beta, 1).sound


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "2", "3"])
@pytest.mark.parametrize("share", ["0.05", "0.5", "0.95"])
def test_power_law_noise_is_pure_at_scale_one(epsilon: str, share: str) -> None:
    e, beta = float(epsilon), Fraction(epsilon) * Fraction(share)
    worst = brute_sup(PowerLaw(Fraction(epsilon), beta), 1.0, float(beta))
    assert worst <= e * (1 + 1e-9)
    assert worst >= e * (1 - 1e-6)  # the tail under the full dilation uses all of it


@pytest.mark.parametrize(("epsilon", "quoted"), [("0.1", 0.993), ("1", 0.927), ("2", 0.858)])
def test_power_law_noise_may_be_a_little_smaller_than_its_theorem_says(epsilon: str, quoted: float) -> None:
    beta = Fraction(epsilon) * Fraction(3, 10)
    law = PowerLaw(Fraction(epsilon), beta)
    s = float(least_scale(law, beta, Fraction(epsilon), Fraction(0)))
    assert s == pytest.approx(quoted, abs=0.008)
    assert brute_sup(law, s, float(beta)) <= float(epsilon) * (1 + 1e-9)
    verdict = price(law, min(s, 1.0), beta, epsilon)
    assert verdict.sound
    assert 1 - 1e-9 <= verdict.slack < 1.05
    assert not price(law, 0.8 * s, beta, epsilon).sound


def test_a_law_of_ones_own_gets_the_same_certificate() -> None:
    logistic = Law(lambda z: expit(z) * expit(-z), expit, logit, "logistic")
    bound = Dilated(logistic, 1.6, 0.03).delta(1.0)
    worst = max(Dilation(logistic, 1 / 1.6, by, wide_first=w).delta(1.0) for by in (0.0, 0.01, 0.02, 0.03) for w in (True, False))
    assert worst <= bound < 1e-3
    assert Dilated(logistic, 0.5, 0.03).delta(1.0) > 1e-3


def test_light_tails_cannot_be_pure_and_the_reason_is_given() -> None:
    with pytest.raises(QueryError, match=r"SRD-110.*power_law"):
        least_scale(LaplaceLaw(), Fraction(1, 10), Fraction(1), Fraction(0))
    assert Dilated(GaussianLaw(), 1e9, 0.1).sup() == math.inf
    with pytest.raises(QueryError, match="SRD-110"):
        least_scale(StudentT(4), Fraction(1, 2), Fraction(1), Fraction(0))  # beta above epsilon / nu


def test_an_enormous_epsilon_gives_a_scale_or_a_reason_and_no_warning() -> None:
    assert least_scale(StudentT(1), Fraction(3, 10), Fraction(10**6), Fraction(0)) > 0
    steep = PowerLaw(Fraction(100), Fraction(30))
    assert 0 < least_scale(steep, steep.beta, steep.epsilon, Fraction(0)) < 1
    beyond = PowerLaw(Fraction(10**6), Fraction(3 * 10**5))
    with pytest.raises(QueryError, match=r"SRD-103.*beta"):
        least_scale(beyond, beyond.beta, beyond.epsilon, Fraction(0))


def test_a_verdict_tells_what_is_really_needed() -> None:
    verdict = Certificate("laplace", Cost.laplace(2), (LaplaceShift(1.0),)).check()
    assert (verdict.sound, verdict.slack, verdict.epsilon) == (True, 2.0, 1.0)
    assert str(verdict).startswith("sound")
    refuted = Certificate("laplace", Cost.laplace("0.9"), (LaplaceShift(1.0),)).check()
    assert not refuted.sound
    assert str(refuted).startswith("REFUTED")
    tight = Certificate("gaussian", Cost.approximate(1, MILLIONTH), (GaussianShift(0.2),)).check()
    assert tight.sound
    assert GaussianShift(0.2).delta(tight.epsilon) <= 1e-6 * (1 + 2e-9)
    assert tight.slack == pytest.approx(1 / tight.epsilon)


def test_a_certificate_is_as_good_as_its_worst_witness() -> None:
    assert not Certificate("two", Cost.pure(1), (LaplaceShift(0.5), LaplaceShift(1.5))).check().sound
    assert Certificate("two", Cost.pure(1), (LaplaceShift(0.5), LaplaceShift(1.0))).check().sound


def test_a_hopeless_claim_is_refuted_and_not_an_arithmetic_error() -> None:
    verdict = Certificate("none", Cost.approximate(5, MILLIONTH), (Finite([1.0, 0.0], [0.0, 1.0]),)).check()
    assert (verdict.sound, verdict.epsilon, verdict.slack) == (False, math.inf, 0.0)
    assert not Certificate("none", Cost.pure(5), (Finite([1.0, 0.0], [0.0, 1.0]),)).check().sound


@pytest.mark.parametrize("make", [Cost.laplace, Cost.bounded_range], ids=["laplace", "bounded range"])
@pytest.mark.parametrize(
    ("full", "rest", "other"), [(1, 0, [0.5, 0.5]), (2, 0.5, [0.9, 0.9, 0.7]), (1, 0.5, [0.75, 0.75]), (3, 0, [1, 0.8, 0.7, 0.5])]
)
def test_no_allocation_of_rows_has_a_larger_profile_than_the_vertex(make: Any, full: int, rest: float, other: list[float]) -> None:
    part = Part(Certificate("", make("0.8"), ()), full, Fraction(str(rest)))
    spread = total([make(Fraction(str(share)) * Fraction("0.8")) for share in other])
    for epsilon in (0.0, 0.2, 0.5, 1.0, 1.5):
        assert spread.delta(epsilon) <= part.cost.profile(epsilon) * (1 + 1e-6) + 1e-12
    assert sum(make(Fraction(str(share)) * Fraction("0.8")).rho for share in other) <= part.cost.rho


def test_the_price_of_parts_adds_up_and_counts_two_steps_of_a_replacement() -> None:
    laplace = Certificate("", Cost.laplace("0.25"), ())
    tested = Certificate("", Cost.approximate("0.1", "1e-7"), ())
    cost = whole_cost([Part(laplace, 3, Fraction(1, 2)), Part(tested, 2, steps=2)])
    assert cost.epsilon == Fraction("0.875") + Fraction("0.4")
    assert float(cost.delta) == pytest.approx(2e-7 * (1 + math.exp(0.1)))
    with pytest.raises(QueryError, match="SRD-110"):
        Part(laplace, instead=(tested,))
