"""Exact integer totals per group, and rank windows per group: what an engine computes on a bounded table.

The middle rows of a sorted column: their sum, and the order statistics around both of their ends.

Totals of a column moved into limits of each group's own: limits that were drawn, so that the request says nothing new.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.summaries.request import Hidden, Request, Window

__all__ = [
    "ALL",
    "MOST_ROWS",
    "Clipped",
    "GroupTotals",
    "Item",
    "Middle",
    "Middles",
    "Ranks",
    "Rows",
    "Sorted",
    "Totals",
    "Values",
    "exact_sum",
    "middle",
]

MOST_ROWS = 5_000_000
ALL = 2**32  # the share of Rows that keeps every row


@dataclass(frozen=True)
class Item:
    """One exact integer per group.

    what: "rows" (all rows, or rows where `column` is not null), "units" (distinct unit ids), "sum" of a column's grid integers x over its
    non-null rows, "coarse" and "squares" the sums of x >> s and of (x >> s)^2 with s = coarse_shift(grid), so that a square has at most
    40 bits, "counted" (rows for which frame.counted[index] is true), "people" (distinct unit ids of these rows),
    "moved" (rows beyond limits; only `Clipped` is answered with it).
    """

    what: str
    column: str | None = None
    index: int = 0


@dataclass(frozen=True)
class Totals(Request["GroupTotals"]):
    """Ask for several items at once, in one pass; the answer is a GroupTotals."""

    items: tuple[Item, ...]


@dataclass(frozen=True, repr=False)
class GroupTotals(Hidden):
    """Group keys in order (one empty key when ungrouped) and, for each item, one integer per group; sums may exceed 64 bits."""

    keys: tuple[tuple[Any, ...], ...]
    values: Mapping[Item, NDArray[np.int64] | NDArray[np.object_]]


@dataclass(frozen=True)
class Ranks(Request[Iterator[tuple[Window, ...]]]):
    """Ask for the order statistics around several levels of one column, in each group.

    The answer is an iterator over the groups, in the same order as GroupTotals.keys, of one tuple of Windows (one per level in `q`); for
    private keys only the groups named in `keys` (already drawn) are read.
    """

    column: str
    q: tuple[Fraction, ...]
    radius: int
    keys: tuple[tuple[Any, ...], ...] | None = None


@dataclass(frozen=True)
class Rows(Request[Iterator["Sorted"]]):
    r"""Ask for all values of one column, sorted, in each group; the answer is an iterator of one Sorted per group, ordered as for Ranks.

    A group with more than `most` rows is cut, never refused: of its pairs (value, how many equal values came before) the `most` with
    the smallest keyed hashes stay.

    Theorem. For every key, a step of the relation that removes up to m rows of a group and adds up to m changes the cut group by at
    most m removals and m additions; an added row may become a swap.
    Proof. Equal values are interchangeable, so a row more is one pair more, the rest unchanged. Let X be the pairs of all others, A and
    B those of the person before and after: the cut keeps a smallest pairs of A and b of B, and the smallest of X up to the same size. Of X
    it keeps |a - b| more on one side only, and both sides remove at most max(a, b) <= m. QED
    So under add_remove a mechanism fed by cut Rows must hold for additions, removals and replacements alike.

    With `shares`, one whole number out of 2^32 per group, nothing is cut: the pairs stay whose hashes, as numbers below 2^32, are below
    the group's share. Then an added row is an added row or nothing. A share that follows from a drawn count keeps the table small.
    """

    column: str
    keys: tuple[tuple[Any, ...], ...] | None = None
    most: int = MOST_ROWS
    shares: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Values(Request["Sorted"]):
    """Ask for all values there are, sorted; the answer is a Sorted."""


@dataclass(frozen=True, repr=False)
class Sorted(Hidden):
    """All values of a column in one group, in whole grid steps above the lower bound, ascending; n is how many they are."""

    values: NDArray[np.int64]
    n: int


Windows = tuple[Window, ...]


HALF = 31  # a sum of 2^31 integers of 31 bits fits in 62


@dataclass(frozen=True)
class Middles(Request[Iterator["Middle"]]):
    """Ask for the middle rows of a column in each group; how many is a drawn or public number, one per group.

    With `kept` rows out of n the middle are the ranks a + 1 .. a + kept, a = floor((n - kept) / 2), where ranks below 1 count as the
    lower and ranks above n as the upper bound. The answer is an iterator over the groups (those named in `keys`, if it is not None) of
    one Middle each, with the order statistics up to `radius` ranks from either end.
    """

    column: str
    kept: tuple[int, ...]
    radius: int
    keys: tuple[tuple[Any, ...], ...] | None = None


@dataclass(frozen=True, repr=False)
class Middle(Hidden):
    """The sum of the middle rows in grid steps, and the values of the ranks within `radius` of the first and of the last of them."""

    total: int
    lower: NDArray[np.int64]
    upper: NDArray[np.int64]
    kept: int
    radius: int
    n: int


def exact_sum(x: NDArray[np.int64]) -> int:
    """The sum of non-negative 64-bit integers, which need not fit in 64 bits."""
    return (int((x >> HALF).sum()) << HALF) + int((x & (2**HALF - 1)).sum())


def middle(x: Any, kept: int, radius: int, width: int) -> Middle:
    """The middle of a sorted array, or of anything that has a length and a slice of sorted values, on the grid 0 .. width.

    What has a method total(start, stop) is asked for its sum, so that a column too large to hold need not be read.
    """
    n = len(x)
    first = (n - kept) // 2 + 1

    def ranks(start: int, stop: int) -> NDArray[np.int64]:
        """x_(start) .. x_(stop)."""
        inside = np.asarray(x[max(start, 1) - 1 : max(stop, 0)], np.int64)
        before, after = max(0, min(stop, 0) - start + 1), max(0, stop - max(start, n + 1) + 1)
        return np.concatenate([np.zeros(before, np.int64), inside, np.full(after, width, np.int64)])

    start, stop = min(max(first, 1), n + 1), max(min(first + kept - 1, n), 0)
    real = (x.total(start - 1, stop) if hasattr(x, "total") else exact_sum(x[start - 1 : stop])) if stop >= start else 0
    beyond = max(0, first + kept - 1 - max(n, first - 1))
    last = first + kept - 1
    lower, upper = (ranks(end - radius, end + radius) for end in (first, last))
    return Middle(real + beyond * width, lower, upper, kept, radius, n)


@dataclass(frozen=True)
class Clipped(Request[GroupTotals]):
    """Ask for the rows of a column, the sum of min(max(x, low), high) and how many were moved, one pair of limits (low, high) per group.

    Limits are grid integers; nulls drop out. `keys` names the groups the limits belong to, None when there are none. The answer is a
    GroupTotals of exactly these groups with the three `items`.
    """

    column: str
    limits: tuple[tuple[int, int], ...]
    keys: tuple[tuple[Any, ...], ...] | None = None

    @property
    def items(self) -> tuple[Item, Item, Item]:
        return Item("rows", self.column), Item("sum", self.column), Item("moved", self.column)
