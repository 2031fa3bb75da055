"""One release on its way to the data and back: replayed, recalled or paid, and sealed at its deadline.

What an analyst could time besides the answer itself: when an answer appears in the book (others may recall it, previews may use
it, ids are numbers in the book's order). So the seal itself waits for the deadline, which counts from the durable charge: that is when the
data are first looked at, whatever an analyst does to delay a request.

Where releases are paid: one at a time for each analyst, each at its deadline, none turned away while its charge is open.

Recorded answers that were found before: given again at once, without a thread, while nothing was written into their book since.

Finding the best of a long history takes as long as the history is. Whoever asks again the same way is told the same, as long as the book's
stamp says that nobody has charged or sealed anything; a ledger in a database far away has no stamp, and is asked every time.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import Counter, OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from sordino.errors import QueryError, ReleaseFailed, SordinoError
from sordino.ledger import Entry
from sordino.ledger.record import same_request
from sordino.privacy.number import as_epsilon
from sordino.server.clock import Clock
from sordino.server.deadline import FACTOR, Timed, lost
from sordino.server.problem import Refusal, Unfinished
from sordino.server.sessions_postgres import AnyTurns
from sordino.server.shared_question import SharedQuestion
from sordino.session.execute import AGAIN, LOST, rehearse
from sordino.session.query import Query
from sordino.session.release import Release
from sordino.session.settled import Settled
from sordino.session.sharing import SharePlan

if TYPE_CHECKING:
    from sordino.server.rules import Rules

__all__ = ["PaidAnswer", "RecalledAnswers", "ReleaseQueue", "ReleaseRequest", "Timed", "Wish", "id_of", "lost", "reused"]

KEPT = 1024


class RecalledAnswers:
    """By question and wish: what was recalled last, and the stamp of the book at that moment."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Any, Any], tuple[int, PaidAnswer]] = OrderedDict()

    def stamp(self, requested: ReleaseRequest) -> int | None:
        """Taken before the book is searched, so that what lands meanwhile makes the answer old."""
        return None if requested.wish.fresh or not isinstance(requested.query, Query) else requested.query.table.ledger.stamp

    def find(self, requested: ReleaseRequest) -> PaidAnswer | None:
        """What was found before, for a request id that was never charged."""
        place = (requested.query, requested.mark)
        if requested.wish.fresh or place not in self._kept:
            return None
        stamp, found = self._kept[place]
        ledger = requested.query.table.ledger
        return found if ledger.stamp == stamp and ledger.find(requested.request) is None else None

    def keep(self, requested: ReleaseRequest, stamp: int | None, found: PaidAnswer) -> None:
        if stamp is None or found.recalled is None:
            return
        self._kept[requested.query, requested.mark] = (stamp, found)
        self._kept.move_to_end((requested.query, requested.mark))
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)


@dataclass(frozen=True)
class Wish:
    """The price of a release: epsilon, or an accuracy that has one."""

    epsilon: Any = None
    delta: Any = None
    within: Any = None
    within_rank: Any = None
    fresh: bool = False
    at_most: Any = field(default=None, repr=False)  # epsilon; a ceiling is no part of what was asked
    interval: Any = field(default=None, repr=False)  # as it was said; the question itself knows

    @property
    def price(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "delta": self.delta, "within": self.within, "within_rank": self.within_rank}


@dataclass(frozen=True)
class PaidAnswer:
    """Sealed bytes; `recalled` is the id of the release they are of, if this request found them recorded and paid nothing."""

    sealed: bytes
    recalled: str | None = None


@dataclass(frozen=True)
class ReleaseRequest:
    """A question, a wish and who pays, under one request id."""

    query: Query | SharedQuestion
    wish: Wish
    analyst: str
    request: str
    rules: Rules  # what stands before the charge
    reason: str = ""  # for the owner, where the release waits

    @property
    def place(self) -> str:
        """Request ids are each analyst's own, in each dataset."""
        return f"{self.query.table.dataset}\0{self.request}"

    @cached_property
    def key(self) -> bytes:
        """What makes a repeat of the question free; working it out takes as long as a small release."""
        return self.query.key()

    @cached_property
    def mark(self) -> str:
        """The whole wish: a request id that comes back with another one is refused."""
        return sha256(repr((self.key, self.wish)).encode("utf-8", "replace")).hexdigest()

    def run(self, timed: Timed, execute: Callable[..., bytes], pinned: str | None) -> PaidAnswer | SordinoError:
        """The answer. Errors are answers here: after a charge they wait for the deadline like any other."""
        try:
            with timed.stop.listening(), timed.compute():
                return self._pay(timed, execute, pinned)
        except SordinoError as error:
            timed.wait()
            return error

    def _pay(self, timed: Timed, execute: Callable[..., bytes], pinned: str | None) -> PaidAnswer:
        if (known := self.known(timed.find(self.request), pinned)) is not None:
            return known
        plan, timed.deadline = self.admitted()
        who, said, table = {"request": self.request, "analyst": self.analyst}, self.query.said(**self.wish.price), self.query.table
        return PaidAnswer(execute(plan, timed, table.engine, **who, owner_log=table.log_failure, wish=said))

    def admitted(self) -> tuple[Settled | SharePlan, float]:
        """The plan and its deadline; what does not pass is refused here, before the charge."""
        plan = self.rules.priced(self.query, self.wish)
        rehearse(plan)  # how often it asks is part of its deadline
        deadline = self.rules.deadlines.of(plan, self.query.table)
        if self.rules.gate is not None:
            self.rules.gate.admit(self, plan.cost)
        self.rules.deadlines.admit()
        return plan, deadline

    def known(self, earlier: Entry | None, pinned: str | None = None) -> PaidAnswer | None:
        """What this request was answered before, or what is recorded of its question."""
        if earlier is not None:
            return self._replayed(earlier)
        recorded = None if self.wish.fresh else self.recorded(pinned)
        return None if recorded is None else PaidAnswer(recorded, id_of(recorded))

    def _replayed(self, earlier: Entry) -> PaidAnswer:
        """The same request again, perhaps after a crash: it is told from another one by the words of its record's own format."""
        said = self.query.said(**self.wish.price)
        known = None if earlier.asked is None else earlier.asked.wish
        if same_request(replace(self.query.charged, wish=said), earlier.key, earlier.format, known) is False:
            raise reused()
        if earlier.answer is None:
            raise ReleaseFailed("SRD-402", LOST, AGAIN)
        return PaidAnswer(earlier.answer)

    def recorded(self, pinned: str | None = None) -> bytes | None:
        """A recorded answer that is good enough; for a repeated request the one it was given, though a better one may be there by now."""
        if pinned is not None:
            return next((sealed for sealed in self.query.sealed() if id_of(sealed) == pinned), None)
        wish = self.wish
        price = None if wish.epsilon is None else as_epsilon(wish.epsilon)
        return self.query.recall_sealed(price, self.query._wish(wish.within, wish.within_rank), ranks=wish.within_rank is not None)


@lru_cache(4096)
def id_of(sealed: bytes) -> str:
    """The id of a recorded answer."""
    return Release.from_bytes(sealed).id


def reused() -> QueryError:
    return QueryError("SRD-605", "this Idempotency-Key was used for another question or price.", "Use a new key for a new request.")


def cancelled() -> QueryError:
    return QueryError("SRD-605", "this request was cancelled while it waited for its turn.", "Ask anew, with a new Idempotency-Key.")


AT_ONCE = 64  # releases on their way; each spends most of its time waiting for its deadline
QUEUE = 16  # releases of one analyst that may wait for the one before them
REMEMBERED = 10_000  # request ids whose whole wish is remembered; the book remembers question and price for ever
EVERY, TIMES = 0.1, 600  # seconds between two tries to stop what does not end, and how many
Answer = PaidAnswer | SordinoError


class ReleaseQueue:
    """Pays, looks and draws for everybody, by `execute` and by nothing else."""

    def __init__(
        self, clock: Clock, execute: Callable[..., bytes], patience: float, sealed: Callable[[Any], None], turns: AnyTurns | None = None
    ) -> None:
        self._turns = turns  # where other processes serve the same analysts
        self._clock, self._execute, self._patience, self._sealed = clock, execute, patience, sealed
        self._pool = ThreadPoolExecutor(AT_ONCE, "sordino-release")
        self._slots = threading.Semaphore(max(2, os.cpu_count() or 2))
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._known: OrderedDict[str, tuple[str, str | None]] = OrderedDict()
        self._tasks: set[asyncio.Task[Answer]] = set()
        self._queues: Counter[str] = Counter()
        self._waiting: dict[str, list[asyncio.Event]] = {}  # by their place: requests whose turn has not come, and whether they are wanted
        self._away: dict[str, asyncio.Event] = {}  # by the name of the analyst whose release is on its way
        self._stuck = False
        self._recalled = RecalledAnswers()

    async def release(self, requested: ReleaseRequest) -> Answer:
        """The answer, or why there is none. The work goes on if the caller leaves.

        A second release of one analyst waits until the first has left, which is a public time: two at once would slow each other
        down, and so tell how long they take.
        """
        self.crowded(requested.analyst)
        if (known := self._at_once(requested)) is not None:
            return known
        task = self.begin(requested)
        done, _ = await asyncio.wait({task}, timeout=self._patience)
        if not done:
            what = "the release takes longer than the server waits."
            raise Unfinished(503, "SRD-506", what, "Ask again with the same Idempotency-Key: it is charged once at most.", Retry_After="5")
        return task.result()

    def _at_once(self, requested: ReleaseRequest) -> PaidAnswer | None:
        """A recorded answer that was found before, for a new request of an analyst who has nothing on the way."""
        if self._queues[requested.analyst] or requested.place in self._known:
            return None
        found = self._recalled.find(requested)
        if found is not None:
            self._remember(requested, found)
        return found

    def _remember(self, requested: ReleaseRequest, found: PaidAnswer) -> None:
        self._known[requested.place] = (requested.mark, found.recalled)
        while len(self._known) > REMEMBERED:
            self._known.popitem(last=False)

    def crowded(self, analyst: str) -> None:
        """Turn away who has too many on their way."""
        if self._queues[analyst] > QUEUE:
            what = f"{QUEUE} releases of yours wait for the one before them."
            raise Refusal(429, "SRD-504", what, "Ask one after the other.", Retry_After="5")

    def begin(self, requested: ReleaseRequest) -> asyncio.Task[Answer]:
        """Set out, in the analyst's turn; whoever asked need not wait."""
        self._queues[requested.analyst] += 1
        task = asyncio.create_task(self._in_turn(requested))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def quiet(self, analyst: str) -> None:
        """Return when the release of this analyst that is on its way now has left."""
        if (away := self._away.get(analyst)) is not None:
            await away.wait()
        await self.elsewhere(analyst)

    @property
    def several(self) -> bool:
        """Whether other processes serve the same analysts."""
        return self._turns is not None

    def promised(self, analyst: str) -> AbstractAsyncContextManager[None]:
        """While it is held, every process of this server knows that something is promised to this analyst."""
        return nullcontext() if self._turns is None else self._turns.promised(analyst)

    async def kept(self, analyst: str) -> None:
        """Return when no promise to this analyst is open in another process."""
        if self._turns is not None:
            await self._turns.kept(analyst)

    async def elsewhere(self, analyst: str) -> None:
        """Return when no other process of this server has a release of this analyst on its way."""
        if self._turns is not None:
            await self._turns.quiet(analyst)

    def cancel(self, dataset: str, request: str) -> bool:
        """Take back a request that waits for its turn: nothing of it was charged. False where its turn has come, or there is none."""
        waiting = self._waiting.get(f"{dataset}\0{request}", [])
        for unwanted in waiting:
            unwanted.set()
        return bool(waiting)

    async def _in_turn(self, requested: ReleaseRequest) -> Answer:
        unwanted = asyncio.Event()
        self._waiting.setdefault(requested.place, []).append(unwanted)
        try:
            async with self._lock(f"analyst\0{requested.analyst}"), self._turn(requested.analyst):
                self._waiting[requested.place].remove(unwanted)
                if not self._waiting[requested.place]:
                    del self._waiting[requested.place]
                if unwanted.is_set():
                    return cancelled()
                away = self._away[requested.analyst] = asyncio.Event()
                try:
                    return await self._alone(requested)
                finally:
                    del self._away[requested.analyst]
                    away.set()
        finally:
            self._queues[requested.analyst] -= 1

    async def _alone(self, requested: ReleaseRequest) -> Answer:
        """Alone under its request id, so that a repeat finds the answer; and with its question, so that nobody pays beside another.

        Whoever wants a fresh answer pays anyway.
        """
        question = asyncio.Lock() if requested.wish.fresh else self._lock(requested.key.hex())
        async with self._lock(requested.place), question:
            seen, pinned = self._known.get(requested.place, (requested.mark, None))
            if seen != requested.mark:
                return reused()
            stamp = self._recalled.stamp(requested)
            found, timed = await self._watched(requested, pinned)
            if timed.start is not None:
                self._sealed(requested.query)
            if timed.late or timed.stopped:
                requested.rules.deadlines.missed(requested.request, timed.deadline, stopped=timed.stopped)
                if (told := requested.query.table.log_failure) is not None and timed.stopped:
                    told(f"{requested.request}: stopped after {FACTOR} deadlines of {timed.deadline:.3g} s; raise deadline_ms\n")
            if isinstance(found, PaidAnswer):
                self._remember(requested, found)
                if pinned is None:
                    self._recalled.keep(requested, stamp, found)
            return found

    async def _watched(self, requested: ReleaseRequest, pinned: str | None) -> tuple[Answer, Timed]:
        """The release in a thread of its own; after its fourth deadline it is answered without it, and its work is stopped."""
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

        timed = Timed(requested.query.table.ledger, self._clock, self._slots, watch)
        work: Any = (requested.run, timed, self._execute, pinned)
        thread = loop.run_in_executor(self._pool, *work)
        await asyncio.wait({thread, over}, return_when=asyncio.FIRST_COMPLETED)
        if thread.done():
            for alarm in alarms:
                alarm.cancel()
            return thread.result(), timed
        self._stuck = True
        thread.add_done_callback(lambda done: done.exception())  # whatever it finds is lost
        return lost(), timed

    def _turn(self, analyst: str) -> AbstractAsyncContextManager[None]:
        return nullcontext() if self._turns is None else self._turns.of(analyst)

    def _lock(self, name: str) -> asyncio.Lock:
        return self._locks.setdefault(name, asyncio.Lock())

    async def close(self) -> None:
        """Let everything that was charged be looked at, drawn and sealed; what was given up is left behind."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))
        self._pool.shutdown(wait=not self._stuck)
