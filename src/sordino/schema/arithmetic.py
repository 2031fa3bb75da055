"""Operations on single numbers, exactly as every engine performs them: whole steps of a power of ten, or one rounded double at a time."""

from __future__ import annotations

import math

__all__ = ["HUGE", "TINY", "as_double", "half_away", "half_even", "product", "quotient", "rounded_steps"]

TINY, HUGE = 1e-150, 1e150  # between them no product and no quotient of two doubles overflows or underflows, which some engines refuse


def as_double(steps: int, scale: int) -> float:
    """steps / 10^scale, as a cast to double and one division; 10^18 is a double."""
    return float(steps) / 10.0**scale


def flushed(x: float) -> float:
    return 0.0 if abs(x) < TINY else x


def product(x: float, y: float) -> float:
    return flushed(x) * flushed(y)


def quotient(x: float, y: float) -> float | None:
    """None where the divisor is zero, or nothing but rounding."""
    return None if flushed(y) == 0 else flushed(x) / flushed(y)


def half_away(x: float, digits: int) -> int:
    """x in steps of 10^-digits, ties away from zero: what ROUND does, and a cast to a decimal."""
    size = abs(x * 10.0**digits)
    steps = math.floor(size) + (size - math.floor(size) >= 0.5)
    return -steps if x < 0 else steps


def half_even(x: float) -> int:
    """The nearest whole number, ties to even: what a cast of a double does."""
    return round(x)


def rounded_steps(steps: int, unit: int, word: str) -> int:
    """steps / unit as a whole number: floor, ceil, or round with ties away from zero. `unit` is a power of ten."""
    if word == "floor":
        return steps // unit
    if word == "ceil":
        return -(-steps // unit)
    nearest = (abs(steps) + unit // 2) // unit
    return -nearest if steps < 0 else nearest
