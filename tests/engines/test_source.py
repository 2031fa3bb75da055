"""Every kind of source gives the same summaries, stays as it was, and says what is wrong before a row is read."""

from __future__ import annotations

import csv
import datetime as dt
import gzip
import hashlib
import math
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

from sordino.engines.source import open_source
from sordino.errors import QueryError
from sordino.lab.awkward_tables import AGE, CITY, PERSON, WEIGHT, person
from sordino.lab.reference_engine import Reference
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.summaries.totals import Item

from .everything import everything

BORN = Column("born", "date", bounds=("1950-01-01", "2020-12-31"))
SEEN = Column("seen", "timestamp", bounds=("2020-01-01", "2021-01-01"))
PRICE = Column("price", "decimal", bounds=("0", "99.99"), scale=2)
SMOKER = Column("smoker", "bool")
COLUMNS = (PERSON, AGE, WEIGHT, CITY, BORN, SEEN, PRICE, SMOKER)
FRAME = Frame(person(2, 2), PERSON, by=(CITY,), columns=(AGE, WEIGHT, BORN, SEEN, PRICE, SMOKER))


def tidy() -> dict[str, list[Any]]:
    """A table whose columns have one type each, with nulls."""
    n = 60
    return {
        "person": [i % 11 for i in range(n)],
        "age": [None if i % 7 == 0 else i * 3 % 130 for i in range(n)],
        "weight": [None if i % 5 == 0 else i / 3 for i in range(n)],
        "city": [[None, "Ulm", "Öhringen", "a'b"][i % 4] for i in range(n)],
        "born": [None if i % 9 == 0 else dt.date(1940 + i, 2, 3) for i in range(n)],
        "seen": [None if i % 8 == 0 else dt.datetime(2020, 1 + i % 12, 3, 4, 5, 6, 999_999) for i in range(n)],
        "price": [None if i % 6 == 0 else Decimal(i * 7) / 100 for i in range(n)],
        "smoker": [[True, False, None][i % 3] for i in range(n)],
    }


def answers(source: Any, columns: tuple[Column, ...] = COLUMNS, frame: Frame = FRAME, **options: Any) -> Any:
    with open_source(source, columns, portable=True, **options) as engine:
        assert engine.header() == tuple(tidy()) or columns is not COLUMNS
        return everything(engine, frame)


def numpy_columns() -> dict[str, np.ndarray]:
    table = tidy()
    return {
        **{name: np.array(table[name], dtype=object) for name in ("age", "city", "price", "smoker")},
        "person": np.array(table["person"], dtype=">i4")[::1],
        "weight": np.array([math.nan if w is None else w for w in table["weight"]]),
        "born": np.array(table["born"], dtype="datetime64[D]"),
        "seen": np.array(table["seen"], dtype="datetime64[us]"),
    }


@pytest.mark.parametrize("rows_per_file", [60, 17])
def test_every_kind_of_source_answers_like_the_oracle(tmp_path: Path, rows_per_file: int) -> None:
    table, expected = tidy(), everything(Reference(tidy(), COLUMNS), FRAME)
    arrow = pa.table({**table, "person": pa.array(table["person"], pa.int16())})
    for i in range(0, 60, rows_per_file):
        pq.write_table(arrow.slice(i, rows_per_file), tmp_path / f"part{i:02d}.parquet")
    with duckdb.connect(str(tmp_path / "t.duckdb")) as connection:
        connection.register("arrow", arrow)
        connection.execute('CREATE TABLE "odd ""name" AS SELECT * FROM arrow')
    before = {path: (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).digest()) for path in tmp_path.iterdir()}
    ordered = {name: numpy_columns()[name] for name in table}
    sources = {
        "dict": table,
        "numpy": ordered,
        "pandas": pd.DataFrame(table),
        "pandas nullable": pd.DataFrame(table).convert_dtypes(),
        "pandas categories": pd.DataFrame(table).astype({"city": "category"}),
        "polars": pl.DataFrame(table),
        "pyarrow": arrow,
        "dictionary": arrow.set_column(3, "city", arrow["city"].dictionary_encode()),
        "parquet": str(tmp_path / "part*.parquet"),
        "duckdb": f'{tmp_path / "t.duckdb"}::odd "name',
        "duckdb pair": (tmp_path / "t.duckdb", 'main.odd "name'),
    }
    for name, source in sources.items():
        assert answers(source) == expected, name
    assert before == {path: (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).digest()) for path in tmp_path.iterdir()}


def test_zoned_pandas_times_are_read_in_utc() -> None:
    frame = pd.DataFrame({"seen": pd.to_datetime(["2020-06-01 12:00", None, "2020-06-02 00:00"]).tz_localize("Europe/Paris")})
    table = {"seen": ["2020-06-01 10:00:00", None, "2020-06-01 22:00:00"]}
    rows = Frame(PrivacyUnit(), columns=(SEEN,))
    for source in (frame, pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        assert answers(source, (SEEN,), rows) == everything(Reference(table, (SEEN,)), rows)


def test_files_of_different_types_are_read_by_their_widest(tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": pa.array([1, 2], pa.int8()), "city": ["a", "b"]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"city": ["c", "d"], "age": pa.array([3, 10**12], pa.int64())}), tmp_path / "b.parquet")
    pq.write_table(pa.table({"city": ["e"], "age": ["x"]}), tmp_path / "c.parquet")
    rows = Frame(PrivacyUnit(), columns=(AGE,))
    assert answers(tmp_path / "*.parquet", (AGE,), rows) == everything(Reference({"age": [1, 2, 3, 10**12, "x"]}, (AGE,)), rows)


def test_a_glob_is_expanded_once(tmp_path: Path) -> None:
    pq.write_table(pa.table({"age": [1]}), tmp_path / "a.parquet")
    rows = Frame(PrivacyUnit(), columns=(AGE,))
    with open_source(tmp_path / "*.parquet", (AGE,)) as engine:
        pq.write_table(pa.table({"age": [2]}), tmp_path / "b.parquet")
        assert everything(engine, rows)[1][0] == (Item("rows"), [1])


def write(path: Path, rows: list[list[Any]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream, lineterminator="\n").writerows(rows)
    return path


def test_one_bad_value_in_the_last_of_thirty_thousand_lines_changes_no_type(tmp_path: Path) -> None:
    lines = [["person", "age", "weight"], *[[i // 3, i % 100, i / 7] for i in range(30_000)]]
    columns, rows = (PERSON, AGE, WEIGHT), Frame(person(2, 1), PERSON, columns=(AGE, WEIGHT))
    good = answers(write(tmp_path / "good.csv", lines), columns, rows)
    bad = answers(write(tmp_path / "bad.csv", [*lines, ["ten thousand and one", "n/a", "n/a"]]), columns, rows)
    kinds = [Item("rows"), Item("units"), Item("rows", "age"), Item("sum", "age"), Item("rows", "weight")]
    change = {item: bad[1][i][1][0] - values[0] for i, (item, values) in enumerate(good[1])}
    assert [change[item] for item in kinds] == [1, 1, 0, 0, 0]
    assert good[2] == bad[2]
    table = {name: [line[i] for line in lines[1:]] for i, name in enumerate(lines[0])}
    # ids of a CSV are text, and MD5 sees the same text
    assert good == everything(Reference({**table, "person": list(map(str, table["person"]))}, columns), rows)


@pytest.mark.parametrize(
    ("text", "ages"),
    [
        ("age,city\n1,a\n2,b\n", [1, 2]),
        ("\ufeffage,city\n1,a\n", [1]),
        ("age,city\r\n1,a\r\n2,b\r\n", [1, 2]),
        ("age,city\n1\n2,b,c,d\n\n\n3,\n", [1, 2, 3]),
        ('age,city\n"1","a ""b"", c"\n2,"two\nlines"\n', [1, 2]),
        ('age,city\n1,a"b\n2,"c"d\n3,e', [1, 2, 3]),
        ("age,city\nx,a\n,b\n4,\n", [4]),
        ("age,city\n", []),
        ("age,city\n1,\x00\n", [1]),
        ("age,city\n1," + "x" * 3_000_000 + "\n2,b\n", [1, 2]),
    ],
)
def test_ragged_quoted_blank_and_long_lines_are_read(tmp_path: Path, text: str, ages: list[int]) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    rows = Frame(PrivacyUnit(), columns=(AGE,))
    assert answers(path, (AGE, CITY), rows)[2] == everything(Reference({"age": ages}, (AGE,)), rows)[2]
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(text.encode()))
    assert answers(tmp_path / "t.csv.gz", (AGE, CITY), rows)[2] == everything(Reference({"age": ages}, (AGE,)), rows)[2]


def test_names_that_differ_by_case_are_columns_of_their_own(tmp_path: Path) -> None:
    upper = Column("AGE", "int", bounds=(0, 120))
    for source in ({"age": [1], "AGE": [2]}, write(tmp_path / "t.csv", [["age", "AGE"], [1, 2]])):
        assert dict(answers(source, (AGE, upper), Frame(PrivacyUnit(), columns=(AGE, upper)))[1])[Item("sum", "AGE")] == [2]


@pytest.mark.parametrize(
    ("source", "code", "says"),
    [
        (7, "SRD-205", "Give a dict"),
        ({}, "SRD-205", "no columns"),
        ({"age": 5}, "SRD-205", "one-dimensional"),
        ({"age": np.zeros((2, 2))}, "SRD-205", "one-dimensional"),
        ({"age": [1], "city": []}, "SRD-205", "different lengths"),
        ({"city": ["a"]}, "SRD-201", "Its columns are: city"),
        ({7: [1]}, "SRD-205", "not text"),
        ("nothing.parquet", "SRD-205", "no file matches"),
        ("nothing.xlsx", "SRD-205", "not a kind of file"),
        ("some.duckdb", "SRD-205", "some.duckdb::table"),
        (pl.LazyFrame({"age": [1]}), "SRD-205", "collect"),
        (pd.DataFrame([[1, 2]], columns=["age", "age"]), "SRD-205", "several columns"),
    ],
)
def test_what_cannot_be_opened_says_why_and_what_to_do(source: Any, code: str, says: str) -> None:
    with pytest.raises(QueryError) as raised:
        open_source(source, (AGE,))
    assert raised.value.code == code
    assert says in str(raised.value)


def test_broken_files_are_refused_at_the_door(tmp_path: Path) -> None:
    (tmp_path / "t.parquet").write_bytes(b"not parquet")
    (tmp_path / "t.duckdb").write_bytes(b"not a database at all" * 1_000)
    (tmp_path / "t.csv").write_bytes(b"")
    with duckdb.connect(str(tmp_path / "real.duckdb")) as connection:
        connection.execute("CREATE TABLE people AS SELECT 1 AS age")
    for name, says in (("t.parquet", "header"), ("t.duckdb::people", "opened"), ("t.csv", "no header"), ("real.duckdb::persons", "people")):
        with pytest.raises(QueryError, match="SRD-205") as raised:
            open_source(tmp_path / name, (AGE,))
        assert says in str(raised.value)


def test_bounds_that_no_integer_holds_are_refused_at_the_door() -> None:
    for column in (Column("x", "int", bounds=(0, 2**63)), Column("x", "decimal", bounds=(0, 10**15), scale=6)):
        with pytest.raises(QueryError, match="SRD-202"):
            open_source({"x": [1]}, (column,))


def test_no_value_ever_raises() -> None:
    class Rude:
        def __str__(self) -> str:
            raise RuntimeError("no")

    values = [
        Rude(),
        object(),
        [1, 2],
        {"a": 1},
        10**5000,
        -(10**5000),
        "\ud800",
        b"\xff",
        1 + 2j,
        np.float32("nan"),
        pd.NA,
        pd.NaT,
        Decimal("NaN"),
        Decimal("sNaN"),
        "\0",
    ]
    kinds = [Column("x", kind, bounds=(0, 9), scale=2) for kind in ("int", "float", "decimal", "bool")]
    kinds += [Column("x", "date", bounds=("2020-01-01", "2021-01-01")), Column("x", "timestamp", bounds=("2020-01-01", "2021-01-01"))]
    for column in kinds:
        totals = dict(answers({"x": values}, (column,), Frame(PrivacyUnit(), columns=(column,)))[1])
        assert totals[Item("rows")] == [len(values)]
        assert totals[Item("rows", "x")] == [2 if column.type in ("int", "float", "decimal", "bool") else 0]
    city = Column("x", "cat")
    assert sum(dict(answers({"x": values}, (city,), Frame(PrivacyUnit(), by=(city,)))[1])[Item("rows")]) == len(values)
