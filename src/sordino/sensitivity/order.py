"""A sorted column between its public bounds, and the checks every question about it passes first.

A sorted column of which only the ranks around one place are known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sordino.errors import QueryError

__all__ = ["WIDEST", "Array", "Bounds", "Glimpse", "Number", "Order", "decay", "limits", "rank", "share", "whole"]

Array = NDArray[Any]
Number = int | float
Bounds = Sequence[Any]

WIDEST = 2**62  # integer gaps and their small multiples stay inside int64
CHUNK = 1 << 15  # a sortedness test that stays in cache and stops at the first descent


def limits(bounds: Bounds) -> tuple[Number, Number]:
    """The public bounds (L, U): whole numbers stay exact, everything else becomes a float."""
    try:
        lower, upper = bounds
        whole_numbers = all(isinstance(b, int | np.integer) and not isinstance(b, bool) for b in (lower, upper))
        low, high = (int(lower), int(upper)) if whole_numbers else (float(lower), float(upper))
    except (TypeError, ValueError, OverflowError):
        raise QueryError("SRD-104", f"bounds are {bounds!r}.", "Give bounds=(lower, upper), two public numbers.") from None
    if not low <= high:
        raise QueryError("SRD-104", f"bounds ({low}, {high}) are reversed or no numbers.", "Give bounds=(lower, upper), lower <= upper.")
    if not math.isfinite(high - low) or (whole_numbers and max(abs(low), abs(high)) >= WIDEST // 2):
        raise QueryError("SRD-104", f"bounds ({low}, {high}) are too wide.", "Give finite bounds; whole numbers below 2**61.")
    return low, high


def decay(beta: float) -> float:
    """The rate beta > 0 at which a smooth bound may fall from one neighbour to the next."""
    try:
        rate = float(beta)
    except (TypeError, ValueError, OverflowError):
        rate = math.nan
    if not (math.isfinite(rate) and rate > 0):
        raise QueryError("SRD-103", f"beta is {beta!r}.", "Give a finite beta > 0, for instance 0.3 epsilon.")
    return rate


def whole(name: str, value: int, least: int) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise QueryError("SRD-103", f"{name} is {value!r}.", f"Give {name} as a whole number of at least {least}.")
    return int(value)


def share(q: float | Fraction | str) -> Fraction:
    """The quantile's level as the decimal that was written: 0.1 means one tenth, not the nearest binary number."""
    try:
        level = Fraction(str(q))
    except (ValueError, ZeroDivisionError):
        level = Fraction(-1)
    if not 0 <= level <= 1:
        raise QueryError("SRD-103", f"q is {q!r}.", "Give a quantile level between 0 and 1.")
    return level


def rank(q: float | Fraction | str, n: int) -> int:
    """Which order statistic of n the q-quantile is: max(1, ceil(q n)); the median is the lower one."""
    return max(1, math.ceil(share(q) * n))


def ascending(values: Array) -> bool:
    """Whether a column is sorted already, NaN counting as a descent."""
    left, right = values[:-1], values[1:]
    return all(bool((left[i : i + CHUNK] <= right[i : i + CHUNK]).all()) for i in range(0, len(left), CHUNK))


@dataclass(frozen=True, eq=False, repr=False)
class Order:
    """x_(1) <= ... <= x_(n) clamped to [L, U], with x_(i) = L below rank 1 and U above rank n.

    Values are clamped when they are read: clamping is monotone, so a sorted column stays sorted and a million rows nobody asks for
    are never touched. Integers between integer bounds stay integers.
    """

    values: Array
    lower: Number
    upper: Number
    exact: bool
    mirrored: bool = False

    @classmethod
    def of(cls, x: ArrayLike, bounds: Bounds) -> Order:
        """Sort x if need be and refuse what has no place on the line."""
        lower, upper = limits(bounds)
        values = np.asarray(x)
        if values.ndim != 1:
            raise QueryError("SRD-105", "x is not a column.", "Give a one-dimensional array.")
        if values.dtype.kind == "O" and all(isinstance(v, int) for v in values):
            values = np.array([min(max(v, -WIDEST), WIDEST) for v in values], dtype=np.int64)
        if values.dtype.kind == "b":
            values = values.astype(np.int64)
        if values.dtype == np.uint64:
            values = np.minimum(values, np.uint64(WIDEST)).astype(np.int64)
        if values.dtype.kind not in "iuf":
            raise QueryError("SRD-105", "x holds something that is not a number.", "Drop or replace such values first.")
        if not ascending(values):
            values = np.sort(values)
        if len(values) and np.isnan(values[-1]):  # a NaN fails every comparison, so it was sorted to the end
            raise QueryError("SRD-105", "x holds NaN.", "Drop or replace missing values first.")
        whole_numbers = isinstance(lower, int) and isinstance(upper, int)
        return cls(values, lower, upper, whole_numbers and (values.dtype.kind in "iu" or not len(values)))

    @property
    def n(self) -> int:
        return len(self.values)

    @property
    def width(self) -> Number:
        return self.upper - self.lower

    @property
    def dtype(self) -> type[np.int64] | type[np.float64]:
        return np.int64 if self.exact else np.float64

    def room(self, factor: int) -> None:
        """Refuse bounds so wide that `factor` gaps could leave int64."""
        if self.exact and self.width * factor >= WIDEST:
            raise QueryError("SRD-104", "bounds are too wide for exact whole-number sums.", "Use a coarser grid or narrower bounds.")

    def mirror(self) -> Order:
        """The same column read from the other end: -x_(n), ..., -x_(1)."""
        return Order(self.values, self.lower, self.upper, self.exact, not self.mirrored)

    def span(self, first: int, last: int) -> Array:
        """x_(first), ..., x_(last)."""
        if self.mirrored:
            return -self.plain(self.n + 1 - last, self.n + 1 - first)[::-1]
        return self.plain(first, last)

    def plain(self, first: int, last: int) -> Array:
        below = max(0, min(last, 0) - first + 1)
        above = max(0, last - max(first, self.n + 1) + 1)
        core = self.values[max(first, 1) - 1 : max(last, 0)].astype(self.dtype)
        ends = np.full(below, self.lower, self.dtype), np.full(above, self.upper, self.dtype)
        return np.concatenate((ends[0], np.clip(core, self.lower, self.upper), ends[1]))

    def at(self, i: int) -> Any:
        """x_(i), one number."""
        return self.span(i, i)[0]

    def total(self) -> Any:
        """The sum of the clamped column, exact for whole numbers."""
        column = self.span(1, self.n)
        if self.exact and self.n * max(abs(self.lower), abs(self.upper)) >= WIDEST:
            return sum(column.tolist())
        return column.sum().item()


@dataclass(frozen=True, eq=False, repr=False)
class Glimpse(Order):
    """`values` are the ranks `first`, first + 1, ... of `size` rows; ranks that were not read count as the nearer bound.

    A ladder's rungs below a public window look at ranks near the quantile only, so on those it is the ladder of the whole column. The
    rungs beyond stand under the global sensitivity, which needs no data.
    """

    first: int = 1
    size: int = 0

    @property
    def n(self) -> int:
        return self.size

    def mirror(self) -> Glimpse:
        return replace(self, mirrored=not self.mirrored)

    def plain(self, first: int, last: int) -> Array:
        ranks = np.arange(first, last + 1)
        known = (ranks >= self.first) & (ranks < self.first + len(self.values)) & (ranks >= 1) & (ranks <= self.size)
        out: Array = np.where(ranks < self.first + len(self.values) // 2, self.lower, self.upper).astype(self.dtype)
        out = np.where(ranks < 1, self.lower, np.where(ranks > self.size, self.upper, out)).astype(self.dtype)
        out[known] = self.values[ranks[known] - self.first]
        return out
