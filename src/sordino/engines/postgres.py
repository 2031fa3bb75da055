"""The PostgreSQL engine: one connection and one read-only snapshot per release, and nothing written but a temporary table.

Statements of the relational text in one PostgreSQL connection, and their rows as arrays.

How PostgreSQL says the relational text. It has no TRY_CAST, so every cast is guarded by what the text looks like.
"""

from __future__ import annotations

import contextlib
import struct
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from sordino.engines.database import BLANK, FALSE, INFINITE, MOMENT, NUMBER, TRUE, RemoteEngine, RowReader, Say, Stored, is_day, render
from sordino.engines.inspection import Inspection
from sordino.engines.port import stoppable
from sordino.engines.scan import Place, broken
from sordino.engines.value_text import quote, quoted
from sordino.errors import not_installed
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame

__all__ = ["DIALECT", "Postgres", "PostgresCursor", "PostgresDialect", "PostgresFound", "address"]

Type = exp.DataType.Type
LONGEST = 1000  # characters of a number; with an exponent of four digits it is still far inside NUMERIC
LARGEST, LEAST = "1.7976931348623157e308", "2.4703282292062327208e-324"  # doubles end here; beyond, a cast is an error
HIGH_WORD = 2**60


@dataclass(frozen=True)
class PostgresDialect:
    """PostgreSQL 12 or later, in a session whose settings are pinned."""

    name: str = "postgres"

    def text(self, value: str) -> str:
        # no text of this database contains NUL, so what a constant with one says about a row may be anything but an error
        return f"convert_from('\\x{value.replace(chr(0), chr(0xFFFF)).encode().hex()}'::bytea, 'UTF8')"

    def cast(self, stored: str, to: exp.DataType, x: str) -> str:
        kind = to.this
        if kind in exp.DataType.TEXT_TYPES:
            return f"CAST({x} AS TEXT)"
        if stored == "text":
            return self._parsed(kind, x)
        if stored == "bool":
            return f"CAST(CAST({x} AS INTEGER) AS {to.sql(dialect=self.name)})"
        if stored == "decimal":
            return {Type.DECIMAL: _fitting(x), Type.DOUBLE: _double(x, x)}.get(kind, "NULL")
        if kind == Type.DECIMAL:
            return f"CAST({x} AS DECIMAL(38, 18))"
        if kind == Type.DOUBLE:
            return f"CAST({x} AS DOUBLE PRECISION)"
        return f"CAST({x} AS {to.sql(dialect=self.name)})"

    def _parsed(self, kind: Any, x: str) -> str:
        bare = rf"btrim({x}, E' \t\n\x0B\f\r')"
        number = f"{bare}::numeric"
        guard = f"length({x}) <= {LONGEST} AND {x} ~ '^{BLANK}{NUMBER}{BLANK}$'"
        if kind == Type.DECIMAL:
            return f"(CASE WHEN {guard} THEN {_fitting(number)} END)"
        if kind == Type.DOUBLE:
            endless = f"WHEN {x} ~ '^{BLANK}{INFINITE}{BLANK}$' THEN {bare}::double precision"
            return f"(CASE WHEN {guard} THEN {_double(number, bare)} {endless} END)"
        if kind == Type.BOOLEAN:
            return f"(CASE WHEN lower({x}) IN ({TRUE}) THEN TRUE WHEN lower({x}) IN ({FALSE}) THEN FALSE END)"
        if kind == Type.TIMESTAMPTZ:
            # digits beyond microseconds are cut, because PostgreSQL would round them into the next second
            moment = rf"regexp_replace({x}, '(\.[0-9]{{6}})[0-9]+', '\1')::timestamptz"
            return f"(CASE WHEN {x} ~ '^{MOMENT}$' THEN CASE WHEN {_calendar(x)} THEN {moment} END END)"
        return "NULL"

    def special(self, node: exp.Expr, say: Say) -> str | None:
        if isinstance(node, exp.RegexpReplace):
            return f"regexp_replace({say(node.this)}, {say(node.expression)}, '')"
        if isinstance(node, exp.TimestampTrunc | exp.DateTrunc):
            return f"date_trunc('{node.args['unit'].name.lower()}', {say(node.this)})"
        if isinstance(node, exp.Translate):
            return f"translate({say(node.this)}, {say(node.args['from_'])}, {say(node.args['to'])})"
        if isinstance(node, exp.IsNan):
            return f"({say(node.this)} = 'NaN')"
        if isinstance(node, exp.Like):
            return f"({say(node.this)} LIKE {say(node.expression)} ESCAPE '')"
        if isinstance(node, exp.Subquery) and isinstance(node.parent, exp.From | exp.Join):
            # OFFSET 0 keeps the layers apart: merged, a value used twice would be computed twice, in every layer again
            return f"({say(node.this)} OFFSET 0) AS {node.alias}"
        if isinstance(node, exp.BitwiseRightShift):
            return f"({say(node.this)} >> {node.expression.sql()})"  # by an INTEGER, not a BIGINT
        if isinstance(node, exp.Extract) and node.name.upper() == "SECOND":
            return f"floor(EXTRACT(SECOND FROM {say(node.expression)}))"
        if isinstance(node, exp.Div):
            return _quotient(say(node.this), node.expression, say)
        if isinstance(node, exp.IntDiv):
            return f"(({say(node.this)}) / ({say(node.expression)}))"
        if isinstance(node, exp.NullSafeEQ):
            # an equality that can be hashed; IS NOT DISTINCT FROM would compare every row with every key
            left, right = (f"COALESCE('=' || CAST({say(side)} AS TEXT), '')" for side in (node.this, node.expression))
            return f"({left} = {right})"
        if isinstance(node, exp.Sub) and is_day(node.expression):
            return f"CAST({say(node.this)} - {say(node.expression)} AS BIGINT)"
        if isinstance(node, exp.Cast) and node.to.is_type(Type.INT128):
            return _huge(say(node.this.this if isinstance(node.this, exp.Floor) else node.this))
        if isinstance(node, exp.Anonymous) and node.name.upper() == "EPOCH_US":
            return f"CAST(EXTRACT(EPOCH FROM {say(node.expressions[0])}) * 1000000 AS BIGINT)"
        return None


def _fitting(n: str) -> str:
    """A NUMERIC rounded to 18 decimals, null where it has more than 20 digits before them; NaN is above every number."""
    return f"(CASE WHEN abs({n}) < 2e20 THEN CASE WHEN abs(round({n}, 18)) < 1e20 THEN CAST({n} AS DECIMAL(38, 18)) END END)"


def _double(n: str, source: str) -> str:
    """A NUMERIC as a double, where `source` is what becomes it; too large is infinite, too small is zero, NaN is null."""
    large = f"WHEN {n} = 'NaN' THEN NULL WHEN {n} > {LARGEST} THEN 'Infinity' WHEN {n} < -{LARGEST} THEN '-Infinity'"
    return f"(CASE {large} WHEN abs({n}) <= {LEAST} THEN 0 ELSE CAST({source} AS DOUBLE PRECISION) END)"


def _calendar(x: str) -> str:
    """Whether the day of a moment exists."""
    year, month, day = f"CAST(substr({x}, 1, 4) AS INTEGER)", f"substr({x}, 6, 2)", f"substr({x}, 9, 2)"
    leap = f"({year} % 4 = 0 AND ({year} % 100 <> 0 OR {year} % 400 = 0))"
    short = f"CASE WHEN {month} IN ('04', '06', '09', '11') THEN '30' ELSE '31' END"
    last = f"CASE WHEN {month} <> '02' THEN {short} WHEN {leap} THEN '29' ELSE '28' END"
    return f"{year} > 0 AND {day} <= {last}"


def _quotient(x: str, divisor: exp.Expr, say: Say) -> str:
    """A quotient of doubles. One that vanishes is zero, where PostgreSQL would raise: an error that depends on a value."""
    said = f"({x} / {say(divisor)})"
    if not isinstance(divisor, exp.Literal) or float(divisor.this) <= 1:
        return said
    return f"(CASE WHEN abs({x}) <= CAST('{_vanishing(float(divisor.this))!r}' AS DOUBLE PRECISION) THEN 0 ELSE {said} END)"


def _vanishing(divisor: float) -> float:
    """The largest double whose quotient by this one is zero."""
    low, high = 0, struct.unpack("<q", struct.pack("<d", divisor))[0]
    while high - low > 1:  # doubles of one sign are ordered as their bits are
        middle = (low + high) // 2
        if struct.unpack("<d", struct.pack("<q", middle))[0] / divisor == 0.0:
            low = middle
        else:
            high = middle
    found: float = struct.unpack("<d", struct.pack("<q", low))[0]
    return found


def _huge(x: str) -> str:
    """The floor of a large double as an exact NUMERIC, in two words: a direct cast keeps fifteen digits."""
    high = f"floor({x} / {HIGH_WORD}::double precision)"
    low = f"floor({x} - {high} * {HIGH_WORD}::double precision)"
    return f"(CAST(CAST({high} AS BIGINT) AS NUMERIC) * {HIGH_WORD} + CAST(CAST({low} AS BIGINT) AS NUMERIC))"


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
