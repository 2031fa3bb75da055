"""The shape of a ledger file, and the only direction it may change in."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from sordino.errors import LedgerError
from sordino.ledger.place import sync_directory

__all__ = ["APPLICATION", "MIGRATIONS", "SHAPE", "VERSION", "check", "copy_of", "forward", "prepare", "version_of"]

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


def check(connection: sqlite3.Connection, path: Path) -> bool:
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


def prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Shape an empty file, or bring an older one forward after copying it."""
    if check(connection, path):
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


def forward(connection: sqlite3.Connection, path: Path) -> Path:
    """Inside a transaction: keep a copy, then mark the file so that software which knows older versions only refuses it."""
    kept = _copy(path, version_of(connection))
    connection.execute(f"PRAGMA user_version={VERSION}")
    return kept
