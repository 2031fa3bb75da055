"""Questions an analyst keeps: a name and a plan, in a small file beside the dataset file. It holds questions, never an answer."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from sordino.errors import LedgerError, QueryError

__all__ = ["SavedQuestion", "SavedQuestions"]

MOST = 200  # of one analyst
TABLE = """CREATE TABLE IF NOT EXISTS saved (number INTEGER PRIMARY KEY, dataset TEXT NOT NULL, analyst TEXT NOT NULL, plan TEXT NOT NULL,
name TEXT NOT NULL, UNIQUE (dataset, analyst, plan))"""


@dataclass(frozen=True)
class SavedQuestion:
    """One question under a name of its analyst's own."""

    number: int
    plan: str
    name: str


class SavedQuestions:
    """Those of one dataset file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @classmethod
    def beside(cls, dataset: str | os.PathLike[str]) -> SavedQuestions:
        """hospital.toml has them in hospital.saved."""
        return cls(Path(dataset).absolute().with_suffix(".saved"))

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))  # questions are the analysts' own business
            with closing(sqlite3.connect(self.path, timeout=10, isolation_level=None)) as file:
                file.execute("BEGIN IMMEDIATE")
                file.execute(TABLE)
                yield file
                file.execute("COMMIT")
        except (sqlite3.Error, OSError):
            raise LedgerError("SRD-603", "saved questions cannot be written.", "Ask again; the owner looks at the disk.") from None

    def listed(self, dataset: str, analyst: str) -> list[SavedQuestion]:
        if not self.path.exists():
            return []
        with self._open() as file:
            given = "SELECT number, plan, name FROM saved WHERE dataset = ? AND analyst = ? ORDER BY number"
            return [SavedQuestion(*row) for row in file.execute(given, (dataset, analyst))]

    def keep(self, dataset: str, analyst: str, plan: str, name: str) -> None:
        """Save a question, or give one that is saved another name."""
        with self._open() as file:
            count = file.execute("SELECT COUNT(*) FROM saved WHERE dataset = ? AND analyst = ?", (dataset, analyst)).fetchone()[0]
            if count >= MOST:
                raise QueryError("SRD-503", f"{MOST} questions are saved.", "Forget one of them first.")
            words = "INSERT INTO saved (dataset, analyst, plan, name) VALUES (?, ?, ?, ?)"
            again = "ON CONFLICT (dataset, analyst, plan) DO UPDATE SET name = excluded.name"
            file.execute(f"{words} {again}", (dataset, analyst, plan, name[:120]))

    def forget(self, dataset: str, analyst: str, number: int) -> None:
        with self._open() as file:
            file.execute("DELETE FROM saved WHERE dataset = ? AND analyst = ? AND number = ?", (dataset, analyst, number))
