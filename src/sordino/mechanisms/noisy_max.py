"""Report-noisy-max: add Laplace noise to every score and name the winner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sordino.mechanisms.exponential import check_selection, worst_scores
from sordino.mechanisms.listing import claim, listed
from sordino.privacy.certificate import Certificate
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import ArgMax
from sordino.privacy.relation import Relation
from sordino.summaries import Ask, Draw, Scores

__all__ = ["NoisyMax"]


@listed("report noisy max", "noisy max", "mode by a noisy histogram", note="002 mode, obvious approach")
@dataclass(frozen=True)
class NoisyMax:
    r"""The candidate whose score plus Laplace noise is largest; only its name is released.

    Theorem. With noise of scale 2 Delta/epsilon the choice is epsilon-DP; Delta/epsilon is enough when all scores move the same way
    (monotone, under add_remove). Among k candidates the largest noise is about ln(k) scales, which is what the stable mode avoids.
    Proof. Fix the other noises: candidate i wins when its noise exceeds a gap, the gap moves by at most 2 Delta (Delta if monotone), and
    a Laplace tail loses at most the factor e^{-epsilon} over that length. QED
    """

    epsilon: Fraction
    sensitivity: int = 1
    monotone: bool = False
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        check_selection(self)

    @property
    def scale(self) -> Fraction:
        return (1 if self.monotone else 2) * self.sensitivity / self.epsilon

    def certificate(self) -> Certificate:
        witnesses = worst_scores(self.scale, self.sensitivity, "laplace", monotone=self.monotone)
        return claim(self, Cost.pure(self.epsilon), *witnesses, assumes=f"one unit moves each score by at most {self.sensitivity}")

    def release(self, ask: Ask, draw: Draw) -> int:
        return int(draw(ArgMax(ask(Scores()), self.scale, "laplace")))

    @classmethod
    def examples(cls) -> Sequence[NoisyMax]:
        return (cls(Fraction(1)), cls(Fraction(1, 10), 3), cls(Fraction(2), monotone=True))
