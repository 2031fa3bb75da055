"""The ladders of sums over the middle rows: trimmed and winsorised means whose number of kept rows is public.

With the kept number fixed the middle of a table depends on n only through where it starts, and one row more or less shifts it by half a
rank. So these ladders need no public size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sordino.privacy.relation import Relation
from sordino.sensitivity.ladder import Ladder
from sordino.sensitivity.order import WIDEST, Array, Number, Order
from sordino.sensitivity.rank_ladder import box_ladder, window_ladder
from sordino.summaries.totals import Middle

__all__ = ["Ends", "middle_sum", "weighted_sum"]


@dataclass(frozen=True, eq=False, repr=False)
class Ends(Order):
    """A sorted column of `size` rows of which the ranks around the first and the last of its middle rows are known, and no others.

    `values` are the lower stretch followed by the upper one, each `radius` ranks to either side. What lies beyond counts as the bound.
    """

    size: int = 0
    kept: int = 1
    radius: int = 0

    @classmethod
    def seen(cls, middle: Middle, width: int) -> Ends:
        values = np.concatenate([middle.lower, middle.upper])
        return cls(values, 0, width, True, False, middle.n, middle.kept, middle.radius)

    @property
    def n(self) -> int:
        return self.size

    @property
    def first(self) -> int:
        return (self.size - self.kept) // 2 + 1

    @property
    def last(self) -> int:
        return self.first + self.kept - 1

    def plain(self, first: int, last: int) -> Array:
        ranks = np.arange(first, last + 1)
        out: Array = np.where(2 * ranks < self.first + self.last, self.lower, self.upper).astype(np.int64)
        for start, end in ((0, self.first), (2 * self.radius + 1, self.last)):
            near = np.abs(ranks - end) <= self.radius
            out[near] = self.values[start + ranks[near] - end + self.radius]
        return out


def _centred(order: Ends) -> Ladder:
    """A(k) of the sum of the middle rows when rows come and go."""

    def block(k0: int, k1: int) -> Array:
        k = np.arange(k0, k1)
        high, low = -((-order.n - order.kept - k) // 2), -((order.kept + k - order.n) // 2)
        upper, lower = order.span(int(high[0]), int(high[-1])), order.span(int(low[-1]), int(low[0]))
        return np.asarray(upper[high - high[0]] - lower[low - low[-1]])

    return Ladder(block, order.width, 2 * order.n + order.kept)


def _alternating(ladder: Ladder, rows: int, top: Number) -> Ladder:
    r"""The ladder of people with at most m rows who come and go, from the ladder of rows: every second row step counts.

    Theorem. sum over j < ceil(m/2) of A(x, k m + m - 1 - 2 j) bounds what a person within k people can move, and is a legal ladder. For
    replacements that may change n the same holds with 2 m in place of m.
    Proof. A step at an even n - M moves the sum down or not at all, one at an odd n - M up or not at all, whether a row comes or goes. A
    person's rows come (or go) one by one, so parities alternate; replaced rows are removed and added in turn, and the parities
    alternate too. So the moves in one direction are every second step, and A does not fall along the path. QED
    """
    if rows == 1:
        return ladder

    def block(k0: int, k1: int) -> Array:
        steps = ladder.block(k0 * rows, k1 * rows).reshape(-1, rows)
        return np.asarray(np.minimum(steps[:, ::-2].sum(axis=1), top))

    return Ladder(block, top, -(-ladder.depth // rows))


def middle_sum(order: Ends, relation: str = "add_remove", rows: int = 1) -> Ladder:
    r"""The sum of the ranks a + 1 .. a + M, a = floor((n - M)/2), ranks below 1 at the lower bound and above n at the upper one.

    Theorem. Under add_remove A(k) = x_(ceil((n+M+k)/2)) - x_(ceil((n-M-k)/2)), exactly; for M = 1 it is the ladder of the lower median.
    Under replace at a public n it is `window_ladder` with low = a + 1 and high = a + M. People who come and go: `_alternating`.
    Proof. Think of the column as continued by L to the left and by U to the right. Adding v when n - M is even leaves a as it is and
    moves the sum down, by at most x_(a+M) - x_(a), reached for v at L; when n - M is odd, a grows by one and the sum moves up by at most
    x_(a+M+1) - x_(a+1); removals are the mirror. So LS = x_(ceil((n+M)/2)) - x_(ceil((n-M)/2)). After A additions and B removals y_(i) <=
    x_(i+B) and y_(i) >= x_(i-A), and n became n + A - B, so with A + B <= k both ends lie within the ranks above; removing the k rows
    strictly between them attains it. A neighbour's ranks for k + 1 contain them: the ladder is legal. QED
    """
    if Relation.of(relation) is Relation.REPLACE:
        return window_ladder(order, order.first, order.last).people(rows, order.width * min(rows, order.kept))
    return _alternating(_centred(order), rows, order.width * min(-(-rows // 2), order.kept))


def weighted_sum(order: Ends, weight: int, relation: str = "add_remove", rows: int = 1) -> Ladder:
    r"""The same sum with its first and last row counted `weight` = t times more: the winsorised sum of M + 2t rows.

    Theorem. A = min(t A_first + A_middle + t A_last, (t + 1) R), or (2t + 1) R for M = 1, is a legal ladder; A_first and A_last are
    `box_ladder` with rise(s) = floor((n-M+s)/2) + 1 and fall(s) = floor((n-M-s)/2) + 1, shifted by M - 1 for the last row
    (`window_ladder` under replace).
    Proof. The triangle inequality rung by rung. A rank that starts at floor((n-M)/2) + 1 is, after s rows came or went, at least
    x_(fall(s)) and at most x_(rise(s)), by the same two inequalities as for the sum. One row moves every rank by at most one place in
    one direction; the change is linear in the gaps of the column, so largest for one gap of width R, which lies at the first row, at
    the last row, or between, and at both only if M = 1. QED
    """
    n, kept, replace = order.n, order.kept, Relation.of(relation) is Relation.REPLACE
    if replace:
        ends = [window_ladder(order, at, at) for at in (order.first, order.last)]
        inner = window_ladder(order, order.first, order.last)
    else:
        inner = _centred(order)
        ends = []
        for shift in (1, kept):

            def rise(s: Array, shift: int = shift) -> Array:
                return np.asarray((n - kept + s) // 2 + shift)

            def fall(s: Array, shift: int = shift) -> Array:
                return np.asarray((n - kept - s) // 2 + shift)

            ends.append(box_ladder(order, rise, fall, 1))
    far = rows if replace else -(-rows // 2)
    top, together = (order.width * (weight + moved if moved < kept else 2 * weight + kept) for moved in (1, far))

    kind: type = np.int64 if together < WIDEST else object  # many rows times wide bounds: Python integers

    def block(k0: int, k1: int) -> Array:
        total: Array = inner.block(k0, k1).astype(kind)
        for end in ends:
            total = total + weight * end.block(k0, k1).astype(kind)
        return np.asarray(np.minimum(total, top))

    ladder = Ladder(block, top, inner.depth)
    return ladder.people(rows, together) if replace else _alternating(ladder, rows, together)
