"""What a sum of rho means as an (epsilon, delta) guarantee, and how much rho a guarantee buys."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction

from sordino.privacy.number import round_down, round_up

__all__ = ["epsilon_of", "largest_rho"]

PRECISION = 60  # decimal digits
MARGIN = Fraction(1, 10**40)  # far above the rounding of a few correctly rounded logarithms at 60 digits


def _slack(order: Fraction, delta: Fraction) -> Fraction:
    """ln(1 - 1/order) - ln(order delta)/(order - 1), to within MARGIN."""
    with localcontext() as context:
        context.prec = PRECISION
        context.Emax, context.Emin = 10**9, -(10**9)

        def logarithm(value: Fraction) -> Decimal:
            return (Decimal(value.numerator) / Decimal(value.denominator)).ln()

        return Fraction(logarithm(1 - 1 / order)) - Fraction(logarithm(order * delta)) / (order - 1)


def _best_order(score: Callable[[float], float], delta: float) -> Fraction:
    """An order at which score is nearly smallest; every order is valid, so a poor one costs tightness and never safety."""
    last = math.log(1e4 / delta)
    exponents = [-16 + (last + 16) * step / 400 for step in range(401)]
    centre = min(range(401), key=lambda i: score(exponents[i]))
    low, high = exponents[max(centre - 1, 0)], exponents[min(centre + 1, 400)]
    for _ in range(80):
        left, right = low + (high - low) * 0.382, low + (high - low) * 0.618
        low, high = (low, right) if score(left) <= score(right) else (left, high)
    return 1 + Fraction(math.exp((low + high) / 2)).limit_denominator(10**9 if high < 20 else 1)


def _slack_float(exponent: float, log_delta: float) -> float:
    gap = math.exp(exponent)  # order - 1
    return -math.log1p(1 / gap) - (math.log1p(gap) + log_delta) / gap


def epsilon_of(rho: Fraction, delta: Fraction) -> Fraction:
    r"""The epsilon that rho-zCDP guarantees at this delta, from above.

    Theorem. rho-zCDP implies (epsilon, delta)-DP with epsilon = a rho + ln(1 - 1/a) - ln(a delta)/(a - 1) for every order a > 1.
    Proof. Canonne, Kamath and Steinke 2020, Proposition 12: delta <= E[max(0, 1 - e^{epsilon - Z})], and for z >= 0 the hinge is at
    most e^{(a-1)(z - epsilon)} (1 - 1/a)^a / (a - 1); take expectations, use E[e^{(a-1) Z}] <= e^{(a-1) a rho} and solve for epsilon. QED
    """
    if rho <= 0:
        return Fraction(0)
    size, log_delta = float(rho), math.log(delta)
    order = _best_order(lambda exponent: (1 + math.exp(exponent)) * size + _slack_float(exponent, log_delta), float(delta))
    return max(Fraction(0), round_up(order * rho + _slack(order, delta) + MARGIN, 18))


def largest_rho(epsilon: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
    r"""The largest rho that keeps (epsilon, delta), rounded down, with the order that proves it.

    Theorem. Every rho <= (epsilon - ln(1 - 1/a) + ln(a delta)/(a - 1))/a with some a > 1 keeps (epsilon, delta).
    Proof. Solve the bound of `epsilon_of` for rho at the same order. The order is stored beside the cap, so one line checks it. QED
    """
    size, log_delta = float(epsilon), math.log(delta)
    order = _best_order(lambda exponent: (_slack_float(exponent, log_delta) - size) / (1 + math.exp(exponent)), float(delta))
    return max(Fraction(0), round_down((epsilon - _slack(order, delta) - MARGIN) / order, 18)), order
