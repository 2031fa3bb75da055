"""A ledger in PostgreSQL, for several machines that share one dataset.

Why a returned charge is durable. The transaction locks the ledger's one head row (SELECT ... FOR UPDATE), so no two writers read the
same head, and runs with synchronous_commit on; a server with fsync off is refused. If the connection breaks, the work is done again on
a new one. Taking the row lock again waits until the server has settled the broken transaction either way: if it had committed, the
request is found in the book and its state is "open", so an in-doubt commit counts as spent and nobody looks at data twice; if not, the
charge is made now. If the server stays away after a COMMIT was sent, the charge is reported as spent.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from sordino.errors import LedgerError, QueryError, not_installed
from sordino.ledger.port import Found, Head, InDoubt, StoredRow

if TYPE_CHECKING:
    import psycopg

__all__ = ["PostgresPage", "PostgresStore"]

T = TypeVar("T")
VERSION = 2  # of a ledger in PostgreSQL; a SQLite file carries its own (see `sqlite_store`)
SHAPE = (
    "CREATE TABLE IF NOT EXISTS sordino_head(ledger text PRIMARY KEY, version int NOT NULL, count bigint NOT NULL, hash bytea, state text)",
    "CREATE TABLE IF NOT EXISTS sordino_entry(ledger text NOT NULL, number bigint NOT NULL, hash bytea NOT NULL, record bytea NOT NULL,"
    " answer bytea, request text, key bytea, sealed bigint, PRIMARY KEY (ledger, number), UNIQUE (ledger, request))",
    "CREATE INDEX IF NOT EXISTS sordino_entry_key ON sordino_entry(ledger, key) WHERE key IS NOT NULL",
)
FIND = (
    "SELECT e.request, e.number, e.record, e.sealed, s.answer, s.record FROM sordino_entry e"
    " LEFT JOIN sordino_entry s ON s.ledger = e.ledger AND s.number = e.sealed WHERE e.ledger = %s AND e.request = ANY(%s)"
)
ANSWERS = (
    "SELECT e.request, e.number, e.record, e.sealed, s.answer, s.record FROM sordino_entry e"
    " LEFT JOIN sordino_entry s ON s.ledger = e.ledger AND s.number = e.sealed"
    " WHERE e.ledger = %s AND e.key = %s AND e.sealed >= %s ORDER BY e.number"
)
_ABANDONED: list[Any] = []  # a forked child must neither use nor close what its parent has open
PATIENCE = 10.0  # seconds to wait for a server that restarts, or for the row lock


def _driver() -> Any:
    try:
        import psycopg
    except ModuleNotFoundError as error:
        raise not_installed(error) or error from None
    return psycopg


class PostgresPage:
    """A PostgreSQL ledger inside its transaction, with its head row locked."""

    def __init__(self, connection: psycopg.Connection[Any], ledger: str) -> None:
        self.connection, self._ledger = connection, ledger
        self._version = VERSION
        self.changed = False

    def _ask(self, statement: str, *parameters: Any) -> list[Any]:
        return self.connection.execute(statement, parameters).fetchall()

    def shape(self) -> None:
        self.changed = True
        self.connection.execute("SELECT pg_advisory_xact_lock(1397900366)")  # two first openings must not both make the tables
        for statement in SHAPE:
            self.connection.execute(statement)

    def lock(self) -> None:
        take = "SELECT version FROM sordino_head WHERE ledger = %s FOR UPDATE"
        found = self._ask(take, self._ledger)
        if not found:
            self.changed = True
            make = "INSERT INTO sordino_head(ledger, version, count) VALUES (%s, %s, 0) ON CONFLICT DO NOTHING"
            self.connection.execute(make, (self._ledger, VERSION))
            found = self._ask(take, self._ledger)
        self._version = int(found[0][0])

    def head(self) -> Head | None:
        found = self._ask("SELECT count, hash, state FROM sordino_head WHERE ledger = %s AND count > 0", self._ledger)
        return Head(*found[0]) if found else None

    def version(self) -> int:
        return self._version

    def upgrade(self) -> None:
        """No copy is made here: the database's owner has backups, and the records before this one stay as they are."""
        self.connection.execute("UPDATE sordino_head SET version = %s WHERE ledger = %s", (VERSION, self._ledger))

    def hash_at(self, number: int) -> bytes | None:
        found = self._ask("SELECT hash FROM sordino_entry WHERE ledger = %s AND number = %s", self._ledger, number)
        return found[0][0] if found else None

    def find(self, requests: Sequence[str]) -> dict[str, Found]:
        return {row[0]: Found(*row[1:]) for row in self._ask(FIND, self._ledger, list(requests))}

    def sealed(self, numbers: Sequence[int]) -> dict[int, int | None]:
        query = "SELECT number, sealed FROM sordino_entry WHERE ledger = %s AND request IS NOT NULL AND number = ANY(%s)"
        return dict(self._ask(query, self._ledger, list(numbers)))

    def append(self, rows: Sequence[StoredRow], seals: Iterable[tuple[int, int]], head: Head) -> None:
        self.changed = True
        with self.connection.cursor() as cursor:
            cursor.executemany(
                "INSERT INTO sordino_entry(ledger, number, hash, record, answer, request, key, sealed)"
                " VALUES (%s, %s, %s, %s, %s, %s, %s, %s)",
                [(self._ledger, *row) for row in rows],
            )
            marks = [(seal, self._ledger, charge) for seal, charge in seals]
            if marks:
                cursor.executemany("UPDATE sordino_entry SET sealed = %s WHERE ledger = %s AND number = %s", marks)
            move = "UPDATE sordino_head SET count = %s, hash = %s, state = %s WHERE ledger = %s"
            cursor.execute(move, (head.count, head.hash, head.state, self._ledger))


class PostgresStore:
    """Rows in two tables; one database may keep the ledgers of several datasets."""

    def __init__(self, address: str, dataset: str | None) -> None:
        if dataset is None:
            raise QueryError("SRD-106", "a database may keep several ledgers.", "Name the dataset whose ledger you mean.")
        self._errors = _driver().Error
        self._address, self._ledger = address, dataset
        self._reset()
        self.place: str | None = None
        self.transact(self._shape, lock=False)
        if hasattr(os, "register_at_fork"):
            store = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: PostgresStore._abandon(store()))

    def _reset(self) -> None:
        self._writer: psycopg.Connection[Any] | None = None
        self._reader: psycopg.Connection[Any] | None = None
        self._reading = threading.Lock()

    def _abandon(self: PostgresStore | None) -> None:
        if self is None:
            return
        _ABANDONED.extend([self._reader, self._writer])
        self._reset()

    def _connect(self) -> psycopg.Connection[Any]:
        connection: psycopg.Connection[Any] = _driver().connect(self._address, autocommit=True, connect_timeout=5)
        durable = connection.execute("SELECT current_setting('fsync'), current_setting('synchronous_commit')").fetchone()
        if durable is None or durable[0] != "on":
            connection.close()
            raise LedgerError("SRD-603", "the server runs with fsync off.", "Turn fsync on; without it a charge can be lost.")
        if durable[1] not in ("on", "remote_apply"):
            connection.execute("SET synchronous_commit TO on")
        wait = int(PATIENCE * 1000)
        connection.execute(f"SET lock_timeout TO {wait}")
        connection.execute(f"SET idle_in_transaction_session_timeout TO {3 * wait}")  # a stopped writer must not hold the row for ever
        return connection

    def _shape(self, page: PostgresPage) -> None:
        page.shape()
        info = page.connection.info
        self.place = f"postgres://{info.host}:{info.port}/{info.dbname}#{self._ledger}"

    def transact(self, work: Callable[[PostgresPage], T], *, lock: bool = True) -> T:
        deadline, doubt = time.monotonic() + PATIENCE, False
        while True:
            sent = False
            try:
                if self._writer is None:
                    self._writer = self._connect()
                self._writer.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
                page = PostgresPage(self._writer, self._ledger)
                if lock:
                    page.lock()
                value = work(page)
                sent = page.changed
                self._writer.execute("COMMIT" if sent else "ROLLBACK")  # a refusal changes nothing and need not wait for the disk
                return value
            except BaseException as error:
                gone = self._undo()
                doubt = doubt or (sent and gone)
                if not isinstance(error, self._errors):
                    raise
                if gone and self.place is not None and time.monotonic() < deadline:  # an address that never answered is wrong
                    time.sleep(0.02)
                    continue
                if doubt:
                    raise InDoubt from error
                raise LedgerError("SRD-603", "the ledger's database refused or is away.", "Try again.", reason=str(error)) from error

    def _undo(self) -> bool:
        """Roll back; True when the connection is gone."""
        connection, self._writer = self._writer, None
        if connection is None:
            return True
        try:
            connection.execute("ROLLBACK")
            self._writer = connection
        except self._errors:
            connection.close()
        return self._writer is None

    def _read(self, statement: str, *parameters: Any) -> list[Any]:
        with self._reading:
            for last in (False, True):
                try:
                    self._reader = self._reader or self._connect()
                    return self._reader.execute(statement, parameters).fetchall()
                except self._errors as error:
                    if self._reader is not None:
                        self._reader.close()
                    self._reader = None
                    if last:
                        raise LedgerError("SRD-603", "the ledger's database is away.", "Try again.", reason=str(error)) from error
        raise AssertionError

    def head(self) -> Head | None:
        found = self._read("SELECT count, hash, state, version FROM sordino_head WHERE ledger = %s AND count > 0", self._ledger)
        if found and found[0][3] > VERSION:
            raise LedgerError("SRD-604", "the ledger was written by a newer Sordino.", "Upgrade Sordino to open it.", version=found[0][3])
        return Head(*found[0][:3]) if found else None

    def find(self, requests: Sequence[str]) -> dict[str, Found]:
        """Charges that are durable, outside of any transaction."""
        return {row[0]: Found(*row[1:]) for row in self._read(FIND, self._ledger, list(requests))}

    def stamp(self) -> int | None:
        return None

    def answers(self, key: bytes, since: int = 0) -> list[tuple[str, Found]]:
        return [(row[0], Found(*row[1:])) for row in self._read(ANSWERS, self._ledger, key, since)]

    def rows(self, *, answers: bool = True, start: int = 0) -> Iterator[StoredRow]:
        column = "answer" if answers else "NULL"
        query = (
            f"SELECT number, hash, record, {column}, request, key, sealed FROM sordino_entry WHERE ledger = %s AND number >= %s"
            " ORDER BY number LIMIT 500"
        )
        while chunk := self._read(query, self._ledger, start):
            for row in chunk:
                yield StoredRow(*row)
            start = chunk[-1][0] + 1

    def close(self) -> None:
        for connection in (self._reader, self._writer):
            if connection is not None:
                connection.close()
        self._reset()
