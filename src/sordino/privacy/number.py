"""Exact numbers at the door: every price is a Fraction, and every irrational function of one is rounded the safe way."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from numbers import Rational
from typing import Any

from sordino.errors import QueryError

__all__ = [
    "LARGEST_EPSILON",
    "Given",
    "as_bounds",
    "as_delta",
    "as_epsilon",
    "as_positive",
    "as_reach",
    "exact",
    "exp_down",
    "exp_up",
    "round_down",
    "round_up",
    "shown",
]

Given = Fraction | Decimal | int | float | str  # a number as a caller may write it; what is kept of it is a Fraction
LARGEST_EPSILON = 10**6
LEAST_DELTA = Fraction(1, 10**100)  # far below any use, and well inside what a double can hold
LONGEST = 400  # characters of a number, and decimal places of its exponent: beyond any double
PRECISION = 60  # decimal digits; Decimal.exp is correctly rounded, so one unit in the last place is a rigorous margin


def shown(value: Any) -> str:
    """A value as an error may quote it: briefly, and without failing on an integer of thousands of digits."""
    try:
        text = repr(value)
    except Exception:
        return "a number of thousands of digits" if isinstance(value, int) else f"a {type(value).__name__} that cannot be printed"
    return text if len(text) <= 80 else f"{text[:77]}..."


def exact(value: Any, name: str = "value", code: str = "SRD-103") -> Fraction:
    """The number the caller wrote: 0.1 means one tenth, not the nearest double."""
    try:
        if isinstance(value, bool):
            raise ValueError
        if isinstance(value, Rational):
            return Fraction(int(value.numerator), int(value.denominator))
        text = str(value).strip()
        power = text.lower().partition("e")[2]
        if len(text) > LONGEST or abs(int(power or 0)) > LONGEST:  # 1e999999999 is short to write and takes gigabytes to expand
            raise ValueError
        return Fraction(text)
    except Exception:  # also whatever something of the caller's raises when it is read as text
        raise QueryError(code, f"{name} is {shown(value)}, which is not a finite number.", f"Give {name} as a finite number.") from None


def as_epsilon(value: Any, *, zero: bool = False) -> Fraction:
    """A legal epsilon: positive (or zero where a law allows it) and at most a million."""
    epsilon = exact(value, "epsilon", "SRD-101")
    if epsilon < 0 or (epsilon == 0 and not zero) or epsilon > LARGEST_EPSILON:
        raise QueryError(
            "SRD-101",
            f"epsilon is {shown(value)}.",
            f"Give a positive epsilon of at most {LARGEST_EPSILON:,}; most uses lie between 0.1 and 3.",
        )
    return epsilon


def as_delta(value: Any, *, zero: bool = False) -> Fraction:
    """A legal delta: at least 1e-100 (or zero where the mechanism is pure) and below one."""
    delta = exact(value, "delta", "SRD-102")
    if delta >= 1 or (delta == 0 and not zero) or (delta != 0 and delta < LEAST_DELTA):
        fix = "Give 0 < delta < 1, at least 1e-100 and far below one over the number of people, such as 1e-6."
        raise QueryError("SRD-102", f"delta is {shown(value)}.", fix)
    return delta


def as_positive(value: Any, name: str) -> Fraction:
    """A positive finite parameter, by the name the caller knows."""
    number = exact(value, name)
    if number <= 0:
        raise QueryError("SRD-103", f"{name} is {shown(value)}.", f"Give a positive {name}.")
    return number


def as_reach(value: object) -> int:
    """A sensitivity of integer scores."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise QueryError("SRD-103", f"{value!r} is not a whole number of at least 1.", "Scores and counts move in whole steps; give one.")
    return value


def as_bounds(bounds: Any) -> tuple[Fraction, Fraction]:
    """Public bounds with low < high."""
    try:
        low, high = bounds
    except (TypeError, ValueError):
        raise QueryError("SRD-104", f"bounds are {shown(bounds)}.", "Give bounds=(low, high) from public knowledge.") from None
    low, high = exact(low, "the lower bound", "SRD-104"), exact(high, "the upper bound", "SRD-104")
    if low >= high:
        raise QueryError("SRD-104", f"bounds are {shown(bounds)}.", "The lower bound must be below the upper bound.")
    return low, high


def _exp(exponent: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = PRECISION
        context.Emax, context.Emin = 10**9, -(10**9)
        return (Decimal(exponent.numerator) / Decimal(exponent.denominator)).exp()


def _widen(value: Decimal, exponent: Fraction, sign: int) -> Fraction:
    # dividing before the exponential moves the exponent by at most |exponent| 10^-PRECISION; both errors are far below this margin
    return Fraction(value) * (1 + sign * (1 + abs(exponent)) * Fraction(1, 10 ** (PRECISION - 3)))


def exp_up(exponent: Fraction) -> Fraction:
    """A rational just above e^exponent."""
    return _widen(_exp(exponent), exponent, +1)


def exp_down(exponent: Fraction) -> Fraction:
    """A rational just below e^exponent."""
    return _widen(_exp(exponent), exponent, -1)


def round_up(value: float | Fraction, digits: int = 15) -> Fraction:
    """The least fraction with the given number of decimals that is not below value."""
    scale = 10**digits
    return Fraction(math.ceil(Fraction(value) * scale), scale)


def round_down(value: float | Fraction, digits: int = 15) -> Fraction:
    """The largest fraction with the given number of decimals that is not above value."""
    scale = 10**digits
    return Fraction(math.floor(Fraction(value) * scale), scale)
