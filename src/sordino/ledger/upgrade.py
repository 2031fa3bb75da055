"""The owner's one-way door: from here on the book is of this format, and older software refuses it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sordino.errors import LedgerError
from sordino.ledger.clerk import Clerk
from sordino.ledger.migration import copy_of
from sordino.ledger.opening import Where, store_at, whole_book
from sordino.ledger.port import Page
from sordino.ledger.record import FORMAT

__all__ = ["Upgraded", "upgrade"]


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

        def work(clerk: Clerk, _: Page) -> None:
            nonlocal before
            before = clerk.older
            clerk.begin_format()

        book.write(work)
    finally:
        store.close()
    path = getattr(store, "path", None)
    kept = str(copy_of(path, before)) if before < FORMAT and isinstance(path, Path) else None
    return Upgraded(before, FORMAT, kept)
