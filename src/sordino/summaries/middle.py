"""The middle rows of a sorted column: their sum, and the order statistics around both of their ends."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.summaries.request import Hidden, Request

__all__ = ["Middle", "Middles", "exact_sum", "middle"]

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
