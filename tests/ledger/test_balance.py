"""What the owner reads off the budget."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import BudgetExceeded
from sordino.ledger import Budget
from sordino.privacy.cost import Cost

from .scenes import key, open_book


def test_the_balance_of_a_pure_budget_is_plain_arithmetic():
    with open_book(":memory:", budget=Budget(3, "1e-6")) as book:
        book.charge("r", key(), Cost.approximate("0.75", "1e-7"))
        balance = book.budget
        assert (balance.spent, balance.left, balance.cap, balance.naive, balance.percent) == (0.75, 2.25, 3.0, 0.75, 25.0)
        assert (balance.spent_delta, balance.left_delta, balance.cap_delta) == (1e-7, 9e-7, 1e-6)
        assert (book.spent, book.left) == (0.75, 2.25)
        assert "spent 0.75 of epsilon 3 (25.0% of the cap, pure), left 2.25" in repr(balance)
        assert "spent: 25; left: 75" in balance._repr_html_()


def test_the_balance_of_a_zcdp_budget_shows_the_filter_total_beside_the_plain_sum():
    with open_book(":memory:", budget=Budget(3, "1e-6", "zcdp")) as book:
        for turn in range(34):
            book.charge(f"{turn}", key(), Cost.laplace("0.1"))
        balance = book.budget
        assert balance.naive == pytest.approx(3.4)
        assert 2.7 < balance.spent <= 3
        assert balance.percent == pytest.approx(100 * 34 * 0.00483742 / float(balance.exact["cap_loss"]), rel=1e-4)
        assert balance.more(Cost.laplace("0.1")) == 2
        assert balance.share(Cost.laplace("0.1")) == pytest.approx(balance.percent / 34, rel=1e-9)


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(["pure", "zcdp"]), st.fractions(min_value="1/50", max_value=1, max_denominator=200), st.booleans())
def test_about_how_many_more_is_exactly_how_many_more(accounting, epsilon, noisy):
    cost = Cost.approximate(epsilon, "3e-8") if noisy else Cost.pure(epsilon)
    with open_book(":memory:", budget=Budget(2, "1e-6", accounting)) as book:
        book.charge("first", key(), Cost.pure("0.1"))
        promised = book.budget.more(cost)
        for turn in range(promised):
            book.charge(f"{turn}", key(), cost)
        assert book.budget.more(cost) == 0
        with pytest.raises(BudgetExceeded):
            book.charge("beyond", key(), cost)


def test_ceilings_and_purses_count_too():
    budget = Budget(3, max_per_release="0.5", analysts={"amina": "0.35"})
    with open_book(":memory:", budget=budget) as book:
        assert book.budget.more(Cost.pure("0.6")) == 0
        assert book.budget.more(Cost.pure("0.1")) == 30
        assert book.budget.more(Cost.pure("0.1"), analyst="amina") == 3
        assert book.budget.more(Cost.pure("0.1"), analyst="stranger") == 0
        book.charge("r", key(), Cost.pure("0.1"), "amina")
        assert book.budget.analysts == {"amina": (0.1, 0.35)}
        assert book.budget.exact["left"] == Fraction(29, 10)
