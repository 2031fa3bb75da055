"""The first mechanism of the course: toss a coin, then perhaps another."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from sordino.mechanisms.listing import claim, listed
from sordino.privacy.certificate import Certificate, Finite
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import Bernoulli
from sordino.privacy.number import round_up
from sordino.summaries import Ask, Draw, Value

__all__ = ["TwoCoins"]


@listed("two coins", "random mechanism 1", "coin tossing", note="001 1.1")
@dataclass(frozen=True)
class TwoCoins:
    """Heads: tell the truth. Tails: toss again and report that coin instead.

    Theorem. For neighbours that replace the bit this is epsilon-DP with epsilon = ln 3, and for no smaller epsilon.
    Proof. The truth is reported with probability 1/2 + 1/4 = 3/4, the opposite with 1/4; the ratio is 3. QED
    """

    truth: ClassVar[Fraction] = Fraction(3, 4)  # not a parameter: the price is ln 3 for this coin only

    def probabilities(self, bit: int) -> dict[int, float]:
        keep = float(self.truth)
        return {bit: keep, 1 - bit: 1 - keep}

    def certificate(self) -> Certificate:
        witness = Finite(self.probabilities(1), self.probabilities(0))
        return claim(self, Cost.pure(round_up(math.log(3))), witness, assumes="neighbours replace the bit")

    def release(self, ask: Ask, draw: Draw) -> int:
        bit = ask(Value())
        return int(draw(Bernoulli.of(self.truth if bit else 1 - self.truth)))

    @classmethod
    def examples(cls) -> Sequence[TwoCoins]:
        return (cls(),)
