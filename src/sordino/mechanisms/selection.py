"""What the three ways of choosing among scored candidates share: fields, worst pairs, one noisy maximum."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

import numpy as np

from sordino.errors import QueryError
from sordino.mechanisms.listing import claim
from sordino.privacy.certificate import Certificate, Finite, Witness
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import ArgMax
from sordino.privacy.number import as_epsilon, as_reach
from sordino.privacy.relation import Relation
from sordino.summaries import Ask, Draw, Scores

__all__ = ["Selection", "worst_scores"]


def worst_scores(scale: Fraction, reach: int, noise: str, *, monotone: bool) -> tuple[Witness, ...]:
    """Two candidates far apart whose scores move towards each other: the pair that attains the bound as the gap grows."""
    witnesses: list[Witness] = []
    for gap in (0, 2, 20, 200):
        if gap and gap + 3 * reach / scale > 690:
            continue  # the loser's probability would leave the doubles
        behind = -int(gap * scale) - 3 * reach
        still, moved = np.array([behind, 0]), np.array([behind + reach, 0 if monotone else -reach])
        witnesses.append(Finite(ArgMax(still, scale, noise).probabilities().tolist(), ArgMax(moved, scale, noise).probabilities().tolist()))
    return tuple(witnesses)


@dataclass(frozen=True)
class Selection:
    """A candidate whose score plus noise is largest. `sensitivity` bounds how far one unit moves a score; `monotone`: all the same way."""

    noise: ClassVar[str]
    epsilon: Fraction
    sensitivity: int = 1
    monotone: bool = False
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "relation", Relation.of(self.relation))
        as_reach(self.sensitivity)
        if not isinstance(self.monotone, bool):
            raise QueryError("SRD-103", f"monotone is {self.monotone!r}.", "Give monotone as True or False.")
        if self.monotone and self.relation is Relation.REPLACE:
            raise QueryError("SRD-107", "a replacement moves scores both ways.", "Use monotone=False, or relation='add_remove'.")

    @property
    def scale(self) -> Fraction:
        return (1 if self.monotone else 2) * self.sensitivity / self.epsilon

    @property
    def cost(self) -> Cost:
        return Cost.pure(self.epsilon)

    def certificate(self) -> Certificate:
        witnesses = worst_scores(self.scale, self.sensitivity, self.noise, monotone=self.monotone)
        return claim(self, self.cost, *witnesses, assumes=f"one unit moves each score by at most {self.sensitivity}")

    def release(self, ask: Ask, draw: Draw) -> int:
        return int(draw(ArgMax(ask(Scores()), self.scale, self.noise)))

    @classmethod
    def examples(cls) -> Sequence[Self]:
        return (cls(Fraction(1)), cls(Fraction(1, 10), 3), cls(Fraction(2), monotone=True))
