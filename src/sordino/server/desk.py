"""The desk where releases are paid: one at a time for each analyst, each at its deadline, none turned away while its charge is open."""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from weakref import WeakValueDictionary

from sordino.errors import SordinoError
from sordino.server.clock import Clock
from sordino.server.deadline import FACTOR
from sordino.server.errand import Errand, Paid, Timed, lost, reused
from sordino.server.problem import Refusal, Unfinished
from sordino.session.query import Query

__all__ = ["Desk"]

AT_ONCE = 64  # releases on their way; each spends most of its time waiting for its deadline
QUEUE = 16  # releases of one analyst that may wait for the one before them
REMEMBERED = 10_000  # request ids whose whole wish is remembered; the book remembers question and price for ever
EVERY, TIMES = 0.1, 600  # seconds between two tries to stop what does not end, and how many
Answer = Paid | SordinoError


class Desk:
    """Pays, looks and draws for everybody, by `execute` and by nothing else."""

    def __init__(self, clock: Clock, execute: Callable[..., bytes], patience: float, sealed: Callable[[Query], None]) -> None:
        self._clock, self._execute, self._patience, self._sealed = clock, execute, patience, sealed
        self._pool = ThreadPoolExecutor(AT_ONCE, "sordino-release")
        self._slots = threading.Semaphore(max(2, os.cpu_count() or 2))
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._known: OrderedDict[str, tuple[str, str | None]] = OrderedDict()
        self._tasks: set[asyncio.Task[Answer]] = set()
        self._queues: Counter[str] = Counter()
        self._away: dict[str, asyncio.Event] = {}  # by the name of the analyst whose release is on its way
        self._stuck = False

    async def release(self, errand: Errand) -> Answer:
        """The answer, or why there is none. The work goes on if the caller leaves.

        A second release of one analyst waits until the first has left, which is a public time: two at once would slow each other
        down, and so tell how long they take.
        """
        if self._queues[errand.analyst] > QUEUE:
            what = f"{QUEUE} releases of yours wait for the one before them."
            raise Refusal(429, "SRD-504", what, "Ask one after the other.", Retry_After="5")
        self._queues[errand.analyst] += 1
        task = asyncio.create_task(self._in_turn(errand))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        done, _ = await asyncio.wait({task}, timeout=self._patience)
        if not done:
            what = "the release takes longer than the server waits."
            raise Unfinished(503, "SRD-506", what, "Ask again with the same Idempotency-Key: it is charged once at most.", Retry_After="5")
        return task.result()

    async def quiet(self, analyst: str) -> None:
        """Return when the release of this analyst that is on its way now has left."""
        if (away := self._away.get(analyst)) is not None:
            await away.wait()

    async def _in_turn(self, errand: Errand) -> Answer:
        try:
            async with self._lock(f"analyst\0{errand.analyst}"):
                away = self._away[errand.analyst] = asyncio.Event()
                try:
                    return await self._alone(errand)
                finally:
                    del self._away[errand.analyst]
                    away.set()
        finally:
            self._queues[errand.analyst] -= 1

    async def _alone(self, errand: Errand) -> Answer:
        """Alone under its request id, so that a repeat finds the answer; and with its question, so that nobody pays beside another.

        Whoever wants a fresh answer pays anyway.
        """
        question = asyncio.Lock() if errand.wish.fresh else self._lock(errand.key.hex())
        async with self._lock(errand.place), question:
            seen, pinned = self._known.get(errand.place, (errand.mark, None))
            if seen != errand.mark:
                return reused()
            found, timed = await self._watched(errand, pinned)
            if timed.start is not None:
                self._sealed(errand.query)
            if timed.late or timed.stopped:
                errand.rules.deadlines.missed(errand.request, timed.deadline, stopped=timed.stopped)
                if (told := errand.query.table.log_failure) is not None and timed.stopped:
                    told(f"{errand.request}: stopped after {FACTOR} deadlines of {timed.deadline:.3g} s; raise deadline_ms\n")
            if isinstance(found, Paid):
                self._known[errand.place] = (errand.mark, found.recalled)
                while len(self._known) > REMEMBERED:
                    self._known.popitem(last=False)
            return found

    async def _watched(self, errand: Errand, pinned: str | None) -> tuple[Answer, Timed]:
        """The errand in a thread of its own; after its fourth deadline it is answered without it, and its work is stopped."""
        loop = asyncio.get_running_loop()
        alarms: list[asyncio.TimerHandle] = []
        over: asyncio.Future[None] = loop.create_future()

        def ring(turn: int = 0) -> None:
            if timed.give_up() and turn < TIMES and not thread.done():
                alarms.append(loop.call_later(EVERY, ring, turn + 1))
            if timed.stopped and not over.done():
                over.set_result(None)

        def watch() -> None:
            if timed.deadline:
                loop.call_soon_threadsafe(lambda: alarms.append(loop.call_later(FACTOR * timed.deadline, ring)))

        timed = Timed(errand.query.table.ledger, self._clock, self._slots, watch)
        work: Any = (errand.run, timed, self._execute, pinned)
        thread = loop.run_in_executor(self._pool, *work)
        await asyncio.wait({thread, over}, return_when=asyncio.FIRST_COMPLETED)
        if thread.done():
            for alarm in alarms:
                alarm.cancel()
            return thread.result(), timed
        self._stuck = True
        thread.add_done_callback(lambda done: done.exception())  # whatever it finds is lost
        return lost(), timed

    def _lock(self, name: str) -> asyncio.Lock:
        return self._locks.setdefault(name, asyncio.Lock())

    async def close(self) -> None:
        """Let everything that was charged be looked at, drawn and sealed; what was given up is left behind."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))
        self._pool.shutdown(wait=not self._stuck)
