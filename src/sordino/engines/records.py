"""Whole rows of several columns out of a bounded table: which of them are kept, in which part each lies, and how they are read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.engines.array import column_array
from sordino.engines.text import Text
from sordino.engines.value_text import MASK, quoted
from sordino.summaries.records import Records, RowMatrix, in_order, in_parts
from sordino.summaries.totals import ALL

__all__ = ["SLICE", "RecordReader", "fewest", "thinned"]

SLICE = 2_000_000  # rows read at once, 16 MB a column
Integers = NDArray[np.int64]
Key = tuple[Any, ...]


def fewest(text: Text, table: str, columns: Sequence[str], where: str, most: int) -> str:
    """The `most` pairs (values, place among equal ones) with the smallest H(salt, values, place)."""
    shown = ", ".join(columns)
    order = f"{_hashed(text, columns)}, {shown}, place"
    return f"SELECT {shown} FROM ({_pairs(table, columns, where)}) AS placed ORDER BY {order} LIMIT {most}"


def thinned(text: Text, table: str, columns: Sequence[str], where: str, share: int) -> str:
    """The pairs with the first 32 bits of H(salt, values, place) below a share."""
    first = f"{_hashed(text, columns)} < '{share:08x}'" if text.portable else f"({_hashed(text, columns)} >> 32) < {share}"
    return f"SELECT {', '.join(columns)} FROM ({_pairs(table, columns, where)}) AS placed WHERE {first}"


def known(columns: Sequence[str]) -> str:
    return " AND ".join(f"{column} IS NOT NULL" for column in columns)


def _pairs(table: str, columns: Sequence[str], where: str) -> str:
    """Equal rows are interchangeable, so a place is no row number: one row more of a kind is one pair more, and no other changes."""
    names = ", ".join(columns)
    rows = f"SELECT {names} FROM {table} AS bounded WHERE {where} AND {known(columns)}"
    return f"SELECT {names}, row_number() OVER (PARTITION BY {names} ORDER BY {names}) AS place FROM ({rows}) AS found"


def _hashed(text: Text, columns: Sequence[str]) -> str:
    parts = (*columns, "place")
    if text.portable:
        said = [f"CAST(length(CAST({part} AS VARCHAR)) AS VARCHAR) || ':' || CAST({part} AS VARCHAR)" for part in parts]
        return f"md5({' || '.join([quoted(f'{len(str(text.salt))}:{text.salt}'), *said])})"
    salts = [f"CAST({(text.salt >> shift) & MASK} AS UBIGINT)" for shift in (0, 64)]
    return f"hash(hash({', '.join((*salts, *parts))}))"


def dealt(text: Text, table: str, columns: Sequence[str], where: str) -> str:
    """Every row with the first 32 bits of the hash of its person, or of itself: as a number, or as eight hexadecimal digits."""
    names = ", ".join(columns)
    if text.frame.unit_column is None:
        first = _hashed(text, columns)
        bits = f"substr({first}, 1, 8)" if text.portable else f"CAST(({first}) >> 32 AS BIGINT)"
        return f"SELECT {bits} AS h, {names} FROM ({_pairs(table, columns, where)}) AS placed"
    first = text.hashed("'part'")
    bits = f"substr({first}, 1, 8)" if text.portable else f"CAST({first} AS BIGINT)"
    return f"SELECT {bits} AS h, {names} FROM {table} AS bounded WHERE {where} AND {known(columns)}"


class RecordReader:
    """The part of an answer that reads whole rows. Groups are read in slices; one that must be cut or dealt out, alone."""

    _text: Text
    _table: str
    _cursor: Any

    def _fetch(self, statement: str) -> dict[str, Any]:
        raise NotImplementedError

    def _sizes(self, column: str, named: tuple[Key, ...] | None) -> tuple[list[Key], dict[Key, int]]:
        raise NotImplementedError

    def _only(self, key: Key) -> str:
        raise NotImplementedError

    def _records(self, request: Records) -> Iterator[RowMatrix]:
        columns = tuple(self._text.column(name) for name in request.columns)
        complete = f"CASE WHEN {known(columns)} THEN 1 END"
        wanted, sizes = self._sizes(complete, request.keys)
        at = 0
        while at < len(wanted):
            alone = request.parts or (request.shares is not None and request.shares[at] < ALL)
            if alone or sizes.get(wanted[at], 0) > min(SLICE, request.most):
                yield self._alone(columns, request, at, self._only(wanted[at]) if wanted[at] else "TRUE", sizes.get(wanted[at], 0))
                at += 1
                continue
            stop, rows = at, 0
            while stop < len(wanted) and (stop == at or self._fits(request, stop, rows, sizes.get(wanted[stop], 0))):
                rows += sizes.get(wanted[stop], 0)
                stop += 1
            yield from self._together(columns, wanted[at:stop], rows)
            at = stop

    @staticmethod
    def _fits(request: Records, place: int, rows: int, size: int) -> bool:
        whole = request.shares is None or request.shares[place] >= ALL
        return whole and size <= request.most and rows + size <= SLICE

    def _alone(self, columns: tuple[str, ...], request: Records, place: int, where: str, size: int) -> RowMatrix:
        if request.parts:
            return self._dealt(columns, request, where, size)
        text = f"SELECT {', '.join(columns)} FROM {self._table} AS bounded WHERE {where} AND {known(columns)}"
        if request.shares is not None and request.shares[place] < ALL:
            text = thinned(self._text, self._table, columns, where, request.shares[place])
        elif request.shares is None and size > request.most:
            text = fewest(self._text, self._table, columns, where, request.most)
        return in_order(_whole(self._fetch(text), columns))

    def _dealt(self, columns: tuple[str, ...], request: Records, where: str, size: int) -> RowMatrix:
        """All at once where they fit, otherwise part by part: what is kept of a part does not depend on which."""
        text = dealt(self._text, self._table, columns, where)
        if size <= request.most:
            found = self._fetch(text)
            return in_parts(_whole(found, columns), _hashes(found), request)
        pieces = []
        for part in range(request.parts):
            low, high = (-(-(i << 32) // request.parts) for i in (part, part + 1))
            ends = (f"'{low:08x}'", f"'{high:08x}'") if self._text.portable else (str(low), str(high))
            inside = f"h >= {ends[0]}" + (f" AND h < {ends[1]}" if part + 1 < request.parts else "")
            order = f"h, {', '.join(columns)} LIMIT {request.least}"
            pieces.append(self._fetch(f"SELECT h, {', '.join(columns)} FROM ({text}) AS dealt WHERE {inside} ORDER BY {order}"))
        rows = np.concatenate([_whole(piece, columns) for piece in pieces])
        hashes = np.concatenate([_hashes(piece) for piece in pieces])
        return in_parts(rows, hashes, request)

    def _together(self, columns: tuple[str, ...], keys: list[Key], rows: int) -> Iterator[RowMatrix]:
        names = self._text.keys
        if not names:
            yield in_order(
                _whole(self._fetch(f"SELECT {', '.join(columns)} FROM {self._table} AS bounded WHERE {known(columns)}"), columns)
            )
            return
        if not rows:
            yield from (in_order(np.empty((0, len(columns)), np.int64)) for _ in keys)
            return
        parts = {f"w{i}": column_array([key[i] for key in keys]) for i in range(len(names))}
        self._cursor.register("wanted", {"place": np.arange(len(keys)), **parts})
        same = " AND ".join(f"{name} IS NOT DISTINCT FROM w{i}" for i, name in enumerate(names))
        shown = f"place, {', '.join(columns)}"
        found = self._fetch(f"SELECT {shown} FROM {self._table} AS bounded JOIN wanted ON {same} WHERE {known(columns)}")
        place, values = np.asarray(found["place"], np.int64), _whole(found, columns)
        for i in range(len(keys)):
            yield in_order(values[place == i])


def _whole(found: dict[str, Any], columns: Sequence[str]) -> Integers:
    return np.column_stack([np.asarray(np.ma.getdata(found[column]), np.int64) for column in columns])


def _hashes(found: dict[str, Any]) -> Integers:
    values = np.ma.getdata(found["h"])
    return np.asarray(values, np.int64) if values.dtype.kind in "iu" else np.array([int(text, 16) for text in values.tolist()], np.int64)
