"""Views over tables of people on Spark: the same integers as elsewhere, and the same bugs caught."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from engines.person_world import (
    BUGS,
    CUT,
    DECLARED,
    STATEMENTS,
    World,
    asked,
    moved,
    planted,
    seen,
    shared_key,
    strays,
    twins,
    violations,
    world,
)
from engines.test_view import in_memory
from sordino.engines.several import together
from sordino.engines.spark import Spark

KINDS = {"cost": pa.int64(), "pid": pa.int64(), "patient_id": pa.string(), "age": pa.float64(), "born": pa.date32(), "day": pa.date32(),
         "share": pa.decimal128(6, 2), "price": pa.int32(), "weight": pa.float64()}  # fmt: skip


@pytest.fixture
def on_cluster(spark: Any) -> Any:
    def cell(value: Any, kind: Any) -> Any:
        if value is None:
            return None
        made = {pa.date32(): dt.date.fromisoformat, pa.decimal128(6, 2): Decimal, pa.string(): str}.get(kind, lambda x: x)
        return made(value)

    @contextlib.contextmanager
    def opened(tables: World) -> Iterator[Any]:
        readers = {}
        for name, table in tables.items():
            kinds = {column: KINDS.get(column, pa.string()) for column in table}
            held = pa.table({c: pa.array([cell(v, kinds[c]) for v in values], kinds[c]) for c, values in table.items()})
            readers[name] = Spark(spark.createDataFrame(held), tuple(DECLARED[name].values()), portable=True)
        yield together(readers)

    return opened


def test_spark_says_the_same_integers(on_cluster: Any) -> None:
    tables = world(5, people=8)
    with in_memory(tables) as engine, on_cluster(tables) as other:
        for name, statement in STATEMENTS.items():
            assert seen(other, asked(statement)) == seen(engine, asked(statement)), name
            if name in CUT:
                assert seen(other, asked(statement, join_rows=2)) == seen(engine, asked(statement, join_rows=2)), name


def test_the_planted_bugs_are_caught(on_cluster: Any, monkeypatch: Any) -> None:
    tables = world(5, people=8)
    assert strays(on_cluster, tables) == 0
    for bug, name in BUGS.items():
        with planted(monkeypatch, bug):
            assert violations(on_cluster, STATEMENTS[name], tables, [{1, 2, 3}]) > 0
    assert violations(on_cluster, STATEMENTS["path"], shared_key(tables), [{1}]) > 0  # a key of two people
    with planted(monkeypatch, "a side cut over everybody"):
        assert violations(on_cluster, STATEMENTS["self"], world(8, people=8), [{3}], 2) > 0
    with planted(monkeypatch, "hash without owner"):
        assert all(twins(on_cluster, range(2)))
    with planted(monkeypatch, "owner from the wrong side"):
        assert strays(on_cluster, tables) > 0
    with planted(monkeypatch, "bounded before the join"):
        assert max(moved(on_cluster, STATEMENTS["self"], tables, person, 2) for person in (1, 2)) > 2
