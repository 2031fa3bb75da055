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
from sordino.statistics.port import Answer, Context, Groups, NoInterval, Plain, Step, length_grid
from sordino.statistics.reach import Reach, read_totals
from sordino.summaries import Ask, Draw, Held
from sordino.summaries.totals import MOST_ROWS, Item, Rows, Sorted

__all__ = ["RankTest", "RankTestStep", "leaning", "standing", "weight_of_pairs", "weight_of_two"]

SIZES = Fraction(1, 5)  # of epsilon: for the numbers of rows
TWO, PAIRS = Fraction(27, 16), Fraction(16, 5)  # how far a row moves the weighed statistic, of the drawn size
FARTHEST = 3  # drawn sizes: larger groups weigh nothing
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


def weight_of_two(n: int, c: int) -> Fraction:
    """Of a group of n rows where c were drawn: 1 up to c, then falling to 0 at 3 c."""
    return min(Fraction(1), max(Fraction(0), Fraction(3, 2) - Fraction(n, 2 * c)))


def weight_of_pairs(n: int, c: int) -> Fraction:
    """Of n differences where c were drawn: 1 up to c, then falling, at first as c/n does, to 0 before 3 c."""
    return Fraction(1) if n <= c else max(Fraction(0), Fraction(16 * c, 15 * n) - Fraction(n * n, 15 * c * c))


@dataclass(frozen=True)
class RankTestStep(NoInterval):
    r"""Sizes first, then the doubled rank statistic, weighed down where a group is larger than the largest drawn size c; Laplace noise.

    Theorem. A row that comes or goes moves v(n) v(k) `standing`, of groups of n and k rows, by at most 27 c/16, and w(n) `leaning`, of n
    rows, by at most 16 c/5; v and w are the two weights above. With N rows of a person and one more for rounding to whole numbers noise of
    N times that over epsilon is epsilon-DP, and twice as much under replace. With the sizes the whole costs the sum of both.
    Proof. Standing: |S| <= n k, and a row brings at most k. It moves v(n) S by at most k (v(n+1) + n (v(n) - v(n+1))): k for n < c, and
    for c <= n, where v falls by 1/(2c) a row until it is 0, at most 3k/2. And k v(k) <= 9 c/8, at k = 3 c/2. Leaning: a row with j others
    below it has a doubled rank of 2 (j + 1), and those of the n - j above it rise by 2, ties share: 2 (n + 1); |S| <= n (n + 1). It moves
    w(n) S by at most B = n (n+1) w(n) + (n+1)(2-n) w(n+1), at most 2 c for n < c. For w = a c/n this is 3 a c, for -b n^2/c^2 it is
    -b (n+1)(3n+2)/c^2 < 0; a = 16/15 and b = 1/15 give w. Where w(n+1) is cut off at 0 B is only less. A replaced person is a removal and
    an addition. Groups are read up to 3 c rows, where both weights are 0. QED
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

    def reach(self, most: int) -> Fraction:
        """How far one person moves the weighed statistic, rounded, where so many rows were drawn."""
        step = (TWO if self.statistic.by is not None else PAIRS) * most + 1
        return step * self.context.limits.counted * (2 if self.context.unit.relation is Relation.REPLACE else 1)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        column = self.statistic.column
        (rows,) = read_totals(ask, (Item("rows", column),), groups)
        drawn = self.sizes.around(rows, draw)
        most = min(max(int(drawn.max(initial=1)), 1), MOST_ROWS // FARTHEST)
        found: list[Sorted] = list(ask(Rows(column, most=FARTHEST * most)))
        values = [np.asarray(part.values, np.int64) for part in found] + [np.empty(0, np.int64)] * 2
        noisy = Laplace(self.epsilon * (1 - SIZES), self.reach(most), 1, Fraction(1)).release(Held(self._told(values, most)), draw)
        return [Answer((float(noisy), float(n), float(most))) for n in drawn.tolist()]

    def _told(self, values: Sequence[Integers], most: int) -> int:
        """The weighed statistic, to the nearest whole number."""
        if self.statistic.by is None:
            return round(weight_of_pairs(len(values[0]), most) * leaning(values[0] - self._zero))
        weight = weight_of_two(len(values[0]), most) * weight_of_two(len(values[1]), most)
        return round(weight * standing(values[0], values[1]))

    @property
    def _zero(self) -> int:
        """Where zero lies on the column's grid."""
        return -length_grid(self.context, self.statistic.column).low


@dataclass(frozen=True)
class RankTest(Plain):
    """Whether one of two groups tends to larger values (`by` names their column), or whether a column of differences leans to a side.

    Every group's answer is (weighed doubled statistic, drawn rows, the size from which on groups weigh less).
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
