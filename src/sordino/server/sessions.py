"""What several processes of one server share: sessions of browsers, and whose turn it is.

Sessions are rows of a small SQLite file beside the dataset file, by the hash of the cookie, so that a copy of the file opens no door and a
restart asks nobody for a token again. Turns are locks on files: an analyst's releases go one after the other whichever process they reach.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from hashlib import sha256
from pathlib import Path

from sordino.errors import LedgerError

__all__ = ["Sessions", "Turns"]

MOST = 4_096
TABLE = "CREATE TABLE IF NOT EXISTS session (mark TEXT PRIMARY KEY, token TEXT NOT NULL, until REAL NOT NULL, boot TEXT NOT NULL)"
BOOT = Path("/proc/sys/kernel/random/boot_id")
Where = str | os.PathLike[str]


def mark(secret: str) -> str:
    """What is kept of a cookie: it has 256 random bits, so a plain hash gives no way to guess it."""
    return sha256(secret.encode("utf-8", "replace")).hexdigest()


class Sessions:
    """Open sessions. Times are the machine's own since it started, so those of an earlier start are over."""

    def __init__(self, path: Where) -> None:
        self.path = Path(path)
        try:
            self._boot = BOOT.read_text(encoding="ascii").strip()
        except OSError:
            self._boot = "unknown"

    @classmethod
    def beside(cls, dataset: Where) -> Sessions:
        """hospital.toml has them in hospital.sessions."""
        return cls(Path(dataset).absolute().with_suffix(".sessions"))

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
            with closing(sqlite3.connect(self.path, timeout=10, isolation_level=None)) as file:
                file.execute("PRAGMA synchronous=OFF")  # a session lost by a crash is logged in again
                file.execute(TABLE)
                yield file
        except (sqlite3.Error, OSError):
            raise LedgerError("SRD-603", "sessions cannot be kept.", "Ask again; the owner looks at the disk.") from None

    def open(self, secret: str, token: str, until: float, now: float) -> None:
        with self._open() as file:
            file.execute("BEGIN IMMEDIATE")
            file.execute("DELETE FROM session WHERE until < ? OR boot <> ?", (now, self._boot))
            file.execute("INSERT INTO session VALUES (?, ?, ?, ?)", (mark(secret), token, until, self._boot))
            newest = "SELECT mark FROM session ORDER BY until DESC LIMIT ?"
            file.execute(f"DELETE FROM session WHERE mark NOT IN ({newest})", (MOST,))
            file.execute("COMMIT")

    def find(self, secret: str, now: float) -> str | None:
        """The hash of the token that opened it, while it lasts."""
        if not secret or not self.path.exists():
            return None
        with self._open() as file:
            row = file.execute("SELECT token, until, boot FROM session WHERE mark = ?", (mark(secret),)).fetchone()
        return row[0] if row is not None and row[1] > now and row[2] == self._boot else None

    def close(self, secret: str) -> None:
        with self._open() as file:
            file.execute("DELETE FROM session WHERE mark = ?", (mark(secret),))

    def stop(self) -> None:
        """Nothing is kept open."""


class Turns:
    """One release of an analyst at a time, over all processes that serve the same file. A process that dies gives its turn back."""

    def __init__(self, folder: Where) -> None:
        self._folder = Path(folder)

    @classmethod
    def beside(cls, dataset: Where) -> Turns:
        """hospital.toml has them in the folder hospital.turns."""
        return cls(Path(dataset).absolute().with_suffix(".turns"))

    def _file(self, analyst: str) -> int:
        self._folder.mkdir(mode=0o700, exist_ok=True)
        name = sha256(analyst.encode()).hexdigest()[:32]
        return os.open(self._folder / name, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)

    @asynccontextmanager
    async def of(self, analyst: str) -> AsyncIterator[None]:
        """Wait for the turn, and hold it."""
        file = self._file(analyst)
        try:
            await _locked(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)

    async def quiet(self, analyst: str) -> None:
        """Return when nobody holds the turn."""
        file = self._file(analyst)
        try:
            await _locked(file, fcntl.LOCK_SH)
        finally:
            os.close(file)

    @asynccontextmanager
    async def promised(self, analyst: str) -> AsyncIterator[None]:
        """Show every process that something is promised to this analyst; several promises stand beside each other."""
        file = self._file(f"promised\0{analyst}")
        try:
            await _locked(file, fcntl.LOCK_SH)
            yield
        finally:
            os.close(file)

    async def kept(self, analyst: str) -> None:
        """Return when no promise to this analyst is open."""
        file = self._file(f"promised\0{analyst}")
        try:
            await _locked(file, fcntl.LOCK_EX)
        finally:
            os.close(file)

    def stop(self) -> None:
        """Nothing is kept open."""


async def _locked(file: int, kind: int) -> None:
    """Try again every few milliseconds: a thread that waits for a lock could not be called back."""
    while True:
        try:
            fcntl.flock(file, kind | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            await asyncio.sleep(0.005)
