"""One release on its way to the data and back: replayed, recalled or paid, and sealed on the grid in time.

What an analyst could time besides the answer itself: when an answer appears in the book (others may recall it, previews may use
it, ids are numbers in the book's order). So the seal itself waits for the grid. Its grid starts when the charge is durable, which is
when the data are first looked at: whatever the analyst does to delay a request, where in its tick the work begins stays the same.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sordino.errors import QueryError, ReleaseFailed, SordinoError
from sordino.ledger import Asked, Balance, Book, Entry
from sordino.ledger.asked import same_request
from sordino.privacy.cost import Cost
from sordino.privacy.number import as_epsilon
from sordino.server.clock import Tick
from sordino.session.query import Query
from sordino.session.release import Release

if TYPE_CHECKING:
    from sordino.server.gate import Gate

__all__ = ["Errand", "Paid", "Timed", "Wish", "reused"]

CROWDED = 1.0  # seconds a release waits for a place to compute


@dataclass(frozen=True)
class Wish:
    """The price of a release: epsilon, or an accuracy that has one."""

    epsilon: Any = None
    delta: Any = None
    within: Any = None
    within_rank: Any = None
    fresh: bool = False


@dataclass(frozen=True)
class Paid:
    """Sealed bytes; `recalled` is the id of the release they are of, if this request found them recorded and paid nothing."""

    sealed: bytes
    recalled: str | None = None


@dataclass
class Timed:
    """A book as one release sees it: the seal happens on the grid that starts with the charge.

    As many releases compute at a time as there are processors; whoever waits for the disk, the grid or the book steps aside. With
    64 at once everybody, a price list included, would get a 64th of the interpreter.
    """

    book: Book
    tick: Tick
    slots: threading.Semaphore
    start: float | None = None  # set by the charge: from then on the answer, and a failure too, is due on the grid
    waited: bool = False
    computing: bool = False

    def charge(self, request: str, asked: Asked | bytes, cost: Cost, analyst: str | None = None) -> Entry:
        with self.aside():
            entry = self.book.charge(request, asked, cost, analyst)
        if entry.state == "new":
            self.start = self.tick.clock.now()
        return entry

    def find(self, request: str) -> Entry | None:
        return self.book.find(request)

    def balance(self, entry: Entry) -> Balance:
        return self.book.balance(entry)

    def seal(self, entry: Entry, answer: bytes) -> None:
        with self.aside():
            self.wait()
            self.book.seal(entry, answer)

    def wait(self) -> None:
        """Let the tick pass, once, after a charge."""
        if self.start is not None and not self.waited:
            self.waited = True
            if left := self.tick.left(self.start):
                self.tick.clock.wait(left)

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
    gate: Gate | None = None  # where dear releases wait for the owner

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
        """The answer. Errors are answers here: after a charge they wait for the grid like any other."""
        try:
            with timed.compute():
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
        wish, table = self.wish, self.query.table
        plan = self.query.priced(epsilon=wish.epsilon, delta=wish.delta, within=wish.within, within_rank=wish.within_rank)
        if self.gate is not None:
            self.gate.admit(self, plan.cost)
        who = {"request": self.request, "analyst": self.analyst}
        said = self.query.said(epsilon=wish.epsilon, delta=wish.delta, within=wish.within, within_rank=wish.within_rank)
        return Paid(execute(plan, timed, table.engine, **who, owner_log=table.log_failure, wish=said))

    def _replayed(self, earlier: Entry) -> Paid:
        """The same request again, perhaps after a crash: it is told from another one by the words of its record's own format."""
        wish = self.wish
        said = self.query.said(epsilon=wish.epsilon, delta=wish.delta, within=wish.within, within_rank=wish.within_rank)
        known = None if earlier.asked is None else earlier.asked.wish
        if same_request(replace(self.query.charged, wish=said), earlier.key, earlier.format, known) is False:
            raise reused()
        if earlier.answer is None:
            raise ReleaseFailed("SRD-402", "The charge stands and no answer was recorded.", "Ask again as a new release.")
        return Paid(earlier.answer)

    def recorded(self, pinned: str | None = None) -> Release | None:
        """A recorded answer that is good enough; for a repeated request the one it was given, though a better one may be there by now."""
        if pinned is not None:
            return next((item for item in self.query.recorded() if item.id == pinned), None)
        wish = self.wish
        price = None if wish.epsilon is None else as_epsilon(wish.epsilon)
        return self.query.recall(price, self.query._wish(wish.within, wish.within_rank), ranks=wish.within_rank is not None)


def reused() -> QueryError:
    return QueryError("SRD-605", "this Idempotency-Key was used for another question or price.", "Use a new key for a new request.")
