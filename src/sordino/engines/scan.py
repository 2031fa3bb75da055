"""The kinds of sources: where the rows are, and how a locked database scans them.

The header of a source against what its owner declares: all of it public, none of it a row.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from sordino.engines.array import column_array, text_array
from sordino.engines.value_text import Field, check_grid, quote, quoted, text_value, typed
from sordino.errors import QueryError
from sordino.schema.column import Column

__all__ = [
    "KNOWN",
    "Database",
    "HeldTable",
    "Parquet",
    "Place",
    "Scan",
    "SeveralSources",
    "TableSource",
    "broken",
    "check_columns",
    "mapped",
    "written",
]

STORED = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "float"),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"), "timestamp"),
    **dict.fromkeys(("UBIGINT", "HUGEINT", "UHUGEINT", "DECIMAL"), "decimal"),
    "BOOLEAN": "bool", "DATE": "date", "VARCHAR": "text",
}  # fmt: skip
WHOLE = {"TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"}  # a wider one holds the same numbers
FRAME = "held_rows"
KNOWN = "Give a dict of arrays, a pandas, polars or pyarrow frame, a .parquet or .csv path, or 'file.duckdb::table'."


@dataclass(frozen=True)
class Scan:
    """A relation to select from, and where each asked column is in it."""

    text: str
    fields: Mapping[str, Field]


class TableSource(Protocol):
    """A place with rows. `paths` are the files a scan may read; `steady` means that two scans in one release see the same rows."""

    @property
    def paths(self) -> tuple[str, ...]: ...
    @property
    def steady(self) -> bool: ...

    def prepare(self, connection: Any) -> None:
        """What must happen before the database is locked."""

    def header(self, cursor: Any) -> tuple[str, ...]: ...
    def scan(self, cursor: Any, columns: Sequence[Column]) -> Scan: ...


def broken(what: str, fix: str = KNOWN) -> QueryError:
    return QueryError("SRD-205", what, fix)


def written(paths: Sequence[str]) -> tuple[tuple[int, int, int], ...]:
    """What changes when a file does."""
    return tuple((found.st_ino, found.st_size, found.st_mtime_ns) for found in map(os.stat, paths))


def _types(cursor: Any, relation: str) -> dict[str, str]:
    return {name: stored for name, stored, *_ in cursor.execute(f"DESCRIBE SELECT * FROM {relation}").fetchall()}


def _described(cursor: Any, relation: str) -> dict[str, Field]:
    return {name: _tame(quote(name), stored) for name, stored in _types(cursor, relation).items()}


def _tame(x: str, stored: str) -> Field:
    """A column as one of a few types: a number or a moment is the same value in a wide type and in a narrow one."""
    kind = STORED.get(stored.partition("(")[0], "other")
    if stored == "FLOAT":
        return Field(f"CAST({x} AS DOUBLE)", kind)
    if stored == "TIMESTAMP WITH TIME ZONE":
        return Field(f"TRY_CAST({x} AS TIMESTAMP)", kind)  # the session's zone is UTC
    if stored == "BLOB":
        return Field(f"COALESCE(TRY(decode({x})), CAST({x} AS VARCHAR))", "text")
    if stored == "TIMESTAMP_NS":  # cut to microseconds, where a cast would round
        nanos = f"epoch_ns({x})"
        return Field(f"CASE WHEN isfinite({x}) THEN make_timestamp(({nanos} - (({nanos} % 1000) + 1000) % 1000) // 1000) END", kind)
    return Field(x, kind)


KINDS = {"int": "integer", "bool": "integer", "cat": "text", "id": "text"}  # how a mapped value is stored, where its type has another name


def mapped(column: Column, place: Field) -> tuple[str, str]:
    """A value in the one form its declared type has, and how that is stored: what maps to it maps to itself. Nulls stay nulls."""
    if column.type == "id":
        return text_value(place), "text"
    return typed(replace(column, nulls="drop"), place), KINDS.get(column.type, column.type)


def _alike(column: Column, place: Field) -> tuple[str, str]:
    """The same for one of several files. Whole numbers stay as they are written: one that is not whole is a number, and nobody's id."""
    if column.type != "int":
        return mapped(column, place)
    return (f"CAST({mapped(column, place)[0]} AS VARCHAR)" if place.stored == "bool" else place.text), "text"


@dataclass(frozen=True)
class Parquet:
    """Parquet files, read together by column name. Where they store a column in several ways, each file's values are mapped on their own:
    a common type of all files would write one file's 5 as 5.0 because another file holds text."""

    paths: tuple[str, ...]
    steady: bool = True
    known: dict[Any, tuple[dict[str, Field], dict[str, dict[str, Field]]]] = field(default_factory=dict, compare=False, repr=False)

    @property
    def relation(self) -> str:
        return self._read(self.paths)

    def _read(self, paths: Sequence[str]) -> str:
        together = ", union_by_name = true" if len(paths) > 1 else ""
        return f"read_parquet([{', '.join(map(quoted, paths))}], hive_partitioning = false{together})"

    def prepare(self, connection: Any) -> None:
        return

    def header(self, cursor: Any) -> tuple[str, ...]:
        return tuple(_types(cursor, self.relation))

    def scan(self, cursor: Any, columns: Sequence[Column]) -> Scan:
        stored, apart = self.stored(cursor)
        if not apart:
            return Scan(self.relation, {column.name: stored[column.name] for column in columns})
        places = [_alike(column, stored[column.name])[1] for column in columns]
        texts = []
        for path, fields in apart.items():
            reads = [_alike(column, fields[column.name])[0] if column.name in fields else "NULL" for column in columns]
            texts.append(f"SELECT {', '.join(f'{text} AS c{i}' for i, text in enumerate(reads))} FROM {self._read([path])}")
        whole = f"({' UNION ALL '.join(texts)})"
        return Scan(whole, {column.name: Field(f"c{i}", kind) for i, (column, kind) in enumerate(zip(columns, places, strict=True))})

    def stored(self, cursor: Any) -> tuple[dict[str, Field], dict[str, dict[str, Field]]]:
        """How columns are stored, and in which files apart if these do not agree. Asked for again only when a file was written."""
        stamp = written(self.paths)
        found = self.known.get(stamp)
        if found is None:  # returned from here, not read back: another release may be forgetting at the same time
            names = {name.lower(): name for name in self.header(cursor)}  # files may differ in the case of a name
            files = {path: {names[name.lower()]: kind for name, kind in _types(cursor, self._read([path])).items()} for path in self.paths}
            types = {name: {kinds[name] for kinds in files.values() if name in kinds} for kinds in files.values() for name in kinds}
            agree = all(len(kinds) == 1 or kinds <= WHOLE for kinds in types.values())
            apart = {path: {name: _tame(quote(name), kind) for name, kind in kinds.items()} for path, kinds in files.items()}
            found = {name: _tame(quote(name), sorted(kinds)[0]) for name, kinds in types.items()}, {} if agree else apart
            self.known.clear()
            self.known[stamp] = found
        return found


@dataclass(frozen=True)
class Database:
    """A table of a DuckDB file, attached read-only."""

    paths: tuple[str, ...]
    table: str
    steady: bool = True
    place: str = "held"  # what the attached file is called

    @property
    def relation(self) -> str:
        parts = self.table.split(".")
        return ".".join([self.place, *map(quote, parts if len(parts) == 2 else ["main", self.table])])

    def prepare(self, connection: Any) -> None:
        connection.execute(f"ATTACH IF NOT EXISTS {quoted(self.paths[0])} AS {self.place} (READ_ONLY)")

    def header(self, cursor: Any) -> tuple[str, ...]:
        tables = f"SELECT table_name FROM information_schema.tables WHERE table_catalog = {quoted(self.place)} ORDER BY 1"
        found = [name for (name,) in cursor.execute(tables).fetchall()]
        if self.table.split(".")[-1] not in found:
            raise broken(f"the database has no table {self.table!r}.", f"Its tables are: {', '.join(found) or 'none'}.")
        return tuple(_described(cursor, self.relation))

    def scan(self, cursor: Any, columns: Sequence[Column]) -> Scan:
        stored = _described(cursor, self.relation)
        return Scan(self.relation, {column.name: stored[column.name] for column in columns})


@dataclass(frozen=True, eq=False)
class HeldTable:
    """Columns the caller holds in memory. Only the columns a release uses are touched, at the release."""

    columns: Mapping[str, Any]
    rows: int
    arrow: bool = False
    paths: tuple[str, ...] = ()
    steady: bool = True
    place: str = FRAME  # what the registered rows are called

    def prepare(self, connection: Any) -> None:
        return

    def header(self, cursor: Any) -> tuple[str, ...]:
        return tuple(self.columns)

    def scan(self, cursor: Any, columns: Sequence[Column]) -> Scan:
        make = _arrow if self.arrow else column_array
        held: dict[str, Any] = {f"c{i}": make(self.columns[c.name], kind=c.type) for i, c in enumerate(columns)}
        if self.arrow:
            import pyarrow as pa

            cursor.register(self.place, pa.table({**held, "row": pa.nulls(self.rows)}))
        else:
            cursor.register(self.place, {**held, "row": np.zeros(self.rows, dtype=np.int8)})
        stored = _described(cursor, self.place)
        return Scan(self.place, {column.name: stored[f"c{i}"] for i, column in enumerate(columns)})


def _arrow(values: Any, *, kind: str) -> Any:
    """An Arrow column of a type the database scans; any other becomes text."""
    import pyarrow as pa

    try:
        array = values.to_arrow() if hasattr(values, "to_arrow") else values
        stored = array.type.value_type if pa.types.is_dictionary(array.type) else array.type
        plain = "boolean integer float32 float64 date decimal128 timestamp string large_string string_view"
        if any(getattr(pa.types, f"is_{name}")(stored) for name in plain.split()):
            return array
    except Exception:  # a column without an Arrow form is read value by value
        pass
    values = values.to_list() if hasattr(values, "to_list") else values.to_pylist()
    return pa.array(text_array(values, kind=kind).tolist(), type=pa.string())


@dataclass(frozen=True)
class SeveralSources:
    """The sources of several tables in one locked database, each under a name of its own."""

    tables: Mapping[str, TableSource]

    @classmethod
    def of(cls, tables: Mapping[str, Any]) -> SeveralSources:
        found: dict[str, Any] = {}
        files: dict[tuple[str, ...], str] = {}
        for number, (name, source) in enumerate(tables.items()):
            if isinstance(source, Database):
                found[name] = replace(source, place=files.setdefault(source.paths, f"held{number}"))
            else:
                found[name] = replace(source, place=f"{FRAME}{number}") if isinstance(source, HeldTable) else source
        return cls(found)

    @property
    def paths(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(path for source in self.tables.values() for path in source.paths))

    @property
    def steady(self) -> bool:
        return all(source.steady for source in self.tables.values())

    def prepare(self, connection: Any) -> None:
        for source in self.tables.values():
            source.prepare(connection)

    def header(self, cursor: Any) -> tuple[str, ...]:
        return ()

    def scan(self, cursor: Any, columns: Sequence[Column]) -> Scan:
        raise broken("several tables are no source of rows by themselves.", "Ask a view of them.")


@dataclass(frozen=True)
class Place:
    """What the ledger of a source is bound to: its files, whose ledger is marked beside them, or the public name of what it is."""

    paths: tuple[str, ...] = ()


def check_columns(columns: Iterable[Column], names: Sequence[str]) -> None:
    """Every declared column exists, and its grid fits what engines compute with."""
    for column in columns:
        if column.type == "never":
            continue
        if column.name not in names:
            raise QueryError("SRD-201", f"column {column.name!r} is not in the source.", f"Its columns are: {', '.join(names)}.")
        if column.number and column.bounds is not None:
            check_grid(column)
