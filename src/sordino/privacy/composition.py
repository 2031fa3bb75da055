"""What several releases cost together, by three rules, and the conversion between zCDP and (epsilon, delta)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

from sordino.errors import QueryError
from sordino.privacy.cost import Cost
from sordino.privacy.number import as_delta, as_epsilon, exact, round_down, round_up

__all__ = ["RULES", "compose", "rho_cap", "zcdp_delta", "zcdp_epsilon"]

RULES = ("basic", "zcdp", "pld")
MARGIN = 1e-12  # of the summed magnitudes; each formula below has fewer than twenty roundings of 1.2e-16
DIGITS = 18
LEAST = Fraction(1, 10**15)  # a Cost is positive; a free release does not exist


def zcdp_epsilon(rho: float | Fraction, delta: float | Fraction) -> float:
    """The epsilon that rho-zCDP gives at this delta, from above.

    Theorem. rho-zCDP implies (epsilon, delta)-DP with epsilon = alpha rho + ln(1/(alpha delta))/(alpha - 1) + ln(1 - 1/alpha) for every
    alpha > 1; the least of these has rho (alpha - 1)^2 = ln(1/(alpha delta)). Never negative, and increasing in rho.
    Proof. Canonne, Kamath and Steinke 2020, Proposition 12: delta <= e^{(alpha-1)(alpha rho - epsilon)} (1 - 1/alpha)^alpha/(alpha - 1).
    Solve for epsilon. The derivative in alpha is rho - ln(1/(alpha delta))/(alpha - 1)^2, whose sign changes once on (1, 1/delta). Any
    alpha is sound, so the search needs no proof, only the evaluation does: it is moved up by more than its rounding. QED
    """
    rho, log_delta = _rho(rho), _log(as_delta(delta))
    if rho == 0:
        return 0.0
    excess = _root(lambda x: rho * x * x + math.log1p(x) + log_delta)  # x = alpha - 1
    terms = ((1 + excess) * rho, -log_delta / excess, -math.log1p(excess) / excess, -math.log1p(1 / excess))
    return max(0.0, _up(terms))


def zcdp_delta(rho: float | Fraction, epsilon: float | Fraction) -> float:
    """The delta that rho-zCDP gives at this epsilon, from above.

    Theorem. delta = e^{(alpha-1)(alpha rho - epsilon)} (alpha-1)^{alpha-1} alpha^{-alpha} for every alpha > 1, at most one.
    Proof. Canonne, Kamath and Steinke 2020, Proposition 12. The logarithm is convex in alpha with derivative
    (2 alpha - 1) rho - epsilon + ln(1 - 1/alpha), so its root is the best alpha; any other is sound too. QED
    """
    rho, epsilon = _rho(rho), float(as_epsilon(epsilon, zero=True))
    if rho == 0:
        return 0.0
    excess = _root(lambda x: (2 * x + 1) * rho - epsilon - math.log1p(1 / x))
    terms = (excess * (1 + excess) * rho, -excess * epsilon, -excess * math.log1p(1 / excess), -math.log1p(excess))
    return min(1.0, math.exp(min(0.0, _up(terms))) * (1 + MARGIN))


def rho_cap(epsilon: float | Fraction, delta: float | Fraction) -> Fraction:
    """The largest rho whose `zcdp_epsilon` at this delta stays within epsilon, rounded down to 18 decimals.

    Theorem. rho_cap(epsilon, delta)-zCDP implies (epsilon, delta)-DP.
    Proof. The value returned was itself put through `zcdp_epsilon`, which is an upper bound, and compared exactly with epsilon. Bisection
    only decides how close to the largest it comes. QED
    """
    epsilon, delta = as_epsilon(epsilon), as_delta(delta)
    low, high = Fraction(0), epsilon + 1  # a pure epsilon-DP law has rho below epsilon; above it the conversion cannot give epsilon back
    while zcdp_epsilon(high, delta) <= epsilon:
        high *= 2
    for _ in range(200):
        middle = round_down((low + high) / 2, DIGITS)
        if not low < middle < high or (high - low) < low * Fraction(1, 10**14):
            break
        low, high = (middle, high) if Fraction(zcdp_epsilon(middle, delta)) <= epsilon else (low, middle)
    return low


def compose(costs: Iterable[Cost], *, rule: str = "basic", delta: float | Fraction = 1e-6) -> Cost:
    """The price of all these releases together, for parameters fixed in advance; `delta` is the total the result may have.

    Theorem. basic: epsilons and deltas add. zcdp: rhos add, the deltas that stay beside them add, and the rest of delta pays the
    conversion. pld: the composed privacy-loss distribution at delta, or whichever of the other two rules is cheaper within delta.
    Proof. Dwork, Kenthapadi, McSherry, Mironov and Naor 2006; Bun and Steinke 2016; `sordino.privacy.pld`. The
    three are theorems about the same releases, so the least of them holds. QED
    """
    costs = list(costs)
    if rule not in RULES:
        raise QueryError("SRD-106", f"rule {rule!r} is unknown.", f"Use one of {', '.join(RULES)}.")
    if not costs:
        raise QueryError("SRD-103", "there is nothing to compose.", "Give at least one cost.")
    if rule == "basic":
        return Cost.approximate(sum(cost.epsilon for cost in costs), sum(cost.delta for cost in costs))
    target = as_delta(delta)
    return _zcdp(costs, target) if rule == "zcdp" else _pld(costs, target)


def _zcdp(costs: list[Cost], target: Fraction) -> Cost:
    left = target - sum(cost.rho_delta for cost in costs)
    if left <= 0:
        raise QueryError("SRD-102", "the releases' own deltas use up the whole delta.", "Give a delta above their sum.", left=left)
    return Cost.approximate(max(LEAST, round_up(zcdp_epsilon(sum((cost.rho for cost in costs), Fraction(0)), left))), target)


def _pld(costs: list[Cost], target: Fraction) -> Cost:
    from sordino.privacy.pld import total

    found = total(costs).epsilon(float(target) * (1 - MARGIN))
    bounds = [round_up(found)] if math.isfinite(found) else []
    if sum(cost.delta for cost in costs) <= target:
        bounds.append(sum((cost.epsilon for cost in costs), Fraction(0)))
    if sum(cost.rho_delta for cost in costs) < target:
        bounds.append(_zcdp(costs, target).epsilon)
    if not bounds:
        raise QueryError("SRD-102", "the releases' own deltas use up the whole delta.", "Give a delta above their sum.")
    return Cost.approximate(max(LEAST, min(bounds)), target)


def _rho(rho: float | Fraction) -> float:
    value = exact(rho, "rho")
    if value < 0:
        raise QueryError("SRD-103", f"rho is {rho!r}.", "Give a rho of at least zero.")
    return float(value)


def _log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)  # a float would underflow where a Fraction does not


def _up(terms: tuple[float, ...]) -> float:
    return math.fsum(terms) + MARGIN * math.fsum(map(abs, terms))


def _root(increasing: Callable[[float], float]) -> float:
    """Where an increasing function of alpha - 1 crosses zero, by bisection of the logarithm."""
    low, high = -60.0, 60.0
    for _ in range(70):
        middle = (low + high) / 2
        low, high = (middle, high) if increasing(math.exp(middle)) < 0 else (low, middle)
    return math.exp((low + high) / 2)
