"""The PostgreSQL engine: one connection and one read-only snapshot per release, and nothing written but a temporary table.

Statements of the relational text in one PostgreSQL connection, and their rows as arrays.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import numpy as np
from numpy.typing import NDArray

from sordino.engines.database import RemoteEngine, RowReader, Stored, render
from sordino.engines.inspection import Inspection
from sordino.engines.port import stoppable
from sordino.engines.postgres_dialect import PostgresDialect
from sordino.engines.scan import Place, broken
from sordino.engines.value_text import quote, quoted
from sordino.errors import not_installed
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame

__all__ = ["DIALECT", "Postgres", "PostgresCursor", "PostgresFound", "address"]

DIALECT = PostgresDialect()
CHUNK = 50_000  # rows that are Python objects at one time
INTEGERS = (20, 21, 23)  # type numbers of BIGINT, SMALLINT, INTEGER
OPEN, SHUT = "\1", "\2"  # around a parameter until the statement is rendered


@dataclass(frozen=True)
class PostgresFound:
    """The rows a statement found, column by column."""

    columns: Mapping[str, NDArray[Any]]

    def fetchnumpy(self) -> dict[str, NDArray[Any]]:
        return dict(self.columns)

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(zip(*(values.tolist() for values in self.columns.values()), strict=True))


class PostgresCursor:
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

    def execute(self, statement: str) -> PostgresFound:
        text, held = self._prepared(statement)
        with self._connection.cursor("found", binary=True) as cursor:
            cursor.execute(text, held)
            kinds = {part.name: part.type_code for part in cursor.description}
            pieces: list[list[NDArray[Any]]] = [[_array((), code)] for code in kinds.values()]
            while rows := cursor.fetchmany(CHUNK):
                for piece, values, code in zip(pieces, zip(*rows, strict=True), kinds.values(), strict=True):
                    piece.append(_array(values, code))
        return PostgresFound({name: _joined(piece) for name, piece in zip(kinds, pieces, strict=True)})

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


AT_ONCE = 4  # releases, each with a connection of its own; others wait
STORED = {
    **dict.fromkeys(("smallint", "integer", "bigint"), "integer"),
    **dict.fromkeys(("real", "double precision"), "float"),
    **dict.fromkeys(("timestamp without time zone", "timestamp with time zone"), "timestamp"),
    "boolean": "bool", "date": "date", "numeric": "decimal",
}  # fmt: skip
PINNED = {
    "TimeZone": "UTC", "DateStyle": "ISO, YMD", "client_encoding": "UTF8", "standard_conforming_strings": "on", "extra_float_digits": "1",
    "statement_timeout": "0", "lock_timeout": "0", "idle_in_transaction_session_timeout": "0", "transform_null_equals": "off", "jit": "off",
    "search_path": "pg_catalog", "application_name": "sordino",
    "enable_nestloop": "off",  # every join of ours is on equality: one person's rows are never compared pair by pair
}  # fmt: skip
NAMES = """SELECT n.nspname, c.relname, a.attname, pg_catalog.format_type(COALESCE(NULLIF(t.typbasetype, 0), t.oid), NULL)
    FROM pg_catalog.pg_class AS c
    JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
    JOIN pg_catalog.pg_attribute AS a ON a.attrelid = c.oid
    JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
    WHERE c.oid = pg_catalog.to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
    ORDER BY a.attnum"""
FACTS = """SELECT pg_catalog.current_setting('server_encoding'),
    pg_catalog.has_database_privilege(pg_catalog.current_database(), 'TEMP') AND NOT pg_catalog.pg_is_in_recovery()"""


def address(source: Any) -> tuple[str, str] | None:
    """Server and table of "postgres://user@host/db?table=people" or of ("postgres://user@host/db", "people"); None for anything else."""
    given, table = source if isinstance(source, tuple) and len(source) == 2 else (source, None)
    if not isinstance(given, str) or not given.startswith(("postgres://", "postgresql://")):
        return None
    parts = urlsplit(given)
    options = dict(parse_qsl(parts.query, keep_blank_values=True))
    named = options.pop("table", "")
    table = named if table is None else str(table)
    if not table:
        raise broken("the address names no table.", "Write 'postgres://user@host/database?table=people'.")
    return urlunsplit(parts._replace(query=urlencode(options))), table


class Postgres(RowReader):
    """Rows of one table or view. Opening reads its column names and types; `bounded` is the first moment a row is read. Thread-safe."""

    def __init__(self, source: Any, columns: tuple[Column, ...]) -> None:
        found = address(source)
        if found is None:
            raise broken("this is not an address of PostgreSQL.", "Write 'postgres://user@host/database?table=people'.")
        self._server, table = found
        self._driver = _driver()
        place, self._relation, self._types, self._temporary = self._header(table)
        super().__init__(place, columns, {name: STORED.get(stored, "text") for name, stored in self._types.items()}, DIALECT, portable=True)
        self._turn = threading.BoundedSemaphore(AT_ONCE)

    @contextlib.contextmanager
    def bounded(self, frame: Frame, salt: int) -> Iterator[RemoteEngine]:
        """The bounded table of one release in one snapshot, gone when the block ends."""
        self._open()
        with self._turn, contextlib.closing(self._connected()) as connection, stoppable(connection.cancel):
            text = self._text(frame, salt)
            cursor = PostgresCursor(connection, self._scanned(frame), self._stored(frame))
            self._hold(cursor, text)
            rows, snapshot = text.bounded(), "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
            if self._temporary:
                # the table's shape first, because a read-only transaction may fill a temporary table but not make one
                cursor.run("CREATE TEMP TABLE bounded AS {} WITH NO DATA", rows)
                connection.execute(snapshot)
                cursor.run("INSERT INTO bounded {}", rows)
            else:  # a standby, or a guest without a place for tables: every question reads the snapshot again
                cursor.define("bounded", rows)
                connection.execute(snapshot)
            yield RemoteEngine(cursor, text, "bounded")

    @contextlib.contextmanager
    def inspected(self, columns: tuple[Column, ...]) -> Iterator[Inspection]:
        """The raw rows in one snapshot, for their owner. NOT PRIVATE."""
        self._open()
        frame = Frame(PrivacyUnit(), by=columns)
        with self._turn, contextlib.closing(self._connected()) as connection:
            cursor = PostgresCursor(connection, self._scanned(frame), self._stored(frame))
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield Inspection(self._text(frame, 0).scan, lambda statement: cursor.execute(statement).fetchnumpy())

    def _scanned(self, frame: Frame) -> dict[str, str]:
        return {held: of.reader._relation_of(of.aliases) for held, of in self._held(frame).items()}

    def _relation_of(self, aliases: Mapping[str, str]) -> str:
        reads = [f"{_tame(quote(name), self._types[name])} AS {alias}" for name, alias in aliases.items()]
        return f"(SELECT {', '.join(reads) or '1 AS one'} FROM {self._relation})"

    def _connected(self) -> Any:
        connection = self._driver.connect(self._server, autocommit=True)
        try:
            connection.execute("; ".join(f"SET {name} = {quoted(value)}" for name, value in PINNED.items()))
        except BaseException:
            connection.close()
            raise
        return connection

    def _header(self, table: str) -> tuple[Place, str, dict[str, str], bool]:
        parts = ".".join(quote(part) for part in table.split("."))
        try:
            with contextlib.closing(self._connected()) as connection:
                connection.execute("RESET search_path")  # the table is found where its owner would find it
                rows = connection.execute(NAMES, (parts,)).fetchall()
                encoding, temporary = connection.execute(FACTS).fetchone()
                where = f"postgres://{connection.info.host}:{connection.info.port}/{connection.info.dbname}"
        except (self._driver.Error, UnicodeError) as error:
            # the driver's own words may repeat the address, and with it a password
            raise broken("the database cannot be reached or read.", f"Check the address and the rights ({type(error).__name__}).") from None
        if not rows:
            raise broken(f"the database has no table {table!r}.", "Name it as schema.table if it is not on the search path.")
        if encoding != "UTF8":
            raise broken(f"the database stores text as {encoding}.", "Use a database with the encoding UTF8.")
        schema, name = rows[0][:2]
        place = Place((f"{where}/{schema}.{name}",))  # no user and no password: the budget belongs to the table
        return place, f"{quote(schema)}.{quote(name)}", {column: stored for _, _, column, stored in rows}, bool(temporary)


def _tame(x: str, stored: str) -> str:
    """A column as one of a few types: moments in UTC and within what a timestamp holds, other types as text compared by bytes."""
    kind = STORED.get(stored, "text")
    if kind in ("date", "timestamp"):
        plain = f"({x} AT TIME ZONE 'UTC')" if stored == "timestamp with time zone" else x
        word = "DATE" if kind == "date" else "TIMESTAMP"
        # one day beyond the days that can be named; a cast further out would be an error
        return f"CASE WHEN {x} IS NOT NULL THEN greatest({word} '0001-12-31 BC', least({word} '10000-01-01', {plain})) END"
    if kind == "text":
        return f'CAST({x} AS TEXT) COLLATE "C"'
    return f"CAST({x} AS {stored if kind == 'bool' else {'integer': 'BIGINT', 'float': 'DOUBLE PRECISION', 'decimal': 'NUMERIC'}[kind]})"


def _driver() -> Any:
    try:
        import psycopg
    except ModuleNotFoundError as error:
        raise not_installed(error) or error from None
    return psycopg
