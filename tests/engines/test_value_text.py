"""One map per value: what a value is read as depends on the declared type alone, not on its neighbours or on what stores it."""

from __future__ import annotations

import contextlib
import csv
import datetime as dt
import functools
import itertools
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sordino.engines.array import text_of
from sordino.engines.postgres import Postgres, PostgresCursor
from sordino.engines.scan import Scan
from sordino.engines.source import find_source, open_source
from sordino.engines.value_text import key_text, typed, unit_text
from sordino.lab.reference_value import typed as reference
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame

from .test_conformance import stored

PLACE = Column("n", "int", bounds=(0, 10**6))
KINDS = ("int", "float", "decimal", "bool", "date", "timestamp", "cat", "id")
DECLARED = [Column(kind, kind, scale=2) for kind in KINDS]  # every column is there once under each type
ZONE = dt.timezone(dt.timedelta(hours=2, minutes=30))
COLUMNS: dict[str, list[Any]] = {
    "whole": [0, 1, -3, 7, 12345, 2**53, -(2**53)],
    "real": [0.0, -0.0, 1.0, 2.5, 0.29, -1e-20, 1e-5, -0.5, 12345.0, 1e300, -1e300, float(2**53), math.inf],
    "single": [np.float32(0.1), np.float32(0.29), np.float32(16777216.0), np.float32(1.5)],
    "flags": [True, False, True],
    "text": ["a", "7.0", "12345", "true", "2020-01-01", "", " 5 ", "1e3", "nan", "Öhringen", "2020-06-01T12:00:00+02:00"],
    "exact": [Decimal("7.00"), Decimal("7.50"), Decimal("0.29"), Decimal("-3"), Decimal("1E+2")],
    "days": [dt.date(1999, 9, 9), dt.date(2020, 2, 29)],
    "moments": [dt.datetime(2020, 1, 1), dt.datetime(2020, 3, 1, 1, 2, 3, 500_000), dt.datetime(1969, 12, 31, 23, 59, 59, 999_999)],
    "zoned": [dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(2020, 3, 1, 1, 2, 3, 250_000, tzinfo=ZONE)],
}
ALIENS = [
    None, math.nan, 0, 2.5, "x", True, Decimal("1.234"), dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 5),
    dt.datetime(2020, 1, 1, tzinfo=ZONE), 2**63, b"\xff", object(), pd.NA, 1 + 2j,
]  # fmt: skip
Container = Callable[[list[Any], Path], Any]


def columns(values: Any) -> dict[str, Any]:
    return {**dict.fromkeys(KINDS, values), "n": np.arange(len(values))}


def grown(values: list[Any]) -> Any:
    """A pandas column that had a type of its own before the last value came."""
    return pd.concat([pd.Series(values[:-1]), pd.Series(values[-1:])], ignore_index=True)


def arrow(values: list[Any]) -> Any:
    return pa.table(columns(pa.array(values)))


def parquet(values: list[Any], folder: Path) -> Any:
    pq.write_table(arrow(values), folder / "t.parquet")
    return folder / "t.parquet"


def database(values: list[Any], folder: Path) -> Any:
    (folder / "t.duckdb").unlink(missing_ok=True)
    with duckdb.connect(str(folder / "t.duckdb")) as connection:
        connection.register("given", arrow(values))
        connection.execute("CREATE TABLE t AS SELECT * FROM given")
    return f"{folder / 't.duckdb'}::t"


def lines(values: list[Any], folder: Path) -> Any:
    with (folder / "t.csv").open("w", newline="", encoding="utf-8") as stream:
        rows = [[*[value] * len(KINDS), i] for i, value in enumerate(values)]
        csv.writer(stream, lineterminator="\n").writerows([[*KINDS, "n"], *rows])
    return folder / "t.csv"


def objects(values: list[Any]) -> np.ndarray:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


CONTAINERS: dict[str, Container] = {
    "list": lambda values, _: columns(values),
    "objects": lambda values, _: columns(objects(values)),
    "pandas": lambda values, _: pd.DataFrame(columns(pd.Series(values))),
    "pandas objects": lambda values, _: pd.DataFrame(columns(pd.Series(values, dtype=object))),
    "pandas grown": lambda values, _: pd.DataFrame(columns(grown(values))),
    "pandas nullable": lambda values, _: pd.DataFrame(columns(pd.Series(values).convert_dtypes())),
    "pandas categories": lambda values, _: pd.DataFrame(columns(pd.Series(values).astype("category"))),
    "polars": lambda values, _: pl.DataFrame(columns(pl.Series(values))),
    "polars objects": lambda values, _: pl.DataFrame(columns(pl.Series(values, dtype=pl.Object))),
    "arrow": lambda values, _: arrow(values),
    "parquet": parquet,
    "duckdb": database,
    "csv": lines,
}


def read(source: Any) -> dict[str, list[Any]]:
    """What every row is read as under each declared type, in order: the typed value, and its id or key where it has one."""
    found = find_source(source)
    with contextlib.ExitStack() as stack:
        connection = stack.enter_context(opened()) if found.paths else shared()
        found.prepare(connection)
        return told(connection, found.scan(connection, (*DECLARED, PLACE)))


def opened() -> Any:
    connection = duckdb.connect()
    connection.execute("SET TimeZone = 'UTC'; SET python_enable_replacements = false; SET threads = 1")
    return connection


shared = functools.cache(opened)


def mapped(source: Any, kind: str) -> list[Any]:
    """The typed values alone."""
    return [row[0] for row in read(source)[kind]]


def told(cursor: Any, scan: Scan) -> dict[str, list[Any]]:
    parts = {kind: [typed(column, scan.fields[kind])] for kind, column in zip(KINDS, DECLARED, strict=True)}
    for column in DECLARED:
        field = scan.fields[column.type]
        parts[column.type] += [f"CAST({unit_text(column, field, False)} AS VARCHAR)"] if column.type in ("id", "int") else []
        parts[column.type] += [key_text(column, typed(column, field))] if column.type not in ("float", "decimal") else []
    places = [(kind, part) for kind in KINDS for part in parts[kind]]
    reads = ", ".join(f"{part} AS o{i}" for i, (_, part) in enumerate(places))
    rows = cursor.execute(f"SELECT {typed(PLACE, scan.fields['n'])} AS n, {reads} FROM {scan.text} AS rows").fetchall()
    rows = sorted(rows, key=lambda row: row[0])
    return {kind: [[same(row[i + 1]) for i, place in enumerate(places) if place[0] == kind] for row in rows] for kind in KINDS}


def same(value: Any) -> Any:
    return value.normalize() if isinstance(value, Decimal) else value


def neighbours(values: list[Any], container: Container, folder: Path) -> Iterator[tuple[Any, Any]]:
    """The column with one more value, for every value this container can hold beside the others."""
    for alien in ALIENS:
        try:
            source = container([*values, alien], folder)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # it is the container that refuses, by a warning, an error or a panic
            continue
        yield alien, source


def spoilt(name: str, container: str, alien: Any) -> bool:
    """pandas makes numbers of flags when a column of numbers is appended to them, before anybody can ask."""
    return name == "flags" and container == "pandas grown" and isinstance(alien, int | float | complex)


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")  # pandas about itself
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", COLUMNS)
def test_one_alien_value_changes_nobody_elses(name: str, container: str, tmp_path: Path) -> None:
    values, asked = COLUMNS[name], 0
    before = read(CONTAINERS[container](values, tmp_path))
    for alien, source in neighbours(values, CONTAINERS[container], tmp_path):
        for kind, after in read(source).items():
            assert len(after) == len(values) + 1, (alien, kind)
            assert after[: len(values)] == before[kind] or spoilt(name, container, alien), (alien, kind)
        asked += 1
    assert asked


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
@pytest.mark.parametrize("container", [name for name in CONTAINERS if name != "csv"])
def test_every_container_says_the_same_of_a_value(container: str, tmp_path: Path) -> None:
    for name, values in COLUMNS.items():
        alone = [read(columns([value])) for value in values]
        for kind, found in read(CONTAINERS[container](values, tmp_path)).items():
            assert found == [one[kind][0] for one in alone], (name, kind)


def test_a_value_is_read_as_the_oracle_reads_it() -> None:
    for name, values in COLUMNS.items():
        for column in DECLARED:
            if name == "single" or (name in ("zoned", "moments") and column.type in ("cat", "id")):
                continue  # the oracle knows neither narrow floats nor the text of a moment
            for value, found in zip(values, mapped(columns(values), column.type), strict=True):
                if isinstance(value, float) and ((column.type == "decimal" and value == -1e-20) or math.isinf(value)):
                    continue  # below the 18 decimals an exact number is read with, or no number at all
                expected = reference(column, value)
                expected = expected.replace(tzinfo=None) if isinstance(expected, dt.datetime) else expected
                assert found == expected, (name, column.type, value)


def test_random_floats_have_one_text(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    bits = rng.integers(0, 2**64, 4_000, dtype=np.uint64).view(np.float64)
    values = [*bits[np.isfinite(bits)].tolist(), *(rng.standard_normal(4_000) * 10.0 ** rng.integers(-8, 16, 4_000)).tolist()]
    alone, beside = read(columns(values)), read(columns([*values, "x"]))
    for kind in KINDS:
        assert alone[kind] == beside[kind][:-1], kind


def test_which_rows_of_a_person_stay_does_not_depend_on_how_the_others_are_stored() -> None:
    person, v = Column("x", "id"), Column("v", "int", bounds=(0, 1_000))
    rows = Frame(PrivacyUnit("x", max_rows=1), person, columns=(v,))
    ids, ages = [i // 9 for i in range(900)], list(range(900))

    def kept(ids: list[Any], ages: list[Any]) -> set[int]:
        with open_source({"x": ids, "v": ages}, (person, v)) as engine, engine.bounded(rows, 77) as bounded:
            return set(bounded._cursor.execute(f"SELECT q0 FROM {bounded._table}").fetchnumpy()["q0"].tolist())

    assert kept([*ids, "x"], [*ages, 1_000]) - kept(ids, ages) == {1_000}
    assert kept([*map(float, ids), None], [*ages, 1_000]) == kept(ids, ages)


def test_numpy_moments_of_every_unit_are_moments() -> None:
    moments = np.array(["2020-01-01T05", "NaT"], dtype="datetime64[h]")
    for unit in ("h", "m", "s", "ms", "us", "ns", "25s"):
        found = mapped(columns(moments.astype(f"datetime64[{unit}]")), "timestamp")
        assert found == [dt.datetime(2020, 1, 1, 5), None], unit
    days = np.array(["2020-01-01", "NaT"], dtype="datetime64[D]")
    assert mapped(columns(days), "cat") == ["2020-01-01", None]


def test_a_masked_value_is_missing() -> None:
    masked = np.ma.masked_array([5, 6], mask=[False, True])
    assert mapped(columns(masked), "int") == [5, None]


def test_files_of_other_types_change_no_value(tmp_path: Path) -> None:
    pq.write_table(arrow([1.0, 2.5]), tmp_path / "a.parquet")
    before = read(tmp_path / "*.parquet")
    pq.write_table(arrow([3]).set_column(len(KINDS), "n", pa.array([2])), tmp_path / "b.parquet")
    for kind, after in read(tmp_path / "*.parquet").items():
        assert after[:2] == before[kind], kind


def test_nanoseconds_are_cut_as_their_text_is(tmp_path: Path) -> None:
    moments = pd.to_datetime(["2020-01-01 00:00:00.123456789", "1969-12-31 23:59:59.999999999"])
    pq.write_table(pa.table(columns(pa.array(moments, pa.timestamp("ns")))), tmp_path / "t.parquet")
    expected = [dt.datetime(2020, 1, 1, 0, 0, 0, 123456), dt.datetime(1969, 12, 31, 23, 59, 59, 999999)]
    for source in (pd.DataFrame(columns(moments)), columns(list(moments)), tmp_path / "t.parquet", arrow(list(moments))):
        assert mapped(source, "timestamp") == expected


def test_text_of_odd_objects() -> None:
    assert [text_of(value) for value in (True, 7.0, Decimal("7.500"), np.str_("ä"), np.int8(3), 10**50)] == [
        "true", "7", "7.5", "ä", "3", "1e40",
    ]  # fmt: skip


def test_postgres_reads_a_value_as_every_container_does(postgres: Any) -> None:
    kept = {name: values for name, values in COLUMNS.items() if name != "single"}
    for (name, values), alien in itertools.product(kept.items(), (None, 2.5)):
        try:
            source = stored(postgres.address, arrow([*values, alien]))
        except (TypeError, pa.ArrowException):
            continue
        alone = [read(columns([value])) for value in values]
        engine, rows = Postgres(source, (*DECLARED, PLACE)), Frame(PrivacyUnit(), by=tuple(DECLARED), columns=(PLACE,))
        with engine._connected() as connection:
            cursor = PostgresCursor(connection, engine._scanned(rows), engine._stored(rows))
            connection.execute("BEGIN")
            found = told(cursor, engine._text(rows, 0).scan)
        for kind, (place, value) in itertools.product(KINDS, enumerate(values)):
            if kind in ("cat", "id") and isinstance(value, float) and not math.isfinite(value):
                continue  # a number that is not whole is as the database writes it
            assert found[kind][place] == alone[place][kind][0], (name, kind, value)
