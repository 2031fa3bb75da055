"""Composition by sums, by zCDP and by privacy-loss distributions, and the conversions the ledger rests on."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp

from sordino.errors import QueryError
from sordino.privacy.composition import compose, rho_cap, zcdp_delta, zcdp_epsilon
from sordino.privacy.cost import Cost, gaussian_delta

mp.dps = 50


def log_delta(rho: float, epsilon: float, alpha: mp.mpf) -> mp.mpf:
    """The conversion at one order, in fifty digits."""
    return (alpha - 1) * (alpha * mp.mpf(rho) - mp.mpf(epsilon)) + (alpha - 1) * mp.log(alpha - 1) - alpha * mp.log(alpha)


def best_order(rho: float, epsilon: float) -> mp.mpf:
    low, high = mp.mpf("1e-25"), mp.mpf("1e25")
    for _ in range(300):
        middle = mp.sqrt(low * high)
        slope = (2 * middle + 1) * mp.mpf(rho) - mp.mpf(epsilon) - mp.log1p(1 / middle)
        low, high = (middle, high) if slope < 0 else (low, middle)
    return 1 + high


@given(st.floats(1e-8, 1e3), st.floats(1e-30, 0.5))
@settings(deadline=None, max_examples=60)
def test_the_conversion_agrees_with_fifty_digits_from_above(rho: float, delta: float) -> None:
    epsilon = zcdp_epsilon(rho, delta)
    exact = log_delta(rho, epsilon, best_order(rho, epsilon))
    if epsilon > 0:
        assert exact <= mp.log(mp.mpf(delta)), "epsilon is too small"
        lower = epsilon * (1 - 1e-9) - 1e-12
        assert log_delta(rho, lower, best_order(rho, lower)) > mp.log(mp.mpf(delta))
        assert mp.log(zcdp_delta(rho, epsilon)) >= exact
        assert zcdp_delta(rho, epsilon) <= delta * (1 + 1e-6)


@pytest.mark.parametrize("mu", [0.01, 0.3, 1.0, 5.0])
def test_a_gaussian_is_never_worse_than_its_rho(mu: float) -> None:
    for epsilon in (0.0, mu, mu * mu, 6 * mu):
        assert gaussian_delta(mu, epsilon) <= zcdp_delta(mu * mu / 2, epsilon)


@pytest.mark.parametrize(("epsilon", "delta"), [(3, 1e-6), ("0.1", 1e-12), (Fraction(1, 3), Fraction(1, 10**40)), (50, 0.3)])
def test_the_cap_is_the_largest_rho_that_converts(epsilon: object, delta: object) -> None:
    cap = rho_cap(epsilon, delta)  # type: ignore[arg-type]
    assert zcdp_epsilon(cap, delta) <= Fraction(epsilon)  # type: ignore[arg-type]
    assert zcdp_epsilon(cap * (1 + Fraction(1, 10**10)) + Fraction(1, 10**17), delta) > Fraction(epsilon)  # type: ignore[arg-type]


def test_a_cap_of_three_and_one_in_a_million_is_the_known_figure() -> None:
    assert float(rho_cap(3, 1e-6)) == pytest.approx(0.185070, abs=1e-6)
    assert zcdp_epsilon(0, 1e-6) == 0 == zcdp_delta(0, 0)


def test_a_hundred_tenths_by_every_rule() -> None:
    pure, laplace = [Cost.pure("0.1")] * 100, [Cost.laplace("0.1")] * 100
    assert compose(pure) == Cost.pure(10)
    by_zcdp = compose(pure, rule="zcdp")
    rho = 10 * math.tanh(0.05)
    textbook = rho + 2 * math.sqrt(rho * math.log(1e6))
    assert textbook == pytest.approx(5.754, abs=2e-3)
    assert float(by_zcdp.epsilon) == pytest.approx(5.2191, abs=1e-3)
    assert by_zcdp.epsilon < textbook
    assert float(compose(laplace, rule="pld").epsilon) == pytest.approx(4.6927, abs=1e-3)
    assert float(compose(pure, rule="pld").epsilon) == pytest.approx(4.7746, abs=1e-3)
    assert compose(pure, rule="pld").delta == Fraction(1, 10**6)


def test_ten_tenths_are_exactly_one() -> None:
    assert compose([Cost.laplace(0.1)] * 10).epsilon == 1
    assert compose([Cost.approximate(0.1, 1e-7)] * 10).delta == Fraction(1, 10**6)


def test_the_distribution_never_costs_more_than_the_other_rules() -> None:
    for costs in ([Cost.pure(2)], [Cost.bounded_range("0.1")] * 100, [Cost.laplace("0.1")] * 3, [Cost.gaussian(1, 5, 1e-3), Cost.pure(1)]):
        found = compose(costs, rule="pld", delta=1e-6)
        assert found.epsilon <= compose(costs, rule="zcdp", delta=1e-6).epsilon
        if not any(cost.delta for cost in costs):
            assert found.epsilon <= compose(costs).epsilon


def test_own_deltas_come_out_of_the_target() -> None:
    costs = [Cost.approximate("0.1", 1e-8)] * 50
    assert compose(costs, rule="zcdp").epsilon > compose([Cost.pure("0.1")] * 50, rule="zcdp").epsilon
    assert compose(costs, rule="zcdp").delta == Fraction(1, 10**6)
    for rule in ("zcdp", "pld"):
        with pytest.raises(QueryError, match="SRD-102"):
            compose(costs, rule=rule, delta=4e-7)


def test_nonsense_is_refused() -> None:
    with pytest.raises(QueryError, match="SRD-106"):
        compose([Cost.pure(1)], rule="hope")
    with pytest.raises(QueryError, match="SRD-103"):
        compose([])
    with pytest.raises(QueryError, match="SRD-103"):
        zcdp_epsilon(-1, 1e-6)
    with pytest.raises(QueryError, match="SRD-102"):
        zcdp_epsilon(1, 0)
