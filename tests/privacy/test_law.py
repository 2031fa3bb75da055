"""Placing a law, and laws of one's own."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sordino.errors import QueryError
from sordino.privacy import Law
from sordino.privacy.families import GaussianLaw, GeneralizedCauchy, LaplaceLaw, PowerLaw, StudentT
from sordino.privacy.law import output_grid

LOGISTIC = Law(stats.logistic.pdf, stats.logistic.cdf, stats.logistic.ppf, "logistic")
LAWS = [
    LaplaceLaw(),
    GaussianLaw(),
    StudentT(1),
    StudentT(2),
    StudentT(4),
    StudentT(7),
    GeneralizedCauchy(Fraction(4)),
    PowerLaw(),
    LOGISTIC,
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_quantile_undoes_the_cdf_on_both_sides(law: Any) -> None:
    u = np.array([1e-12, 1e-6, 0.01, 0.3, 0.5, 0.7, 0.99, 1 - 1e-6])
    assert law.cdf(law.quantile(u)) == pytest.approx(u, rel=1e-9)
    assert law.quantile(0.5) == pytest.approx(0, abs=1e-12)
    assert law.quantile(u[:4]) == pytest.approx(-law.quantile(1 - u[:4]), rel=1e-3)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_the_cdf_is_the_integral_of_the_density(law: Any) -> None:
    z = np.linspace(-6, 6, 24_001)
    middle = law.density((z[:-1] + z[1:]) / 2)
    assert np.cumsum(middle) * (z[1] - z[0]) == pytest.approx(law.cdf(z[1:]) - law.cdf(z[0]), abs=1e-6)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_beyond_its_turn_stretching_a_law_raises_its_density(law: Any) -> None:
    z = law.turn * np.geomspace(1, 100, 500)
    assert np.all(np.diff(np.log(z) + law.log_density(z)) <= 1e-9)
    inside = law.turn * np.geomspace(1e-3, 0.99, 200)
    assert np.all(np.diff(np.log(inside) + law.log_density(inside)) > 0)


def test_a_law_that_is_still_rising_at_the_edge_of_the_net_turns_nowhere() -> None:
    wide = Law(lambda z: stats.norm.pdf(z, scale=1e8), lambda z: stats.norm.cdf(z, scale=1e8), lambda u: stats.norm.ppf(u, scale=1e8))
    assert wide.turn == math.inf


def test_a_law_of_ones_own_cannot_be_placed() -> None:
    assert LOGISTIC.variance == pytest.approx(math.pi**2 / 3)
    with pytest.raises(QueryError, match="SRD-108"):
        LOGISTIC.at(0, Fraction(1))


@pytest.mark.parametrize(
    "density",
    [
        lambda z: stats.norm.pdf(z, loc=0.1),
        lambda z: stats.norm.pdf(z, loc=3) / 2 + stats.norm.pdf(z, loc=-3) / 2,
        lambda z: np.where(z > 0, 2.0, 1.0) * stats.norm.pdf(z),
        lambda z: -stats.norm.pdf(z),
        lambda z: np.full_like(z, np.nan),
    ],
    ids=["shifted", "two humps", "lopsided", "negative", "nan"],
)
def test_a_law_that_is_not_symmetric_and_unimodal_is_refused(density: Any) -> None:
    with pytest.raises(QueryError, match=r"SRD-103.*symmetric and unimodal"):
        Law(density, stats.norm.cdf, stats.norm.ppf, "bent")


@pytest.mark.parametrize("scale", [0, -1, None, "x", math.inf, math.nan])
def test_a_scale_must_be_positive(scale: Any) -> None:
    with pytest.raises(QueryError, match="SRD-103"):
        LaplaceLaw().at(0, scale)


@pytest.mark.parametrize("scales", [(Fraction(1), Fraction(0)), (Fraction(1), Fraction(-2)), (Fraction(1),), ()])
def test_several_scales_must_be_positive_and_as_many_as_the_locations(scales: Any) -> None:
    with pytest.raises(QueryError, match=r"SRD-103.*one positive scale"):
        LaplaceLaw().at(np.zeros(2, np.int64), scales)


@pytest.mark.parametrize("location", [0.5, np.array([1.0, 2.0]), math.nan])
def test_a_location_must_be_a_whole_number(location: Any) -> None:
    with pytest.raises(QueryError, match=r"SRD-103.*whole number"):
        LaplaceLaw().at(location, Fraction(1))


@pytest.mark.parametrize("grid", [0, -2, 3, 12])
def test_an_output_grid_must_be_a_power_of_two(grid: int) -> None:
    with pytest.raises(QueryError, match=r"SRD-103.*power of two"):
        LaplaceLaw().at(0, Fraction(1), grid=grid)


def test_the_output_grid_keeps_the_largest_scale_below_2_to_the_24_steps() -> None:
    for scale in (Fraction(1, 3), Fraction(1), Fraction(2**24 - 1), Fraction(2**24), Fraction(10**12), Fraction(2**60) + Fraction(1, 7)):
        grid = output_grid(scale)
        assert grid & (grid - 1) == 0
        assert scale / grid < 2**24
        assert grid == 1 or scale / grid >= 2**23
