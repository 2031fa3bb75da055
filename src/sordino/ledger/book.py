"""The ledger itself: one book over any store, kept the same way everywhere.

The protocol, and what holds if we die at any point of it:
  1. the store's transaction appends the charge and moves the head        died before its commit: nothing spent
  2. the witness, outside, remembers the new head                         died here: spent, no data were read
  3. charge returns; only now may the caller look at the data             died here: spent, the request says "open" for ever
  4. the caller seals the answer in a second transaction                  died after it: a repeat returns the same bytes
There are no refunds, because after step 3 nobody can prove that nothing was looked at.

Several releases under one charge: as the sum of its members, or as one event with a price of its own.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

from sordino.errors import LedgerError, QueryError, ReleaseFailed, SordinoError
from sordino.ledger.balance import Balance, LedgerTally
from sordino.ledger.budget import Budget, Terms, of_grains, open_filter, price_of
from sordino.ledger.chain import START, Check, check_chain, entry_of, export_rows, filed, known_entry, read_entries, summed
from sordino.ledger.place import Sighting, WitnessFile
from sordino.ledger.port import Entry, Found, Head, InDoubt, Membership, Page, Store
from sordino.ledger.record import Asked, as_asked, as_key, as_text, damaged, read
from sordino.ledger.transaction import Charge, ChargeOffer, GroupCommit, Seal, Ticket, Transaction, own_offer
from sordino.pictures import Picture, steps
from sordino.privacy.cost import Cost
from sordino.privacy.number import LARGEST_EPSILON

__all__ = ["Book", "batch_cost", "offers"]

SHARE = 100  # one event may take this part of the delta pool beyond its members' own deltas


def _sum(costs: Sequence[Cost], accounting: str) -> ChargeOffer | None:
    epsilon, delta = sum((cost.epsilon for cost in costs), Fraction(0)), sum((cost.delta for cost in costs), Fraction(0))
    if epsilon > LARGEST_EPSILON or delta >= 1:
        return None
    whole = Cost.sum((cost, 1) for cost in costs)
    return ChargeOffer(whole, price_of(whole, accounting), "sum")


def _event(costs: Sequence[Cost], delta: Fraction, accounting: str) -> ChargeOffer | None:
    if not 0 < delta < 1:
        return None  # without delta the loss of independent releases adds up exactly, so one event is the sum
    try:
        from sordino.privacy.composition import compose

        cost = compose(list(costs), rule="pld", delta=delta)
    except (ImportError, SordinoError):
        return None
    return ChargeOffer(cost, price_of(cost, accounting), "pld")


def offers(costs: Sequence[Cost], budget: Budget) -> tuple[ChargeOffer, ...]:
    """Every way to pay for this batch, the least share of the budget first: a delta that saves hardly any loss is not spent.

    Theorem. A batch whose parameters are all fixed before its first answer may enter the filter as one event at any point of its
    composed privacy profile.
    Proof. Given the past, the joint law of the batch is a product of fixed pairs, whose profile the privacy-loss distribution bounds
    from above; the filter's theorem asks for one conditional guarantee per event and nothing about its inside. QED
    """
    if not costs:
        raise QueryError("SRD-103", "the batch is empty.", "Ask at least one question in a batch.")
    pool = budget.delta / (2 if budget.accounting == "zcdp" else 1)
    own = sum((cost.delta for cost in costs), Fraction(0))
    found = [_sum(costs, budget.accounting)]
    if len(costs) > 1:
        found += [_event(costs, delta, budget.accounting) for delta in dict.fromkeys((own, own + pool / SHARE))]
    usable = [offer for offer in found if offer is not None]
    if not usable:
        raise QueryError("SRD-101", "the batch as a whole is beyond any legal epsilon or delta.", "Split it, or ask for less.")
    rule = open_filter(budget)
    return tuple(sorted(usable, key=lambda offer: rule.weight(offer.price)))


def batch_cost(costs: Sequence[Cost], balance: Balance) -> Cost:
    """What a batch would be charged now: the cheapest offer that fits, or the cheapest one when none does."""
    choices = offers(costs, balance.budget)
    return next((offer.cost for offer in choices if balance.more(offer.cost)), choices[0].cost)


log = logging.getLogger("sordino")
PATIENCE = 10.0  # seconds a charge waits for its turn before it is refused


def lost() -> ReleaseFailed:
    return ReleaseFailed("SRD-402", "charged, answer not recorded.", "Ask again under a new request id; that is a new charge.")


def _paths(asked: Asked | None, inside: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], bytes]]:
    """The places of all members of a charge, and their keys."""
    for place, member in enumerate(() if asked is None else asked.members):
        yield (*inside, place), member.key
        yield from _paths(member, (*inside, place))


class Book:
    """A ledger with its store, terms and witness. Made by `open_ledger`."""

    def __init__(
        self, store: Store, terms: Terms, witness: WitnessFile | None, *, frozen: LedgerError | None = None, patience: float = PATIENCE
    ) -> None:
        self.terms, self._store, self.witness, self._frozen = terms, store, witness, frozen
        self._group_commit = GroupCommit(self._commit, patience=patience) if store.place is not None else None
        self._alone, self._reading = threading.Lock(), threading.Lock()
        self._walked = START  # as far as the chain was walked here; replaced as a whole, so that readers need no lock
        self._read, self._members = 0, dict[bytes, list[tuple[str, tuple[int, ...], bool]]]()  # rows seen, and where questions stand
        self.id, self.dataset, self.relation, self.unit = terms.ledger, terms.dataset, terms.relation, terms.unit

    def recall(self, key: bytes) -> Sequence[bytes]:
        """Every sealed answer to this question, oldest first; free, and open to every analyst of the dataset."""
        return [found.answer for _, found in self.sealed_since(key) if found.answer is not None]

    def sealed_since(self, key: bytes, number: int = 0) -> list[tuple[str, Found]]:
        """The charges for this question, with answers, whose seal is this entry or a later one; oldest first, each with its request."""
        with self._decoded():
            found = self._store.answers(as_key(key), number)
            return [(request, filed(charge, request=request, key=key)) for request, charge in found]

    def found(self, requests: Sequence[str]) -> dict[str, Found]:
        """The charges under these request ids, with the answers they have by now."""
        with self._decoded():
            return {request: filed(charge, request=request) for request, charge in self._store.find(requests).items()}

    def recall_members(self, key: bytes) -> Sequence[Membership]:
        """The sealed answers to bundles and batches of which this question was a member, oldest first; free as the others."""
        places = self.memberships(key)
        known = self.found(list({request: None for request, _, _ in places})) if places else {}
        answers = ((known[request].answer, path, batch) for request, path, batch in places if request in known)
        return [Membership(answer, path, batch) for answer, path, batch in answers if answer is not None]

    def memberships(self, key: bytes) -> list[tuple[str, tuple[int, ...], bool]]:
        """The requests of which this question was a member, answered or not, and its places there, oldest first.

        Records never change, so which charge has which members is read once; charges of others are read as the book grows.
        """
        wanted = as_key(key)
        with self._decoded(), self._reading:
            for row in self._store.rows(answers=False, start=self._read):
                self._read = row.number + 1
                if row.request is not None and b'"members":[{' in row.record:
                    entry = entry_of(self.id, read(row.record), False, None)
                    for path, member in _paths(entry.asked):
                        self._members.setdefault(member, []).append((row.request, path, bool(entry.members)))
            return list(self._members.get(wanted, ()))

    def charge(self, request: str, asked: Asked | bytes, cost: Cost, analyst: str | None = None) -> Entry:
        """Reserve the price of one release; durable when it returns. Look at data only if the entry's state is "new"."""
        return self._pay(request, as_asked(asked), (own_offer(cost, self.terms.filter.accounting),), analyst)

    def charge_batch(self, request: str, asked: Asked | bytes, costs: Sequence[Cost], analyst: str | None = None) -> Entry:
        """Reserve several releases at once, all or nothing, as the cheapest offer that fits."""
        said = as_asked(asked)
        if said.members and len(said.members) != len(costs):
            what = f"the batch has {len(said.members)} questions and {len(costs)} costs."
            raise QueryError("SRD-106", what, "Give one cost for every question.")
        return self._pay(request, said, offers(costs, self.terms.budget), analyst, tuple(costs))

    def _pay(self, request: str, asked: Asked, ways: tuple[ChargeOffer, ...], analyst: str | None, members: tuple[Cost, ...] = ()) -> Entry:
        self._trust()
        name = None if analyst is None else as_text(analyst, "the analyst")
        entry: Entry = self._ask(Charge(as_text(request, "the request id"), asked, ways, name, members))
        return entry

    def find(self, request: str) -> Entry | None:
        """What became of a request: its charge with the answer, if one is recorded; None if it never paid. Spends nothing."""
        name = as_text(request, "the request id")
        with self._decoded():
            known = self._store.find([name]).get(name)
            return None if known is None else known_entry(self.id, name, known)

    def seal(self, entry: Entry, answer: bytes) -> None:
        """Record the answer of a charge; the first seal wins. After a charge the text of a failure is constant."""
        try:
            self._trust()
            self._ask(Seal(entry.number, bytes(answer)))
        except SordinoError:
            raise lost() from None

    def entries(self) -> list[Entry]:
        """Every charge and write-off in order, with its answer if one is recorded; refused where a hash or a digest does not match."""
        with self._decoded(spending=False):
            head = self.head  # before the rows, which may have grown since
            return read_entries(self._store.rows(), head, self.id)

    def verify(self, *, answers: bool = True) -> Check:
        """Walk the whole chain; a broken one makes this book read-only."""
        head = self._store.head()
        limit = 0 if head is None else head.count  # rows never change, so a charge that lands meanwhile is simply not looked at
        check = check_chain((row for row in self._store.rows(answers=answers) if row.number < limit), head, answers=answers)
        if not check:
            code, fix = ("SRD-604", "Upgrade Sordino.") if check.newer else ("SRD-601", "Restore the ledger from a backup and adopt it.")
            self._frozen = LedgerError(code, f"the ledger is {check}.", fix, at=check.at)
        elif head is not None:
            self._walked = head
        return check

    def verified(self) -> Book:
        """This book, if its chain is whole and of a format that is known here."""
        self.verify()
        self._trust()
        return self

    def export(self) -> str:
        """The book as JSON lines, ready for `verify_export` on a machine that has never seen the ledger."""
        return "".join(export_rows(self._store.rows()))

    @property
    def head(self) -> Head:
        head = self._store.head()
        if head is None:
            raise damaged("the ledger has lost its head.")
        return head

    @property
    def stamp(self) -> int | None:
        """A number that is the same as before only if nothing was written since; None where that cannot be told for nothing."""
        self._trust()
        return self._store.stamp()

    @property
    def budget(self) -> Balance:
        """What is spent and what is left, now: what the entries add up to, of which only those not read before are read."""
        if self._frozen is not None and self._frozen.code in ("SRD-601", "SRD-604"):
            self._trust()
        with self._decoded(spending=False):
            return Balance(self.terms.budget, self.terms.filter, LedgerTally.from_text(self._summed(lambda: self.head).state))

    def balance(self, entry: Entry) -> Balance:
        """The budget as of an entry's own charge, which is what its card must say for ever."""
        loss, delta, naive = entry.after or (0, 0, 0)
        return Balance(self.terms.budget, self.terms.filter, LedgerTally(loss, delta, naive, policy=self.terms.budget.policy()))

    def plot(self) -> Picture:
        """The budget burning down: the share of the cap that is left after every charge."""
        after = [100.0]
        for entry in self.entries():
            after.append(after[-1] - 100 * float(entry.charged.loss / self.terms.filter.cap.loss))
        return steps({"left": (range(len(after)), after)}, title=str(self.budget), x="charges", y="% of the cap left")

    @property
    def spent(self) -> float:
        return self.budget.spent

    @property
    def left(self) -> float:
        return self.budget.left

    def close(self) -> None:
        self._frozen = self._frozen or LedgerError("SRD-603", "the ledger is closed.", "Open it again.")
        if self._group_commit is None:
            self._store.close()
        else:
            self._group_commit.close(self._store.close)

    def __enter__(self) -> Book:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _summed(self, look: Callable[[], Head | None]) -> Head:
        """The head, if the entries walked so far and those behind them add up to the sums beside it."""
        walked = self._walked  # before the head, which is therefore never behind it
        head = look()
        if head is None:
            raise damaged("the ledger has lost its head.")
        self._walked = summed(walked, self._store.rows(answers=False, start=walked.count), head)
        return head

    @contextmanager
    def _decoded(self, *, spending: bool = True) -> Iterator[None]:
        """Around every reading: a book in which something was found that nobody wrote is trusted with nothing more."""
        if spending:
            self._trust()
        try:
            yield
        except LedgerError as found:
            if found.code == "SRD-601" and self._frozen is None:
                self._frozen = LedgerError(found.code, found.what, found.fix, **found.facts)
            raise

    def _trust(self) -> None:
        if self._frozen is not None:
            raise LedgerError(self._frozen.code, self._frozen.what, self._frozen.fix, **self._frozen.facts)

    def _ask(self, wish: Charge | Seal) -> Any:
        if self._group_commit is not None:
            return self._group_commit.ride(wish)
        ticket = Ticket(wish)
        with self._alone:
            self._commit(lambda: [ticket])
        if ticket.error is not None:
            raise ticket.error
        return ticket.result

    def write(self, work: Callable[[Transaction, Page], None], *, anew: bool = False) -> None:
        """One transaction of the owner's own: a policy, a version, an adoption (which witnesses `anew`)."""

        def transact(page: Page) -> Head:
            head = self._at(page, anew=anew)
            transaction = Transaction(self.terms, head, page, [])
            work(transaction, page)
            return self._turn(page, transaction) if transaction.rows else head

        head = self._store.transact(transact)
        self._remember(head, LedgerTally.from_text(head.state), anew=anew)

    def _commit(self, take: Callable[[], list[Ticket]]) -> None:
        written: list[Ticket] = []

        def transact(page: Page) -> tuple[Head, LedgerTally] | None:
            tickets = take()
            head = self._at(page)
            transaction = Transaction(self.terms, head, page, [ticket.wish for ticket in tickets])
            written.clear()
            for ticket in tickets:
                before = transaction.count
                ticket.result = ticket.error = None
                try:
                    ticket.result = transaction.serve(ticket.wish)
                except SordinoError as refusal:
                    ticket.error = refusal
                if transaction.count > before:
                    written.append(ticket)
            return (self._turn(page, transaction), transaction.tally) if transaction.rows else None

        try:
            turned = self._store.transact(transact)
            if turned is not None:
                self._remember(*turned)
        except (InDoubt, OSError):
            # the charges are, or may be, in the book and unwitnessed: nobody may look at data for them
            for ticket in written:
                ticket.result, ticket.error = None, lost()

    def _at(self, page: Page, *, anew: bool = False) -> Head:
        """Where a transaction begins: the head that the witness knows, with the sums of its own entries beside it."""

        def seen() -> Head | None:
            head = page.head()
            if head is not None and self.witness is not None and not anew:
                self.witness.check(head, page.hash_at)
            return head

        return self._summed(seen)

    def _turn(self, page: Page, transaction: Transaction) -> Head:
        head = transaction.head()
        if transaction.upgrades:
            copy = page.upgrade()
            kept = f"; a copy of it as it was is kept at {copy}" if copy is not None else ""
            log.warning("sordino: the ledger of %s is of format 2 from here on, and older versions refuse it%s", self.dataset, kept)
        page.append(transaction.rows, transaction.seals, head)
        return head

    def _remember(self, head: Head, tally: LedgerTally, *, anew: bool = False) -> None:
        self._walked = head
        if self.witness is not None:
            seen = Sighting(self.id, self.witness.place, head.count, head.hash, tally.spent, of_grains(tally.naive))
            self.witness.write(seen, anew=anew)
