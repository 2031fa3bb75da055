"""The privacy-loss accountant against closed forms, exact enumeration and dp-accounting; it may be above the truth, never below."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from scipy.integrate import quad

from sordino.errors import QueryError
from sordino.privacy import lattice, pld
from sordino.privacy.cost import Cost, gaussian_delta, gaussian_epsilon
from sordino.privacy.lattice import Tilt, transform
from sordino.privacy.pair import SHAPES, DominatingPair

mp.dps = 50


def pure_truth(epsilon: Fraction, times: int, at: float, delta: float = 0.0) -> mp.mpf:
    """The optimal composition of Kairouz, Oh and Viswanath, term by term in fifty digits."""
    e, s, total = mp.mpf(epsilon.numerator) / epsilon.denominator, mp.mpf(at), mp.mpf(0)
    for i in range(times + 1):
        loss = (times - 2 * i) * e
        if loss > s:
            total += mp.binomial(times, i) * mp.exp((times - i) * e) / (1 + mp.exp(e)) ** times * (1 - mp.exp(s - loss))
    kept = (1 - mp.mpf(delta)) ** times
    return 1 - kept + kept * total


def laws_truth(pairs: Iterable[tuple[dict[str, Fraction], dict[str, Fraction]]], at: float) -> mp.mpf:
    """Both hockey sticks of a product of finite laws, by enumeration."""
    pairs = list(pairs)
    ways = []
    for P, Q in (tuple(zip(*pairs, strict=True)), tuple(zip(*pairs, strict=True))[::-1]):
        total = mp.mpf(0)
        for outcome in itertools.product(*[sorted(set(p) | set(q)) for p, q in pairs]):
            p, q = (
                math.prod((law.get(o, Fraction(0)) for law, o in zip(side, outcome, strict=True)), start=Fraction(1)) for side in (P, Q)
            )
            total += max(mp.mpf(0), mp.mpf(p.numerator) / p.denominator - mp.exp(mp.mpf(at)) * q.numerator / q.denominator)
        ways.append(total)
    return max(ways)


def check_never_below(bound: Callable[[float], float], truth: Callable[[float], mp.mpf], points: Iterable[float], slack: float) -> None:
    """delta is at least the truth and at most the truth a slack of epsilon to the left."""
    for at in points:
        found = bound(at)
        assert found >= truth(at), f"too little at epsilon {at}: {found} < {truth(at)}"
        assert found <= truth(at - slack) * mp.mpf("1.0001") + mp.mpf("1e-12"), f"too much at epsilon {at}: {found} > {truth(at - slack)}"


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 3.0, 20.0])
def test_one_laplace_has_its_closed_form(epsilon: float) -> None:
    loss = pld.of(Cost.laplace(epsilon))
    truth = lambda s: -mp.expm1((mp.mpf(s) - epsilon) / 2) if s < epsilon else mp.mpf(0)  # noqa: E731
    check_never_below(loss.delta, truth, np.linspace(0, 1.1 * epsilon, 23), slack=2e-4 * epsilon)
    for delta in (1e-9, 1e-6, 1e-2):
        exact = epsilon + 2 * math.log1p(-delta)
        assert exact <= loss.epsilon(delta) <= exact + 1e-4 * epsilon if exact > 0 else loss.epsilon(delta) == 0


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 6.0])
def test_bounded_range_is_the_envelope_over_all_its_two_point_pairs(epsilon: float) -> None:
    loss = pld.of(Cost.bounded_range(epsilon))
    for s in np.linspace(0, epsilon, 11):
        t = np.linspace(s, epsilon, 20001)
        envelope = np.max((math.exp(epsilon) - np.exp(t)) * -np.expm1(s - t)) / math.expm1(epsilon)
        assert envelope <= loss.delta(s) <= envelope + 1e-4


@pytest.mark.parametrize(
    ("epsilon", "times", "delta"), [("0.1", 100, 0.0), ("1", 7, 0.0), ("5", 3, 0.0), ("0.3", 40, 1e-5), ("0.01", 999, 0.0)]
)
def test_pure_releases_reach_the_optimal_composition(epsilon: str, times: int, delta: float) -> None:
    loss = pld.of(Cost.approximate(epsilon, delta)).power(times)
    points = np.linspace(0, float(epsilon) * times, 9)
    check_never_below(loss.delta, lambda s: pure_truth(Fraction(epsilon), times, s, delta), points, slack=1e-5 * float(epsilon) * times)


def test_an_optimistic_twin_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = DominatingPair.dots

    def rounded_down(self: DominatingPair, step: float) -> tuple[int, np.ndarray]:
        first, masses = honest(self, step)
        return first - 1, masses

    truth = lambda s: pure_truth(Fraction("0.1"), 100, s)  # noqa: E731
    points = [1.0, 3.0, 4.7]
    check_never_below(pld.of(Cost.pure("0.1")).power(100).delta, truth, points, slack=1e-4)
    monkeypatch.setattr(DominatingPair, "dots", rounded_down)
    with pytest.raises(AssertionError, match="too little"):
        check_never_below(pld.of(Cost.pure("0.1")).power(100).delta, truth, points, slack=1e-4)


@given(st.sampled_from(sorted(SHAPES)), st.floats(1e-3, 8), st.floats(0.02, 2))
@settings(deadline=None, max_examples=100)
def test_dots_keep_the_hockey_stick_at_grid_points_and_raise_it_between(family: str, epsilon: float, step: float) -> None:
    first, masses = DominatingPair.of(family, epsilon).dots(step)
    losses = (first + np.arange(masses.size)) * step
    profile = {
        "laplace": lambda s: -math.expm1((s - epsilon) / 2),
        "bounded_range": lambda s: (math.exp(epsilon / 2) - math.exp(s / 2)) ** 2 / math.expm1(epsilon),
        "approximate": lambda s: -math.expm1(s - epsilon) / (1 + math.exp(-epsilon)),
    }[family]
    for s in [*losses[:: 1 + losses.size // 40], *np.linspace(-epsilon, epsilon, 17)]:
        truth = 0.0 if s >= epsilon else -math.expm1(s) if s <= -epsilon else profile(s)
        found = float(masses @ np.maximum(0, -np.expm1(np.minimum(0, s - losses))))
        assert found >= truth - 1e-13
        if s in losses:
            assert found <= truth + 1e-8


def test_gaussians_merge_into_one_and_keep_their_closed_form() -> None:
    cost = Cost.gaussian("0.04", 1, "0.01")
    assert pld.of(cost).power(25).epsilon(1e-6) == pytest.approx(gaussian_epsilon(1.0, 1e-6), rel=1e-9)
    assert pld.total([cost] * 25).delta(1.5) == gaussian_delta(1.0, 1.5)


@pytest.mark.parametrize(("mu_squared", "epsilon"), [(1.0, 0.5), (0.01, 1.0), (25.0, 0.1), (1e-6, 0.2)])
def test_a_gaussian_with_a_laplace_is_their_integral(mu_squared: float, epsilon: float) -> None:
    loss = pld.of(Cost.laplace(epsilon)) + pld.PrivacyLoss(mu_squared=Fraction(str(mu_squared)))
    mu = math.sqrt(mu_squared)

    def truth(s: float) -> float:
        inside = quad(
            lambda l: 0.25 * math.exp((l - epsilon) / 2) * gaussian_delta(mu, s - l), -epsilon, epsilon, epsabs=0, epsrel=1e-11, limit=400
        )[0]
        return (inside + gaussian_delta(mu, s - epsilon) / 2 + math.exp(-epsilon) / 2 * gaussian_delta(mu, s + epsilon)) * (1 - 3e-9)

    scale = mu_squared / 2 + mu + epsilon
    check_never_below(loss.delta, truth, [0.1 * scale, 0.9 * scale, 2 * mu + scale], slack=1e-3 * scale)


LAWS = [
    ({"a": Fraction(1, 2), "b": Fraction(1, 3), "c": Fraction(1, 6)}, {"a": Fraction(1, 3), "b": Fraction(1, 3), "c": Fraction(1, 3)}),
    ({"a": Fraction(9, 10), "b": Fraction(1, 10)}, {"a": Fraction(7, 10), "b": Fraction(1, 5), "only": Fraction(1, 10)}),
    ({"a": Fraction(999, 1000), "b": Fraction(1, 1000)}, {"a": Fraction(1)}),
    ({"a": Fraction(1, 50), "b": Fraction(49, 50)}, {"a": Fraction(1, 5), "b": Fraction(4, 5)}),
]


@pytest.mark.parametrize("chosen", [(0,), (1,), (0, 1), (0, 0, 3), (0, 1, 2, 3)])
def test_finite_laws_agree_with_enumeration_both_ways(chosen: tuple[int, ...]) -> None:
    pairs = [LAWS[i] for i in chosen]
    loss = sum((pld.of_laws(P, Q) for P, Q in pairs), start=pld.PrivacyLoss())
    check_never_below(loss.delta, lambda s: laws_truth(pairs, s), np.linspace(0, 3, 13), slack=1e-3)


def test_laws_that_are_equal_disjoint_or_no_laws() -> None:
    half = {"a": 0.5, "b": 0.5}
    assert pld.of_laws(half, half).delta(0) == 0 == pld.of_laws(half, half).epsilon(1e-9)
    assert pld.of_laws({"a": 1}, {"b": 1}).delta(5) == 1
    assert pld.of_laws({"a": 1}, {"b": 1}).epsilon(0.5) == math.inf
    with pytest.raises(QueryError, match="SRD-105"):
        pld.of_laws(half, {"a": 0.4})


@pytest.mark.parametrize("theta", [0.0, 0.5, 3.0, 12.0])
@pytest.mark.parametrize("reach", [0.5, 3.0, 10.0])
def test_no_tilt_and_no_window_makes_it_optimistic(monkeypatch: pytest.MonkeyPatch, theta: float, reach: float) -> None:
    monkeypatch.setattr(lattice, "REACH", reach)
    curve = transform(Tilt([(DominatingPair.of("approximate", 0.1), 400)], 0.0), theta)
    for at in (0.0, 2.0, 5.0, 9.0, 15.0, 30.0):
        assert curve.delta(at) >= pure_truth(Fraction("0.1"), 400, at) - mp.mpf("1e-40")


def test_many_scales_are_rounded_up_into_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    costs = [Cost.laplace(Fraction(100 + i, 2000)) for i in range(60)] + [Cost.pure(Fraction(100 + i, 3000)) for i in range(60)]
    exact = pld.total(costs).epsilon(1e-6)
    monkeypatch.setattr(pld, "CLASSES", 10)
    assert exact < pld.total(costs).epsilon(1e-6) < 1.05 * exact


@pytest.mark.parametrize(
    "costs",
    [[Cost.pure(1e6)], [Cost.laplace(1e-9)] * 3, [Cost.bounded_range(300)] * 2, [Cost.pure(1)] * 10_000],
    ids=["million", "billionth", "wide", "many"],
)
def test_extreme_prices_stay_within_their_sum(costs: list[Cost]) -> None:
    total = float(sum(cost.epsilon for cost in costs))
    assert 0 <= pld.total(costs).epsilon(1e-6) <= total * (1 + 1e-4)


def test_own_deltas_that_use_up_delta_leave_no_epsilon() -> None:
    loss = pld.total([Cost.approximate(0.1, 1e-7)] * 20)
    assert loss.epsilon(1e-6) == math.inf
    assert 2e-6 > loss.delta(2.0) > 1.99e-6


def test_compositions_lie_between_the_optimistic_and_the_pessimistic_oracle() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from dp_accounting.pld import privacy_loss_distribution as oracle

        for scales, mus, pures in [
            ((0.3, 0.07), (), ()),
            ((1.0,), (0.5,), (0.2,)),
            ((0.05, 0.011), (0.02, 0.3), ()),
            ((2.0, 0.1), (), (1.0, 1.0)),
        ]:
            costs = [Cost.laplace(epsilon) for epsilon in scales] + [Cost.pure(epsilon) for epsilon in pures]
            loss = pld.total(costs) + pld.PrivacyLoss(mu_squared=sum((Fraction(str(mu)) ** 2 for mu in mus), Fraction(0)))
            low, high = (
                [
                    *(oracle.from_laplace_mechanism(1 / e, pessimistic_estimate=up, value_discretization_interval=1e-4) for e in scales),
                    *(oracle.from_gaussian_mechanism(1 / mu, pessimistic_estimate=up, value_discretization_interval=1e-4) for mu in mus),
                    *(
                        oracle.from_randomized_response(
                            2 / (1 + math.exp(e)), 2, pessimistic_estimate=up, value_discretization_interval=1e-4
                        )
                        for e in pures
                    ),
                ]
                for up in (False, True)
            )
            for parts in (low, high):
                while len(parts) > 1:
                    parts[:2] = [parts[0].compose(parts[1])]
            for at in (0.05, 0.3, 1.0):
                assert low[0].get_delta_for_epsilon(at) - 1e-12 <= loss.delta(at) <= high[0].get_delta_for_epsilon(at) * 1.001 + 1e-10
            for delta in (1e-8, 1e-4):
                found = loss.epsilon(delta)
                assert low[0].get_epsilon_for_delta(delta) - 1e-9 <= found <= high[0].get_epsilon_for_delta(delta) * 1.001 + 1e-3


def test_two_hundred_mixed_mechanisms_agree_with_dp_accounting() -> None:
    laplace, mus = np.geomspace(0.01, 0.2, 100).round(9), np.geomspace(0.009, 0.1, 100).round(9)
    costs = [Cost.laplace(epsilon) for epsilon in laplace]
    mine = (pld.total(costs) + pld.PrivacyLoss(mu_squared=sum(Fraction(str(mu)) ** 2 for mu in mus))).epsilon(1e-6)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import dp_accounting
        from dp_accounting.pld import PLDAccountant

        accountant = PLDAccountant()
        for epsilon in laplace:
            accountant.compose(dp_accounting.LaplaceDpEvent(1 / epsilon))
        for mu in mus:
            accountant.compose(dp_accounting.GaussianDpEvent(1 / mu))
        other = accountant.get_epsilon(1e-6)
    assert 0.999 * other < mine < 1.01 * other
