"""A book as one release sees it: sealed at the deadline that counts from the durable charge, or at the fourth, and then never."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sordino.engines.port import Stop
from sordino.errors import ReleaseFailed
from sordino.ledger import Asked, Balance, Book, Entry
from sordino.privacy.cost import Cost
from sordino.server.clock import Clock
from sordino.server.deadline import FACTOR
from sordino.session.execute import AGAIN, LOST

__all__ = ["Timed", "lost"]

CROWDED = 1.0  # seconds a release waits for a place to compute


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


def lost() -> ReleaseFailed:
    """What everybody hears whose charge stands without an answer, whatever went wrong."""
    return ReleaseFailed("SRD-401", LOST, AGAIN)
