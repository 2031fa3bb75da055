"""Reading a public table: anybody may look at its rows, so they are read when it is opened, and its unique columns are checked."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import duckdb

from sordino.engines.scan import broken
from sordino.engines.source import open_source
from sordino.engines.value import typed
from sordino.errors import QueryError
from sordino.schema.column import Column
from sordino.schema.declaration import Delimited, complete
from sordino.schema.frame import Public
from sordino.schema.value import nearest, shown

__all__ = ["MOST_ROWS", "read_public"]

MOST_ROWS = 1_000_000
KEYS = ("int", "decimal", "bool", "date", "timestamp", "cat")


def read_public(name: str, source: Any, columns: Mapping[str, Column], unique: tuple[str, ...], csv: Delimited | None = None) -> Public:
    """A public table in memory, every value as whole numbers or text of its declared type; stand-ins for null are in place already."""
    with open_source(source, tuple(columns.values()), csv=csv) as engine:
        known = complete(columns, engine.header())
        for key in unique:
            if key not in known:
                raise QueryError("SRD-201", f"public table {shown(name)} has no column {shown(key)}.", nearest(key, known, "columns"))
            if known[key].type not in KEYS:
                what = f"column {shown(key)} of public table {shown(name)} is of type {known[key].type} and cannot be matched."
                raise QueryError("SRD-203", what, "Declare it as cat, int, decimal, bool, date or timestamp.")
        wanted = [column for column in known.values() if column.type not in ("id", "never")]
        try:
            with contextlib.closing(engine._cursor()) as cursor:
                scan = engine.source.scan(cursor, wanted)
                reads = [_read(column, typed(column, scan.fields[column.name])) for column in wanted]
                rows = cursor.execute(f"SELECT {', '.join(reads)} FROM {scan.text} LIMIT {MOST_ROWS + 1}").fetchall()
        except duckdb.Error as error:
            raise broken(f"public table {shown(name)} cannot be read.", "Check that it is a readable file of its kind.") from error
    if len(rows) > MOST_ROWS:
        raise broken(f"public table {shown(name)} has more than {MOST_ROWS:,} rows.", "Join a smaller table.")
    held = {column.name: [row[i] for row in rows] for i, column in enumerate(wanted)}
    _check_unique(name, unique, held)
    return Public(name, {column.name: replace(column, nulls="drop") for column in wanted}, unique, held)


def _read(column: Column, value: str) -> str:
    return value if column.type in ("int", "bool") else f"CAST({value} AS VARCHAR)"


def _check_unique(name: str, unique: tuple[str, ...], held: Mapping[str, list[Any]]) -> None:
    """Null matches nothing and may repeat; anything else must not."""
    seen: set[tuple[Any, ...]] = set()
    for key in zip(*(held[column] for column in unique), strict=True):
        if key in seen and None not in key:
            what = f"public table {shown(name)} has several rows with {', '.join(map(shown, unique))} = {', '.join(map(shown, key))}."
            raise QueryError("SRD-204", what, "Declare columns that are unique together, or repair the table.", table=name)
        seen.add(key)
