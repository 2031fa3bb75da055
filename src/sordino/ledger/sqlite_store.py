"""The default ledger: one SQLite file that is right after a crash, a race or a full disk.

Why a returned charge is durable. Every charge is inside a transaction begun with BEGIN IMMEDIATE, so no two writers read the same
head; the file is in WAL mode with synchronous=FULL, so COMMIT returns only after the log holding the transaction was synced; on
macOS fullfsync carries the sync through the drive's cache. A killed process leaves either a whole transaction in the log or none:
frames after the last commit frame fail their checksum and are ignored. An error before or in COMMIT rolls everything back and is
raised, so no caller goes on to the data without a durable charge.

The flock in front changes nothing about correctness. Waiting in SQLite's own lock is a sleep-and-retry in which eight writers starve
for seconds; the kernel's lock hands over at once.

The shape of a ledger file, and the only direction it may change in.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sordino.errors import LedgerError
from sordino.ledger.place import locked, sync_directory
from sordino.ledger.port import Found, Head, Page, StoredRow
from sordino.ledger.record import damaged

__all__ = [
    "APPLICATION",
    "MIGRATIONS",
    "SHAPE",
    "VERSION",
    "SqlitePage",
    "SqliteStore",
    "bring_forward",
    "copy_of",
    "is_ledger",
    "prepare_file",
    "version_of",
]

T = TypeVar("T")
DURABLE = ("journal_mode=WAL", "synchronous=FULL", "fullfsync=ON", "checkpoint_fullfsync=ON", "trusted_schema=OFF")
LOG_PAGES = 8000  # the log is folded into the file every 32 MB: hot index pages are then written once, not once per commit
FIND = (
    "SELECT e.request, e.number, e.record, e.sealed, s.answer, s.record FROM entry e LEFT JOIN entry s ON s.number = e.sealed"
    " WHERE e.request IN (SELECT value FROM json_each(?))"
)
ANSWERS = (
    "SELECT e.request, e.number, e.record, e.sealed, s.answer, s.record FROM entry e LEFT JOIN entry s ON s.number = e.sealed"
    " WHERE e.key = ? AND e.sealed >= ? ORDER BY e.number"
)
_ABANDONED: list[Any] = []  # a forked child must neither use nor close what its parent has open


DAMAGED = (  # of statements that never change: they fail so only where the tables or their cells are not what was written
    sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_CONSTRAINT, sqlite3.SQLITE_MISMATCH,
    sqlite3.SQLITE_FORMAT, sqlite3.SQLITE_TOOBIG,
)  # fmt: skip


def _broken(error: sqlite3.Error) -> LedgerError:
    code = getattr(error, "sqlite_errorcode", None)
    undecoded = code is None and "decode to UTF-8" in str(error)  # what Python says itself of a text that is none
    if undecoded or (code is not None and code & 0xFF in DAMAGED):
        return damaged("the ledger file is damaged.", reason=str(error))
    return LedgerError(
        "SRD-603", f"the ledger cannot be written durably ({error}).",
        "Free space on its disk, make the file writable, or wait for another writer.", reason=str(error),
    )  # fmt: skip


class SqlitePage:
    """What a store says inside its one exclusive transaction, of a SQLite file."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path

    def _ask(self, statement: str, *parameters: Any) -> list[Any]:
        return self._connection.execute(statement, parameters).fetchall()

    def head(self) -> Head | None:
        found = self._ask("SELECT count, hash, state FROM head")
        return Head(*found[0]) if found else None

    def version(self) -> int:
        return version_of(self._connection)

    def upgrade(self) -> str:
        return str(bring_forward(self._connection, self._path))

    def hash_at(self, number: int) -> bytes | None:
        found = self._ask("SELECT hash FROM entry WHERE number = ?", number)
        return found[0][0] if found else None

    def find(self, requests: Sequence[str]) -> dict[str, Found]:
        if not requests:
            return {}
        return {row[0]: Found(*row[1:]) for row in self._ask(FIND, json.dumps(requests))}

    def sealed(self, numbers: Sequence[int]) -> dict[int, int | None]:
        if not numbers:
            return {}
        query = "SELECT number, sealed FROM entry WHERE request IS NOT NULL AND number IN (SELECT value FROM json_each(?))"
        return dict(self._ask(query, json.dumps(numbers)))

    def append(self, rows: Sequence[StoredRow], seals: Iterable[tuple[int, int]], head: Head) -> None:
        start = 0
        while start < len(rows):  # one statement for many rows: between statements other threads would take the interpreter away
            size = min(128, 1 << ((len(rows) - start).bit_length() - 1))
            values = ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * size)
            flat = [value for row in rows[start : start + size] for value in row]
            self._connection.execute(f"INSERT INTO entry(number, hash, record, answer, request, key, sealed) VALUES {values}", flat)
            start += size
        self._connection.executemany("UPDATE entry SET sealed = ? WHERE number = ?", seals)
        self._connection.execute("REPLACE INTO head(one, count, hash, state) VALUES (1, ?, ?, ?)", (head.count, head.hash, head.state))


class SqliteStore:
    """Rows in one file with its log and its lock beside it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        if sys.platform == "win32":
            raise LedgerError("SRD-603", "a ledger in a file needs flock, which Windows lacks.", 'Use a postgres:// ledger, or ":memory:".')
        self.path = Path(os.path.realpath(path))
        self.place: str | None = str(self.path)
        self._reset()
        if hasattr(os, "register_at_fork"):
            store = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: SqliteStore._abandon(store()))

    def _reset(self) -> None:
        self._reading = threading.Lock()
        self._reader: sqlite3.Connection | None = None
        self._writer: sqlite3.Connection | None = None
        self._turnstile: int | None = None
        self._identity: tuple[int, int] | None = None

    def _abandon(self: SqliteStore | None) -> None:
        if self is None:
            return
        _ABANDONED.extend([self._reader, self._writer])
        if self._turnstile is not None:
            os.close(self._turnstile)
        self._reset()

    def _connect(self, *, make: bool) -> sqlite3.Connection | None:
        """A connection to a ledger or, if `make`, to an empty file that becomes one; somebody else's database is left as it is."""
        connection = sqlite3.connect(self.path, timeout=10, isolation_level=None, check_same_thread=False, cached_statements=32)
        try:
            if not is_ledger(connection, self.path) and not make:
                connection.close()
                return None
            for pragma in (*DURABLE, f"wal_autocheckpoint={LOG_PAGES}"):
                connection.execute(f"PRAGMA {pragma}")
            if make:
                prepare_file(connection, self.path)
            elif (found := connection.execute("PRAGMA integrity_check(1)").fetchone()[0]) != "ok":
                # an index that lost a question would have it paid and drawn again, and no hash covers an index
                raise damaged("the ledger file is damaged.", reason=str(found))
        except BaseException:
            connection.close()
            raise
        return connection

    def _open(self) -> sqlite3.Connection:
        """The writer's connection, under the lock: refused if the file was swapped under our feet."""
        if self._writer is None:
            fresh = not self.path.exists()
            self._writer = self._connect(make=True)
            assert self._writer is not None
            if fresh:
                sync_directory(self.path.parent)
        elif self._identity is not None and self._identity != self._inodes():
            raise LedgerError("SRD-602", "the ledger file was replaced while it was open.", "Close it and open it again.")
        return self._writer

    def _inodes(self) -> tuple[int, int] | None:
        try:
            return os.stat(self.path).st_ino, os.stat(f"{self.path}-wal").st_ino
        except FileNotFoundError:
            return None

    def transact(self, work: Callable[[Page], T]) -> T:
        try:
            if self._turnstile is None:
                self._turnstile = os.open(f"{self.path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            with locked(self._turnstile):
                connection = self._open()
                try:
                    connection.execute("BEGIN IMMEDIATE")
                    value = work(SqlitePage(connection, self.path))
                    connection.execute("COMMIT")
                    self._identity = self._identity or self._inodes()
                    return value
                except BaseException:
                    if connection.in_transaction:
                        connection.execute("ROLLBACK")
                    raise
        except sqlite3.Error as error:
            raise _broken(error) from error
        except OSError as error:
            raise LedgerError("SRD-603", f"the ledger cannot be reached ({error.strerror}).", "Make its folder writable.") from error

    def head(self) -> Head | None:
        found = self._read("SELECT count, hash, state FROM head")
        return Head(*found[0]) if found else None

    def _read(self, statement: str, *parameters: Any) -> list[Any]:
        with self._reading:
            try:
                if self._reader is None and self.path.exists():
                    self._reader = self._connect(make=False)
                return [] if self._reader is None else self._reader.execute(statement, parameters).fetchall()
            except sqlite3.Error as error:
                raise _broken(error) from error

    def find(self, requests: Sequence[str]) -> dict[str, Found]:
        """Charges that are durable, outside of any transaction."""
        return {row[0]: Found(*row[1:]) for row in self._read(FIND, json.dumps(requests))}

    def answers(self, key: bytes, since: int = 0) -> list[tuple[str, Found]]:
        return [(row[0], Found(*row[1:])) for row in self._read(ANSWERS, key, since)]

    def stamp(self) -> int | None:
        """As SQLite counts what others commit; the reader's connection never writes, so everybody is another."""
        found = self._read("PRAGMA data_version")
        return found[0][0] if found else None

    def rows(self, *, answers: bool = True, start: int = 0) -> Iterator[StoredRow]:
        column = "answer" if answers else "NULL"
        query = f"SELECT number, hash, record, {column}, request, key, sealed FROM entry WHERE number >= ? ORDER BY number LIMIT 500"
        while chunk := self._read(query, start):
            for row in chunk:
                yield StoredRow(*row)
            start = chunk[-1][0] + 1

    def close(self) -> None:
        for connection in (self._reader, self._writer):
            if connection is not None:
                connection.close()
        if self._turnstile is not None:
            os.close(self._turnstile)
        self._reset()


APPLICATION = 0x5352444E  # "SRDN"; `file` and SQLite's own tools can tell a ledger by it
VERSION = 2  # 2: records of format 2 may be in it; the tables are those of 1
SHAPE = (
    "CREATE TABLE entry(number INTEGER PRIMARY KEY, hash BLOB NOT NULL, record BLOB NOT NULL, answer BLOB, request TEXT UNIQUE, key BLOB,"
    " sealed INTEGER)",
    "CREATE INDEX entry_key ON entry(key) WHERE sealed IS NOT NULL",
    "CREATE TABLE head(one INTEGER PRIMARY KEY CHECK (one = 1), count INTEGER NOT NULL, hash BLOB NOT NULL, state TEXT NOT NULL)",
)
MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {}
"""From a version to the next. A migration may reshape tables around the records and never touches their bytes, so the chain holds.

A version without an entry here left the tables as they were: such a file is brought forward by the first entry written into it.
"""


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


def version_of(connection: sqlite3.Connection) -> int:
    return _number(connection, "user_version")


def is_ledger(connection: sqlite3.Connection, path: Path) -> bool:
    """True for a ledger of this version or older, False for an empty file; anything else is refused."""
    application, version = _number(connection, "application_id"), _number(connection, "user_version")
    if application != APPLICATION:
        if application == 0 and not connection.execute("SELECT 1 FROM sqlite_schema LIMIT 1").fetchone():
            return False
        raise LedgerError("SRD-604", f"{path.name} is not a Sordino ledger.", "Give the path of a ledger, or a new path.")
    if version > VERSION:
        raise LedgerError(
            "SRD-604", f"{path.name} was written by a newer Sordino (format {version}, this one knows {VERSION}).",
            "Upgrade Sordino to open it.", version=version,
        )  # fmt: skip
    return True


def prepare_file(connection: sqlite3.Connection, path: Path) -> None:
    """Shape an empty file, or bring an older one forward after copying it."""
    if is_ledger(connection, path):
        if any(version in MIGRATIONS for version in range(version_of(connection), VERSION)):
            _migrate(connection, path)
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in SHAPE:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id={APPLICATION}")
        connection.execute(f"PRAGMA user_version={VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _migrate(connection: sqlite3.Connection, path: Path) -> None:
    _copy(path, version_of(connection))
    connection.execute("BEGIN IMMEDIATE")
    try:
        for version in range(version_of(connection), VERSION):
            if version in MIGRATIONS:
                MIGRATIONS[version](connection)
        connection.execute(f"PRAGMA user_version={VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def copy_of(path: Path, version: int) -> Path:
    """Where a file is kept as it was before it was brought forward."""
    return path.with_name(f"{path.name}.format{version}")


def _copy(path: Path, version: int) -> Path:
    """A copy of what is committed, read through a connection of its own: one that is writing cannot be copied from."""
    kept = copy_of(path, version)
    source, copy = sqlite3.connect(path), sqlite3.connect(kept)
    try:
        source.backup(copy)
    finally:
        copy.close()
        source.close()
    sync_directory(path.parent)
    return kept


def bring_forward(connection: sqlite3.Connection, path: Path) -> Path:
    """Inside a transaction: keep a copy, then mark the file so that software which knows older versions only refuses it."""
    kept = _copy(path, version_of(connection))
    connection.execute(f"PRAGMA user_version={VERSION}")
    return kept
