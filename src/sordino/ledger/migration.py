"""The shape of a ledger file, and the only direction it may change in."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

from sordino.errors import LedgerError

__all__ = ["APPLICATION", "MIGRATIONS", "SHAPE", "VERSION", "check", "prepare"]

APPLICATION = 0x5352444E  # "SRDN"; `file` and SQLite's own tools can tell a ledger by it
VERSION = 1
SHAPE = (
    "CREATE TABLE entry(number INTEGER PRIMARY KEY, hash BLOB NOT NULL, record BLOB NOT NULL, answer BLOB, request TEXT UNIQUE, key BLOB,"
    " sealed INTEGER)",
    "CREATE INDEX entry_key ON entry(key) WHERE sealed IS NOT NULL",
    "CREATE TABLE head(one INTEGER PRIMARY KEY CHECK (one = 1), count INTEGER NOT NULL, hash BLOB NOT NULL, state TEXT NOT NULL)",
)
MIGRATIONS: dict[int, Callable[[sqlite3.Connection], None]] = {}
"""From a version to the next. A migration may reshape tables around the records and never touches their bytes, so the chain holds."""


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"PRAGMA {pragma}").fetchone()[0])


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
        if _number(connection, "user_version") < VERSION:
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
    version = _number(connection, "user_version")
    copy = sqlite3.connect(path.with_name(f"{path.name}.format{version}"))
    try:
        connection.backup(copy)
    finally:
        copy.close()
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in range(_number(connection, "user_version"), VERSION):
            MIGRATIONS[step](connection)
        connection.execute(f"PRAGMA user_version={VERSION}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
