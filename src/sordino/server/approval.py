"""Dear releases wait for the owner's word: a durable queue beside the dataset file. It holds questions and prices, never an answer.

An approval is for one request id. The ledger charges a request id once, so an approval pays for one release whatever dies in between,
and nothing has to be ticked off here. Whether an ask waits depends on its price alone, and prices are functions of public facts.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from fractions import Fraction
from hashlib import sha256
from pathlib import Path
from typing import Any

from sordino.errors import LedgerError
from sordino.server.problem import Refusal

__all__ = ["STATES", "Approval", "Approvals"]

STATES = ("pending", "approved", "refused", "withdrawn")  # the last by its own analyst
MOST = 100  # asks of one analyst that may wait at a time
TABLE = """CREATE TABLE IF NOT EXISTS approval (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, dataset TEXT NOT NULL,
analyst TEXT NOT NULL, request TEXT NOT NULL, plan TEXT NOT NULL, wish TEXT NOT NULL, mark TEXT NOT NULL,
epsilon TEXT NOT NULL, delta TEXT NOT NULL, state TEXT NOT NULL, reason TEXT NOT NULL DEFAULT '', note TEXT NOT NULL DEFAULT '')"""
LONGEST = 500  # characters of a reason or a note


@dataclass(frozen=True)
class Approval:
    """One ask above the threshold: whose, which plan, the wish in its own words, the most it may cost, and what the owner said."""

    dataset: str
    analyst: str
    request: str
    plan: str
    wish: str
    mark: str
    epsilon: str
    delta: str
    state: str = "pending"
    reason: str = ""  # why the analyst asks
    note: str = ""  # what the owner says with the verdict

    @property
    def id(self) -> str:
        return sha256(f"{self.dataset}\0{self.request}".encode("utf-8", "replace")).hexdigest()[:20]

    @property
    def key(self) -> str:
        """The Idempotency-Key under which it was asked and is to be asked again."""
        return self.request.partition(":")[2]

    @property
    def wished(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.wish)
        return found

    def covers(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Whether a price is at most the one that was approved; the price of a wish may move while it waits."""
        return epsilon <= Fraction(self.epsilon) and delta <= Fraction(self.delta)


class Approvals:
    """The queue of one dataset file, in SQLite: several servers of the same file see one queue, and a restart loses nothing."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    @classmethod
    def beside(cls, dataset: str | os.PathLike[str]) -> Approvals:
        """hospital.toml has its queue in hospital.approvals."""
        return cls(Path(dataset).absolute().with_suffix(".approvals"))

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        try:
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))  # questions are the analysts' own business
            with closing(sqlite3.connect(self.path, timeout=10, isolation_level=None)) as file:
                file.execute("PRAGMA synchronous=FULL")
                file.execute("BEGIN IMMEDIATE")
                file.execute(TABLE)
                known = {row[1] for row in file.execute("PRAGMA table_info(approval)")}
                for word in {"reason", "note"} - known:  # a queue of an earlier version
                    file.execute(f"ALTER TABLE approval ADD COLUMN {word} TEXT NOT NULL DEFAULT ''")
                yield file
                file.execute("COMMIT")
        except (sqlite3.Error, OSError):
            raise LedgerError("SRD-603", "the queue of approvals cannot be written.", "Ask again; the owner looks at the disk.") from None

    def find(self, id: str) -> Approval | None:
        if not self.path.exists():
            return None
        with self._open() as file:
            return _one(file, id)

    def listed(self, dataset: str, analyst: str | None = None) -> list[Approval]:
        """The asks of a dataset, newest first; of one analyst, or of everybody."""
        if not self.path.exists():
            return []
        words = ", ".join(Approval.__dataclass_fields__)
        whose, given = ("", (dataset,)) if analyst is None else (" AND analyst = ?", (dataset, analyst))
        with self._open() as file:
            rows = file.execute(f"SELECT {words} FROM approval WHERE dataset = ?{whose} ORDER BY number DESC LIMIT 1000", given)
            return [Approval(*row) for row in rows]

    def file(self, asked: Approval) -> None:
        """Put an ask into the queue, or back into it at a new price."""
        with self._open() as file:
            waiting = "SELECT COUNT(*) FROM approval WHERE dataset = ? AND analyst = ? AND state = 'pending' AND id <> ?"
            if file.execute(waiting, (asked.dataset, asked.analyst, asked.id)).fetchone()[0] >= MOST:
                raise Refusal(429, "SRD-504", f"{MOST} asks of yours are waiting for the owner.", "Wait for the owner.", Retry_After="3600")
            facts = {"id": asked.id, **asdict(asked)}
            places = ", ".join(f":{name}" for name in facts)
            again = "epsilon = excluded.epsilon, delta = excluded.delta, state = excluded.state, reason = excluded.reason"
            file.execute(f"INSERT INTO approval ({', '.join(facts)}) VALUES ({places}) ON CONFLICT (id) DO UPDATE SET {again}", facts)

    def waiting(self, dataset: str) -> int:
        """How many asks wait for the owner."""
        if not self.path.exists():
            return 0
        with self._open() as file:
            found: int = file.execute("SELECT COUNT(*) FROM approval WHERE dataset = ? AND state = 'pending'", (dataset,)).fetchone()[0]
            return found

    def decide(self, id: str, state: str, note: str = "") -> Approval | None:
        """The owner's word, which may change until the ask is released."""
        with self._open() as file:
            file.execute("UPDATE approval SET state = ?, note = ? WHERE id = ?", (state, note[:LONGEST], id))
            return _one(file, id)


def _one(file: sqlite3.Connection, id: str) -> Approval | None:
    row = file.execute(f"SELECT {', '.join(Approval.__dataclass_fields__)} FROM approval WHERE id = ?", (id,)).fetchone()
    return None if row is None else Approval(*row)
