"""The lecture's admissibility, at the lecture's own alpha and beta, and where it fails."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, logit

from sordino.errors import QueryError
from sordino.privacy import Law, admissible
from sordino.privacy.dilation import Dilation
from sordino.privacy.families import GaussianLaw, GeneralizedCauchy, LaplaceLaw, PowerLaw, StudentT

LOGISTIC = Law(lambda z: expit(z) * expit(-z), expit, logit, "logistic")


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_the_notes_laplace_and_gaussian_are_admissible(epsilon: float, delta: float) -> None:
    assert admissible(LaplaceLaw(), epsilon, delta, alpha=epsilon / 2, beta=epsilon / (2 * math.log(2 / delta))).holds
    root = math.sqrt(2 * math.log(2 / delta))
    assert admissible(GaussianLaw(), epsilon, delta, alpha=epsilon / (5 * root), beta=epsilon / (4 * (1 + math.log(2 / delta)))).holds


@pytest.mark.parametrize("gamma", ["1.5", "2", "4", "9"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_the_notes_generalised_cauchy_is_admissible_in_one_dimension(gamma: str, epsilon: float) -> None:
    share = epsilon / (2 * (float(gamma) + 1))
    found = admissible(GeneralizedCauchy(Fraction(gamma)), epsilon, alpha=share, beta=share)
    assert found.holds
    assert found.sliding > 1
    assert found.dilation > 1


@pytest.mark.parametrize(
    "law", [LaplaceLaw(), GaussianLaw(), StudentT(4), GeneralizedCauchy(Fraction(2)), PowerLaw()], ids=lambda law: law.name
)
def test_the_largest_alpha_and_beta_hold_and_nothing_much_larger_does(law: Any) -> None:
    delta = 1e-6 if isinstance(law, LaplaceLaw | GaussianLaw) else 0
    best = admissible(law, 1, delta)
    assert best.holds
    assert admissible(law, 1, delta, alpha=best.alpha * 1.001, beta=best.beta).sliding < 1
    assert admissible(law, 1, delta, alpha=best.alpha, beta=best.beta * 1.001).dilation < 1


def test_the_closed_forms_are_found() -> None:
    assert admissible(LaplaceLaw(), 1, 1e-12).alpha == pytest.approx(0.5, rel=1e-4)
    assert admissible(StudentT(4), 1).beta == pytest.approx(1 / 8, rel=1e-4)  # nu lambda <= epsilon/2
    assert admissible(GeneralizedCauchy(Fraction(4)), 1).beta == pytest.approx(1 / 6, rel=1e-4)  # (gamma - 1) lambda
    assert admissible(LaplaceLaw(), 1).beta < 1e-9  # no dilation of a light tail is pure


@pytest.mark.parametrize("law", [LaplaceLaw(), GaussianLaw(), StudentT(2), PowerLaw(), LOGISTIC], ids=lambda law: law.name)
@pytest.mark.parametrize("epsilon", [0.1, 0.6])
def test_hockey_sticks_of_continuous_densities_grow_with_the_dilation(law: Any, epsilon: float) -> None:
    for wide_first in (True, False):
        values = [Dilation(law, 0.0, by, wide_first=wide_first).delta(epsilon) for by in np.linspace(0, 0.5, 60)]
        assert np.all(np.diff(values) >= -1e-13)


def staircase() -> Law:
    """Plateaus at powers of e^0.2, each 1.3 times lower: a dilation by exactly one step hides what a smaller one shows."""
    edges = np.concatenate([[0.0], np.exp(0.2 * np.arange(200))])
    heights = 1.3 ** -np.arange(200.0)
    below = np.concatenate([[0.0], np.cumsum(np.diff(edges) * heights)])

    def density(z: Any) -> Any:
        z = np.abs(np.asarray(z, float))
        return np.where(z < edges[-1], heights[np.clip(np.searchsorted(edges, z, side="right") - 1, 0, 199)], 0.0) / (2 * below[-1])

    def cdf(z: Any) -> Any:
        z = np.asarray(z, float)
        return 0.5 + np.sign(z) * np.interp(np.abs(z), edges, below) / (2 * below[-1])

    return Law(density, cdf, lambda u: u, "staircase", tuple(edges[1:60].tolist()))


def test_a_staircase_is_judged_by_its_worst_dilation_and_not_by_its_largest() -> None:
    law = staircase()
    assert Dilation(law, 0.0, 0.19).delta(0.15) < 1e-9
    assert Dilation(law, 0.0, 0.05).delta(0.15) > 1e-3
    assert not admissible(law, 0.3, 1e-3, alpha=1e-3, beta=0.19).holds


def test_a_law_of_ones_own_is_certified_and_not_placed() -> None:
    assert admissible(LOGISTIC, 1, 1e-6, alpha=0.5, beta=0.03).holds
    assert not admissible(LOGISTIC, 1, 1e-6, alpha=0.55, beta=0.1).holds
    with pytest.raises(QueryError, match="SRD-108"):
        LOGISTIC.at(0, Fraction(1))


@pytest.mark.parametrize(
    ("epsilon", "delta", "code"), [(0, 0, "101"), (-1, 0, "101"), (math.nan, 0, "101"), (1, 1, "102"), (1, -1, "102"), (None, 0, "101")]
)
def test_illegal_prices_are_refused(epsilon: Any, delta: Any, code: str) -> None:
    with pytest.raises(QueryError, match=f"SRD-{code}"):
        admissible(LaplaceLaw(), epsilon, delta)
