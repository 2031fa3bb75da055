"""Answers of one release: exact totals and rank windows over its bounded table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.engines.array import column_array
from sordino.engines.key import key_in, key_out
from sordino.engines.rank import SLICE, Order, sorted_groups
from sordino.engines.text import Text
from sordino.engines.value import quoted
from sordino.errors import QueryError
from sordino.sensitivity.distance import canonical
from sordino.summaries.request import Window
from sordino.summaries.totals import GroupTotals, Item, Ranks, Totals
from sordino.summaries.window import rank_window

__all__ = ["Answer"]

Key = tuple[Any, ...]
Integers = NDArray[np.int64]
LARGE = 2**63


class Answer:
    """What one release may ask its bounded table. `after` runs when a question has been read, to notice a source that moved."""

    def __init__(self, cursor: Any, text: Text, table: str, after: Callable[[], None] = lambda: None) -> None:
        self._cursor, self._text, self._table, self._after = cursor, text, table, after

    def __repr__(self) -> str:
        return "Answer(private)"

    def ask(self, request: Any) -> Any:
        """Totals gives GroupTotals; Ranks an iterator over the groups of one tuple of Windows each."""
        if isinstance(request, Totals):
            return self._totals(request.items)
        if isinstance(request, Ranks):
            return self._ranks(request)
        raise QueryError("SRD-106", f"an engine does not answer {type(request).__name__}.", "Ask for Totals or Ranks.")

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
            at = {key: i for i, key in enumerate(map(self._inside, public))}
            return public, np.array([at[key] for key in occur], dtype=np.intp)
        outside = [tuple(key_out(column, part) for column, part in zip(by, key, strict=True)) for key in occur]
        order = sorted(range(len(outside)), key=lambda i: tuple(map(canonical, outside[i])))
        place = np.empty(len(order), dtype=np.intp)
        place[order] = np.arange(len(order))
        return tuple(outside[i] for i in order), place

    def _inside(self, key: Key) -> Key:
        return tuple(key_in(column, part) for column, part in zip(self._text.by, key, strict=True))

    def _ranks(self, request: Ranks) -> Iterator[tuple[Window, ...]]:
        column = self._text.column(request.column)
        width = next(c for c in self._text.frame.columns if c.name == request.column).grid().width
        levels = request.q

        def windows(x: Integers) -> tuple[Window, ...]:
            return tuple(rank_window(x, q, request.radius, 0, width) for q in levels)

        if not self._text.keys:
            yield windows(self._order(column, width, "TRUE").array())
            return
        found = self._fetch(self._text.grouped(self._table, [f"count({column})"]))
        occur = self._groups(found)
        keys, _ = self._placed(occur)
        sizes = dict(zip(occur, found["s0"].tolist(), strict=True))
        wanted = [self._inside(key) for key in (keys if request.keys is None else request.keys)]
        at = 0
        while at < len(wanted):
            stop, rows = at, 0
            while stop < len(wanted) and (stop == at or rows + sizes.get(wanted[stop], 0) <= SLICE):
                rows += sizes.get(wanted[stop], 0)
                stop += 1
            if rows > SLICE:
                yield windows(self._order(column, width, self._only(wanted[at])).array())
            else:
                for values in self._slice(column, width, wanted[at:stop], rows):
                    yield windows(values)
            at = stop

    def _order(self, column: str, width: int, where: str) -> Order:
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

        return Order(width, count, read)

    def _only(self, key: Key) -> str:
        return " AND ".join(f"{name} IS NOT DISTINCT FROM {_literal(part)}" for name, part in zip(self._text.keys, key, strict=True))

    def _slice(self, column: str, width: int, keys: list[Key], rows: int) -> list[Integers]:
        """The sorted values of several whole groups, read together."""
        if not rows:
            return [np.empty(0, dtype=np.int64)] * len(keys)
        names = self._text.keys
        parts = {f"w{i}": column_array([key[i] for key in keys], number=False) for i in range(len(names))}
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
