"""Permute-and-flip: the exponential mechanism's quieter sister."""

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

__all__ = ["PermuteAndFlip"]


@listed("permute-and-flip", "permute and flip", note="002 mode (known keys)")
@dataclass(frozen=True)
class PermuteAndFlip:
    r"""Visit the candidates in random order and take each with probability e^{epsilon (score - best)/(2 sensitivity)}.

    Theorem. epsilon-DP under the same conditions as the exponential mechanism, and never worse in expected score. It is not bounded
    range, so zCDP costs epsilon tanh(epsilon/2), not epsilon^2/8.
    Proof. It has the law of the largest of scores plus exponential noise of scale 2 Delta/epsilon (McKenna and Sheldon 2020; Ding and
    others 2021). Given the other noises, candidate i wins when its noise exceeds a gap; the gap moves by at most 2 Delta (Delta if
    monotone), and an exponential tail loses at most e^{-epsilon} over that length. QED
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
        witnesses = worst_scores(self.scale, self.sensitivity, "exponential", monotone=self.monotone)
        return claim(self, Cost.pure(self.epsilon), *witnesses, assumes=f"one unit moves each score by at most {self.sensitivity}")

    def release(self, ask: Ask, draw: Draw) -> int:
        return int(draw(ArgMax(ask(Scores()), self.scale, "exponential")))

    @classmethod
    def examples(cls) -> Sequence[PermuteAndFlip]:
        return (cls(Fraction(1)), cls(Fraction(1, 10), 3), cls(Fraction(2), monotone=True))
