"""The owner's way back: accept a restored, moved or unwitnessed ledger, and write off what may be missing from it.

The owner's one-way door: from here on the book is of this format, and older software refuses it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from sordino.errors import LedgerError, QueryError
from sordino.ledger.book import Book
from sordino.ledger.budget import Price, grains, of_grains, price_of
from sordino.ledger.opening import Where, store_at, whole_book
from sordino.ledger.place import Sighting
from sordino.ledger.port import Page
from sordino.ledger.record import FORMAT
from sordino.ledger.sqlite_store import copy_of
from sordino.ledger.transaction import Transaction
from sordino.privacy.cost import Cost
from sordino.privacy.number import as_delta, as_epsilon

__all__ = ["Upgraded", "adopt", "upgrade"]

NOTHING = (Price(Fraction(0), Fraction(0)), Fraction(0))


def adopt(
    where: Where,
    *,
    epsilon: Any = None,
    delta: Any = 0,
    dataset: str | None = None,
    witness: Where | None = None,
    state: Where | None = None,
) -> Price:
    """Accept this ledger from now on and return what was written off.

    The witness remembers what was spent, so the difference is known and charged; the owner may state more and never less. Without a
    witness nothing is known, so the owner has to state an epsilon (0 says: nothing was spent that this book does not show). The
    write-off is an entry of the chain and takes at most what is left.
    """
    store = store_at(where, dataset)
    try:
        if store.head() is None:
            raise LedgerError("SRD-604", "there is no ledger at this address.", "Give the path or DSN of a ledger.")
        book = whole_book(store, witness, state).verified()
        stated = None if epsilon is None else _stated(as_epsilon(epsilon, zero=True), as_delta(delta, zero=True), book)
        return _write_off(book, stated)
    finally:
        store.close()


def _stated(epsilon: Fraction, delta: Fraction, book: Book) -> tuple[Price, Fraction]:
    if not epsilon:
        return Price(Fraction(0), delta), epsilon
    return price_of(Cost.approximate(epsilon, delta), book.terms.filter.accounting), epsilon


def _write_off(book: Book, stated: tuple[Price, Fraction] | None) -> Price:
    seen = _sighting(book)
    taken = NOTHING[0]

    def work(transaction: Transaction, page: Page) -> None:
        nonlocal taken
        least, naive = _missing(seen, transaction, page)
        price, own = stated or (least, naive)
        if seen is None and stated is None:
            raise QueryError("SRD-606", "the witness is missing: what was lost is not known.", "State epsilon=..., 0 if nothing was lost.")
        if price.loss < least.loss or price.delta < least.delta:
            raise QueryError(
                "SRD-606", f"the witness saw {float(least.loss):.6g} more spent than this ledger shows.",
                "State at least that, or nothing to write off exactly that.", least=least,
            )  # fmt: skip
        spent, cap = transaction.tally.spent, book.terms.filter.cap
        taken = Price(min(price.loss, cap.loss - spent.loss), min(price.delta, cap.delta - spent.delta))
        saw = None if seen is None else {"count": seen.count, "head": seen.head.hex(), "place": seen.place}
        place = None if book.witness is None else book.witness.place
        transaction.write("adopt", {"charged": taken.to_dict(), "naive": str(own), "place": place, "seen": saw})
        transaction.tally.add(taken.grains, grains(own), None)

    book.write(work, anew=True)
    return taken


def _sighting(book: Book) -> Sighting | None:
    try:
        seen = None if book.witness is None else book.witness.look()
    except LedgerError:  # a damaged witness knows nothing
        return None
    return seen if seen is not None and seen.ledger == book.id else None


def _missing(seen: Sighting | None, transaction: Transaction, page: Page) -> tuple[Price, Fraction]:
    """What the witness saw spent and this book does not show.

    A ledger that is behind is an earlier part of the history the witness saw, so the difference of the sums is missing. A ledger that
    is as long or longer but does not contain the witness's head has a history of its own, and everything the witness saw may be missing.
    """
    if seen is None or page.hash_at(seen.count - 1) == seen.head:
        return NOTHING
    if seen.count <= transaction.count:
        return seen.spent, seen.naive
    spent = transaction.tally.spent
    shortfall = Price(max(Fraction(0), seen.spent.loss - spent.loss), max(Fraction(0), seen.spent.delta - spent.delta))
    return shortfall, max(Fraction(0), seen.naive - of_grains(transaction.tally.naive))


@dataclass(frozen=True)
class Upgraded:
    """What an upgrade did: `before` is the format the book had, `copy` where it is kept as it was (PostgreSQL makes no copy)."""

    before: int
    after: int
    copy: str | None = None

    @property
    def changed(self) -> bool:
        return self.before < self.after


def upgrade(where: Where, *, dataset: str | None = None, witness: Where | None = None, state: Where | None = None) -> Upgraded:
    """Write the entry that makes this book one of the present format, after keeping a copy of a file. There is no way back.

    Nothing else changes: what was spent stays spent, recorded answers stay recorded, and every earlier entry keeps its bytes and its
    hash. A book that is of this format already is left as it is. Without this, the first charge does the same.
    """
    store = store_at(where, dataset)
    try:
        if store.head() is None:
            raise LedgerError("SRD-604", "there is no ledger at this address.", "Give the path or DSN of a ledger.")
        book = whole_book(store, witness, state).verified()
        before = FORMAT

        def work(transaction: Transaction, _: Page) -> None:
            nonlocal before
            before = transaction.older
            transaction.begin_format()

        book.write(work)
    finally:
        store.close()
    path = getattr(store, "path", None)
    kept = str(copy_of(path, before)) if before < FORMAT and isinstance(path, Path) else None
    return Upgraded(before, FORMAT, kept)
