"""Whole rows of several columns: what a function of one's own needs, all of them or split into parts that share nobody."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.summaries.moment import ONE
from sordino.summaries.request import Hidden, Request
from sordino.summaries.totals import MOST_ROWS

__all__ = ["Records", "RowMatrix", "in_order", "in_parts", "of_coordinates"]

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Records(Request[Iterator["RowMatrix"]]):
    r"""Ask for the rows of several columns in each group; the answer is an iterator of one Matrix per group, ordered as for Ranks.

    A row in which one of the columns is null drops out. `most` and `shares` cut a group exactly as for `Rows`, with whole rows in place
    of values, and its theorems hold word by word. With `parts` the rows are dealt out instead: a row goes to part floor(h parts / 2^32),
    h the first 32 bits of the keyed hash of its person, or, where a row is the unit, of the row and how many equal rows came before; of
    each part the most // parts rows with the smallest h stay, equal ones in the order of their values.

    Theorem. For every key, a person who comes or goes changes the rows of one part; a person who is replaced those of at most two.
    Proof. All rows of a person have one h, so they lie in one part, and what is kept of a part depends on this part alone. Where a row
    is the unit, equal rows are interchangeable: a row more is one pair (row, place) more, and no other pair changes. QED
    """

    columns: tuple[str, ...]
    keys: tuple[tuple[Any, ...], ...] | None = None
    most: int = MOST_ROWS
    shares: tuple[int, ...] | None = None
    parts: int = 0

    @property
    def least(self) -> int:
        """So many rows at most are kept of one part."""
        return max(self.most // max(self.parts, 1), 1)


@dataclass(frozen=True, repr=False)
class RowMatrix(Hidden):
    """One row per row, one column per column, in whole grid steps above the lower bounds, in the order of the values.

    Where rows were dealt out, `part` is the part of each row and they are ordered by it first; otherwise it is empty. `memo` keeps what
    was computed from public rows as long as they live, and no longer.
    """

    values: Integers
    n: int
    part: Integers
    memo: dict[Any, Any] = field(default_factory=dict, compare=False)


def in_order(values: Integers) -> RowMatrix:
    """Rows in any order, as an answer."""
    return RowMatrix(values[np.lexsort(values.T[::-1])], len(values), np.empty(0, np.int64))


def of_coordinates(rows: NDArray[np.float64]) -> Iterator[RowMatrix]:
    """Whole coordinates behind a constant, as the one group of an answer: features in steps above -1, a target of 0 or 1 last.

    Rows that are held in memory already fit, so all of them stay.
    """
    whole = rows[~np.isnan(rows).any(axis=1)]
    target = (whole[:, -1:] > 0).astype(np.int64)
    return iter([in_order(np.column_stack([whole[:, 1:-1].astype(np.int64) + ONE, target]))])


def in_parts(values: Integers, hashes: Integers, request: Records) -> RowMatrix:
    """Rows in any order with the 32 bits of their hashes, dealt out and cut."""
    part = hashes * request.parts >> 32
    order = np.lexsort((*values.T[::-1], hashes))  # a part is a stretch of hashes
    part, values = part[order], values[order]
    starts = np.searchsorted(part, np.arange(request.parts))
    kept = np.arange(len(part)) - starts[part] < request.least
    part, values = part[kept], values[kept]
    order = np.lexsort((*values.T[::-1], part))
    return RowMatrix(values[order], len(order), part[order])
