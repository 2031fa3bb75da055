"""Opening a ledger: the right store, the right terms, the right witness, or a refusal that says why."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from sordino.errors import LedgerError, QueryError
from sordino.ledger.book import PATIENCE, Book
from sordino.ledger.budget import Budget
from sordino.ledger.clerk import Clerk
from sordino.ledger.marker import check_marker, sources_of, write_marker
from sordino.ledger.memory import MemoryStore
from sordino.ledger.place import state_directory
from sordino.ledger.port import Head, Page, Row, Store
from sordino.ledger.record import GENESIS, as_text, canonical, link, read
from sordino.ledger.tally import Tally
from sordino.ledger.terms import Terms
from sordino.ledger.witness import Witness, orphan_at
from sordino.privacy.relation import PrivacyUnit, Relation

__all__ = ["open_ledger", "read_ledger", "store_at", "whole_book"]

Where = str | os.PathLike[str]


def store_at(where: Where, dataset: str | None = None) -> Store:
    """The store a ledger's address names: ":memory:", a postgres:// DSN, or the path of a file."""
    address = os.fspath(where)
    if address == ":memory:":
        return MemoryStore()
    if address.startswith(("postgres://", "postgresql://")):
        from sordino.ledger.postgres import PostgresStore

        return PostgresStore(address, dataset)
    from sordino.ledger.sqlite import SqliteStore

    return SqliteStore(address)


def open_ledger(
    where: Where,
    *,
    budget: Budget | None,
    relation: str | Relation,
    unit: PrivacyUnit | Mapping[str, str] | str | None,
    dataset: str,
    version: str = "1",
    source: Where | Iterable[Where] | None = None,
    witness: Where | None = None,
    state: Where | None = None,
    patience: float = PATIENCE,
) -> Book:
    """Open the ledger of a dataset, or make it.

    A ledger is refused when it was made under other terms, when it is behind its witness, moved or unwitnessed, and when the source
    is paid for by another ledger. A broken chain opens read-only. A changed ceiling, purse or version is written into the book; a new
    version forgets recorded answers, because the question's key contains it, and never the budget.
    """
    name, edition, sources = as_text(dataset, "dataset"), as_text(version, "version"), sources_of(source)
    store = store_at(where, name)
    try:
        if store.head() is None:
            if budget is None:
                raise QueryError("SRD-304", "a new ledger needs a budget.", "Give budget=Budget(epsilon=...).")
            for item in sources:
                check_marker(item, None, state)
            _vacant(store, witness, state)
            _create(store, Terms.new(budget, relation, unit, name).to_record(edition))
        book = whole_book(store, witness, state, patience)
        book.terms.check(budget=budget, relation=relation, unit=unit, dataset=name)
        for item in sources:
            check_marker(item, book.id, state)
        if not book.verify(answers=False):
            return book
        _witnessed(book, budget, edition)
        if store.place is not None:  # a ledger that dies with its process must not lock the data for ever
            for item in sources:
                write_marker(item, book.id, name, state)
    except BaseException:
        store.close()
        raise
    return book


def read_ledger(where: Where, *, dataset: str | None = None) -> Book:
    """A ledger opened for reading only, as an auditor with a copy would: entries, verify and export work, charge refuses."""
    store = store_at(where, dataset)
    if store.head() is None:
        store.close()
        raise LedgerError("SRD-604", "there is no ledger at this address.", "Give the path or DSN of a ledger.")
    closed = LedgerError("SRD-602", "the ledger is open for reading only.", "Use open_ledger to spend.")
    return Book(store, _terms(store), None, frozen=closed)


def _terms(store: Store) -> Terms:
    first = next(iter(store.rows(answers=False)), None)
    if first is None:
        raise LedgerError("SRD-601", "the ledger has lost its first entry.", "Restore it from a backup and adopt it.")
    return Terms.from_record(read(first.record))


def whole_book(store: Store, witness: Where | None, state: Where | None, patience: float = PATIENCE) -> Book:
    """A store with the terms it was made under and the witness it answers to; nothing is checked yet."""
    terms = _terms(store)
    return Book(store, terms, _witness(store, terms.ledger, witness, state), patience=patience)


def _witness(store: Store, ledger: str, witness: Where | None, state: Where | None) -> Witness | None:
    if store.place is None:
        return None
    path = Path(witness).expanduser() if witness is not None else state_directory(state) / "witness" / f"{ledger}.witness"
    return Witness(path, ledger, store.place)


def _vacant(store: Store, witness: Where | None, state: Where | None) -> None:
    """Refuse to make a new ledger where an older one is remembered: removing the file must not refill the budget."""
    if store.place is None:
        return
    given = witness is not None and Path(witness).exists()
    orphan = Path(witness) if given and witness is not None else orphan_at(state_directory(state) / "witness", store.place)
    if orphan is not None:
        raise LedgerError(
            "SRD-602", "a ledger that lived here is gone and its witness remembers it.",
            f"Put the newest copy back and adopt it. If it is lost for ever, only the owner may remove {orphan}.", witness=str(orphan),
        )  # fmt: skip


def _create(store: Store, record: dict[str, Any]) -> None:
    row = Row(0, link(GENESIS, canonical(record)), canonical(record))

    def begin(page: Page) -> None:
        if page.head() is None:  # somebody else may have made it meanwhile; then theirs is the ledger
            page.append([row], [], Head(1, row.hash, Tally.of(record).to_text()))

    store.transact(begin)


def _witnessed(book: Book, budget: Budget | None, version: str) -> None:
    def declare(clerk: Clerk, _: Page) -> None:
        if budget is not None and budget.policy() != clerk.tally.policy:
            clerk.write("policy", {"policy": budget.policy()})
            clerk.tally.policy = budget.policy()
        if version not in clerk.tally.versions:
            clerk.write("version", {"version": version})
            clerk.tally.versions.append(version)

    try:
        book.write(declare)
    except OSError as error:
        raise LedgerError("SRD-603", f"the witness cannot be written ({error}).", "Make the state directory writable.") from error
