"""Sessions and turns in the ledger's database, where the ledger is in PostgreSQL: then several machines may serve one dataset.

Times are the database's own, so that machines need not agree on theirs. A turn is an advisory lock of a connection that lives as long as
the turn: a process that dies, or a machine that goes away, gives it back.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sordino.errors import LedgerError, not_installed
from sordino.server.sessions import MOST, Sessions, Turns, mark

if TYPE_CHECKING:
    import psycopg

__all__ = ["AnySessions", "AnyTurns", "PostgresSessions", "PostgresTurns"]

TABLE = "CREATE TABLE IF NOT EXISTS sordino_session (mark TEXT PRIMARY KEY, token TEXT NOT NULL, until TIMESTAMPTZ NOT NULL)"
AGAIN = 0.02  # seconds between two tries for a turn
AWAY = "the ledger's database is away."


def _connect(address: str) -> psycopg.Connection[Any]:
    try:
        import psycopg
    except ModuleNotFoundError as error:
        raise not_installed(error) or error from None
    try:
        return psycopg.connect(address, autocommit=True, connect_timeout=5)
    except psycopg.Error:
        raise LedgerError("SRD-603", AWAY, "Ask again; the owner looks at the database.") from None


class _Line:
    """One connection, made when it is first needed and made again when it breaks."""

    def __init__(self, address: str, *shape: str) -> None:
        self._address, self._shape = address, shape
        self._lock = threading.Lock()
        self._open: psycopg.Connection[Any] | None = None

    def say(self, statement: str, *values: Any) -> Any:
        """The first row of the answer, if there is one. Said twice if the connection broke: every statement here may be."""
        with self._lock:
            for last in (False, True):
                try:
                    if self._open is None:
                        self._open = _connect(self._address)
                        for text in self._shape:
                            self._open.execute(text)
                    found = self._open.execute(statement, values)
                    return found.fetchone() if found.description else None
                except LedgerError:
                    raise
                except Exception:
                    if self._open is not None:
                        self._open.close()
                    self._open = None
                    if last:
                        raise LedgerError("SRD-603", AWAY, "Ask again; the owner looks at the database.") from None
        raise AssertionError

    def close(self) -> None:
        with self._lock:
            if self._open is not None:
                self._open.close()
            self._open = None


class PostgresSessions:
    """Open sessions, by the hash of the cookie; as `Sessions`, for every machine that reaches the database."""

    def __init__(self, address: str) -> None:
        self._line = _Line(address, TABLE)

    def open(self, secret: str, token: str, until: float, now: float) -> None:
        self._line.say("DELETE FROM sordino_session WHERE until < now()")
        made = "INSERT INTO sordino_session VALUES (%s, %s, now() + make_interval(secs => %s)) ON CONFLICT (mark) DO NOTHING"
        self._line.say(made, mark(secret), token, until - now)
        newest = "SELECT mark FROM sordino_session ORDER BY until DESC LIMIT %s"
        self._line.say(f"DELETE FROM sordino_session WHERE mark NOT IN ({newest})", MOST)

    def find(self, secret: str, now: float) -> str | None:
        """The hash of the token that opened it, while it lasts."""
        if not secret:
            return None
        row = self._line.say("SELECT token FROM sordino_session WHERE mark = %s AND until > now()", mark(secret))
        return None if row is None else str(row[0])

    def close(self, secret: str) -> None:
        self._line.say("DELETE FROM sordino_session WHERE mark = %s", mark(secret))

    def stop(self) -> None:
        self._line.close()


class PostgresTurns:
    """One release of an analyst at a time, over all machines; as `Turns`."""

    def __init__(self, address: str, dataset: str) -> None:
        self._address, self._dataset = address, dataset
        self._line = _Line(address)

    def _key(self, analyst: str) -> int:
        return int.from_bytes(sha256(f"{self._dataset}\0{analyst}".encode()).digest()[:8], "big", signed=True)

    @asynccontextmanager
    async def of(self, analyst: str) -> AsyncIterator[None]:
        """Wait for the turn, and hold it."""
        async with self._held("SELECT pg_try_advisory_lock(%s)", self._key(analyst)):
            yield

    @asynccontextmanager
    async def _held(self, tried: str, key: int) -> AsyncIterator[None]:
        own = await asyncio.to_thread(_connect, self._address)
        try:
            while not (await asyncio.to_thread(_one, own, tried, key)):
                await asyncio.sleep(AGAIN)
            yield
        finally:
            await asyncio.to_thread(own.close)

    async def quiet(self, analyst: str) -> None:
        """Return when nobody holds the turn."""
        tried = "SELECT pg_try_advisory_xact_lock_shared(%s)"  # given back with the statement
        while not (await asyncio.to_thread(self._line.say, tried, self._key(analyst)))[0]:
            await asyncio.sleep(AGAIN)

    @asynccontextmanager
    async def promised(self, analyst: str) -> AsyncIterator[None]:
        """Show every process that something is promised to this analyst; several promises stand beside each other."""
        async with self._held("SELECT pg_try_advisory_lock_shared(%s)", self._key(f"promised\0{analyst}")):
            yield

    async def kept(self, analyst: str) -> None:
        """Return when no promise to this analyst is open."""
        tried = "SELECT pg_try_advisory_xact_lock(%s)"
        while not (await asyncio.to_thread(self._line.say, tried, self._key(f"promised\0{analyst}")))[0]:
            await asyncio.sleep(AGAIN)

    def stop(self) -> None:
        self._line.close()


def _one(connection: psycopg.Connection[Any], statement: str, value: Any) -> Any:
    row = connection.execute(statement, (value,)).fetchone()
    return row is not None and row[0]


AnySessions = Sessions | PostgresSessions
AnyTurns = Turns | PostgresTurns
