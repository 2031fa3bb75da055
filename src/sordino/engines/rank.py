"""Order statistics of a column too large to hold: a coarse histogram finds where the wanted ranks are, and only those values are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
from numpy.typing import NDArray

from sordino.summaries.totals import exact_sum

__all__ = ["SLICE", "Order", "sorted_groups"]

Integers = NDArray[np.int64]
Count = Callable[[int, int, int], tuple[Integers, Integers]]
Read = Callable[[int, int], Integers]
Add = Callable[[int, int], int]
SLICE = 2_000_000  # rows read at once, 16 MB a column
BITS = 12  # a histogram of 4,096 buckets stays in the cache


class Order:
    """A column in sorted order that reads only the ranks it is asked for: it has a length and it can be sliced, like a sorted array.

    `count(low, high, shift)` gives the buckets (value - low) >> shift of the values in low <= value < high and how many are in each;
    `read(low, high)` the values themselves, in any order, `add(low, high)` their sum.
    """

    def __init__(self, width: int, count: Count, read: Read, rows: int = SLICE, add: Add | None = None) -> None:
        self.end, self._count, self._read, self._rows = width + 1, count, read, rows
        self._add = add or (lambda low, high: exact_sum(read(low, high)))
        self._top = self._buckets(0, self.end)
        self._n = int(self._top[2].sum())
        self._all: Integers | None = None

    def __len__(self) -> int:
        return self._n

    def __getitem__(self, ranks: slice) -> Integers:
        if self._n <= self._rows:
            if self._all is None:
                self._all = np.sort(self._read(0, self.end))
            whole: Integers = self._all[ranks]
            return whole
        start, stop, _ = ranks.indices(self._n)
        return self._pick(start, stop, 0, self.end, self._top)

    def total(self, start: int, stop: int) -> int:
        """The sum of the ranks start to stop, from zero, without reading those between."""
        if self._n <= self._rows or stop - start <= self._rows:
            return exact_sum(self[start:stop])
        first, last = int(self[start : start + 1][0]), int(self[stop - 1 : stop][0])
        if first == last:
            return (stop - start) * first
        lowest = self._number(0, first + 1) - start  # how many of the ranks have the first value; the last value has the rest
        inside = self._number(first + 1, last)
        between = self._add(first + 1, last) if inside else 0
        return lowest * first + between + (stop - start - lowest - inside) * last

    def _number(self, low: int, high: int) -> int:
        return int(self._count(low, high, (high - low).bit_length())[1].sum())

    def array(self) -> NDArray[np.int64]:
        """This order where a sorted array is expected."""
        return cast("Integers", self)

    def _buckets(self, low: int, high: int) -> tuple[int, Integers, Integers]:
        shift = max((high - low).bit_length() - BITS, 0)
        buckets, counts = self._count(low, high, shift)
        order = np.argsort(buckets)
        return shift, low + (buckets[order] << shift), counts[order]

    def _pick(self, start: int, stop: int, low: int, high: int, found: tuple[int, Integers, Integers] | None = None) -> Integers:
        """Ranks start to stop, from zero, among the values in low <= value < high."""
        shift, values, counts = found or self._buckets(low, high)
        edges = np.concatenate([[0], np.cumsum(counts)])
        if shift == 0:
            inside = np.minimum(edges[1:], stop) - np.maximum(edges[:-1], start)
            return np.repeat(values, np.maximum(inside, 0)).astype(np.int64)
        pieces = [np.empty(0, dtype=np.int64)]
        here = int(np.searchsorted(edges, start, side="right")) - 1
        while here < len(counts) and edges[here] < stop:
            fits = int(np.searchsorted(edges, edges[here] + self._rows, side="right")) - 1
            then = min(max(fits, here + 1), int(np.searchsorted(edges, stop)))
            first, last = int(values[here]), min(int(values[then - 1]) + (1 << shift), high)
            a, b = max(start - int(edges[here]), 0), min(stop, int(edges[then])) - int(edges[here])
            crowded = edges[then] - edges[here] > self._rows
            pieces.append(self._pick(a, b, first, last) if crowded else np.sort(self._read(first, last))[a:b])
            here = then
        return np.concatenate(pieces)


def sorted_groups(group: Integers, value: Integers, groups: int, width: int) -> list[Integers]:
    """The sorted values of each group 0 .. groups - 1, from unsorted pairs."""
    bits = width.bit_length()
    if bits + groups.bit_length() < 63:  # one sort of one integer is several times faster than a sort by two keys
        packed = np.sort((group << bits) | value)
        group, value = packed >> bits, packed & ((1 << bits) - 1)
    else:
        order = np.lexsort((value, group))
        group, value = group[order], value[order]
    return np.split(value, np.searchsorted(group, np.arange(1, groups)))
