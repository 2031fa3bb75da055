"""The DuckDB engine: one locked in-process database per table, one cursor and one bounded table per release.

The private folder a database may spill rows into: nobody else may look, and nothing is left behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from sordino.engines.answer import EngineAnswer
from sordino.engines.array import column_array
from sordino.engines.inspection import Inspection
from sordino.engines.port import stoppable
from sordino.engines.scan import FRAME, Scan, SeveralSources, TableSource, broken, check_columns, written
from sordino.engines.text import Text, check, used
from sordino.engines.value_text import Ranking, quoted
from sordino.engines.view_text import view_scan
from sordino.errors import QueryError, ReleaseFailed
from sordino.schema.column import Column
from sordino.schema.frame import Frame

__all__ = ["DuckDB", "Spill"]


class Spill:
    """A 0700 folder that lives as long as its owner holds the lock beside it; folders of the dead are deleted when the next one is made."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = _private(root or Path(tempfile.gettempdir()) / f"sordino-{os.getuid()}")
        for left in self.root.glob("spill-*.lock"):
            _delete(left)
        while (lock := _born(self.root)) is None:
            pass
        self._descriptor, self._lock = lock
        self._owner = os.getpid()
        self.folder = self._lock.with_suffix("")
        self.folder.mkdir(mode=0o700)

    def close(self) -> None:
        """Delete the folder. A forked child only lets go: the rows belong to its parent."""
        if self._descriptor < 0:
            return
        if os.getpid() == self._owner:
            shutil.rmtree(self.folder, ignore_errors=True)
            self._lock.unlink(missing_ok=True)
        os.close(self._descriptor)
        self._descriptor = -1


def _hold(lock: Path) -> int | None:
    """An open lock that is ours and still in its place, or None if somebody alive holds it."""
    try:
        descriptor = os.open(lock, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.fstat(descriptor).st_ino == lock.stat().st_ino:
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def _born(root: Path) -> tuple[int, Path] | None:
    """A new lock; None if a neighbour's sweep took it between its making and its locking."""
    made, name = tempfile.mkstemp(prefix="spill-", suffix=".lock", dir=root)
    os.close(made)
    held = _hold(Path(name))
    return None if held is None else (held, Path(name))


def _delete(lock: Path) -> None:
    held = _hold(lock)
    if held is not None:
        shutil.rmtree(lock.with_suffix(""), ignore_errors=True)
        lock.unlink(missing_ok=True)
        os.close(held)


def _private(root: Path) -> Path:
    """The root if only we can enter it; if a stranger made it first, a fresh folder of our own."""
    with contextlib.suppress(FileExistsError):
        root.mkdir(mode=0o700, parents=True)
    found = root.lstat()
    if stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid():
        root.chmod(0o700)
        return root
    return Path(tempfile.mkdtemp(prefix="sordino-"))


AT_ONCE = 2  # the memory limit is shared by all cursors of a database
_orphans: list[Any] = []  # a parent's connections after a fork: closing one would wait for threads that do not exist here


class DuckDB:
    """Rows behind a locked database. Opening reads column names; `bounded` is the first moment a row is read. Safe to share by threads."""

    def __init__(
        self,
        source: TableSource,
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
        check(frame, frame.declared(self.columns))

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
    def bounded(self, frame: Frame, salt: int) -> Iterator[EngineAnswer]:
        """The bounded table of one release, gone when the block ends."""
        with self._turn, contextlib.closing(self._cursor()) as cursor, stoppable(cursor.interrupt):
            # a transaction, so that every question of this release sees one snapshot of an attached database
            cursor.execute("BEGIN TRANSACTION")
            try:
                columns = frame.declared(self.columns)
                text = Text(frame, columns, self._scan(cursor, frame, columns, salt), salt, self.portable)
                yield self._prepared(cursor, text)
            finally:
                with contextlib.suppress(duckdb.Error):
                    cursor.execute("ROLLBACK")
                self._forget(cursor)

    def _scan(self, cursor: Any, frame: Frame, columns: Mapping[str, Column], salt: int) -> Scan:
        if frame.view is None:
            return self.source.scan(cursor, used(frame, columns))
        several = self.source.tables if isinstance(self.source, SeveralSources) else {}
        ranking = Ranking(salt, self.portable)
        return view_scan(frame, lambda table, wanted: several.get(table, self.source).scan(cursor, wanted), ranking)

    def _forget(self, cursor: Any) -> None:
        several = self.source.tables.values() if isinstance(self.source, SeveralSources) else (self.source,)
        for source in several:
            with contextlib.suppress(duckdb.Error):
                cursor.unregister(getattr(source, "place", FRAME))

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
                self._forget(cursor)

    def _prepared(self, cursor: Any, text: Text) -> EngineAnswer:
        stamp = written(self.source.paths)
        for name, columns in text.held.items():
            cursor.register(name, {part: column_array(values) for part, values in columns.items()})
        if text.frame.unit_column is None:
            if not self.source.steady:
                cursor.execute(f"CREATE TEMP TABLE bounded AS {text.clipped()}")
                return EngineAnswer(cursor, text, "bounded")
            return EngineAnswer(cursor, text, f"({text.clipped()})", lambda: self._same(stamp))
        made: list[str] = []

        def keep(name: str, statement: str) -> None:
            cursor.execute(f"CREATE TEMP TABLE {name} AS {statement}")
            made.append(name)

        def number(statement: str) -> int:
            return int(cursor.execute(statement).fetchall()[0][0])

        table = text.bound(keep, number)
        private = bool(text.frame.by) and any(column.keys is None for column in text.frame.by)  # keys that may be named, and bounded inside
        over = next((name for name in ("crowded", "many") if name in made), "")
        for name in made:
            if name != table and not (private and name in ("chosen", over)):
                cursor.execute(f"DROP TABLE {name}")
        found = EngineAnswer(cursor, text, table)

        def inside(frame: Frame) -> EngineAnswer:
            listed = replace(text, frame=frame)
            for name, columns in listed.held.items():
                cursor.register(name, {part: column_array(values) for part, values in columns.items()})
            return EngineAnswer(cursor, listed, listed.again(keep, number, table, over))

        found.inside = inside if private else None
        return found

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
                # joins run as they are written: reordered, two tables of a person might meet before the key that tells their rows apart
                "disabled_optimizers = 'join_order'",
                *([f"threads = {int(self._threads)}"] if self._threads else []),
                *([f"max_temp_directory_size = {quoted(self._disk)}"] if self._disk else []),
            ):
                connection.execute(f"SET {setting}")
            self.source.prepare(connection)
            connection.execute(f"SET allowed_paths = [{', '.join(map(quoted, self.source.paths))}]")
            connection.execute(f"SET allowed_directories = [{quoted(str(self._spill.folder))}]")  # what a source copies for it to read
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
