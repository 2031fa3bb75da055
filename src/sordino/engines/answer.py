"""Answers of one release: exact totals, rank windows and sorted rows over its bounded table.

Order statistics of a column too large to hold: a coarse histogram finds where the wanted ranks are, and only those values are read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from sordino.engines.array import column_array
from sordino.engines.moment_text import (
    SETS,
    crossed,
    gradient_text,
    gram_text,
    lengths_text,
    marginal_text,
    matrix,
    outer_text,
    reaches,
    whole,
)
from sordino.engines.records import SLICE, RecordReader, fewest, thinned
from sordino.engines.text import Text
from sordino.engines.value_text import key_in, key_out, quoted
from sordino.errors import QueryError
from sordino.schema.frame import Frame
from sordino.sensitivity.distance import canonical
from sordino.summaries.marginal import Crossed, Marginals
from sordino.summaries.moment import EXACT, ONE, Gradient, Gram, Lengths, Outer, Products, Sizes, Slope
from sordino.summaries.records import Records
from sordino.summaries.request import WHOLE_WEIGHT, KeyWeights, Tally, Window, rank_window
from sordino.summaries.totals import ALL, Clipped, GroupTotals, Item, Middle, Middles, Ranks, Rows, Sorted, Totals, exact_sum, middle

__all__ = ["SLICE", "EngineAnswer", "RankOrder", "sorted_groups"]

Integers = NDArray[np.int64]
Count = Callable[[int, int, int], tuple[Integers, Integers]]
Read = Callable[[int, int], Integers]
Add = Callable[[int, int], int]
BITS = 12  # a histogram of 4,096 buckets stays in the cache


class RankOrder:
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


Key = tuple[Any, ...]
LARGE = 2**63


class EngineAnswer(RecordReader):
    """What one release may ask its bounded table. `after` runs when a question has been read, to notice a source that moved."""

    def __init__(self, cursor: Any, text: Text, table: str, after: Callable[[], None] = lambda: None) -> None:
        self._cursor, self._text, self._table, self._after = cursor, text, table, after
        self.inside: Callable[[Frame], EngineAnswer] | None = None  # how to bound again inside wanted keys, where that can be had for less

    def __repr__(self) -> str:
        return "Answer(private)"

    def again(self, frame: Frame) -> EngineAnswer | None:
        return None if self.inside is None else self.inside(frame)

    def ask(self, request: Any) -> Any:
        """Totals and Clipped give GroupTotals; Ranks, Middles, Rows and Records an iterator over the groups."""
        if isinstance(request, Totals):
            return self._totals(request.items)
        if isinstance(request, Clipped):
            return self._clipped(request)
        if isinstance(request, Ranks):
            return self._ranks(request)
        if isinstance(request, Middles):
            return self._middles(request)
        if isinstance(request, Rows):
            return self._rows(request)
        if isinstance(request, Records):
            return self._records(request)
        if isinstance(request, Gram):
            return self._gram(request)
        if isinstance(request, Gradient):
            return self._gradient(request)
        if isinstance(request, Lengths):
            return self._lengths(request)
        if isinstance(request, Outer):
            return self._outer(request)
        if isinstance(request, Marginals):
            return self._marginals(request)
        if isinstance(request, KeyWeights):
            return self._weights(request)
        raise QueryError("SRD-106", f"an engine does not answer {type(request).__name__}.", "Ask for Totals, Ranks or Rows.")

    def _fetch(self, statement: str) -> dict[str, Any]:
        found: dict[str, Any] = self._cursor.execute(statement).fetchnumpy()
        self._after()
        return found

    def _groups(self, found: dict[str, Any]) -> list[Key]:
        """The keys of a grouped answer, in their database form."""
        columns = [found[name].tolist() for name in self._text.keys]
        return list(zip(*columns, strict=True)) if columns else [()]

    def _totals(self, items: tuple[Item, ...]) -> GroupTotals:
        found = self._fetch(self._text.grouped(self._table, [self._text.total(item) for item in items] or ["count(*)"]))
        keys, place = self._placed(self._groups(found))
        return GroupTotals(keys, {item: _integers(found[f"s{i}"], place, len(keys)) for i, item in enumerate(items)})

    def _placed(self, occur: list[Key]) -> tuple[tuple[Key, ...], NDArray[np.intp]]:
        """All keys in their public order, and where in it each key that occurs belongs."""
        by, public = self._text.by, self._text.frame.public_groups
        if public is not None:
            return public, np.array([self._places[key] for key in occur], dtype=np.intp)
        outside = [tuple(key_out(column, part) for column, part in zip(by, key, strict=True)) for key in occur]
        order = sorted(range(len(outside)), key=lambda i: tuple(map(canonical, outside[i])))
        place = np.empty(len(order), dtype=np.intp)
        place[order] = np.arange(len(order))
        return tuple(outside[i] for i in order), place

    @cached_property
    def _places(self) -> dict[Key, int]:
        """Where in their public order the keys stand, by their database form."""
        return {key: i for i, key in enumerate(map(self._inside, self._text.frame.public_groups or ()))}

    def _inside(self, key: Key) -> Key:
        return tuple(key_in(column, part) for column, part in zip(self._text.by, key, strict=True))

    def _clipped(self, request: Clipped) -> GroupTotals:
        """Rows, clipped sums and moved rows of the groups that were named; the limits are a small table of their own."""
        column, names = self._text.column(request.column), self._text.keys
        clip = f"CASE WHEN {column} < low THEN low WHEN {column} > high THEN high ELSE {column} END"  # null stays null
        sums = f"count({column}) AS s0, COALESCE(CAST(sum({clip}) AS VARCHAR), '0') AS s1"
        sums += f", count(CASE WHEN {column} < low OR {column} > high THEN 1 END) AS s2"
        keys = ((),) if request.keys is None else request.keys
        inside = [self._inside(key) for key in keys]
        parts = {f"w{i}": column_array([key[i] for key in inside]) for i in range(len(names))}
        low, high = (np.array([limit[end] for limit in request.limits], dtype=np.int64) for end in (0, 1))
        self._cursor.register("wanted", {"place": np.arange(len(keys)), "low": low, "high": high, **parts})
        same = " AND ".join(f"{name} IS NOT DISTINCT FROM w{i}" for i, name in enumerate(names)) or "TRUE"
        found = self._fetch(f"SELECT place, {sums} FROM {self._table} AS bounded JOIN wanted ON {same} GROUP BY place")
        place = np.asarray(found["place"], dtype=np.intp)
        return GroupTotals(keys, {item: _integers(found[f"s{i}"], place, len(keys)) for i, item in enumerate(request.items)})

    def _weights(self, request: KeyWeights) -> Tally:
        """The weight of every key that is left: a person's is divided among those they have there."""
        names, unnamed = self._text.keys, ""
        if request.without:
            inside = [self._inside(cast(Key, key)) for key in request.without]
            parts = {f"w{i}": column_array([key[i] for key in inside]) for i in range(len(names))}
            self._cursor.register("named", {"place": np.arange(len(inside)), **parts})
            same = " AND ".join(f"{name} IS NOT DISTINCT FROM w{i}" for i, name in enumerate(names))
            unnamed = f" WHERE NOT EXISTS (SELECT 1 FROM named WHERE {same})"
        keys = ", ".join(names)
        apart = "DISTINCT " * (self._text.limits.rows > 1)  # one row of a person in a group is a pair already
        pairs = f"SELECT {apart}u, {keys} FROM {self._table} AS bounded{unnamed}"
        many = "SELECT u AS who, count(*) AS many FROM pairs GROUP BY u"
        each = f"CAST(floor(CAST({WHOLE_WEIGHT} AS DOUBLE) / sqrt(CAST(many AS DOUBLE))) AS BIGINT)"  # exact: sqrt and / round correctly
        held = f"WITH pairs AS ({pairs}) SELECT {keys}, {each} AS w FROM pairs JOIN ({many}) AS held ON who = u"
        found = self._fetch(self._text.grouped(f"({held}) AS weighed", ["sum(w)"]))
        occur, place = self._placed(self._groups(found))
        return Tally(occur, _integers(found["s0"], place, len(occur)).astype(np.int64))

    def _gram(self, request: Gram) -> Products:
        sums = len(request.terms) * (len(request.terms) + 1) // 2
        for number in ("DOUBLE", "BIGINT"):  # twice only for more rows than doubles add up exactly
            found = self._fetch(self._text.grouped(*gram_text(self._text, self._table, request, number)))
            if np.max(found[f"s{sums}"], initial=0) <= EXACT:
                break
        keys, place = self._placed(self._groups(found))
        return Products(keys, matrix(whole(found, 0, sums, place, len(keys)), reaches(self._text, request.terms)))

    def _gradient(self, request: Gradient) -> Slope:
        found = self._fetch(self._text.grouped(*gradient_text(self._text, self._table, request)))
        keys, place = self._placed(self._groups(found))
        size, cells = request.size, request.octaves + 1 if request.octaves else 0
        return Slope(keys, *(whole(found, first, count, place, len(keys)) for first, count in ((0, size), (size, cells))))

    def _lengths(self, request: Lengths) -> Sizes:
        found = self._fetch(self._text.grouped(*lengths_text(self._text, self._table, request)))
        keys, place = self._placed(self._groups(found))
        return Sizes(keys, whole(found, 0, len(request.edges) + 1, place, len(keys)))

    def _outer(self, request: Outer) -> Products:
        found = self._fetch(self._text.grouped(*outer_text(self._text, self._table, request)))
        keys, place = self._placed(self._groups(found))
        size = request.size
        sums = whole(found, 0, size * (size + 1) // 2, place, len(keys))
        return Products(keys, matrix(sums, [ONE] * size))

    def _marginals(self, request: Marginals) -> Crossed:
        """One pass over the rows for every so many sets."""
        out: list[NDArray[np.int64]] = []
        for start in range(0, len(request.sets), SETS):
            some = replace(request, sets=request.sets[start : start + SETS])
            out += crossed(self._fetch(marginal_text(self._text, self._table, some)), some)
        return Crossed(tuple(out))

    def _ranks(self, request: Ranks) -> Iterator[tuple[Window, ...]]:
        width = self._width(request.column)
        for x, _ in self._sorted(request.column, request.keys):
            yield tuple(rank_window(x, q, request.radius, 0, width) for q in request.q)

    def _middles(self, request: Middles) -> Iterator[Middle]:
        width = self._width(request.column)
        for (x, _), kept in zip(self._sorted(request.column, request.keys), request.kept, strict=True):
            yield middle(x, kept, request.radius, width)

    def _rows(self, request: Rows) -> Iterator[Sorted]:
        column = self._text.column(request.column)
        for place, (x, where) in enumerate(self._sorted(request.column, request.keys)):
            text = ""
            if request.shares is not None and request.shares[place] < ALL:
                text = thinned(self._text, self._table, (column,), where, request.shares[place])
            elif request.shares is None and len(x) > request.most:
                text = fewest(self._text, self._table, (column,), where, request.most)
            values = np.asarray(self._fetch(text)[column], dtype=np.int64) if text else x[:]
            yield Sorted(np.sort(values), len(values))

    def _width(self, name: str) -> int:
        return next(column for column in self._text.frame.columns if column.name == name).grid().width

    def _sorted(self, name: str, named: tuple[Key, ...] | None) -> Iterator[tuple[Integers, str]]:
        """Each group's column in order, and the condition that names the group."""
        column, width = self._text.column(name), self._width(name)
        if not self._text.keys:
            yield self._order(column, width, "TRUE").array(), "TRUE"
            return
        wanted, sizes = self._sizes(column, named)
        at = 0
        while at < len(wanted):
            stop, rows = at, 0
            while stop < len(wanted) and (stop == at or rows + sizes.get(wanted[stop], 0) <= SLICE):
                rows += sizes.get(wanted[stop], 0)
                stop += 1
            if rows > SLICE:
                yield self._order(column, width, self._only(wanted[at])).array(), self._only(wanted[at])
            else:
                for key, values in zip(wanted[at:stop], self._slice(column, width, wanted[at:stop], rows), strict=True):
                    yield values, self._only(key)
            at = stop

    def _sizes(self, column: str, named: tuple[Key, ...] | None) -> tuple[list[Key], dict[Key, int]]:
        """The groups to look at, in order and in their database form, and how many values of a column the groups that occur have."""
        found = self._fetch(self._text.grouped(self._table, [f"count({column})"]))
        occur = self._groups(found)
        keys, _ = self._placed(occur)
        return [self._inside(key) for key in (keys if named is None else named)], dict(zip(occur, found["s0"].tolist(), strict=True))

    def _order(self, column: str, width: int, where: str) -> RankOrder:
        """One group's column, sorted as far as anybody looks."""

        def rows(what: str, low: int, high: int) -> str:
            inside = f" AND {column} >= {low} AND {column} < {high}" if (low, high) != (0, width + 1) else ""
            return f"SELECT {what} FROM {self._table} AS bounded WHERE {where}{inside}"

        def count(low: int, high: int, shift: int) -> tuple[Integers, Integers]:
            bucket = rows(f"({column} - {low}) >> {shift} AS bucket" if low else f"{column} >> {shift} AS bucket", low, high)
            found = self._fetch(f"SELECT bucket, count(*) AS n FROM ({bucket}) AS found GROUP BY bucket")
            known = ~np.ma.getmaskarray(found["bucket"])  # nulls are a bucket of their own; a filter would cost more than it saves
            return np.ma.getdata(found["bucket"])[known], found["n"][known]

        def read(low: int, high: int) -> Integers:
            found = np.ma.compressed(self._fetch(rows(f"{column} AS q", low, high))["q"])
            return found.astype(np.int64, copy=False)

        def add(low: int, high: int) -> int:
            return int(self._fetch(rows(f"COALESCE(CAST(sum({column}) AS VARCHAR), '0') AS total", low, high))["total"][0])

        return RankOrder(width, count, read, add=add)

    def _only(self, key: Key) -> str:
        return " AND ".join(f"{name} IS NOT DISTINCT FROM {_literal(part)}" for name, part in zip(self._text.keys, key, strict=True))

    def _slice(self, column: str, width: int, keys: list[Key], rows: int) -> list[Integers]:
        """The sorted values of several whole groups, read together."""
        if not rows:
            return [np.empty(0, dtype=np.int64)] * len(keys)
        names = self._text.keys
        parts = {f"w{i}": column_array([key[i] for key in keys]) for i in range(len(names))}
        self._cursor.register("wanted", {"place": np.arange(len(keys)), **parts})
        same = " AND ".join(f"{name} IS NOT DISTINCT FROM w{i}" for i, name in enumerate(names))
        found = self._fetch(f"SELECT place, {column} AS q FROM {self._table} AS bounded JOIN wanted ON {same} WHERE {column} IS NOT NULL")
        return sorted_groups(np.asarray(found["place"], dtype=np.int64), np.asarray(found["q"], dtype=np.int64), len(keys), width)


def _literal(part: Any) -> str:
    return "NULL" if part is None else quoted(part) if isinstance(part, str) else str(part)


def _integers(found: NDArray[Any], place: NDArray[np.intp], groups: int) -> NDArray[Any]:
    """One exact integer per group in public order, as 64-bit integers when they all fit."""
    total = found if found.dtype.kind == "i" else [int(text) for text in found]
    fits = found.dtype.kind == "i" or all(value < LARGE for value in total)  # grid integers are never negative
    values: NDArray[Any] = np.zeros(groups, dtype=np.int64 if fits else object)
    values[place] = total
    return values
