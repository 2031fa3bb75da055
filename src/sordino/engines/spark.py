"""The Spark engine: rows stay on the executors, only summaries reach the driver, and noise is drawn by neither."""

from __future__ import annotations

import contextlib
import itertools
import os
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.engines.dialect import Stored, render
from sordino.engines.header import Place
from sordino.engines.inspection import Inspection
from sordino.engines.port import stoppable
from sordino.engines.reader import HELD, Reader
from sordino.engines.remote import Remote
from sordino.engines.scan import broken
from sordino.engines.spark_dialect import Spark as Dialect
from sordino.engines.spark_session import frame_of, pinned, quiet, undisturbed
from sordino.errors import QueryError
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame

__all__ = ["Spark"]

AT_ONCE = 4  # releases at one time; others wait
SPLIT = 0.25  # of the rows: to tell more apart from the others, Spark would sort them all
DIALECT = Dialect()
STORED = {
    **dict.fromkeys(("byte", "short", "integer", "long"), "integer"),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), "timestamp"),
    "float": "float", "double": "float", "boolean": "bool", "date": "date", "decimal": "decimal",
}  # fmt: skip
_numbers = itertools.count()


class Spark(Reader):
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
    def bounded(self, frame: Frame, salt: int) -> Iterator[Remote]:
        """The bounded table of one release, persisted so that every question sees the same rows, and gone when the block ends."""
        self._open()
        if os.getpid() != self._pid:
            raise QueryError("SRD-205", "a Spark session does not survive a fork.", "Open the source again in this process.")
        with self._turn, quiet(), undisturbed(self._frame.sparkSession), self._scanned(frame) as (session, name):
            text, cursor = self._text(frame, salt), Cursor(session, self._stored(frame))
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
                yield Remote(cursor, text, text.bound(keep, cursor.number, SPLIT) if frame.unit_column is not None else "bounded")
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
            cursor = Cursor(session, self._stored(frame))
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
        places = {column: f"c{i}" for i, column in enumerate(self._types)}
        # renamed by position: names that differ by case alone are different columns
        self._frame.toDF(*places.values()).createGlobalTempView(name)
        try:
            reads = [f"{_tame(places[column], self._types[column])} AS {alias}" for column, alias in self._aliases(frame).items()]
            everyone = user.conf.get("spark.sql.globalTempDatabase", "global_temp")
            session.sql(f"SELECT {', '.join(reads) or '1 AS one'} FROM {everyone}.{name}").createOrReplaceTempView(HELD)
            session.addTag(name)  # the jobs of this thread, and no others
            with stoppable(lambda: session.interruptTag(name)):
                yield session, name
        finally:
            with contextlib.suppress(Exception):
                session.removeTag(name)
            with contextlib.suppress(Exception):
                user.catalog.dropGlobalTempView(name)
                self._idle.append(session)


class Found:
    """The rows a statement found. They cross as Arrow, so that integers stay integers."""

    def __init__(self, table: Any) -> None:
        self._table = table

    def fetchnumpy(self) -> dict[str, NDArray[Any]]:
        return {name: _array(self._table.column(i)) for i, name in enumerate(self._table.column_names)}

    def fetchall(self) -> list[tuple[Any, ...]]:
        return list(zip(*(column.to_pylist() for column in self._table.columns), strict=True))


class Cursor:
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

    def execute(self, statement: str) -> Found:
        return Found(self.said(statement).toArrow())

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
