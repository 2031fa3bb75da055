"""The owner's way back, and what it costs."""

from __future__ import annotations

import shutil
from fractions import Fraction

import pytest

from sordino.errors import BudgetExceeded, LedgerError, QueryError
from sordino.ledger import Budget, adopt, verify_export
from sordino.privacy.cost import Cost

from .scenes import TENTH, key, open_book
from .test_witness_file import copy_ledger, refused, spend


@pytest.fixture
def restored(tmp_path):
    """A ledger put back to two charges after five."""
    ledger, backup = tmp_path / "people.ledger", tmp_path / "backup"
    with open_book(ledger) as book:
        spend(book, 0, 2)
    copy_ledger(ledger, backup)
    with open_book(ledger) as book:
        spend(book, 2, 3)
    copy_ledger(backup, ledger)
    refused(lambda: open_book(ledger))
    return ledger


def test_adopting_writes_off_exactly_what_the_witness_saw(restored):
    assert adopt(restored) == (Fraction(3, 10), 0)
    with open_book(restored) as book:
        assert book.budget.exact["spent"] == Fraction(1, 2)
        assert book.budget.exact["naive"] == Fraction(1, 2)
        assert book.verify()
        assert verify_export(book.export())
        assert [(e.request, e.cost, e.charged.loss) for e in book.entries()][-1] == ("adopt", None, Fraction(3, 10))
        assert book.charge("next", key(), Cost.pure("0.5")).state == "new"
        with pytest.raises(BudgetExceeded):
            book.charge("beyond", key(), TENTH)


def test_the_owner_may_state_more_and_never_less(restored):
    with pytest.raises(QueryError, match="more spent"):
        adopt(restored, epsilon="0.2")
    assert adopt(restored, epsilon="0.4").loss == Fraction(2, 5)
    with open_book(restored) as book:
        assert book.budget.exact["spent"] == Fraction(3, 5)


def test_a_write_off_takes_at_most_what_is_left(restored):
    assert adopt(restored, epsilon=50).loss == Fraction(4, 5)
    with open_book(restored) as book:
        assert book.budget.exact["left"] == 0


def test_a_moved_ledger_is_adopted_for_nothing_and_its_old_place_is_refused_from_then_on(tmp_path):
    old, new = tmp_path / "people.ledger", tmp_path / "elsewhere" / "people.ledger"
    with open_book(old) as book:
        spend(book, 0, 3)
    copy_ledger(old, new)
    refused(lambda: open_book(new))
    assert adopt(new).loss == 0
    with open_book(new) as book:
        spend(book, 3, 1)
        assert book.budget.exact["spent"] == Fraction(2, 5)
    refused(lambda: open_book(old))


def test_without_a_witness_the_owner_has_to_state_a_figure(tmp_path, state):
    ledger = tmp_path / "people.ledger"
    with open_book(ledger) as book:
        spend(book, 0, 1)
    shutil.rmtree(state)
    refused(lambda: open_book(ledger))
    with pytest.raises(QueryError, match="not known"):
        adopt(ledger)
    refused(lambda: open_book(ledger))
    assert adopt(ledger, epsilon=0) == (0, 0)
    with open_book(ledger) as book:
        assert book.budget.exact["spent"] == Fraction(1, 10)


def test_a_broken_ledger_is_not_adopted(restored):
    import sqlite3

    connection = sqlite3.connect(restored)
    connection.execute("UPDATE entry SET answer = X'00' WHERE answer IS NOT NULL")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="SRD-601"):
        adopt(restored)


def test_there_is_nothing_to_adopt_where_no_ledger_is(tmp_path):
    with pytest.raises(LedgerError, match="SRD-604"):
        adopt(tmp_path / "none.ledger")


def test_under_zcdp_the_write_off_is_in_rho(tmp_path):
    ledger, backup, budget = tmp_path / "people.ledger", tmp_path / "backup", Budget(3, "1e-6", "zcdp")
    with open_book(ledger, budget=budget) as book:
        spend(book, 0, 2)
    copy_ledger(ledger, backup)
    with open_book(ledger, budget=budget) as book:
        spend(book, 2, 3)
        whole = book.budget.exact["loss"]
    copy_ledger(backup, ledger)
    assert adopt(ledger).loss == 3 * whole / 5
    with open_book(ledger, budget=budget) as book:
        assert book.budget.exact["loss"] == whole
