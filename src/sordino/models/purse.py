"""The ledger an estimator was given, whatever it was given as: a book, a table, or the path of a ledger that exists."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from sordino.errors import QueryError
from sordino.ledger import Book, open_ledger, read_ledger
from sordino.ledger.balance import LedgerTally
from sordino.privacy.number import shown
from sordino.privacy.relation import Relation

__all__ = ["opened"]


@contextlib.contextmanager
def opened(ledger: Any, relation: str) -> Iterator[Book | None]:
    """The book to charge, or None. A book opened here is closed here."""
    if ledger is None:
        yield None
        return
    if isinstance(ledger, str | os.PathLike):
        with _at(ledger) as book:
            yield _fit(book, relation)
        return
    book = getattr(ledger, "ledger", ledger)
    if not isinstance(book, Book):
        raise QueryError("SRD-106", f"ledger is {shown(ledger)}.", "Give the path of a ledger, a table of sd.table, or its .ledger.")
    yield _fit(book, relation)


def _at(path: str | os.PathLike[str]) -> Book:
    with read_ledger(path) as found:
        terms, versions = found.terms, LedgerTally.from_text(found.head.state).versions
    return open_ledger(path, budget=None, relation=terms.relation, unit=terms.unit, dataset=terms.dataset, version=versions[-1])


def _fit(book: Book, relation: str) -> Book:
    """An estimator protects rows under its relation; a ledger that adds up something else must not be charged for it."""
    if Relation.of(relation) is not book.relation:
        what = f"the ledger is kept for {book.relation}, and the estimator protects {Relation.of(relation)}."
        raise QueryError("SRD-107", what, f'Give relation="{book.relation}".')
    if "row_of" not in book.unit:
        what = f"the ledger protects {dict(book.unit)}, and an estimator protects rows."
        raise QueryError("SRD-107", what, "Ask the table itself: table.regress(...) knows who a person is.")
    return book
