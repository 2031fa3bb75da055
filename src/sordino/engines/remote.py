"""Answers from rows that are far away: of a group's sorted column only the ranks somebody looks at travel.

Which ranks these are depends on how many rows a group has, so each question is held twice: once with a column of that length that notes
what is looked at, and once with the ranks that were fetched for all groups together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from sordino.engines.answer import Answer
from sordino.engines.array import column_array
from sordino.engines.rank import SLICE
from sordino.summaries.request import Window
from sordino.summaries.totals import Middle, Middles, Ranks, middle, rank_window

__all__ = ["Glimpse", "Remote"]

T = TypeVar("T")
Key = tuple[Any, ...]
Integers = NDArray[np.int64]
AT_ONCE = SLICE // 2  # ranks read at one time: 24 MB as they arrive


@dataclass
class Glimpse:
    """A sorted column of which only some ranks are known. Before `ranks` are known it notes what it is asked for and answers with zeros."""

    n: int
    slices: list[tuple[int, int]] = field(default_factory=list)
    sums: list[tuple[int, int]] = field(default_factory=list)
    ranks: Integers | None = None
    values: Integers = field(default_factory=lambda: np.empty(0, np.int64))
    totals: dict[tuple[int, int], int] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, wanted: slice) -> Integers:
        start, stop, _ = wanted.indices(self.n)
        if self.ranks is not None:
            found: Integers = self.values[np.searchsorted(self.ranks, start) : np.searchsorted(self.ranks, stop)]
            return found
        if start < stop:
            self.slices.append((start, stop))
        return np.zeros(max(stop - start, 0), np.int64)

    def total(self, start: int, stop: int) -> int:
        if self.ranks is None:
            self.sums.append((start, stop))
        return self.totals.get((start, stop), 0)

    @property
    def rows(self) -> int:
        return sum(stop - start for start, stop in self.ranges)

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """What was looked at, from zero, as stretches that do not touch."""
        merged: list[tuple[int, int]] = []
        for start, stop in sorted(self.slices):
            if merged and start <= merged[-1][1]:
                merged[-1] = merged[-1][0], max(stop, merged[-1][1])
            else:
                merged.append((start, stop))
        return merged


class Remote(Answer):
    """What a release may ask a bounded table on another machine."""

    def _ranks(self, request: Ranks) -> Iterator[tuple[Window, ...]]:
        width = self._width(request.column)

        def look(x: Any, place: int) -> tuple[Window, ...]:
            return tuple(rank_window(x, q, request.radius, 0, width) for q in request.q)

        return self._looked(request.column, request.keys, look)

    def _middles(self, request: Middles) -> Iterator[Middle]:
        width = self._width(request.column)
        return self._looked(request.column, request.keys, lambda x, place: middle(x, request.kept[place], request.radius, width))

    def _looked(self, name: str, named: tuple[Key, ...] | None, look: Callable[[Any, int], T]) -> Iterator[T]:
        """What `look` sees in each group, in order, and as many groups at a time as fit."""
        column, width = self._text.column(name), self._width(name)
        if not self._text.keys:
            yield look(self._order(column, width, "TRUE").array(), 0)
            return
        wanted, sizes = self._sizes(column, named)
        place = 0
        while place < len(wanted):
            batch: list[Glimpse] = []
            rows = 0
            for key in wanted[place:]:
                glimpse = Glimpse(sizes.get(key, 0))
                look(glimpse, place + len(batch))
                rows += glimpse.rows
                if batch and rows > AT_ONCE:
                    break
                batch.append(glimpse)
            if rows > AT_ONCE and len(batch) == 1:
                yield look(self._order(column, width, self._only(wanted[place])).array(), place)
            else:
                self._fill(column, wanted[place : place + len(batch)], batch)
                yield from (look(glimpse, place + i) for i, glimpse in enumerate(batch))
            place += len(batch)

    def _fill(self, column: str, keys: Sequence[Key], batch: Sequence[Glimpse]) -> None:
        """Fetch what these groups are looked at for: the values of some ranks, and the sums of others."""
        ranges = [(place, *ends) for place, glimpse in enumerate(batch) for ends in glimpse.ranges]
        sums = [(place, *ends) for place, glimpse in enumerate(batch) for ends in glimpse.sums]
        parts = {f"w{i}": column_array([key[i] for key in keys]) for i in range(len(self._text.keys))}
        self._cursor.register("wanted", {"place": np.arange(len(keys)), **parts})
        same = " AND ".join(f"{name} IS NOT DISTINCT FROM w{i}" for i, name in enumerate(self._text.keys))
        rows = f"SELECT place, {column} AS q FROM {self._table} AS bounded JOIN wanted ON {same} WHERE {column} IS NOT NULL"
        ranked = f"SELECT place, q, row_number() OVER (PARTITION BY place ORDER BY q) AS r FROM ({rows}) AS found"
        inside = f"FROM ({ranked}) AS ranked JOIN ranges ON place = of AND r > first AND r <= last"
        found = {"place": np.empty(0, np.int64), "r": np.empty(0, np.int64), "q": np.empty(0, np.int64)}
        if ranges:
            self._hold(ranges)
            found = self._fetch(f"SELECT place, r, q {inside}")
        order = np.lexsort((found["r"], found["place"]))
        ends = np.searchsorted(found["place"][order], np.arange(len(batch) + 1))
        for place, glimpse in enumerate(batch):
            mine = order[ends[place] : ends[place + 1]]
            glimpse.ranks, glimpse.values = found["r"][mine] - 1, found["q"][mine].astype(np.int64, copy=False)
        if sums:
            self._hold(sums)
            told = self._fetch(f"SELECT number, CAST(sum(q) AS VARCHAR) AS total {inside} GROUP BY number")
            for number, total in zip(told["number"].tolist(), told["total"].tolist(), strict=True):
                place, *stretch = sums[number]
                batch[place].totals[stretch[0], stretch[1]] = int(total)

    def _hold(self, ranges: Sequence[tuple[int, int, int]]) -> None:
        of, first, last = (np.array(part, np.int64) for part in zip(*ranges, strict=True))
        self._cursor.register("ranges", {"number": np.arange(len(ranges)), "of": of, "first": first, "last": last})
