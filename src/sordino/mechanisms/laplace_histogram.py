"""Counts of public keys with Laplace noise."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from sordino.errors import QueryError
from sordino.mechanisms.laplace import check_scale
from sordino.mechanisms.listing import claim, listed
from sordino.privacy.certificate import Certificate, LaplaceShift
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import DiscreteLaplace
from sordino.privacy.number import as_epsilon, as_reach
from sordino.privacy.relation import Limits, Relation
from sordino.summaries import Ask, Counts, Draw, Tally

__all__ = ["LaplaceHistogram"]


@listed("Laplace histogram", "noisy histogram", "histogram", note="002 mode; 002 stable histograms (the baseline)")
@dataclass(frozen=True)
class LaplaceHistogram:
    r"""Every public key with its count plus discrete Laplace noise, whether it occurs or not.

    Theorem. If a person has rows in at most l keys, at most c in each and N <= l c in all, discrete Laplace noise of scale N/epsilon
    (2 N/epsilon under replace) is epsilon-DP. Among k keys the largest error is about ln(k) scales.
    Proof. The vector of counts moves by at most N (2 N) in L1 norm, and each unit of movement costs at most one over the scale. QED
    """

    epsilon: Fraction
    keys: tuple[Hashable, ...]
    max_groups: int = 1
    max_rows: int = 1
    relation: Relation = Relation.ADD_REMOVE
    total: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "relation", Relation.of(self.relation))
        as_reach(self.max_groups)
        as_reach(self.max_rows)
        as_reach(1 if self.total is None else self.total)
        try:
            object.__setattr__(self, "keys", tuple(self.keys))
            listed_once = 0 < len(set(self.keys)) == len(self.keys)
        except TypeError:
            listed_once = False
        if not listed_once:
            raise QueryError("SRD-105", "the public keys are missing, empty or repeat.", "List each public key once.")
        check_scale(self.scale)

    @property
    def limits(self) -> Limits:
        return Limits(self.max_rows, self.max_groups, self.max_groups * self.max_rows if self.total is None else self.total)

    @property
    def reach(self) -> int:
        return self.limits.counted * self._steps

    @property
    def _steps(self) -> int:
        return 2 if self.relation is Relation.REPLACE else 1

    @property
    def scale(self) -> Fraction:
        return self.reach / self.epsilon

    def certificate(self) -> Certificate:
        """The price of the worst allocation of a person's rows: `filled` keys full and one with the rest."""
        limits, grain = self.limits, self.epsilon / self.reach
        moves = [(limits.rows, limits.filled), *([(limits.rest, 1)] if limits.rest else [])]
        cost = Cost.sum((Cost.discrete_laplace(rows * self._steps * grain, grain), times) for rows, times in moves)
        unit = f"{self.relation.value}; a person in at most {limits.groups} keys, {limits.rows} rows each, {limits.counted} in all"
        return claim(self, cost, LaplaceShift(float(self.reach / self.scale), scalar=False), assumes=unit)

    def release(self, ask: Ask, draw: Draw) -> dict[Hashable, int]:
        tally: Tally = ask(Counts())
        held = dict(zip(tally.keys, tally.counts.tolist(), strict=True))
        counts = np.array([held.get(key, 0) for key in self.keys], np.int64)
        return dict(zip(self.keys, draw(DiscreteLaplace(self.scale, counts)).tolist(), strict=True))

    @classmethod
    def examples(cls) -> Sequence[LaplaceHistogram]:
        three = ("a", "b", "c")
        return (cls(Fraction(1), ("a", "b")), cls(Fraction(1, 2), three, 2, 3, Relation.REPLACE), cls(Fraction(1), three, 3, 2, total=5))
