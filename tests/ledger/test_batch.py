"""Several releases under one charge."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sordino.errors import BudgetExceeded, QueryError
from sordino.ledger import Budget, batch_cost
from sordino.ledger.book import offers
from sordino.privacy.cost import Cost

from .scenes import TENTH, key, open_book


def test_without_delta_a_batch_costs_the_sum_of_its_members():
    with open_book(":memory:") as book:
        entry = book.charge_batch("b", key(), [TENTH] * 4)
        assert entry.charged == (Fraction(2, 5), 0)
        assert entry.members == (TENTH,) * 4
        assert book.budget.exact["spent"] == Fraction(2, 5)


def test_with_delta_a_large_batch_is_one_cheaper_event():
    with open_book(":memory:", budget=Budget(10, "1e-6")) as book:
        entry = book.charge_batch("b", key(), [TENTH] * 100)
        assert 4 < entry.charged.loss < 6
        assert 0 < entry.charged.delta <= Fraction(1, 10**8)
        assert batch_cost([TENTH] * 100, book.budget).epsilon < 6
        assert len(book.entries()[0].members) == 100
        assert book.verify()


def test_when_the_delta_pool_is_empty_the_sum_is_taken_instead():
    with open_book(":memory:", budget=Budget(30, "1e-6")) as book:
        book.charge("all of delta", key(), Cost.approximate("0.1", "1e-6"))
        entry = book.charge_batch("b", key(), [TENTH] * 100)
        assert entry.charged == (10, 0)


def test_under_zcdp_the_cheaper_of_sum_and_event_is_taken():
    prices = [offer.price.loss for offer in offers([TENTH] * 100, Budget(3, "1e-6", "zcdp"))]
    assert prices == sorted(prices)
    assert offers([TENTH] * 100, Budget(3, "1e-6", "zcdp"))[0].rule == "sum"


def test_a_batch_is_all_or_nothing_and_idempotent(where, dataset):
    with open_book(where, dataset=dataset) as book:
        with pytest.raises(BudgetExceeded):
            book.charge_batch("b", key(), [TENTH] * 11)
        assert book.budget.exact["spent"] == 0
        entry = book.charge_batch("b", key(), [TENTH] * 3)
        book.seal(entry, b"three answers")
        assert book.charge_batch("b", key(), [TENTH] * 3).answer == b"three answers"
        with pytest.raises(QueryError, match="SRD-605"):
            book.charge_batch("b", key(), [TENTH] * 2)
        with pytest.raises(QueryError, match="SRD-605"):
            book.charge("b", key(), Cost.approximate("0.3", 0))


def test_an_empty_batch_is_refused():
    with open_book(":memory:") as book, pytest.raises(QueryError, match="empty"):
        book.charge_batch("b", key(), [])
