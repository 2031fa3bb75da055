"""Exact integer totals per group, and rank windows per group: what an engine computes on a bounded table."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.summaries.request import Hidden, Request, Window

__all__ = ["ALL", "MOST_ROWS", "GroupTotals", "Item", "Ranks", "Rows", "Sorted", "Totals", "Values"]

MOST_ROWS = 5_000_000
ALL = 2**32  # the share of Rows that keeps every row


@dataclass(frozen=True)
class Item:
    """One exact integer per group.

    what: "rows" (all rows, or rows where `column` is not null), "units" (distinct unit ids), "sum" of a column's grid integers x over its
    non-null rows, "coarse" and "squares" the sums of x >> s and of (x >> s)^2 with s = coarse_shift(grid), so that a square has at most
    40 bits, "counted" (rows for which frame.counted[index] is true), "moved" (rows beyond limits; only `Clipped` is answered with it).
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
