"""The Spark engine: rows stay on the executors, only summaries reach the driver, and noise is drawn by neither.

How Spark says the relational text. TRY_CAST exists but reads more than a number ('5d'), and a sum of BIGINT overflows.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from sordino.engines.database import (
    BLANK,
    FALSE,
    INFINITE,
    MOMENT,
    NUMBER,
    TRUE,
    RemoteEngine,
    RowReader,
    Say,
    Stored,
    is_day,
    render,
)
from sordino.engines.inspection import Inspection
from sordino.engines.port import stoppable
from sordino.engines.scan import Place, broken
from sordino.engines.spark_session import frame_of, pinned, quiet, undisturbed
from sordino.errors import QueryError
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame

__all__ = ["Spark", "SparkDialect"]

Type = exp.DataType.Type
LIMB = 21  # bits: three limbs hold 63, and the sum of a limb over 2^42 rows fits a BIGINT
HIGH_WORD = 2**60
CLOSE_ZONE, HOUR_ZONE = "^(.{16,}[+-][0-9]{2})([0-9]{2})$", "^(.{16,}[+-][0-9]{2})$"


@dataclass(frozen=True)
class SparkDialect:
    """Spark 4, in a session whose settings are pinned: ANSI arithmetic, UTC, names compared exactly."""

    name: str = "spark"

    def text(self, value: str) -> str:
        return f"CAST(X'{value.encode().hex()}' AS STRING)"

    def cast(self, stored: str, to: exp.DataType, x: str) -> str:
        kind = to.this
        if kind in exp.DataType.TEXT_TYPES:
            return f"CAST({x} AS STRING)"
        if stored == "text":
            return self._parsed(kind, x)
        if kind in (Type.TIMESTAMP, Type.TIMESTAMPTZ):
            return f"TRY_CAST({x} AS TIMESTAMP)"
        if stored == "decimal" and kind == Type.BOOLEAN:
            return "CAST(NULL AS BOOLEAN)"
        return f"TRY_CAST({x} AS {to.sql(dialect=self.name)})"

    def _parsed(self, kind: Any, x: str) -> str:
        if kind == Type.DECIMAL:
            return f"(CASE WHEN {self._looks(x, NUMBER)} THEN TRY_CAST({x} AS DECIMAL(38, 18)) END)"
        if kind == Type.DOUBLE:
            return f"(CASE WHEN {self._looks(x, f'({NUMBER}|{INFINITE})')} THEN TRY_CAST({x} AS DOUBLE) END)"
        if kind == Type.BOOLEAN:
            return f"(CASE WHEN lower({x}) IN ({TRUE}) THEN TRUE WHEN lower({x}) IN ({FALSE}) THEN FALSE END)"
        if kind == Type.TIMESTAMPTZ:
            # a zone must have minutes, with a colon
            colon = f"regexp_replace({x}, {self.text(CLOSE_ZONE)}, {self.text('$1:$2')})"
            zoned = f"regexp_replace({colon}, {self.text(HOUR_ZONE)}, {self.text('$1:00')})"
            known = f"{self._looks(x, MOMENT, blank='')} AND substr({x}, 1, 4) > '0000'"
            return f"(CASE WHEN {known} THEN TRY_CAST({zoned} AS TIMESTAMP) END)"
        return "NULL"

    def _looks(self, x: str, pattern: str, blank: str = BLANK) -> str:
        whole = rf"\A{blank}{pattern}{blank}\z"
        return f"{x} RLIKE {self.text(whole)}"

    def special(self, node: exp.Expr, say: Say) -> str | None:
        if isinstance(node, exp.RegexpReplace):
            return f"regexp_replace({say(node.this)}, {say(node.expression)}, '')"
        if isinstance(node, exp.TimestampTrunc | exp.DateTrunc):
            return f"date_trunc('{node.args['unit'].name.lower()}', {say(node.this)})"
        if isinstance(node, exp.Translate):
            return f"translate({say(node.this)}, {say(node.args['from_'])}, {say(node.args['to'])})"
        if isinstance(node, exp.CTE):
            return f"{node.alias} AS ({say(node.this)})"  # it has no word for a table that is computed once
        if isinstance(node, exp.IsNan):
            return f"isnan({say(node.this)})"
        if isinstance(node, exp.Like):
            pattern = node.expression
            if len(re.findall("%+", str(pattern.this))) > 1:
                return f"{say(node.this)} RLIKE {self.text(_steady(str(pattern.this)))}"
            doubled = exp.Literal.string(str(pattern.this).replace("\\", "\\\\"))  # the escape character cannot be switched off
            return f"({say(node.this)} LIKE {say(doubled)})"
        if isinstance(node, exp.Cast):
            return self._converted(node, say)
        if isinstance(node, exp.Sub) and is_day(node.expression):
            return f"CAST(datediff({say(node.this)}, {say(node.expression)}) AS BIGINT)"
        if isinstance(node, exp.Mul) and (number := _fractional(node.this)):
            # exact digits: a difference of two DECIMAL(38, 18) would drop two of them
            return (
                f"CAST(pmod({say(number)}, CAST(1 AS DECIMAL(1, 0))) AS DECIMAL(18, 18)) * CAST({node.expression.sql()} AS DECIMAL(19, 0))"
            )
        if isinstance(node, exp.Extract) and node.name.upper() == "SECOND":
            return f"second({say(node.expression)})"
        if isinstance(node, exp.Window) and isinstance(node.this, exp.RowNumber) and not node.args.get("order"):
            return f"row_number() OVER (PARTITION BY {', '.join(parts := list(map(say, node.args['partition_by'])))} ORDER BY {parts[0]})"
        if isinstance(node, exp.Window) and isinstance(node.this, exp.Sum):
            wide = exp.cast(exp.Var(this=say(node.this.this)), "DECIMAL(38, 0)")
            over = node.copy()
            over.set("this", exp.Anonymous(this="sum", expressions=[wide]))
            return str(over.sql(dialect=self.name))
        if isinstance(node, exp.Sum):
            return _total(say(node.this))
        if isinstance(node, exp.Anonymous) and node.name.upper() == "EPOCH_US":
            return f"unix_micros({say(node.expressions[0])})"
        if _is_hash(node):
            inner = node.expressions[0]  # one round is enough here: every part is mixed with the hash of those before it
            return say(inner) if len(node.expressions) == 1 and _is_hash(inner) else f"xxhash64({', '.join(map(say, node.expressions))})"
        return None

    def _converted(self, node: exp.Cast, say: Say) -> str | None:
        if node.to.is_type(Type.INT128):
            return _huge(say(node.this.this if isinstance(node.this, exp.Floor) else node.this))
        if node.to.is_type(Type.UBIGINT) and isinstance(node.this, exp.Literal):
            value = int(node.this.this)
            return f"CAST({value - 2**64 if value >= 2**63 else value} AS BIGINT)"  # the same 64 bits
        if node.to.is_type(Type.UINT):
            return f"CAST({say(node.this)} AS BIGINT)"
        if node.to.is_type(Type.TIMESTAMP, Type.TIMESTAMPTZ):
            return f"CAST({say(node.this)} AS TIMESTAMP)"
        return None


def _is_hash(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() == "HASH"


def _fractional(node: exp.Expr) -> exp.Expr | None:
    """The decimal x of x - floor(x); None for anything else."""
    inner = node.unnest()
    if not isinstance(inner, exp.Sub) or not isinstance(inner.expression, exp.Floor) or inner.this != inner.expression.this:
        return None
    decimal = any(cast.to.is_type(Type.DECIMAL) for cast in inner.this.find_all(exp.Cast))
    return inner.this if decimal else None


def _total(x: str) -> str:
    """The exact sum of a BIGINT in three limbs: a sum of DECIMAL would allocate for every row. Beyond 2^42 rows it raises, never wraps."""
    x, mask, twice = f"CAST({x} AS BIGINT)", (1 << LIMB) - 1, 2 * LIMB  # a sum of sums is a DECIMAL
    parts = [(f"shiftright({x}, {twice})", 1 << twice), (f"(shiftright({x}, {LIMB}) & {mask})", 1 << LIMB), (f"({x} & {mask})", 1)]
    return "(" + " + ".join(f"CAST(SUM({part}) AS DECIMAL(38, 0)) * CAST({unit} AS DECIMAL(14, 0))" for part, unit in parts) + ")"


def _huge(x: str) -> str:
    """The floor of a large double as an exact DECIMAL, in two words: a direct cast goes through the shortest text."""
    high = f"floor({x} / CAST({HIGH_WORD} AS DOUBLE))"
    low = f"floor({x} - CAST({high} AS DOUBLE) * CAST({HIGH_WORD} AS DOUBLE))"
    return f"(CAST({high} AS DECIMAL(19, 0)) * CAST({HIGH_WORD} AS DECIMAL(19, 0)) + CAST({low} AS DECIMAL(19, 0)))"


def _steady(pattern: str) -> str:
    """A LIKE pattern as a regular expression that never goes back: each part is taken where it first fits, which leaves most to the rest.

    Spark's own translation tries every place of every part again for every place of the one before.
    """
    first, *middle, last = (re.sub(r"[^\w\s]", r"\\\g<0>", part, flags=re.ASCII).replace("_", ".") for part in re.split("%+", pattern))
    return rf"(?s)\A{first}{''.join(f'(?>.*?{part})' for part in middle)}.*{last}\z"


AT_ONCE = 4  # releases at one time; others wait
SPLIT = 0.25  # of the rows: to tell more apart from the others, Spark would sort them all
DIALECT = SparkDialect()
STORED = {
    **dict.fromkeys(("byte", "short", "integer", "long"), "integer"),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), "timestamp"),
    "float": "float", "double": "float", "boolean": "bool", "date": "date", "decimal": "decimal",
}  # fmt: skip
_numbers = itertools.count()


class Spark(RowReader):
    """Rows of a DataFrame, a table or Parquet. Opening reads names and types; `bounded` is the first moment a row is read. Thread-safe."""

    def __init__(self, source: Any, columns: tuple[Column, ...], *, portable: bool = False) -> None:
        self._frame, paths = frame_of(source)
        names = self._frame.columns
        self._types = {field.name: field.dataType for field in self._frame.schema.fields}
        if len(self._types) < len(names):
            twice = sorted(name for name in self._types if names.count(name) > 1)[0]
            raise broken(f"the source has several columns named {twice!r}.", "Give every column a name of its own.")
        super().__init__(Place(paths), columns, {name: _kind(stored) for name, stored in self._types.items()}, DIALECT, portable)
        self._turn, self._pid = threading.BoundedSemaphore(AT_ONCE), os.getpid()
        self._idle: list[Any] = []  # sessions of ours, used again: Spark keeps a little of every session it ever made

    @contextlib.contextmanager
    def bounded(self, frame: Frame, salt: int) -> Iterator[RemoteEngine]:
        """The bounded table of one release, persisted so that every question sees the same rows, and gone when the block ends."""
        self._open()
        if os.getpid() != self._pid:
            raise QueryError("SRD-205", "a Spark session does not survive a fork.", "Open the source again in this process.")
        with self._turn, quiet(), undisturbed(self._frame.sparkSession), self._scanned(frame) as (session, name):
            text, cursor = self._text(frame, salt), SparkCursor(session, self._stored(frame))
            self._hold(cursor, text)
            made: list[Any] = []

            def keep(view: str, statement: str) -> None:
                # the name makes the plan this release's own: Spark shares what it persists between equal plans
                made.append(cursor.said(statement).where(f"'{name}' = '{name}'").persist(_level()))
                made[-1].createOrReplaceTempView(view)
                cursor.views.append(view)

            try:
                if frame.unit_column is None:
                    keep("bounded", text.clipped())
                yield RemoteEngine(cursor, text, text.bound(keep, cursor.number, SPLIT) if frame.unit_column is not None else "bounded")
            finally:
                for forget in (cursor.close, *(lambda rows=rows: rows.unpersist(blocking=True) for rows in reversed(made))):
                    with contextlib.suppress(Exception):  # a cluster that is gone keeps nothing, and an answer already read is still one
                        forget()

    @contextlib.contextmanager
    def inspected(self, columns: tuple[Column, ...]) -> Iterator[Inspection]:
        """The raw rows, for their owner. NOT PRIVATE."""
        self._open()
        frame = Frame(PrivacyUnit(), by=columns)
        with self._turn, quiet(), undisturbed(self._frame.sparkSession), self._scanned(frame) as (session, _):
            cursor = SparkCursor(session, self._stored(frame))
            try:
                yield Inspection(self._text(frame, 0).scan, lambda statement: cursor.execute(statement).fetchnumpy())
            finally:
                with contextlib.suppress(Exception):
                    cursor.close()

    @contextlib.contextmanager
    def _scanned(self, frame: Frame) -> Iterator[tuple[Any, str]]:
        """A session nobody else uses meanwhile, over the same cluster, in which HELD are the columns the frame reads."""
        user, name = self._frame.sparkSession, f"sordino_{os.getpid()}_{next(_numbers)}"
        try:
            session = self._idle.pop()
        except IndexError:  # asked and taken in one step: two releases at once must not want the same one
            session = pinned(user)
        everyone, made = user.conf.get("spark.sql.globalTempDatabase", "global_temp"), []
        try:
            for number, (held, of) in enumerate(self._held(frame).items()):
                places = {column: f"c{i}" for i, column in enumerate(of.reader._types)}
                # renamed by position: names that differ by case alone are different columns
                of.reader._frame.toDF(*places.values()).createGlobalTempView(f"{name}_{number}")
                made.append(f"{name}_{number}")
                reads = [f"{_tame(places[column], of.reader._types[column])} AS {alias}" for column, alias in of.aliases.items()]
                session.sql(f"SELECT {', '.join(reads) or '1 AS one'} FROM {everyone}.{made[-1]}").createOrReplaceTempView(held)
            session.addTag(name)  # the jobs of this thread, and no others
            with stoppable(lambda: session.interruptTag(name)):
                yield session, name
        finally:
            with contextlib.suppress(Exception):
                session.removeTag(name)
            with contextlib.suppress(Exception):
                for view in made:
                    user.catalog.dropGlobalTempView(view)
                self._idle.append(session)


class SparkFound:
    """The rows a statement found. They cross as Arrow, so that integers stay integers."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def fetchnumpy(self) -> dict[str, NDArray[Any]]:
        return {name: _array(self._table.column(i)) for i, name in enumerate(self._table.column_names)}

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(zip(*(column.to_pylist() for column in self._table.columns), strict=True))


class SparkCursor:
    """Statements of the relational text in one session."""

    def __init__(self, session: Any, stored: Stored) -> None:
        self._session, self._stored = session, dict(stored)
        self.views: list[str] = []

    def close(self) -> None:
        for name in (*self._stored, *self.views):
            self._session.catalog.dropTempView(name)

    def register(self, name: str, columns: Mapping[str, NDArray[Any]]) -> None:
        import pyarrow as pa

        self._stored[name] = {part: "integer" if values.dtype.kind == "i" else "text" for part, values in columns.items()}
        kinds = {"integer": pa.int64(), "text": pa.string()}
        held = pa.table({part: pa.array(columns[part].tolist(), kinds[kind]) for part, kind in self._stored[name].items()})
        self._session.createDataFrame(held).createOrReplaceTempView(name)

    def said(self, statement: str) -> Any:
        return self._session.sql(render(statement, DIALECT, self._stored))

    def execute(self, statement: str) -> SparkFound:
        return SparkFound(self.said(statement).toArrow())

    def number(self, statement: str) -> int:
        return int(self.execute(statement).fetchall()[0][0])


def _array(column: Any) -> NDArray[Any]:
    """An Arrow column as numpy holds it: integers as integers, everything else as objects, nulls under a mask."""
    import pyarrow as pa

    whole = pa.types.is_integer(column.type)
    missing = column.is_null().to_numpy() if column.null_count else None
    values: NDArray[Any] = (column.fill_null(0) if whole and column.null_count else column).to_numpy()
    values = values.astype(np.int64, copy=False) if whole else values.astype(object)
    return values if missing is None else np.ma.masked_array(values, mask=missing)


def _kind(stored: Any) -> str:
    return STORED.get(stored.typeName(), "text")


def _tame(x: str, stored: Any) -> str:
    """A column as one of a few types: moments as timestamps within what can be named, other types as valid text compared by bytes."""
    kind = _kind(stored)
    if kind in ("date", "timestamp"):
        word = kind.upper()
        # one day beyond the days that can be named
        return f"CASE WHEN {x} IS NOT NULL THEN greatest({word} '0000-12-31', least({word} '10000-01-01', CAST({x} AS {word}))) END"
    if kind == "text":
        plain = x if stored.simpleString() == "string" else f"collate(CAST({x} AS STRING), 'UTF8_BINARY')"
        return f"make_valid_utf8({plain})"
    return {"integer": f"CAST({x} AS BIGINT)", "float": f"CAST({x} AS DOUBLE)"}.get(kind, x)


def _level() -> Any:
    from pyspark import StorageLevel

    return StorageLevel.MEMORY_AND_DISK
