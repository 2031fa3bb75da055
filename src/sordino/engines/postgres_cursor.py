"""Statements of the relational text in one PostgreSQL connection, and their rows as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.engines.dialect import Stored, render
from sordino.engines.postgres_dialect import Postgres

__all__ = ["DIALECT", "Cursor", "Found"]

DIALECT = Postgres()
CHUNK = 50_000  # rows that are Python objects at one time
INTEGERS = (20, 21, 23)  # type numbers of BIGINT, SMALLINT, INTEGER
OPEN, SHUT = "\1", "\2"  # around a parameter until the statement is rendered


@dataclass(frozen=True)
class Found:
    """The rows a statement found, column by column."""

    columns: Mapping[str, NDArray[Any]]

    def fetchnumpy(self) -> dict[str, NDArray[Any]]:
        return dict(self.columns)

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(zip(*(values.tolist() for values in self.columns.values()), strict=True))


class Cursor:
    """`tables` are relations to be spelled out, `stored` the kinds of scanned columns. What is registered travels as arrays."""

    def __init__(self, connection: Any, tables: Mapping[str, str], stored: Stored) -> None:
        self._connection, self._tables, self._stored = connection, dict(tables), dict(stored)
        self._held: dict[str, dict[str, Any]] = {}

    def register(self, name: str, columns: Mapping[str, NDArray[Any]]) -> None:
        self._held[name] = {f"{name}_{part}": values.tolist() for part, values in columns.items()}
        self._stored[name] = {part: "integer" if values.dtype.kind == "i" else "text" for part, values in columns.items()}
        kinds = {"integer": "bigint[]", "text": "text[]"}
        arrays = ", ".join(f"{OPEN}{name}_{part}{SHUT}::{kinds[kind]}" for part, kind in self._stored[name].items())
        self._tables[name] = f"(SELECT * FROM unnest({arrays}) AS held({', '.join(columns)}))"

    def define(self, name: str, statement: str) -> None:
        """A relation that is read anew wherever it is named."""
        self._tables[name] = f"({render(statement, DIALECT, self._stored, self._tables)})"

    def execute(self, statement: str) -> Found:
        text, held = self._prepared(statement)
        with self._connection.cursor("found", binary=True) as cursor:
            cursor.execute(text, held)
            kinds = {part.name: part.type_code for part in cursor.description}
            pieces: list[list[NDArray[Any]]] = [[_array((), code)] for code in kinds.values()]
            while rows := cursor.fetchmany(CHUNK):
                for piece, values, code in zip(pieces, zip(*rows, strict=True), kinds.values(), strict=True):
                    piece.append(_array(values, code))
        return Found({name: _joined(piece) for name, piece in zip(kinds, pieces, strict=True)})

    def run(self, around: str, statement: str) -> None:
        """A statement inside another one, with nothing to read."""
        text, held = self._prepared(statement)
        self._connection.execute(around.replace("{}", text), held)

    def _prepared(self, statement: str) -> tuple[str, dict[str, Any] | None]:
        text = render(statement, DIALECT, self._stored, self._tables)
        held = {key: values for parts in self._held.values() for key, values in parts.items() if f"{OPEN}{key}{SHUT}" in text}
        return (text.replace("%", "%%").replace(OPEN, "%(").replace(SHUT, ")s"), held) if held else (text, None)


def _joined(pieces: Sequence[NDArray[Any]]) -> NDArray[Any]:
    whole: NDArray[Any] = np.concatenate([np.ma.getdata(piece) for piece in pieces])
    missing = np.concatenate([np.ma.getmaskarray(piece) for piece in pieces])
    return np.ma.masked_array(whole, mask=missing) if missing.any() else whole


def _array(values: Sequence[Any], code: int) -> NDArray[Any]:
    """Integers as integers, everything else as objects, nulls under a mask."""
    missing = [value is None for value in values]
    if code in INTEGERS:
        array: NDArray[Any] = np.array([0 if value is None else value for value in values] if any(missing) else values, dtype=np.int64)
    else:
        array = np.empty(len(values), dtype=object)
        array[:] = values
    return np.ma.masked_array(array, mask=missing) if any(missing) else array
