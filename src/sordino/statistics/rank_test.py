"""Rank statistics for tests: how two groups lie against each other, and how pairs lean; no bounds of the column enter the noise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.laplace import Laplace
from sordino.privacy.certificate import Part
from sordino.privacy.relation import Relation
from sordino.statistics.added import Added
from sordino.statistics.port import LEVEL, Answer, Context, Groups, Plain, Priced, Step
from sordino.statistics.reach import Reach, length_grid, read_totals
from sordino.summaries import Ask, Draw, Held
from sordino.summaries.totals import MOST_ROWS, Item, Rows, Sorted

__all__ = ["RankTest", "RankTestStep", "leaning", "standing"]

SIZES = Fraction(1, 5)  # of epsilon: for the numbers of rows
Integers = NDArray[np.int64]


def standing(first: Integers, second: Integers) -> int:
    """Pairs in which the second is larger less those in which it is smaller: twice Mann and Whitney's U about its mean."""
    below, upto = (np.searchsorted(np.sort(second), first, side) for side in ("left", "right"))
    return int(len(first) * len(second) - upto.sum() - below.sum())


def leaning(values: Integers) -> int:
    """Twice the sum of sign(d) rank(|d|): Wilcoxon's signed ranks with Pratt's zeros, ties sharing their mean rank."""
    size = np.sort(np.abs(values))
    below, upto = (np.searchsorted(size, np.abs(values), side) for side in ("left", "right"))
    return int((np.sign(values) * (below + upto + 1)).sum())


@dataclass(frozen=True)
class RankTestStep(Priced):
    r"""Sizes first, then the doubled rank statistic of groups cut to the largest drawn size c, with Laplace noise.

    Theorem. A row that is added, removed or exchanged for another moves `standing` by at most 2 c, `leaning` by at most 4 c; so does an
    added row that the cut turns into an exchange. With N rows of a person noise of scale 2 c N/epsilon (4 c N/epsilon) is epsilon-DP, and
    twice as much under replace. With the sizes the whole costs the sum of both.
    Proof. Standing: a row takes part in at most c pairs, of value -1, 0 or 1, so it brings or takes at most c and an exchange moves 2 c.
    Leaning: a row with j others below it has a doubled rank of 2 (j + 1), and those of at most c - 1 - j above it fall by 2 when it leaves;
    ties share. That is 2 c for a removal or an addition, and an exchange is both. The cut is that of Rows; a replaced person is a removal
    and an addition. QED
    """

    statistic: RankTest
    epsilon: Fraction
    context: Context
    bar: str = "none"
    name: str = "Laplace of ranks"

    def __post_init__(self) -> None:
        _ = self.sizes  # every refusal comes before the charge

    @cached_property
    def sizes(self) -> Added:
        return Reach(Fraction(1), Fraction(1), self.context).added(self.epsilon * SIZES)

    @property
    def parts(self) -> tuple[Part, ...]:
        ranks = Laplace(self.epsilon * (1 - SIZES), Fraction(1))  # its certificate does not depend on the sensitivity
        return (self.sizes.part, Part(ranks.certificate()))

    def reach(self, most: int) -> int:
        """How far one step moves the doubled statistic of groups of at most so many rows."""
        paired = 2 if self.statistic.by is not None else 4
        replaced = 2 if self.context.unit.relation is Relation.REPLACE else 1
        return paired * most * self.context.limits.counted * replaced

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        column = self.statistic.column
        (rows,) = read_totals(ask, (Item("rows", column),), groups)
        drawn = self.sizes.around(rows, draw)
        most = min(max(int(drawn.max(initial=1)), 1), MOST_ROWS)
        found: list[Sorted] = list(ask(Rows(column, most=most)))
        zero = self._zero
        values = [np.asarray(part.values, np.int64) for part in found] + [np.empty(0, np.int64)] * 2
        told = standing(values[0], values[1]) if self.statistic.by is not None else leaning(values[0] - zero)
        noisy = Laplace(self.epsilon * (1 - SIZES), Fraction(self.reach(most)), 1, Fraction(1)).release(Held(told), draw)
        return [Answer((float(noisy), float(n), float(most))) for n in drawn.tolist()]

    @property
    def _zero(self) -> int:
        """Where zero lies on the column's grid."""
        return -length_grid(self.context, self.statistic.column).low

    def interval(self, answer: Answer, level: float) -> None:
        return None

    def width(self, rows: int | None, level: float = LEVEL) -> None:
        return None

    def rmse(self, rows: int | None) -> None:
        return None


@dataclass(frozen=True)
class RankTest(Plain):
    """Whether one of two groups tends to larger values (`by` names their column), or whether a column of differences leans to a side.

    Every group's answer is (doubled statistic, drawn rows, the size both groups were cut to).
    """

    way = "laplace"
    column: str
    by: str | None = None

    @property
    def label(self) -> str:
        return f"ranks({self.column})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def question(self) -> dict[str, Any]:
        return {"statistic": "ranks", "column": self.column, "by": self.by}

    def step(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step:
        length_grid(context, self.column)
        if (self.by is not None) != context.grouped or (self.by is not None and len(context.keys or ()) != 2):
            raise QueryError("SRD-208", "a rank test compares two public groups, or none.", "Use sd.tests.mann_whitney or signed_rank.")
        return RankTestStep(self, epsilon, context)
