"""What a store says inside its one exclusive transaction, in SQLite's words and in PostgreSQL's."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sordino.ledger import migration
from sordino.ledger.port import Found, Head, Row

if TYPE_CHECKING:
    import psycopg

__all__ = ["FIND", "FIND_POSTGRES", "SHAPE", "VERSION", "PostgresPage", "SqlitePage"]

VERSION = 2  # of a ledger in PostgreSQL; a SQLite file carries its own (see `migration`)
SHAPE = (
    "CREATE TABLE IF NOT EXISTS sordino_head(ledger text PRIMARY KEY, version int NOT NULL, count bigint NOT NULL, hash bytea, state text)",
    "CREATE TABLE IF NOT EXISTS sordino_entry(ledger text NOT NULL, number bigint NOT NULL, hash bytea NOT NULL, record bytea NOT NULL,"
    " answer bytea, request text, key bytea, sealed bigint, PRIMARY KEY (ledger, number), UNIQUE (ledger, request))",
    "CREATE INDEX IF NOT EXISTS sordino_entry_key ON sordino_entry(ledger, key) WHERE key IS NOT NULL",
)

FIND = (
    "SELECT e.request, e.number, e.record, e.sealed, s.answer, s.record FROM entry e LEFT JOIN entry s ON s.number = e.sealed"
    " WHERE e.request IN (SELECT value FROM json_each(?))"
)
FIND_POSTGRES = (
    "SELECT e.request, e.number, e.record, e.sealed, s.answer, s.record FROM sordino_entry e"
    " LEFT JOIN sordino_entry s ON s.ledger = e.ledger AND s.number = e.sealed WHERE e.ledger = %s AND e.request = ANY(%s)"
)


class SqlitePage:
    """A SQLite file inside its transaction."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection, self._path = connection, path

    def _ask(self, statement: str, *parameters: Any) -> list[Any]:
        return self._connection.execute(statement, parameters).fetchall()

    def head(self) -> Head | None:
        found = self._ask("SELECT count, hash, state FROM head")
        return Head(*found[0]) if found else None

    def version(self) -> int:
        return migration.version_of(self._connection)

    def upgrade(self) -> str:
        return str(migration.forward(self._connection, self._path))

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

    def append(self, rows: Sequence[Row], seals: Iterable[tuple[int, int]], head: Head) -> None:
        start = 0
        while start < len(rows):  # one statement for many rows: between statements other threads would take the interpreter away
            size = min(128, 1 << ((len(rows) - start).bit_length() - 1))
            values = ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * size)
            flat = [value for row in rows[start : start + size] for value in row]
            self._connection.execute(f"INSERT INTO entry(number, hash, record, answer, request, key, sealed) VALUES {values}", flat)
            start += size
        self._connection.executemany("UPDATE entry SET sealed = ? WHERE number = ?", seals)
        self._connection.execute("REPLACE INTO head(one, count, hash, state) VALUES (1, ?, ?, ?)", (head.count, head.hash, head.state))


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
        return {row[0]: Found(*row[1:]) for row in self._ask(FIND_POSTGRES, self._ledger, list(requests))}

    def sealed(self, numbers: Sequence[int]) -> dict[int, int | None]:
        query = "SELECT number, sealed FROM sordino_entry WHERE ledger = %s AND request IS NOT NULL AND number = ANY(%s)"
        return dict(self._ask(query, self._ledger, list(numbers)))

    def append(self, rows: Sequence[Row], seals: Iterable[tuple[int, int]], head: Head) -> None:
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
