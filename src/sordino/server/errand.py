"""One release on its way to the data and back: replayed, recalled or paid, and sealed at its deadline.

What an analyst could time besides the answer itself: when an answer appears in the book (others may recall it, previews may use
it, ids are numbers in the book's order). So the seal itself waits for the deadline, which counts from the durable charge: that is when the
data are first looked at, whatever an analyst does to delay a request.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sordino.engines.port import Stop
from sordino.errors import QueryError, ReleaseFailed, SordinoError
from sordino.ledger import Asked, Balance, Book, Entry
from sordino.ledger.record import same_request
from sordino.privacy.cost import Cost
from sordino.privacy.number import as_epsilon
from sordino.server.clock import Clock
from sordino.server.deadline import FACTOR
from sordino.session.execute import AGAIN, LOST, rehearse
from sordino.session.query import Query
from sordino.session.release import Release

if TYPE_CHECKING:
    from sordino.server.gate import Rules

__all__ = ["Errand", "Paid", "Timed", "Wish", "lost", "reused"]

CROWDED = 1.0  # seconds a release waits for a place to compute


@dataclass(frozen=True)
class Wish:
    """The price of a release: epsilon, or an accuracy that has one."""

    epsilon: Any = None
    delta: Any = None
    within: Any = None
    within_rank: Any = None
    fresh: bool = False

    @property
    def price(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "delta": self.delta, "within": self.within, "within_rank": self.within_rank}


@dataclass(frozen=True)
class Paid:
    """Sealed bytes; `recalled` is the id of the release they are of, if this request found them recorded and paid nothing."""

    sealed: bytes
    recalled: str | None = None


@dataclass
class Timed:
    """A book as one release sees it: the seal happens at the deadline that counts from the charge, or at the fourth, and then never.

    As many releases compute at a time as there are processors; whoever waits for the disk, the deadline or the book steps aside. With
    64 at once everybody, a price list included, would get a 64th of the interpreter. `watch` is told when the work begins.
    """

    book: Book
    clock: Clock
    slots: threading.Semaphore
    watch: Callable[[], None] = lambda: None
    deadline: float = 0.0  # seconds; at 0 the answer leaves when it is ready
    start: float | None = None  # set by the charge: from then on the answer, and a failure too, is due at the deadline
    ready: bool = False  # the work is over
    late: bool = False  # it was not over at the deadline
    stopped: bool = False  # nor at the fourth: whatever it finds is not sealed any more
    computing: bool = False
    stop: Stop = field(default_factory=Stop)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def charge(self, request: str, asked: Asked | bytes, cost: Cost, analyst: str | None = None) -> Entry:
        with self.aside():
            entry = self.book.charge(request, asked, cost, analyst)
        if entry.state == "new":  # timed once there is a place to compute: who else computes is nobody's row
            self.start = self.clock.now()
            self.watch()
        return entry

    def find(self, request: str) -> Entry | None:
        return self.book.find(request)

    def balance(self, entry: Entry) -> Balance:
        return self.book.balance(entry)

    def seal(self, entry: Entry, answer: bytes) -> None:
        with self.aside():
            self.wait()
            if self.stopped:
                raise lost()
            self.book.seal(entry, answer)

    def wait(self) -> None:
        """Let the deadline pass, once, after a charge."""
        if self.start is None or self.ready or not self.deadline:
            return
        passed = self.clock.now() - self.start
        with self._lock:
            self.ready = True
            self.late = passed > self.deadline
            self.stopped = self.stopped or passed > FACTOR * self.deadline
        due = (FACTOR if self.late else 1) * self.deadline
        if not self.stopped and passed < due:
            self.clock.wait(due - passed)

    def give_up(self) -> bool:
        """After the fourth deadline: stop the work, if it is not over. What it would find now is never sealed."""
        with self._lock:
            if self.ready:
                return False
            self.stopped = True
        self.stop.now()
        return True

    @contextmanager
    def compute(self) -> Iterator[None]:
        """Hold a place; after a second go on without one, so that slow questions never lock quick ones out."""
        self.computing = self.slots.acquire(timeout=CROWDED)
        try:
            yield
        finally:
            if self.computing:
                self.slots.release()
            self.computing = False

    @contextmanager
    def aside(self) -> Iterator[None]:
        held, self.computing = self.computing, False
        if held:
            self.slots.release()
        try:
            yield
        finally:
            self.computing = held and self.slots.acquire(timeout=CROWDED)


@dataclass(frozen=True)
class Errand:
    """A question, a wish and who pays, under one request id."""

    query: Query
    wish: Wish
    analyst: str
    request: str
    rules: Rules  # what stands before the charge

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

    def run(self, timed: Timed, execute: Callable[..., bytes], pinned: str | None) -> Paid | SordinoError:
        """The answer. Errors are answers here: after a charge they wait for the deadline like any other."""
        try:
            with timed.stop.listening(), timed.compute():
                return self._pay(timed, execute, pinned)
        except SordinoError as error:
            timed.wait()
            return error

    def _pay(self, timed: Timed, execute: Callable[..., bytes], pinned: str | None) -> Paid:
        earlier = timed.find(self.request)
        if earlier is not None:
            return self._replayed(earlier)
        recorded = None if self.wish.fresh else self.recorded(pinned)
        if recorded is not None:
            return Paid(recorded.sealed or recorded.to_bytes(), recorded.id)
        rules, table = self.rules, self.query.table
        plan = rules.floor.priced(self.query, **self.wish.price)
        rehearse(plan)  # how often it asks is part of its deadline
        timed.deadline = rules.deadlines.of(plan, table)
        if rules.gate is not None:
            rules.gate.admit(self, plan.cost)
        rules.deadlines.admit()
        who, said = {"request": self.request, "analyst": self.analyst}, self.query.said(**self.wish.price)
        return Paid(execute(plan, timed, table.engine, **who, owner_log=table.log_failure, wish=said))

    def _replayed(self, earlier: Entry) -> Paid:
        """The same request again, perhaps after a crash: it is told from another one by the words of its record's own format."""
        said = self.query.said(**self.wish.price)
        known = None if earlier.asked is None else earlier.asked.wish
        if same_request(replace(self.query.charged, wish=said), earlier.key, earlier.format, known) is False:
            raise reused()
        if earlier.answer is None:
            raise ReleaseFailed("SRD-402", LOST, AGAIN)
        return Paid(earlier.answer)

    def recorded(self, pinned: str | None = None) -> Release | None:
        """A recorded answer that is good enough; for a repeated request the one it was given, though a better one may be there by now."""
        if pinned is not None:
            return next((item for item in self.query.recorded() if item.id == pinned), None)
        wish = self.wish
        price = None if wish.epsilon is None else as_epsilon(wish.epsilon)
        return self.query.recall(price, self.query._wish(wish.within, wish.within_rank), ranks=wish.within_rank is not None)


def lost() -> ReleaseFailed:
    """What everybody hears whose charge stands without an answer, whatever went wrong."""
    return ReleaseFailed("SRD-401", LOST, AGAIN)


def reused() -> QueryError:
    return QueryError("SRD-605", "this Idempotency-Key was used for another question or price.", "Use a new key for a new request.")
