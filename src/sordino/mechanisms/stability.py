"""Stability-based release: any output at all, exactly, when the data are far from changing it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

from sordino.errors import QueryError
from sordino.mechanisms.acceptance import UNIT, acceptance
from sordino.mechanisms.listing import claim, listed
from sordino.privacy.certificate import Certificate
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import Bernoulli
from sordino.privacy.number import as_delta, as_epsilon, exp_down
from sordino.privacy.witness import Closed, Witness
from sordino.summaries import Ask, Draw, Near, Nearness, Refused

__all__ = ["Stability", "coin_witness", "passes"]


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
