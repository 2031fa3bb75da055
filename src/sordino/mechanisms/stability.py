"""Stability-based release: any output at all, exactly, when the data are far from changing it.

The probability of passing a stability test at each distance: the largest that privacy allows, as exact rationals.

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
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

from sordino.errors import QueryError
from sordino.mechanisms.listing import claim, listed
from sordino.privacy.certificate import Certificate, Closed, Witness
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import Bernoulli
from sordino.privacy.number import as_delta, as_epsilon, exp_down, exp_up
from sordino.summaries import Ask, Draw, Near, Nearness, Refused

__all__ = ["UNIT", "Stability", "acceptance", "acceptance_with_value", "coin_witness", "passes"]

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


def passes(epsilon: Fraction, delta: Fraction, distance: int, first: Fraction | None = None) -> Fraction:
    """The probability pi(distance) of the optimal test, exactly."""
    table = acceptance(epsilon, delta, delta if first is None else first)
    return Fraction(table[min(max(distance, 0), len(table) - 1)], UNIT)


def coin_witness(epsilon: Fraction, delta: Fraction, first: Fraction) -> Witness:
    """Every pair of neighbouring distances, and at distance 0 two different answers; in whole numbers, as 1 - pi cancels in doubles."""
    table = acceptance(epsilon, delta, first)

    def hockey(level: float) -> float:
        grown = math.floor(exp_down(epsilon if level == float(epsilon) else Fraction(level)) * UNIT)
        worst = table[0]
        for small, large in pairwise([*table, UNIT]):
            worst = max(worst, large - grown * small // UNIT, UNIT - small - grown * (UNIT - large) // UNIT)
        return worst / UNIT

    return Closed(hockey)


@listed("Distance2Stability", "distance to stability", "stability-based query release", "stability", note="000 13.3 (fourth approach)")
@dataclass(frozen=True)
class Stability:
    r"""Release f(x) itself, of any type, if many units would have to change before f could change.

    Theorem. With d(x) = min{d(x,y): f(y') != f(y) for some neighbour y' of y}, releasing f(x) with the largest private probability
    pi(d), pi(0) = delta, and "refused" otherwise, is (epsilon, delta)-DP for every kind of output.
    Proof. If either distance is at least 1 the neighbours have the same f, and the outcome is a coin whose bias moves as the recursion
    allows. If both are 0 the answers may differ, and each appears with probability at most delta. QED
    """

    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "delta", as_delta(self.delta))
        if self.delta >= Fraction(1, 2):
            raise QueryError("SRD-102", f"delta is {float(self.delta):g}.", "The test needs delta below one half.")

    @property
    def least_distance(self) -> int:
        """The distance from which the answer appears with probability at least 99%."""
        table = acceptance(self.epsilon, self.delta, self.delta)
        return next(d for d, entry in enumerate(table) if 100 * entry >= 99 * UNIT)

    def certificate(self) -> Certificate:
        witness = coin_witness(self.epsilon, self.delta, self.delta)
        assumes = "the distance moves by at most one between neighbours"
        return claim(self, Cost.approximate(self.epsilon, self.delta), witness, assumes=assumes)

    def release(self, ask: Ask, draw: Draw) -> Any:
        near: Near = ask(Nearness())
        passed = draw(Bernoulli.of(passes(self.epsilon, self.delta, near.distance)))
        return near.value if passed else Refused()

    @classmethod
    def examples(cls) -> Sequence[Stability]:
        return (cls(Fraction(1), Fraction(1, 10**6)), cls(Fraction(1, 10), Fraction(1, 10**5)))
