"""Opening a source: what kind it is, which files it names, what its columns are called. Never a row."""

from __future__ import annotations

import csv
import glob
import gzip
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sordino.engines.duckdb import DuckDB
from sordino.engines.lines import Csv
from sordino.engines.scan import Database, Held, Parquet, Source, broken
from sordino.schema.column import Column
from sordino.schema.declaration import Delimited

__all__ = ["find_source", "open_source"]


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


def find_source(source: Any, csv: Delimited | None = None) -> Source:
    """What kind of source this is; an error with the fix if it is none."""
    found = _found(source, csv or Delimited())
    if csv is not None and not isinstance(found, Csv):
        raise broken("the source is not a CSV file, and says how its lines are written.", "Leave that out.")
    return found


def _found(source: Any, written: Delimited) -> Source:
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


def _held(columns: Mapping[Any, Any], *, arrow: bool = False) -> Held:
    sizes = set()
    for name, values in columns.items():
        if not isinstance(name, str):
            raise broken(f"the column name {name!r} is not text.", "Name columns with strings.")
        if isinstance(values, (str, bytes)) or not hasattr(values, "__len__") or getattr(values, "ndim", 1) != 1:
            raise broken(f"column {name!r} is not a one-dimensional array.", "Give each column as a list or a one-dimensional array.")
        sizes.add(len(values))
    if len(sizes) != 1:
        raise broken("the columns have different lengths." if sizes else "the source has no columns.", "Give columns of one length.")
    return Held(dict(columns), sizes.pop(), arrow=arrow)


def _path(text: str, written: Delimited) -> Source:
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
    opened = gzip.open if paths[0].endswith(".gz") else open
    encoding = "utf-8-sig" if written.encoding == "utf-8" else written.encoding
    try:
        with opened(paths[0], "rt", encoding=encoding, errors="replace", newline="") as stream:
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
