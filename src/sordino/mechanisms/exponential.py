"""The exponential mechanism over public candidates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.mechanisms.listing import claim, listed
from sordino.privacy.certificate import Certificate
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import ArgMax
from sordino.privacy.number import as_epsilon
from sordino.privacy.relation import Relation
from sordino.privacy.witness import Finite, Witness
from sordino.summaries import Ask, Draw, Scores

__all__ = ["Exponential", "as_reach", "check_selection", "worst_scores"]


def as_reach(value: object) -> int:
    """A sensitivity of integer scores."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise QueryError("SRD-103", f"{value!r} is not a whole number of at least 1.", "Scores and counts move in whole steps; give one.")
    return value


def check_selection(mechanism: Any) -> None:
    """Validate and settle the fields every choice among scored candidates has."""
    object.__setattr__(mechanism, "epsilon", as_epsilon(mechanism.epsilon))
    object.__setattr__(mechanism, "relation", Relation.of(mechanism.relation))
    as_reach(mechanism.sensitivity)
    if not isinstance(mechanism.monotone, bool):
        raise QueryError("SRD-103", f"monotone is {mechanism.monotone!r}.", "Give monotone as True or False.")
    if mechanism.monotone and mechanism.relation is Relation.REPLACE:
        raise QueryError("SRD-107", "a replacement moves scores both ways.", "Use monotone=False, or relation='add_remove'.")


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


@listed("exponential mechanism", note="004 goal (algorithms); 002 mode")
@dataclass(frozen=True)
class Exponential:
    r"""Choose a candidate with probability proportional to e^{epsilon score / (2 sensitivity)}.

    Theorem. If one unit moves every score by at most Delta the choice is epsilon-DP; if all scores move the same way (monotone, under
    add_remove) the exponent epsilon score / Delta is allowed. All log-ratios of one pair lie in an interval of length epsilon, so zCDP
    costs epsilon^2/8.
    Proof. A candidate's weight changes by at most e^{epsilon/2}, the normaliser by at most e^{epsilon/2} the other way; in the monotone
    case only one of the two can happen. The range of log-ratios is that of one candidate's weight. The draw is the largest of scores
    plus Gumbel noise, which has exactly this law. QED
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
        witnesses = worst_scores(self.scale, self.sensitivity, "gumbel", monotone=self.monotone)
        return claim(self, Cost.bounded_range(self.epsilon), *witnesses, assumes=f"one unit moves each score by at most {self.sensitivity}")

    def release(self, ask: Ask, draw: Draw) -> int:
        return int(draw(ArgMax(ask(Scores()), self.scale, "gumbel")))

    @classmethod
    def examples(cls) -> Sequence[Exponential]:
        return (cls(Fraction(1)), cls(Fraction(1, 10), 3), cls(Fraction(2), monotone=True))
