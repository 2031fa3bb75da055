"""DuckDB and PostgreSQL pass `check_engine`, as Spark does in tests/spark; and what passes it is an engine."""

from __future__ import annotations

import contextlib
import importlib
import inspect
import itertools
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import psycopg
import pyarrow as pa
import pytest

import sordino as sd
from sordino.engines.answer import EngineAnswer
from sordino.engines.port import TableRequest
from sordino.engines.postgres import Postgres
from sordino.engines.source import open_source
from sordino.errors import QueryError
from sordino.lab import check_engine
from sordino.lab.engine_case import CASES
from sordino.lab.reference_engine import Reference
from sordino.schema.column import Column
from sordino.schema.frame import Frame

TYPES = {"string": "text", "int16": "smallint", "int32": "integer", "int64": "bigint", "double": "double precision", "float": "real",
         "bool": "boolean", "date32[day]": "date", "timestamp[us]": "timestamp", "timestamp[us, tz=UTC]": "timestamptz"}  # fmt: skip
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
    report = check_engine(in_duckdb, tables=[name])
    assert report.ok, report


@pytest.mark.parametrize("name", CASES)
def test_postgres_is_an_engine(name: str, postgres: Any) -> None:
    report = check_engine(lambda table, columns: Postgres(stored(postgres.address, table), columns), tables=[name])
    assert report.ok, report


class Overheard:
    """The oracle as an engine of somebody's own, without `with`: it notes the kinds of requests it is asked."""

    heard: set[str] = set()

    def __init__(self, table: pa.Table, columns: tuple[Column, ...]) -> None:
        self._oracle, self.closed = Reference(table.to_pydict(), columns), False
        self.header, self.check = self._oracle.header, self._oracle.check

    @contextlib.contextmanager
    def bounded(self, frame: Frame, salt: int) -> Iterator[Any]:
        with self._oracle.bounded(frame, salt) as bounded:
            yield SimpleNamespace(ask=lambda request: self.heard.add(type(request).__name__) or bounded.ask(request))

    def close(self) -> None:
        self.closed = True


def test_a_class_from_outside_is_asked_every_kind_of_request_an_engine_answers() -> None:
    known = {request.__name__ for request in get_args(TableRequest)}
    assert set(re.findall(r"isinstance\(request, (\w+)\)", inspect.getsource(EngineAnswer.ask))) == known
    report = check_engine(Overheard, tables=["brief"], quick=True)
    assert report.ok
    assert report.engine == "Overheard"
    assert Overheard.heard == known
    assert len(known) == 12


@pytest.mark.parametrize("name", ["one row", "tidy", "derived"])
def test_a_standby_where_no_table_can_be_made_answers_alike(name: str, postgres: Any) -> None:
    def opened(table: pa.Table, columns: tuple[Column, ...]) -> Postgres:
        engine = Postgres(stored(postgres.address, table), columns)
        engine._temporary = False
        return engine

    report = check_engine(opened, tables=[name], quick=True)
    assert report.ok, report


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
    name = "crowd" if twin == "folds every id" else "tidy"
    report = check_engine(in_duckdb, tables=[name], quick=True)
    assert not report.ok
    wrong_row = next(row for row in report.rows if not row.ok)
    assert wrong_row.frame in CASES[name]().frames
    said = repr(report)
    assert f"DuckDB, table {name!r}, frame {wrong_row.frame!r}" in said
    assert wrong_row.differences[0].request[:40] in said
    assert "answered " in said
    assert "expected " in said


class Raises(Overheard):
    """Answers nothing but totals."""

    @contextlib.contextmanager
    def bounded(self, frame: Frame, salt: int) -> Iterator[Any]:
        def ask(request: Any) -> Any:
            if type(request).__name__ != "Totals":
                raise LookupError("no such thing")
            return answers.ask(request)

        with self._oracle.bounded(frame, salt) as answers:
            yield SimpleNamespace(ask=ask)


def test_what_an_engine_cannot_answer_is_a_difference_like_any_other() -> None:
    report = check_engine(Raises, tables=["one row"])
    assert not report.ok
    assert {row.table for row in report.rows} == {"one row"}
    (ranks, *_) = next(row for row in report.rows if row.differences).differences
    assert ranks.answer == "raised LookupError: no such thing"
    assert ranks.request.startswith("Ranks(")


def test_what_cannot_be_opened_is_said_table_by_table() -> None:
    def nowhere(table: pa.Table, columns: tuple[Column, ...]) -> Any:
        raise OSError("no disk")

    report = check_engine(nowhere, tables=["one row", "wide"])
    assert [(row.table, row.ok) for row in report.rows] == [("one row", False), ("wide", False)]
    assert "nowhere" in repr(report)
    assert "raised OSError: no disk" in repr(report)


def test_a_report_is_text_json_and_a_page() -> None:
    report = check_engine(Raises, tables=["one row", "nobody"], quick=True)
    found = json.loads(report.to_json())
    assert found["ok"] is False
    assert len(found["rows"]) == len(report.rows)
    assert found["rows"][1]["differences"][0]["answer"] == "raised LookupError: no such thing"
    page = report._repr_html_()
    assert page.count("<tr>") == 1 + len(report.rows)
    assert "LookupError" in page


def test_only_openers_and_known_tables_are_taken() -> None:
    with pytest.raises(QueryError, match="awkward table 'tidyy'"):
        check_engine(in_duckdb, tables=["tidyy"])
    with pytest.raises(QueryError, match="opener"):
        check_engine("duckdb")  # type: ignore[arg-type]


def test_the_check_is_named_without_pyarrow() -> None:
    code = "import sys; sys.modules['pyarrow'] = None; import sordino as sd; sd.lab.check_engine(print, tables=['tidy'])"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "SRD-111" in told.stderr
    assert "pip install" in told.stderr


def resolved(place: str) -> Any:
    module, _, name = place.rpartition(".")
    try:
        return getattr(importlib.import_module(module), name)
    except ModuleNotFoundError:
        return getattr(resolved(module), name)


def test_a_shared_table_comes_out_of_postgres_as_out_of_duckdb(postgres: Any) -> None:
    rng = np.random.default_rng(1)
    who = np.repeat(np.arange(500), rng.integers(1, 5, 500))
    sex = np.where(who % 4 == 0, "f", "m")
    level = np.where(sex == "f", 2, rng.integers(0, 3, len(who)))
    rows = pa.table({"who": pa.array(who), "sex": pa.array(sex.tolist()), "level": pa.array(level)})
    columns = {"who": "id", "sex": {"type": "cat", "values": ["f", "m"]}, "level": {"type": "int", "bounds": (0, 2)}}
    limits = {"unit": "who", "max_rows": 4, "max_groups": 1}
    for source in (rows, stored(postgres.address, rows)):
        with sd.table(source, columns=columns, **limits, budget=sd.Budget(epsilon=50, delta=1e-3), ledger=":memory:") as held:
            made = held.share(epsilon=20, delta=1e-5, method="tree").to_dict()
        assert np.mean(np.array(made["sex"]) == "f") == pytest.approx(0.25, abs=0.05)
        assert {lv for s, lv in zip(made["sex"], made["level"], strict=True) if s == "f" and lv is not None} <= {0, 1, 2}
        assert np.mean([lv == 2 for s, lv in zip(made["sex"], made["level"], strict=True) if s == "f"]) > 0.9
