"""Many charges, one transaction: whoever waits while the disk works rides in the next commit together.

A lone durable write costs one wait for the disk, and so does a transaction of a hundred. Callers line up; one driver thread takes
everybody who is waiting once the store's lock is held, commits them together, and only then tells each caller how its own wish ended.
Nobody is told anything before the commit that carries it is durable, a refusal included, because a refusal may rest on a charge in
the same commit.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any

from sordino.errors import LedgerError, SordinoError

__all__ = ["Convoy", "Ticket"]

LARGEST = 1024  # wishes in one transaction
GATHER = 0.002  # seconds a busy driver waits for company
IDLE = 1.0  # seconds before an idle driver goes home, so that a forgotten ledger can be collected


class Ticket:
    """One caller's place in the line."""

    __slots__ = ("error", "gate", "next", "result", "wish")

    def __init__(self, wish: Any) -> None:
        self.wish = wish
        self.result: Any = None
        self.error: BaseException | None = None
        self.next: Ticket | None = None
        self.gate = threading.Lock()
        self.gate.acquire()

    def wake(self) -> None:
        with suppress(RuntimeError):  # awake already
            self.gate.release()


class Convoy:
    """The line in front of a store. `commit(take)` must call `take()` under the store's lock and settle every ticket it took."""

    def __init__(self, commit: Callable[[Callable[[], list[Ticket]]], None], *, patience: float) -> None:
        self._commit = commit
        self._patience = patience
        self._reset()
        if hasattr(os, "register_at_fork"):
            line = weakref.ref(self)
            os.register_at_fork(after_in_child=lambda: _begin_again(line()))

    def _reset(self) -> None:
        # a child has its parent's line but not its driver: whoever waited there is served there
        self._mutex = threading.Lock()
        self._waiting: deque[Ticket] = deque()
        self._bell = threading.Lock()
        self._bell.acquire()
        self._resting = False
        self._wanted = 1
        self._driver: threading.Thread | None = None
        self._road = threading.Lock()

    def ride(self, wish: Any) -> Any:
        """Wait until the wish is settled; give up, with nothing spent, if no transaction could begin in time."""
        ticket = Ticket(wish)
        with self._mutex:
            self._waiting.append(ticket)
            if self._driver is None:
                self._driver = threading.Thread(target=self._drive, name="sordino-ledger", daemon=True)
                self._driver.start()
            elif self._resting and len(self._waiting) >= self._wanted:
                self._resting = False
                self._bell.release()
        if not ticket.gate.acquire(timeout=self._patience):
            with self._mutex:
                if withdrawn := ticket in self._waiting:
                    self._waiting.remove(ticket)
            if withdrawn:
                raise LedgerError("SRD-603", "the ledger is busy.", "Try again; if it stays so, look for a stopped process that holds it.")
            ticket.gate.acquire()  # it is in a transaction now, and only the disk can be slow
        if ticket.next is not None:
            ticket.next.wake()
        if ticket.error is not None:
            raise ticket.error
        return ticket.result

    def close(self, shut: Callable[[], None]) -> None:
        """Shut the store once no transaction is under way, or when patience ends."""
        free = self._road.acquire(timeout=self._patience)
        shut()
        if free:
            self._road.release()

    def _take(self) -> list[Ticket]:
        with self._mutex:
            return [self._waiting.popleft() for _ in range(min(len(self._waiting), LARGEST))]

    def _drive(self) -> None:
        while True:
            if not self._rest(1, IDLE):
                with self._mutex:
                    if not self._waiting:
                        self._driver = None
                        return
            with self._road:
                rode = self._round()
            if len(rode) <= 2:
                for ticket in rode:
                    ticket.wake()
                continue
            # waking one thread that wakes the next keeps the others from fighting over the interpreter; and those who just rode
            # often come back at once, so leaving without them would waste a whole sync
            for ticket, follower in pairwise(rode):
                ticket.next = follower
            rode[0].wake()
            self._rest(len(rode) * 7 // 8, GATHER)
            for ticket in rode:  # a thread that was interrupted while it waited breaks the chain; nobody may sleep on behind it
                ticket.wake()

    def _rest(self, wanted: int, seconds: float) -> bool:
        """Sleep until this many wait, at most this long; True when they do."""
        with self._mutex:
            self._wanted, self._resting = wanted, len(self._waiting) < wanted
            if not self._resting:
                return True
        if self._bell.acquire(timeout=seconds):
            return True
        with self._mutex:
            rang, self._resting = not self._resting, False
        return rang and self._bell.acquire()  # somebody rang just now

    def _round(self) -> list[Ticket]:
        taken: list[Ticket] = []

        def take() -> list[Ticket]:
            taken.extend(self._take())  # a store that has to begin again serves those it took before, too
            return taken

        try:
            self._commit(take)
        except BaseException as error:
            # the transaction never began or was undone: everybody who was in it or waits for it hears the same
            if not taken:
                take()
            for ticket in taken:
                ticket.error = _again(error)
        return taken


def _begin_again(convoy: Convoy | None) -> None:
    if convoy is not None:
        convoy._reset()


def _again(error: BaseException) -> BaseException:
    """The same news for one more caller; an exception object belongs to one thread."""
    if not isinstance(error, SordinoError):
        return error
    news = type(error)(error.code, error.what, error.fix, **error.facts)
    news.__cause__ = error.__cause__
    return news
