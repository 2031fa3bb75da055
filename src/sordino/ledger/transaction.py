"""Where a charge is admitted, repeated or refused, and an answer is sealed.

Many charges, one transaction: whoever waits while the disk works rides in the next commit together.

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
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from sordino.errors import BudgetExceeded, LedgerError, QueryError, SordinoError
from sordino.ledger.balance import LedgerTally
from sordino.ledger.budget import Price, Terms, grains, price_of
from sordino.ledger.chain import known_entry
from sordino.ledger.port import Entry, Found, Head, Page, StoredRow
from sordino.ledger.record import (
    FORMAT,
    Asked,
    canonical,
    canonical_charge,
    canonical_parts,
    digest,
    entry_id,
    link,
    now,
    same_request,
)
from sordino.privacy.cost import Cost

__all__ = ["Charge", "ChargeOffer", "GroupCommit", "Seal", "Ticket", "Transaction", "own_offer"]


@dataclass(frozen=True)
class ChargeOffer:
    """One way to pay: the cost that is recorded, the filter's price for it, and the rule that found it."""

    cost: Cost
    price: Price
    rule: str = "own"

    @cached_property
    def grains(self) -> tuple[int, int, int]:
        """Loss, delta and the release's own epsilon, in grains."""
        return (*self.price.grains, grains(self.cost.epsilon))

    @cached_property
    def text(self) -> str:
        """How a record says it."""
        return canonical_parts(charged=self.price.to_dict(), cost=self.cost.to_dict())


@lru_cache(maxsize=4096)
def own_offer(cost: Cost, accounting: str) -> ChargeOffer:
    """The plain offer for one release; many releases cost the same."""
    return ChargeOffer(cost, price_of(cost, accounting))


class Charge(NamedTuple):
    """A wish to pay; the first offer the tally admits is taken."""

    request: str
    asked: Asked
    offers: tuple[ChargeOffer, ...]
    analyst: str | None
    members: tuple[Cost, ...] = ()


class Seal(NamedTuple):
    """A wish to record an answer."""

    number: int
    answer: bytes


class Transaction:
    """Serves wishes in order against the head of one transaction and collects the rows they add."""

    def __init__(self, terms: Terms, head: Head, page: Page, wishes: list[Charge | Seal]) -> None:
        self._terms = terms
        self.tally = LedgerTally.from_text(head.state)
        self.count, self.hash = head.count, head.hash
        self.at = now()
        self.rows: list[StoredRow] = []
        self.older = page.version()
        self.upgrades = False
        self.seals: list[tuple[int, int]] = []
        self._found: dict[str, Found] = page.find([wish.request for wish in wishes if isinstance(wish, Charge)])
        self._sealed = page.sealed([wish.number for wish in wishes if isinstance(wish, Seal)])

    def head(self) -> Head:
        return Head(self.count, self.hash, self.tally.to_text())

    def write(self, kind: str, body: Mapping[str, Any], **beside: Any) -> StoredRow:
        """Add one link to the chain."""
        self.begin_format()
        return self._link(canonical({"format": FORMAT, "kind": kind, "number": self.count, **body}), **beside)

    def begin_format(self) -> None:
        """The entry that turns a book of an older format into one of this format; nothing to do in any other book."""
        if self.older < FORMAT and not self.upgrades:
            self.upgrades = True
            self.write("format", {"at": self.at, "from": self.older})

    def _link(self, record: bytes, **beside: Any) -> StoredRow:
        self.hash = link(self.hash, record)
        row = StoredRow(self.count, self.hash, record, **beside)
        self.rows.append(row)
        self.count += 1
        return row

    def serve(self, wish: Charge | Seal) -> Entry | None:
        if isinstance(wish, Charge):
            return self._charge(wish)
        self._seal(wish)
        return None

    def _charge(self, wish: Charge) -> Entry:
        known = self._found.get(wish.request)
        if known is not None:
            return self._repeat(wish, known)
        offer, asked = self._admitted(wish), wish.asked
        self.begin_format()
        if wish.members:
            members: Any = asked.members or (None,) * len(wish.members)
            listed = [
                {**({} if member is None else member.to_member()), "cost": cost.to_dict()}
                for member, cost in zip(members, wish.members, strict=True)
            ]
            body: dict[str, Any] = {
                **asked.to_dict(), "analyst": wish.analyst, "at": self.at, "charged": offer.price.to_dict(), "cost": offer.cost.to_dict(),
                "request": wish.request, "members": listed, "rule": offer.rule,
            }  # fmt: skip
            row = self.write("charge", body, request=wish.request, key=asked.key)
        else:
            record = canonical_charge(offer.text, asked.spelled, self.at, self.count, analyst=wish.analyst, request=wish.request)
            row = self._link(record, request=wish.request, key=asked.key)
        self.tally.add(offer.grains[:2], offer.grains[2], wish.analyst)
        self._found[wish.request] = Found(row.number, row.record, None, None)
        return Entry(
            entry_id(self._terms.ledger, row.number), row.number, "new", wish.request, asked.key, offer.cost, wish.analyst,
            None, wish.members, offer.price, (self.tally.loss, self.tally.delta, self.tally.naive), asked, self.at,
        )  # fmt: skip

    def _admitted(self, wish: Charge) -> ChargeOffer:
        refusal: BudgetExceeded | None = None
        for offer in wish.offers:
            try:
                self.tally.admit(self._terms.filter, offer.grains[:2], offer.cost.epsilon, wish.analyst)
                return offer
            except BudgetExceeded as refused:
                refusal = refusal or refused
        assert refusal is not None
        raise refusal

    def _repeat(self, wish: Charge, known: Found) -> Entry:
        """The same request again: the recorded answer, or "open"; never "new", so the data are not looked at twice for one price."""
        entry = known_entry(self._terms.ledger, wish.request, known)
        if not _same(wish, entry):
            raise QueryError(
                "SRD-605", f"request {wish.request!r} was already used for another question or price.",
                "Use a new request id for a new question.", request=wish.request, id=entry.id,
            )  # fmt: skip
        return entry

    def _seal(self, wish: Seal) -> None:
        if wish.number not in self._sealed:
            raise LedgerError("SRD-604", f"entry {wish.number} is not a charge of this ledger.", "Seal the entry that charge returned.")
        if self._sealed[wish.number] is None:
            row = self.write("seal", {"answer": digest(wish.answer), "charge": wish.number}, answer=wish.answer)
            self.seals.append((row.number, wish.number))
            self._sealed[wish.number] = row.number


def _same(wish: Charge, entry: Entry) -> bool:
    """Whether a request is the one this entry was made for, by the words of the entry's own format.

    What the same wish costs may change: a planner learns, a released count makes an accuracy cheaper. So the wish decides where the
    record has it, the price only where both callers gave a bare key, and in format 1, which knew no wishes, the question alone.
    """
    if len(entry.members) != len(wish.members):
        return False
    same = same_request(wish.asked, entry.key, entry.format, None if entry.asked is None else entry.asked.wish)
    if same is not None:
        return same
    return entry.members == wish.members and (bool(wish.members) or entry.cost == wish.offers[0].cost)


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


class GroupCommit:
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


def _begin_again(line: GroupCommit | None) -> None:
    if line is not None:
        line._reset()


def _again(error: BaseException) -> BaseException:
    """The same news for one more caller; an exception object belongs to one thread."""
    if not isinstance(error, SordinoError):
        return error
    news = type(error)(error.code, error.what, error.fix, **error.facts)
    news.__cause__ = error.__cause__
    return news
