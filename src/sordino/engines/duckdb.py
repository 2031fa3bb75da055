"""The DuckDB engine: one locked in-process database per table, one cursor and one bounded table per release."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator
from typing import Any

import duckdb

from sordino.engines.answer import Answer
from sordino.engines.array import column_array
from sordino.engines.header import check_columns
from sordino.engines.inspection import Inspection
from sordino.engines.port import stoppable
from sordino.engines.scan import FRAME, Source, broken, written
from sordino.engines.spill import Spill
from sordino.engines.text import Text, check, used
from sordino.engines.value import quoted
from sordino.errors import QueryError, ReleaseFailed
from sordino.schema.column import Column
from sordino.schema.frame import Frame

__all__ = ["DuckDB"]

AT_ONCE = 2  # the memory limit is shared by all cursors of a database
_orphans: list[Any] = []  # a parent's connections after a fork: closing one would wait for threads that do not exist here


class DuckDB:
    """Rows behind a locked database. Opening reads column names; `bounded` is the first moment a row is read. Safe to share by threads."""

    def __init__(
        self,
        source: Source,
        columns: tuple[Column, ...],
        *,
        memory: str = "3GB",
        disk: str | None = None,
        threads: int | None = None,
        portable: bool = False,
    ) -> None:
        self.source, self.columns, self.portable = source, {column.name: column for column in columns}, portable
        self._memory, self._disk, self._threads = memory, disk, threads
        self._lock, self._turn = threading.Lock(), threading.BoundedSemaphore(AT_ONCE)
        self._connection: Any = None
        self._spill: Spill | None = None
        self._pid = os.getpid()
        self._open()
        try:
            self._names = self._header()
            check_columns(columns, self._names)
        except BaseException:
            self.close()
            raise

    def header(self) -> tuple[str, ...]:
        """The column names of the source."""
        return self._names

    def check(self, frame: Frame) -> None:
        """Refuse what cannot be read, before anything is charged."""
        check(frame, self.columns)

    def close(self) -> None:
        """Forget the rows and delete what was spilled."""
        with self._lock:
            if self._connection is not None and os.getpid() == self._pid:
                self._connection.close()
            if self._spill is not None:
                self._spill.close()
            self._connection = self._spill = None

    def __enter__(self) -> DuckDB:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"DuckDB({type(self.source).__name__}, {len(self._names)} columns)"

    def __reduce__(self) -> Any:
        raise TypeError("an engine stays in its process; open the source again")

    @contextlib.contextmanager
    def bounded(self, frame: Frame, salt: int) -> Iterator[Answer]:
        """The bounded table of one release, gone when the block ends."""
        with self._turn, contextlib.closing(self._cursor()) as cursor, stoppable(cursor.interrupt):
            # a transaction, so that every question of this release sees one snapshot of an attached database
            cursor.execute("BEGIN TRANSACTION")
            try:
                scan = self.source.scan(cursor, used(frame, self.columns))
                text = Text(frame, self.columns, scan, salt, self.portable)
                yield self._prepared(cursor, text)
            finally:
                with contextlib.suppress(duckdb.Error):
                    cursor.execute("ROLLBACK")
                with contextlib.suppress(duckdb.Error):
                    cursor.unregister(FRAME)

    @contextlib.contextmanager
    def inspected(self, columns: tuple[Column, ...]) -> Iterator[Inspection]:
        """The raw rows, for their owner. NOT PRIVATE."""
        with self._turn, contextlib.closing(self._cursor()) as cursor:
            cursor.execute("BEGIN TRANSACTION")
            try:
                yield Inspection(self.source.scan(cursor, columns), lambda statement: cursor.execute(statement).fetchnumpy())
            finally:
                with contextlib.suppress(duckdb.Error):
                    cursor.execute("ROLLBACK")
                with contextlib.suppress(duckdb.Error):
                    cursor.unregister(FRAME)

    def _prepared(self, cursor: Any, text: Text) -> Answer:
        stamp = written(self.source.paths)
        for name, columns in text.held.items():
            cursor.register(name, {part: column_array(values) for part, values in columns.items()})
        if text.frame.unit_column is None:
            if not self.source.steady:
                cursor.execute(f"CREATE TEMP TABLE bounded AS {text.clipped()}")
                return Answer(cursor, text, "bounded")
            return Answer(cursor, text, f"({text.clipped()})", lambda: self._same(stamp))
        made: list[str] = []

        def keep(name: str, statement: str) -> None:
            cursor.execute(f"CREATE TEMP TABLE {name} AS {statement}")
            made.append(name)

        table = text.bound(keep, lambda statement: int(cursor.execute(statement).fetchall()[0][0]))
        for name in made:
            if name != table:
                cursor.execute(f"DROP TABLE {name}")
        return Answer(cursor, text, table)

    def _same(self, stamp: tuple[tuple[int, int, int], ...]) -> None:
        if stamp != written(self.source.paths):
            raise ReleaseFailed("SRD-401", "the source changed while it was read.", "Ask again when it is at rest.")

    def _cursor(self) -> Any:
        with self._lock:
            if os.getpid() != self._pid:
                _orphans.append(self._connection)
                if self._spill is not None:
                    self._spill.close()
                self._connection, self._pid = None, os.getpid()
                self._turn = threading.BoundedSemaphore(AT_ONCE)
                self._open()
            if self._connection is None:
                raise QueryError("SRD-205", "the engine is closed.", "Open the source again.")
            return self._connection.cursor()

    def _open(self) -> None:
        """Everything the database may ever touch is named here; then the door is closed and the key thrown away."""
        self._spill = Spill()
        connection = duckdb.connect(":memory:")
        try:
            for setting in (
                "TimeZone = 'UTC'",
                f"memory_limit = {quoted(self._memory)}",
                f"temp_directory = {quoted(str(self._spill.folder))}",
                "autoinstall_known_extensions = false",
                "autoload_known_extensions = false",
                "python_enable_replacements = false",
                "enable_progress_bar = false",
                "preserve_insertion_order = false",
                *([f"threads = {int(self._threads)}"] if self._threads else []),
                *([f"max_temp_directory_size = {quoted(self._disk)}"] if self._disk else []),
            ):
                connection.execute(f"SET {setting}")
            self.source.prepare(connection)
            connection.execute(f"SET allowed_paths = [{', '.join(map(quoted, self.source.paths))}]")
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
        except duckdb.Error as error:
            connection.close()
            self._spill.close()
            raise broken("the source cannot be opened.", "Check that it is a readable file of its kind and not in use.") from error
        self._connection = connection

    def _header(self) -> tuple[str, ...]:
        try:
            with contextlib.closing(self._cursor()) as cursor:
                return self.source.header(cursor)
        except duckdb.Error as error:
            raise broken("the header of the source cannot be read.", "Check that it is a readable file of its kind.") from error
