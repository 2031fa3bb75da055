"""Prices: exact where they can be, rounded against the house where they cannot."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

from sordino.errors import QueryError
from sordino.privacy.cost import Cost, gaussian_delta, gaussian_epsilon

MILLIONTH = Fraction(1, 10**6)


def gaussian_truth(mu: Any, epsilon: Any) -> Any:
    mu, epsilon = mp.mpf(mu), mp.mpf(epsilon)
    return mp.ncdf(mu / 2 - epsilon / mu) - mp.exp(epsilon) * mp.ncdf(-mu / 2 - epsilon / mu)


def as_mp(value: Fraction) -> Any:
    return mp.mpf(value.numerator) / value.denominator


def test_ten_times_a_tenth_is_exactly_one() -> None:
    assert sum((Cost.pure(0.1).epsilon for _ in range(10)), Fraction(0)) == 1
    assert Cost.pure(0.1).group(10).epsilon == 1
    assert sum((Cost.approximate(0.1, 1e-7).delta for _ in range(10)), Fraction(0)) == MILLIONTH


@pytest.mark.parametrize("epsilon", [0, -1, math.inf, math.nan, 1e9, None, "much", True])
@pytest.mark.parametrize(
    "make", [Cost.pure, Cost.laplace, Cost.bounded_range, lambda e: Cost.approximate(e, 1e-6), lambda e: Cost.gaussian(1, e, 1e-6)]
)
def test_every_price_refuses_an_illegal_epsilon(make: Any, epsilon: Any) -> None:
    with pytest.raises(QueryError, match="SRD-101") as caught:
        make(epsilon)
    assert caught.value.fix


@pytest.mark.parametrize("delta", [1, 1.5, -1e-9, math.nan, math.inf, None, "small"])
def test_every_price_refuses_an_illegal_delta(delta: Any) -> None:
    for make in (lambda: Cost.approximate(1, delta), lambda: Cost.gaussian(1, 1, delta)):
        with pytest.raises(QueryError, match="SRD-102"):
            make()


def test_families_that_contradict_themselves_are_refused() -> None:
    for make in (
        lambda: Cost(Fraction(1), family="magic"),
        lambda: Cost(Fraction(1), draws=2),
        lambda: Cost.bounded_range(1, 0),
        lambda: Cost(Fraction(1), MILLIONTH, "laplace"),
        lambda: Cost(Fraction(1), MILLIONTH, "bounded_range"),
        lambda: Cost(Fraction(1), MILLIONTH, "gaussian"),
        lambda: Cost(Fraction(1), MILLIONTH, "approximate", Fraction(1)),
        lambda: Cost.gaussian(1, 1, 1e-6),
    ):
        with pytest.raises(QueryError, match="SRD-110"):
            make()


@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.3, 1.0, 5.0, 20.0])
@pytest.mark.parametrize("mu", [1e-3, 0.05, 0.24, 1.0, 4.0, 12.0])
def test_the_gaussian_profile_is_the_truth_and_never_below_it(mu: float, epsilon: float) -> None:
    with mp.workdps(60):
        truth, ours = gaussian_truth(mu, epsilon), gaussian_delta(mu, epsilon)
        if truth > mp.mpf("1e-290"):
            assert truth <= ours <= truth * (1 + mp.mpf("3e-9"))


@pytest.mark.parametrize("delta", [1e-12, 1e-6, 1e-3, 0.3])
@pytest.mark.parametrize("mu", [1e-3, 0.1, 1.0, 7.0])
def test_the_gaussian_epsilon_is_the_least_that_keeps_delta(mu: float, delta: float) -> None:
    epsilon = gaussian_epsilon(mu, delta)
    with mp.workdps(60):
        assert gaussian_truth(mu, epsilon) <= delta
        if epsilon:
            assert gaussian_truth(mu, epsilon * (1 - 1e-7)) > delta


def test_a_gaussian_price_below_its_truth_is_refused_however_little() -> None:
    with mp.workdps(40):
        truth = Fraction(str(mp.nstr(gaussian_truth(mp.mpf(1) / 2, 1), 25)))
    Cost.gaussian(Fraction(1, 4), 1, truth * (1 + Fraction(2, 10**9)))
    with pytest.raises(QueryError, match="SRD-110"):
        Cost.gaussian(Fraction(1, 4), 1, truth * (1 - Fraction(1, 10**10)))


@pytest.mark.parametrize("epsilon", ["0.01", "0.5", "1", "4", "50", "1000"])
def test_rho_bounds_the_renyi_divergence_of_randomized_response_at_every_order(epsilon: str) -> None:
    rho = Cost.pure(epsilon).rho
    with mp.workdps(1000):
        e = mp.mpf(epsilon)
        assert as_mp(rho) >= e * mp.tanh(e / 2)
        assert as_mp(rho) - e * mp.tanh(e / 2) <= mp.mpf(10) ** -17
        p = 1 / (1 + mp.exp(-e))
        for order in (mp.mpf("1.0001"), mp.mpf("1.5"), 2, 5, 30, 500):
            divergence = mp.log(p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)) / (order - 1)
            assert divergence <= order * as_mp(rho)


def test_rho_of_each_family_is_its_own() -> None:
    assert Cost.bounded_range(2).rho == Fraction(1, 2)
    assert Cost.gaussian(Fraction(1, 25), 1, MILLIONTH).rho == Fraction(1, 50)
    assert Cost.approximate(1, 1e-6).rho_delta == MILLIONTH
    assert Cost.gaussian(Fraction(1, 25), 1, MILLIONTH).rho_delta == 0
    assert Cost.pure(1).rho_delta == 0
    assert Cost.pure(Fraction(1, 10**30)).rho > 0


def pure_truth(epsilon: float, at: float) -> float:
    """Both outcomes of the randomized-response pair."""
    p = 1 / (1 + math.exp(-epsilon))
    return max(0.0, p - math.exp(at) * (1 - p)) + max(0.0, (1 - p) - math.exp(at) * p)


COSTS = [
    Cost.pure("0.1"),
    Cost.pure(3),
    Cost.laplace("0.7"),
    Cost.laplace(5),
    Cost.bounded_range(2),
    Cost.bounded_range(2, draws=4),
    Cost.approximate(1, 1e-3),
    Cost.approximate("0.2", "0.5"),
    Cost.gaussian(Fraction(1, 25), 1, MILLIONTH),
]


@pytest.mark.parametrize("cost", COSTS, ids=str)
def test_a_profile_falls_and_meets_its_own_price(cost: Cost) -> None:
    grid = [i / 20 for i in range(-200, 201)]
    values = [cost.profile(e) for e in grid]
    assert all(later <= earlier * (1 + 1e-9) for earlier, later in pairwise(values))
    assert all(0 <= value <= 1 for value in values)
    assert cost.profile(float(cost.epsilon)) <= float(cost.delta) * (1 + 1e-9)
    assert all(value >= -math.expm1(e) * (1 - 1e-12) for e, value in zip(grid, values, strict=True))


@given(st.floats(0.01, 8), st.floats(-12, 12), st.just(0.0) | st.floats(1e-90, 0.9))
def test_profiles_are_never_below_the_worst_pair_of_their_family(epsilon: float, at: float, delta: float) -> None:
    own = float(Fraction(str(epsilon)))
    assert Cost.pure(epsilon).profile(at) >= pure_truth(own, at) * (1 - 1e-12) - 1e-12
    mixed = delta + (1 - delta) * pure_truth(own, at)
    assert Cost.approximate(epsilon, delta).profile(at) >= mixed * (1 - 1e-12) - 1e-12
    laplace = -math.expm1((at - own) / 2) if abs(at) <= own else max(0.0, -math.expm1(at))
    assert Cost.laplace(epsilon).profile(at) >= laplace * (1 - 1e-12)


@pytest.mark.parametrize("size", [1, 2, 5, 30])
def test_group_prices_are_the_closed_form_rounded_up(size: int) -> None:
    cost = Cost.approximate("0.3", "1e-9").group(size)
    assert cost.epsilon == Fraction(3, 10) * size
    with mp.workdps(60):
        e = mp.mpf("0.3")
        truth = mp.mpf("1e-9") * mp.expm1(size * e) / mp.expm1(e)
        assert truth <= as_mp(cost.delta) * (1 + mp.mpf(10) ** -50)
        assert as_mp(cost.delta) - truth < mp.mpf(10) ** -29
    assert Cost.pure("0.3").group(size) == Cost.pure(Fraction(3, 10) * size)
    assert Cost.laplace("0.3").group(size) == Cost.laplace(Fraction(3, 10) * size)


def test_a_gaussian_group_shifts_so_many_times_as_far() -> None:
    cost = Cost.gaussian(Fraction(1, 100), 1, MILLIONTH).group(3)
    assert cost.mu_squared == Fraction(9, 100)
    with mp.workdps(50):
        assert gaussian_truth(mp.mpf(3) / 10, as_mp(cost.epsilon)) <= mp.mpf("1e-6")
        assert gaussian_truth(mp.mpf(3) / 10, as_mp(cost.epsilon) * (1 - mp.mpf("1e-6"))) > mp.mpf("1e-6")


def test_a_large_group_is_priced_at_once_and_a_hopeless_one_is_refused() -> None:
    assert Cost.approximate("0.00001", "1e-12").group(10**6).delta < Fraction(1, 10**2)
    with pytest.raises(QueryError, match="SRD-110"):
        Cost.approximate(1, "0.5").group(3)
    with pytest.raises(QueryError, match="SRD-101"):
        Cost.approximate(1000, "0.5").group(10**9)
    for size in (0, -1, 1.5, True, "2", None):
        with pytest.raises(QueryError, match="SRD-103"):
            Cost.pure(1).group(size)  # type: ignore[arg-type]


@pytest.mark.parametrize("cost", [*COSTS, Cost.approximate(Fraction(1, 3), Fraction(1, 7**20))], ids=str)
def test_a_price_survives_json_exactly(cost: Cost) -> None:
    assert Cost.from_dict(json.loads(json.dumps(cost.to_dict()))) == cost


def test_a_tampered_record_is_refused_on_the_way_in() -> None:
    record = Cost.gaussian(Fraction(1, 25), 1, MILLIONTH).to_dict()
    for change in ({"mu_squared": "4"}, {"epsilon": "-1"}, {"delta": "1"}, {"family": "magic"}):
        with pytest.raises(QueryError):
            Cost.from_dict({**record, **change})


@pytest.mark.parametrize("epsilon", ["0.0001", "0.05", "1", "3.3", "12"])
def test_rho_of_laplace_noise_is_its_divergence_and_no_order_needs_more(epsilon: str) -> None:
    """(alpha - 1) D_alpha = ln(cosh(e u) + sinh(e u)/(2u)) - e/2 with u = alpha - 1/2, in many digits."""
    rho = Cost.laplace(epsilon).rho
    with mp.workdps(80):
        e = mp.mpf(epsilon)
        needed = mp.mpf(0)
        for alpha in (mp.mpf("1.0000001"), mp.mpf("1.1"), mp.mpf(2), mp.mpf(17), mp.mpf(1000)):
            u = alpha - mp.mpf(1) / 2
            needed = max(needed, (mp.log(mp.cosh(e * u) + mp.sinh(e * u) / (2 * u)) - e / 2) / (alpha - 1) / alpha)
        assert needed <= as_mp(rho) <= needed * (1 + mp.mpf("1e-5")) + mp.mpf("1e-29")


@pytest.mark.parametrize(("steps", "grain"), [(1, "1"), (1, "0.01"), (3, "0.5"), (20, "0.05"), (7, "2")])
def test_rho_of_discrete_laplace_noise_is_its_divergence_and_no_order_needs_more(steps: int, grain: str) -> None:
    cost = Cost.discrete_laplace(Fraction(grain) * steps, grain)
    with mp.workdps(50):
        q = mp.e ** -mp.mpf(grain)
        far = int(60 / float(grain)) + steps + 60
        law = [(1 - q) / (1 + q) * q ** abs(k) for k in range(-far, far + steps + 1)]
        needed = mp.mpf(0)
        for alpha in (mp.mpf("1.000001"), mp.mpf("1.5"), mp.mpf(4), mp.mpf(30)):
            total = mp.fsum(law[k] ** alpha * law[k - steps] ** (1 - alpha) for k in range(steps, len(law)))
            needed = max(needed, mp.log(total) / (alpha - 1) / alpha)
        assert needed <= as_mp(cost.rho) <= needed * (1 + mp.mpf("1e-4"))
    assert cost.rho >= Cost.laplace(cost.epsilon).rho
    assert cost.rho <= Cost.pure(cost.epsilon).rho


def test_a_sum_of_costs_keeps_its_parts_and_reads_back() -> None:
    parts = [(Cost.laplace("0.1"), 3), (Cost.bounded_range("0.2"), 1), (Cost.gaussian("0.01", "0.6", "1e-6"), 1), (Cost.laplace("0.1"), 2)]
    both = Cost.sum([(Cost.sum(parts), 2), (Cost.approximate("0.1", "1e-7"), 1)])
    assert dict(both.parts)[Cost.laplace("0.1")] == 10
    assert both.epsilon == Fraction("2.7")
    assert both.delta == Fraction("2.1e-6")
    assert both.rho == sum(part.rho * times for part, times in both.parts)
    assert both.rho_delta == Fraction(1, 10**7)
    assert Cost.from_dict(both.to_dict()) == both
    assert Cost.sum([(Cost.laplace(1), 1)]) == Cost.laplace(1)
    assert both.group(2).epsilon > 2 * both.epsilon - 2 * Fraction("0.6")
    with pytest.raises(QueryError, match="SRD-110"):
        both.scaled(Fraction(1, 2))


def test_a_share_of_a_move_costs_that_share() -> None:
    half = Fraction(1, 2)
    assert Cost.laplace(1).scaled(half) == Cost.laplace("0.5")
    assert Cost.bounded_range(1).scaled(half).rho == Cost.bounded_range(1).rho / 4
    assert Cost.gaussian("0.01", "0.6", "1e-6").scaled(half).mu_squared == Fraction("0.0025")
    for share in (0, 2, -1):
        with pytest.raises(QueryError, match="SRD-103"):
            Cost.laplace(1).scaled(Fraction(share))
    with pytest.raises(QueryError, match="SRD-110"):
        Cost.approximate(1, "1e-6").scaled(half)
