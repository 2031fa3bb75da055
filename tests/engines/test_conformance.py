"""DuckDB and PostgreSQL answer every request as the oracle does, to the last digit. Spark does so in tests/spark."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import itertools
import re
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from sordino.engines.answer import Answer
from sordino.engines.postgres import Postgres
from sordino.engines.source import open_source
from sordino.schema.column import Column
from sordino.schema.frame import Frame

from .conformance import CASES, brief, check_engine, told

TYPES = {"string": "text", "int16": "smallint", "int32": "integer", "int64": "bigint", "double": "double precision", "float": "real",
         "bool": "boolean", "date32[day]": "date", "timestamp[us]": "timestamp", "timestamp[us, tz=UTC]": "timestamptz"}  # fmt: skip
WHOLE = ("tidy", "wide", "crowd", "brief")  # where every request is asked of every column
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


class Overheard:
    """An engine that notes the kinds of requests it is asked, and passes them on."""

    def __init__(self, engine: Any) -> None:
        self._engine, self.heard = engine, set[str]()

    @contextlib.contextmanager
    def bounded(self, frame: Frame, salt: int) -> Iterator[Any]:
        with self._engine.bounded(frame, salt) as bounded:
            yield SimpleNamespace(ask=lambda request: self.heard.add(type(request).__name__) or bounded.ask(request))


def test_the_suite_asks_every_kind_of_request_an_engine_answers() -> None:
    known = set(re.findall(r"isinstance\(request, (\w+)\)", inspect.getsource(Answer.ask)))
    case = brief()
    with in_duckdb(case.table, case.columns) as engine:
        listener = Overheard(engine)
        for frame in case.frames.values():
            told(listener, frame)
    assert listener.heard == known
    assert len(known) == 7


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
