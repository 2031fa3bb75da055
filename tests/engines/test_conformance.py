"""DuckDB and PostgreSQL answer every request as the oracle does, to the last digit. Spark does so in tests/spark."""

from __future__ import annotations

import contextlib
import importlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from sordino.engines.postgres import Postgres
from sordino.engines.source import open_source
from sordino.schema.column import Column

from .conformance import CASES, check_engine

TYPES = {"string": "text", "int16": "smallint", "int32": "integer", "int64": "bigint", "double": "double precision", "float": "real",
         "bool": "boolean", "date32[day]": "date", "timestamp[us]": "timestamp", "timestamp[us, tz=UTC]": "timestamptz"}  # fmt: skip
WHOLE = ("tidy", "wide", "crowd")  # where every request is asked of every column
_names = itertools.count()


def stored(address: str, table: pa.Table) -> str:
    """The table in PostgreSQL, under a name of its own."""
    name = f"t{next(_names)}"
    kinds = [TYPES.get(str(field.type)) or str(field.type).replace("decimal128", "numeric") for field in table.schema]
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(
            f"CREATE TABLE {name} ({', '.join(f'{q} {k}' for q, k in zip(map(quoted, table.column_names), kinds, strict=True))})"
        )
        with connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                copy.write_row(row)
    return f"{address}&table={name}"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


@contextlib.contextmanager
def in_duckdb(table: pa.Table, columns: tuple[Column, ...]) -> Iterator[Any]:
    with open_source(table, columns, portable=True, threads=2) as engine:
        yield engine


@pytest.mark.parametrize("name", CASES)
def test_duckdb_is_an_engine(name: str) -> None:
    check_engine(in_duckdb, CASES[name](), thorough=name in WHOLE)


@pytest.mark.parametrize("name", CASES)
def test_postgres_is_an_engine(name: str, postgres: Any) -> None:
    check_engine(lambda table, columns: Postgres(stored(postgres.address, table), columns), CASES[name](), thorough=name in WHOLE)


@pytest.mark.parametrize("name", ["one row", "tidy", "derived"])
def test_a_standby_where_no_table_can_be_made_answers_alike(name: str, postgres: Any) -> None:
    def opened(table: pa.Table, columns: tuple[Column, ...]) -> Postgres:
        engine = Postgres(stored(postgres.address, table), columns)
        engine._temporary = False
        return engine

    check_engine(opened, CASES[name](), thorough=False)


TWINS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "rounds instead of cutting": ("sordino.engines.text.grid_of", lambda right: lambda *of: right(*of).replace("floor(", "round(")),
    "keeps the smallest rows": ("sordino.engines.text.Text.hashed", lambda right: lambda self, *parts: "1"),
    "forgets the last bin's end": (
        "sordino.engines.text.bin_text",
        lambda right: lambda value, edges: right(value, (*edges[:-1], edges[-1] - 1)),
    ),
    "folds every id": ("sordino.engines.text.unit_text", lambda right: lambda column, field, fold: right(column, field, True)),
}


@pytest.mark.parametrize("twin", TWINS)
def test_an_engine_that_is_almost_right_is_caught(twin: str, monkeypatch: pytest.MonkeyPatch) -> None:
    place, wrong = TWINS[twin]
    monkeypatch.setattr(place, wrong(resolved(place)))
    with pytest.raises(AssertionError):
        check_engine(in_duckdb, CASES["crowd" if twin == "folds every id" else "tidy"](), thorough=False)


def resolved(place: str) -> Any:
    module, _, name = place.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError:
        return getattr(resolved(module), name)
