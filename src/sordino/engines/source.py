"""Opening a source: what kind it is, which files it names, what its columns are called. Never a row.

Reading a public table: anybody may look at its rows, so they are read when it is opened, and its unique columns are checked.

Which engine reads a source: the one that is named, or the one the source belongs to.
"""

from __future__ import annotations

import contextlib
import csv
import glob
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from sordino.engines.delimited import Csv, decoded
from sordino.engines.duckdb import DuckDB
from sordino.engines.scan import Database, HeldTable, Parquet, TableSource, broken
from sordino.engines.value_text import typed
from sordino.errors import QueryError
from sordino.schema.column import Column, nearest, shown
from sordino.schema.declaration import Delimited, complete
from sordino.schema.frame import Public

__all__ = ["ENGINES", "MOST_ROWS", "find_source", "open_engine", "open_source", "read_public"]


def open_source(
    source: Any,
    columns: tuple[Column, ...],
    *,
    memory: str = "3GB",
    threads: int | None = None,
    portable: bool = False,
    csv: Delimited | None = None,
) -> DuckDB:
    """A locked engine over a dict of arrays, a frame, Parquet (a path or a glob), CSV, or "file.duckdb::table".

    Reads column names only. `portable` ranks rows by salted MD5 instead of the database's own hash, so that two engines choose alike.
    """
    return DuckDB(find_source(source, csv), columns, memory=memory, threads=threads, portable=portable)


def find_source(source: Any, csv: Delimited | None = None) -> TableSource:
    """What kind of source this is; an error with the fix if it is none."""
    found = _found(source, csv or Delimited())
    if csv is not None and not isinstance(found, Csv):
        raise broken("the source is not a CSV file, and says how its lines are written.", "Leave that out.")
    return found


def _found(source: Any, written: Delimited) -> TableSource:
    if isinstance(source, tuple) and len(source) == 2:
        return _database(*map(str, source))
    if isinstance(source, (str, Path)):
        return _path(str(source), written)
    if isinstance(source, Mapping):
        return _held(source)
    home = type(source).__module__.partition(".")[0]
    if home == "pandas" and hasattr(source, "iloc") and hasattr(source, "columns"):
        return _held(_unique([(str(name), source.iloc[:, i]) for i, name in enumerate(source.columns)]))
    if home == "polars" and hasattr(source, "get_columns"):
        return _held(_unique([(series.name, series) for series in source.get_columns()]), arrow=_has_arrow())
    if home == "pyarrow" and hasattr(source, "column_names"):
        return _held(_unique([(name, source.column(i)) for i, name in enumerate(source.column_names)]), arrow=True)
    if home == "polars":
        raise broken(f"a polars {type(source).__name__} is not a frame.", "Call .collect() first.")
    raise broken(f"a {type(source).__name__} is not a source.")


def _has_arrow() -> bool:
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return False
    return True


def _unique(columns: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(columns)
    if len(found) < len(columns):
        twice = sorted({name for name in found if [other for other, _ in columns].count(name) > 1})
        raise broken(f"the source has several columns named {twice[0]!r}.", "Give every column a name of its own.")
    return found


def _held(columns: Mapping[Any, Any], *, arrow: bool = False) -> HeldTable:
    sizes = set()
    for name, values in columns.items():
        if not isinstance(name, str):
            raise broken(f"the column name {name!r} is not text.", "Name columns with strings.")
        if isinstance(values, (str, bytes)) or not hasattr(values, "__len__") or getattr(values, "ndim", 1) != 1:
            raise broken(f"column {name!r} is not a one-dimensional array.", "Give each column as a list or a one-dimensional array.")
        sizes.add(len(values))
    if len(sizes) != 1:
        raise broken("the columns have different lengths." if sizes else "the source has no columns.", "Give columns of one length.")
    return HeldTable(dict(columns), sizes.pop(), arrow=arrow)


def _path(text: str, written: Delimited) -> TableSource:
    if "::" in text:
        return _database(*text.rsplit("::", 1))
    low = text.lower()
    if low.endswith((".duckdb", ".db")):
        raise broken(f"{text} is a database, not a table.", f"Name the table: '{text}::table'.")
    if low.endswith((".csv", ".tsv", ".csv.gz", ".tsv.gz")):
        return _csv(_files(text), written)
    if low.endswith((".parquet", ".parq", ".pq")) or (glob.has_magic(text) and not Path(text).exists()):
        return Parquet(_files(text))
    raise broken(f"{text!r} is not a kind of file that can be opened.")


def _files(text: str) -> tuple[str, ...]:
    """The files a path or a glob names, once and for all: a file that appears later is not part of this table."""
    path = os.path.abspath(os.path.expanduser(text))
    found = [path] if os.path.isfile(path) else sorted(name for name in glob.glob(path, recursive=True) if os.path.isfile(name))
    if not found:
        raise broken(f"no file matches {text!r}.", "Check the path.")
    return tuple(found)


def _csv(paths: tuple[str, ...], written: Delimited) -> Csv:
    if len(paths) > 1:
        raise broken("several CSV files match.", "Give one CSV file, or convert them to Parquet.")
    encoding = "utf-8-sig" if written.encoding == "utf-8" else written.encoding
    try:
        with decoded(paths[0], encoding) as stream:
            lines = stream if written.multiline else [stream.readline()]
            names = next(csv.reader(lines, delimiter=written.mark(paths[0])), [])
    except (OSError, csv.Error, UnicodeError) as error:
        raise broken(f"the header of {paths[0]} cannot be read.", "Check that it is a readable CSV file.") from error
    if not names:
        raise broken(f"{paths[0]} has no header line.", "Write the column names in the first line.")
    return Csv(paths, tuple(_unique([(name, None) for name in names])), written)


def _database(path: str, table: str) -> Database:
    if not table:
        raise broken(f"{path}:: names no table.", f"Write '{path}::table'.")
    return Database(_files(path), table)


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


ENGINES = ("auto", "duckdb", "spark", "postgres")


def open_engine(source: Any, columns: tuple[Column, ...], engine: str = "auto", csv: Delimited | None = None) -> Any:
    """An engine over a source. Reads names and types only. "auto" takes DuckDB unless the rows live in Spark or PostgreSQL."""
    if engine not in ENGINES:
        raise QueryError("SRD-106", f"engine {engine!r} is unknown.", f"Use one of {', '.join(ENGINES)}.")
    home = _home(source) if engine == "auto" else engine
    if csv is not None and home != "duckdb":
        raise QueryError("SRD-205", f"{home} reads no CSV file, and the source says how its lines are written.", "Leave that out.")
    if home == "spark":
        from sordino.engines.spark import Spark

        return Spark(source, columns)
    if home == "postgres":
        from sordino.engines.postgres import Postgres

        return Postgres(source, columns)
    return open_source(source, columns, csv=csv)


def _home(source: Any) -> str:
    from sordino.engines.spark_session import is_frame

    text = source[0] if isinstance(source, tuple) and source else source
    if is_frame(source) or (isinstance(text, str) and text.startswith("spark:")):
        return "spark"
    return "postgres" if isinstance(text, str) and text.startswith(("postgres://", "postgresql://")) else "duckdb"
