"""The probability of passing a stability test at each distance: the largest that privacy allows, as exact rationals.

Theorem. Let pi(0) be given and pi(d+1) = min(e^epsilon pi(d) + delta, 1 - e^{-epsilon}(1 - pi(d) - delta), 1). Passing with probability
pi(d), where neighbours' distances differ by at most one, is (epsilon, delta)-DP, and no other rule passes more often at any distance.
Proof. The two first terms are the two hockey sticks of a coin in the two directions, solved for the larger bias; by induction every
private rule lies below (Desfontaines, Voss, Gipson and Mandayam 2022). When Lap(B/e2) follows a pass, the joint law of (pass, value) is
compared at e1 + e2: pi' - sqrt(pi' pi e^{e1}) <= delta, a quadratic in sqrt(pi'), as long as pi' <= e^{e1 + 2 e2} pi. When a failure
releases a value too, the same inequality binds the failing branch, with 1 - pi and 1 - pi' exchanged. QED
Values are integers over 2^128, each rounded down from the exact step; rounding down keeps every inequality.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from sordino.errors import QueryError
from sordino.privacy.number import exp_down, exp_up

__all__ = ["UNIT", "acceptance", "acceptance_with_value"]

UNIT = 2**128
LONGEST = 2_000_000


def _check_length(epsilon: Fraction, delta: Fraction) -> None:
    if not (float(delta) and float(epsilon)) or -3 * math.log(float(delta)) / float(epsilon) > LONGEST:
        what = f"at epsilon {float(epsilon):g} and delta {float(delta):g} the test would need more than {LONGEST:,} units of distance."
        raise QueryError("SRD-101", what, "Use a larger epsilon or delta.")


@lru_cache(maxsize=64)
def acceptance(epsilon: Fraction, delta: Fraction, first: Fraction) -> tuple[int, ...]:
    """pi(0), pi(1), ... up to the first 1, in units of 2^-128; `first` is pi(0): delta for a released value, 0 for a key."""
    _check_length(epsilon, delta)
    grow, shrink = math.floor(exp_down(epsilon) * UNIT), math.ceil(exp_up(-epsilon) * UNIT)
    extra = math.floor(delta * UNIT)
    table = [math.floor(first * UNIT)]
    while table[-1] < UNIT:
        pi = table[-1]
        up = pi * grow // UNIT + extra
        down = UNIT + (-max(UNIT - pi - extra, 0) * shrink) // UNIT
        table.append(min(up, down, UNIT))
    return tuple(table)


@lru_cache(maxsize=64)
def acceptance_with_value(test: Fraction, value: Fraction, delta: Fraction, *, both: bool = False) -> tuple[int, ...]:
    """The same when a Laplace release of price `value` follows the pass (or follows `both` outcomes), sold at test + value."""
    _check_length(test, delta)
    tested, total = math.floor(exp_down(test) * UNIT), math.floor(exp_down(test + value) * UNIT)
    limit, shrink = math.floor(exp_down(test + 2 * value) * UNIT), math.ceil(exp_up(-test - value) * UNIT)
    slower, valued = math.ceil(exp_up(-test) * UNIT), math.floor(exp_down(-value) * UNIT)
    extra = math.floor(delta * UNIT)
    table = [extra]
    while table[-1] < UNIT:
        pi = table[-1]
        square = pi * tested // UNIT  # a^2
        root = (math.isqrt(square * UNIT) + math.isqrt((square + 4 * extra) * UNIT)) // 2
        up = root * root // UNIT
        if up * UNIT > limit * pi:
            up = pi * total // UNIT + extra
        fail, rest = UNIT - pi, max(UNIT - pi - extra, 0)
        left = -(-rest * shrink // UNIT)  # the least failure probability one step further
        if both and rest * UNIT >= fail * valued:
            left = -(-rest * rest * slower // (fail * UNIT))
        table.append(max(pi, min(up, UNIT - left, UNIT)))
    return tuple(table)
