"""The desk where releases are paid: one errand at a time for a request id, and nobody is turned away while their charge is open."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from weakref import WeakValueDictionary

from sordino.errors import SordinoError
from sordino.server.clock import Tick
from sordino.server.errand import Errand, Paid, Timed, reused
from sordino.server.problem import Unfinished
from sordino.session.query import Query

__all__ = ["Desk"]

AT_ONCE = 64  # releases on their way; each spends most of its time waiting for the grid
REMEMBERED = 10_000  # request ids whose whole wish is remembered; the book remembers question and price for ever
Answer = tuple[Paid | SordinoError, bool]


class Desk:
    """Pays, looks and draws for everybody, by `execute` and by nothing else."""

    def __init__(self, tick: Tick, execute: Callable[..., bytes], patience: float, sealed: Callable[[Query], None]) -> None:
        self._tick, self._execute, self._patience, self._sealed = tick, execute, patience, sealed
        self._pool = ThreadPoolExecutor(AT_ONCE, "sordino-release")
        self._slots = threading.Semaphore(max(2, os.cpu_count() or 2))
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._known: OrderedDict[str, tuple[str, str | None]] = OrderedDict()
        self._tasks: set[asyncio.Task[Answer]] = set()

    async def release(self, errand: Errand) -> Answer:
        """The answer, or why there is none, and whether it is on the grid already. The work goes on if the caller leaves."""
        task = asyncio.create_task(self._alone(errand))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        done, _ = await asyncio.wait({task}, timeout=self._patience)
        if not done:
            what = "the release takes longer than the server waits."
            raise Unfinished(503, "SRD-506", what, "Ask again with the same Idempotency-Key: it is charged once at most.", Retry_After="5")
        return task.result()

    async def _alone(self, errand: Errand) -> Answer:
        """Alone under its request id, so that a repeat finds the answer; and with its question, so that nobody pays beside another."""
        async with self._lock(errand.place), self._lock(errand.key.hex()):
            seen, pinned = self._known.get(errand.place, (errand.mark, None))
            if seen != errand.mark:
                return reused(), False
            timed = Timed(errand.query.table.ledger, self._tick, self._slots)
            work: Any = (errand.run, timed, self._execute, pinned)
            found: Paid | SordinoError = await asyncio.get_running_loop().run_in_executor(self._pool, *work)
            if timed.start is not None:
                self._sealed(errand.query)
            if isinstance(found, Paid):
                self._known[errand.place] = (errand.mark, found.recalled)
                while len(self._known) > REMEMBERED:
                    self._known.popitem(last=False)
            return found, timed.start is not None

    def _lock(self, name: str) -> asyncio.Lock:
        return self._locks.setdefault(name, asyncio.Lock())

    async def close(self) -> None:
        """Let everything that was charged be looked at, drawn and sealed."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))
        self._pool.shutdown(wait=True)
