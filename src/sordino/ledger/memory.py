"""A ledger that lives as long as its process: for frames in a notebook, and the reference the durable stores are tested against."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from sordino.errors import LedgerError
from sordino.ledger.port import Found, Head, Page, Row
from sordino.ledger.record import FORMAT

__all__ = ["MemoryStore"]

T = TypeVar("T")


class MemoryStore:
    """Rows in a list. Nothing is durable, so there is nothing outside to witness it."""

    place: str | None = None

    def __init__(self) -> None:
        self._lock, self._pid = threading.Lock(), os.getpid()
        self._rows: list[Row] = []
        self._sealed: dict[int, int] = {}
        self._requests: dict[str, int] = {}
        self._keys: dict[bytes, list[int]] = {}
        self._head: Head | None = None

    def transact(self, work: Callable[[Page], T]) -> T:
        self._at_home()
        with self._lock:
            return work(self)  # append is the last step of any work, so a refusal on the way leaves nothing to undo

    def head(self) -> Head | None:
        return self._head

    def version(self) -> int:
        return FORMAT

    def upgrade(self) -> None:
        """Nothing here is older than its process."""

    def hash_at(self, number: int) -> bytes | None:
        return self._rows[number].hash if number < len(self._rows) else None

    def find(self, requests: Sequence[str]) -> dict[str, Found]:
        found = {}
        for request in requests:
            if (number := self._requests.get(request)) is not None:
                seal = self._sealed.get(number)
                kept = (None, None) if seal is None else (self._rows[seal].answer, self._rows[seal].record)
                found[request] = Found(number, self._rows[number].record, seal, *kept)
        return found

    def sealed(self, numbers: Sequence[int]) -> dict[int, int | None]:
        return {n: self._sealed.get(n) for n in numbers if n < len(self._rows) and self._rows[n].request is not None}

    def append(self, rows: Sequence[Row], seals: Iterable[tuple[int, int]], head: Head) -> None:
        self._rows.extend(rows)  # first: whoever finds a request looks for its row
        for row in rows:
            if row.request is not None and row.key is not None:
                self._requests[row.request] = row.number
                self._keys.setdefault(row.key, []).append(row.number)
        self._sealed.update((charge, seal) for seal, charge in seals)
        self._head = head

    def answers(self, key: bytes) -> list[tuple[bytes, bytes]]:
        self._at_home()
        with self._lock:
            seals = [self._rows[self._sealed[number]] for number in self._keys.get(key, []) if number in self._sealed]
            return [(seal.record, seal.answer) for seal in seals if seal.answer is not None]

    def _at_home(self) -> None:
        """A forked child has a copy of the list: what it spent there, nobody else would know."""
        if os.getpid() != self._pid:
            fix = "Give ledger= a path: a file is shared by all processes that open it."
            raise LedgerError("SRD-603", "a ledger in memory belongs to the process that made it, and this is a fork of it.", fix)

    def rows(self, *, answers: bool = True, start: int = 0) -> Iterator[Row]:
        with self._lock:
            return iter([row._replace(sealed=self._sealed.get(row.number)) for row in self._rows[start:]])

    def close(self) -> None:
        pass
