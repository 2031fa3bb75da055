"""Opening a ledger: the right store, the right terms, the right witness, or a refusal that says why.

A ledger that lives as long as its process: for frames in a notebook, and the reference the durable stores are tested against.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from sordino.errors import LedgerError, QueryError
from sordino.ledger.balance import LedgerTally
from sordino.ledger.book import PATIENCE, Book
from sordino.ledger.budget import Budget, Terms
from sordino.ledger.place import WitnessFile, check_marker, orphan_at, sources_of, state_directory, write_marker
from sordino.ledger.port import Found, Head, Page, Store, StoredRow
from sordino.ledger.record import FORMAT, GENESIS, as_text, canonical, damaged, link, read
from sordino.ledger.transaction import Transaction
from sordino.privacy.relation import PrivacyUnit, Relation

__all__ = ["MemoryStore", "open_ledger", "read_ledger", "store_at", "whole_book"]

T = TypeVar("T")


class MemoryStore:
    """Rows in a list. Nothing is durable, so there is nothing outside to witness it."""

    place: str | None = None

    def __init__(self) -> None:
        self._lock, self._pid = threading.RLock(), os.getpid()  # a transaction may read
        self._rows: list[StoredRow] = []
        self._sealed: dict[int, int] = {}
        self._requests: dict[str, int] = {}
        self._keys: dict[bytes, list[int]] = {}
        self._head: Head | None = None

    def transact(self, work: Callable[[Page], T]) -> T:
        self._at_home()
        with self._lock:
            return work(self)  # append is the last step of any work, so a refusal on the way leaves nothing to undo

    def head(self) -> Head | None:
        return self._head

    def version(self) -> int:
        return FORMAT

    def upgrade(self) -> None:
        """Nothing here is older than its process."""

    def hash_at(self, number: int) -> bytes | None:
        return self._rows[number].hash if number < len(self._rows) else None

    def find(self, requests: Sequence[str]) -> dict[str, Found]:
        found = {}
        for request in requests:
            if (number := self._requests.get(request)) is not None:
                seal = self._sealed.get(number)
                kept = (None, None) if seal is None else (self._rows[seal].answer, self._rows[seal].record)
                found[request] = Found(number, self._rows[number].record, seal, *kept)
        return found

    def sealed(self, numbers: Sequence[int]) -> dict[int, int | None]:
        return {n: self._sealed.get(n) for n in numbers if n < len(self._rows) and self._rows[n].request is not None}

    def append(self, rows: Sequence[StoredRow], seals: Iterable[tuple[int, int]], head: Head) -> None:
        self._rows.extend(rows)  # first: whoever finds a request looks for its row
        for row in rows:
            if row.request is not None and row.key is not None:
                self._requests[row.request] = row.number
                self._keys.setdefault(row.key, []).append(row.number)
        self._sealed.update((charge, seal) for seal, charge in seals)
        self._head = head

    def stamp(self) -> int | None:
        return None

    def answers(self, key: bytes, since: int = 0) -> list[tuple[str, Found]]:
        self._at_home()
        with self._lock:
            charges = [self._rows[number] for number in self._keys.get(key, []) if self._sealed.get(number, -1) >= since]
            return list(self.find([row.request for row in charges if row.request is not None]).items())

    def _at_home(self) -> None:
        """A forked child has a copy of the list: what it spent there, nobody else would know."""
        if os.getpid() != self._pid:
            fix = "Give ledger= a path: a file is shared by all processes that open it."
            raise LedgerError("SRD-603", "a ledger in memory belongs to the process that made it, and this is a fork of it.", fix)

    def rows(self, *, answers: bool = True, start: int = 0) -> Iterator[StoredRow]:
        with self._lock:
            return iter([row._replace(sealed=self._sealed.get(row.number)) for row in self._rows[start:]])

    def close(self) -> None:
        pass


Where = str | os.PathLike[str]


def store_at(where: Where, dataset: str | None = None) -> Store:
    """The store a ledger's address names: ":memory:", a postgres:// DSN, or the path of a file."""
    address = os.fspath(where)
    if address == ":memory:":
        return MemoryStore()
    if address.startswith(("postgres://", "postgresql://")):
        from sordino.ledger.postgres_store import PostgresStore

        return PostgresStore(address, dataset)
    from sordino.ledger.sqlite_store import SqliteStore

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
        raise damaged("the ledger has lost its first entry.")
    if first.number != 0 or link(GENESIS, first.record) != first.hash:
        raise damaged("the ledger is broken at entry 0.", at=0)  # under which terms it was made, nobody can say
    return Terms.from_record(read(first.record))


def whole_book(store: Store, witness: Where | None, state: Where | None, patience: float = PATIENCE) -> Book:
    """A store with the terms it was made under and the witness it answers to; nothing is checked yet."""
    terms = _terms(store)
    return Book(store, terms, _witness(store, terms.ledger, witness, state), patience=patience)


def _witness(store: Store, ledger: str, witness: Where | None, state: Where | None) -> WitnessFile | None:
    if store.place is None:
        return None
    path = Path(witness).expanduser() if witness is not None else state_directory(state) / "witness" / f"{ledger}.witness"
    return WitnessFile(path, ledger, store.place)


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
    row = StoredRow(0, link(GENESIS, canonical(record)), canonical(record))

    def begin(page: Page) -> None:
        if page.head() is None:  # somebody else may have made it meanwhile; then theirs is the ledger
            page.append([row], [], Head(1, row.hash, LedgerTally.of(record).to_text()))

    store.transact(begin)


def _witnessed(book: Book, budget: Budget | None, version: str) -> None:
    def declare(transaction: Transaction, _: Page) -> None:
        if budget is not None and budget.policy() != transaction.tally.policy:
            transaction.write("policy", {"policy": budget.policy()})
            transaction.tally.policy = budget.policy()
        if version not in transaction.tally.versions:
            transaction.write("version", {"version": version})
            transaction.tally.versions.append(version)

    try:
        book.write(declare)
    except OSError as error:
        raise LedgerError("SRD-603", f"the witness cannot be written ({error}).", "Make the state directory writable.") from error
