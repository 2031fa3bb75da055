"""Very many quantiles of a column, by splitting its rows again and again."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sordino.mechanisms.approximate_quantiles import ApproximateQuantiles
from sordino.privacy.certificate import Part
from sordino.statistics.added import Added
from sordino.statistics.port import LEVEL, Answer, Groups
from sordino.statistics.ranks import Ordered, placed
from sordino.statistics.read import read_totals
from sordino.summaries import Ask, Draw, Held
from sordino.summaries.totals import ALL, MOST_ROWS, Item, Rows

__all__ = ["HalvingStep"]

COUNTED = Fraction(1, 100)  # of the price, for counting the rows first


@dataclass(frozen=True)
class HalvingStep(Ordered):
    r"""All levels by recursive halving, on all rows of a group, or on a random share of them where they are more than fit.

    Theorem. Drawing a noisy count first, and keeping each row by its keyed hash with a share that follows from it, costs no more than
    the count and the halving together.
    Proof. Given the count and the key the share is a constant, and an added row is an added row or nothing. QED
    """

    @cached_property
    def count(self) -> Added:
        return Added(self.price.epsilon * COUNTED, self.context.limits.rows)

    @cached_property
    def mechanism(self) -> ApproximateQuantiles:
        rows, where = self.context.limits.rows, placed(self.grid, private=self.private)
        return ApproximateQuantiles(self.price.epsilon * (1 - COUNTED), self.levels, max_rows=rows, relation=self.price.relation, **where)

    @property
    def name(self) -> str:
        return self._called("ApproximateQuantiles")

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.price.part(self.count.certificate()), self.price.part(self.mechanism.certificate()))

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        (rows,) = read_totals(ask, (Item("rows", self.column),), groups)
        shares = tuple(share(int(n)) for n in self.count.around(rows, draw))
        far = self.rank_width(LEVEL)
        answers = []
        for table in ask(Rows(self.column, groups if self.context.private_keys else None, shares=shares)):
            drawn = self.mechanism.release(Held(table), draw)
            answers.append(self._answer(drawn, far))
        return answers

    def rank_width(self, level: float = LEVEL) -> float:
        """Where all rows are kept, as they are if no more are declared than fit; ranks of a share say less, and nothing is promised."""
        thinned = (self.context.size or 0) * self.context.unit.max_rows > MOST_ROWS
        return math.inf if thinned else self.mechanism.rank_reach(1 - level)


def share(rows: int) -> int:
    """How many rows out of 2^32 may stay for a group of about so many to fit."""
    return ALL if rows <= MOST_ROWS else ALL * MOST_ROWS // rows
