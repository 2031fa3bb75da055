"""Exact integer totals per group, and rank windows per group: what an engine computes on a bounded table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.summaries.request import Hidden, Window

__all__ = ["GroupTotals", "Item", "Ranks", "Totals"]


@dataclass(frozen=True)
class Item:
    """One exact integer per group.

    what: "rows" (all rows, or rows where `column` is not null), "units" (distinct unit ids), "sum" of a column's grid integers x over its
    non-null rows, "coarse" and "squares" the sums of x >> s and of (x >> s)^2 with s = coarse_shift(grid), so that a square has at most
    40 bits, "counted" (rows for which frame.counted[index] is true).
    """

    what: str
    column: str | None = None
    index: int = 0


@dataclass(frozen=True)
class Totals:
    """Ask for several items at once, in one pass; the answer is a GroupTotals."""

    items: tuple[Item, ...]


@dataclass(frozen=True, repr=False)
class GroupTotals(Hidden):
    """Group keys in order (one empty key when ungrouped) and, for each item, one integer per group; sums may exceed 64 bits."""

    keys: tuple[tuple[Any, ...], ...]
    values: Mapping[Item, NDArray[np.int64] | NDArray[np.object_]]


@dataclass(frozen=True)
class Ranks:
    """Ask for the order statistics around several levels of one column, in each group.

    The answer is an iterator over the groups, in the same order as GroupTotals.keys, of one tuple of Windows (one per level in `q`); for
    private keys only the groups named in `keys` (already drawn) are read.
    """

    column: str
    q: tuple[Fraction, ...]
    radius: int
    keys: tuple[tuple[Any, ...], ...] | None = None


Windows = tuple[Window, ...]
