"""The filters against closed forms, a second formula and dp-accounting."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import BudgetExceeded
from sordino.ledger import Budget, PureFilter, ZcdpFilter
from sordino.ledger.budget import GRAIN, grains, grains_text, of_grains, open_filter, price_of, read_filter
from sordino.privacy.cost import Cost

from .scenes import key, open_book


def delta_of(rho: Fraction, epsilon: Fraction) -> float:
    """inf over orders of exp((a-1)(a rho - epsilon))/(a-1) (1-1/a)^a, at forty digits: a second spelling of the conversion."""
    best = Decimal(1)
    with localcontext() as context:
        context.prec = 40
        r, e = Decimal(rho.numerator) / rho.denominator, Decimal(epsilon.numerator) / epsilon.denominator
        for step in range(1, 4000):
            a = 1 + Decimal(step) ** 2 / 50_000
            best = min(best, ((a - 1) * (a * r - e)).exp() / (a - 1) * (a * (1 - 1 / a).ln()).exp())
    return float(best)


@given(st.fractions(min_value=0, max_value=100, max_denominator=10**9))
def test_a_price_is_never_rounded_down_and_never_by_more_than_a_grain(value):
    count = grains(value)
    assert of_grains(count) >= value
    assert of_grains(count - 1) < value
    assert grains_text(str(value)) == count


@given(st.lists(st.decimals(min_value="1e-9", max_value=10, places=12), min_size=1, max_size=20), st.integers(1, 20))
def test_decimals_and_their_small_parts_add_up_exactly(numbers, part):
    shares = [Fraction(n) / part for n in numbers if n > 0]
    assert of_grains(sum(grains(share) for share in shares)) == sum(shares)


@pytest.mark.parametrize(("epsilon", "delta"), [("3", "1e-6"), ("1", "1e-9"), ("0.1", "1e-6"), ("10", "1e-12"), ("0.5", "0.01")])
def test_the_rho_cap_keeps_its_promise_by_a_second_formula_and_hardly_more(epsilon, delta):
    budget = Budget(epsilon, delta, "zcdp")
    rule = open_filter(budget)
    assert delta_of(rule.cap.loss, budget.epsilon) <= float(budget.delta / 2) * (1 + 1e-4)  # the second formula searches a coarse grid
    assert delta_of(rule.cap.loss * Fraction(1001, 1000), budget.epsilon) > float(budget.delta / 2)
    simple = (math.sqrt(math.log(2 / budget.delta) + budget.epsilon) - math.sqrt(math.log(2 / budget.delta))) ** 2
    assert rule.cap.loss > Fraction(simple)


def test_the_rho_cap_agrees_with_dp_accounting():
    from dp_accounting.rdp import rdp_privacy_accountant as rdp

    rule = open_filter(Budget(3, "1e-6", "zcdp"))
    orders = [1 + x / 100 for x in range(1, 5000)]
    theirs, _ = rdp.compute_epsilon(orders, [order * float(rule.cap.loss) for order in orders], 5e-7)
    assert theirs == pytest.approx(3, rel=2e-4)


def test_half_of_delta_converts_and_half_pays_the_releases():
    rule = open_filter(Budget(3, "1e-6", "zcdp"))
    assert (rule.conversion, rule.cap.delta) == (Fraction(1, 2 * 10**6), Fraction(1, 2 * 10**6))
    with open_book(":memory:", budget=Budget(3, "1e-6", "zcdp")) as book:
        book.charge("half", key(), Cost.approximate("0.1", "5e-7"))
        with pytest.raises(BudgetExceeded) as refusal:
            book.charge("more", key(), Cost.approximate("0.1", "1e-9"))
        assert refusal.value.facts["word"] == "delta"


def test_each_family_enters_the_zcdp_filter_at_its_own_rho():
    tanh = Fraction(math.tanh(0.25)) / 2
    assert price_of(Cost.pure("0.5"), "zcdp").loss == pytest.approx(tanh, rel=1e-9)
    assert price_of(Cost.laplace("0.5"), "zcdp").loss == pytest.approx(math.exp(-0.5) - 0.5, rel=1e-9)
    assert price_of(Cost.discrete_laplace("0.5", "0.5"), "zcdp").loss == pytest.approx(tanh, rel=1e-9)  # one step is a randomized bit
    both = Cost.sum([(Cost.laplace("0.5"), 3), (Cost.gaussian("0.01", "0.6", "1e-6"), 1)])
    assert price_of(both, "zcdp").loss == pytest.approx(3 * (math.exp(-0.5) - 0.5) + 1 / 200, rel=1e-9)
    assert price_of(both, "pure") == (Fraction(21, 10), Fraction(1, 10**6))
    assert price_of(Cost.bounded_range("0.5"), "zcdp").loss == Fraction(1, 32)
    assert price_of(Cost.bounded_range("0.5", draws=4), "zcdp").loss == Fraction(1, 128)
    assert price_of(Cost.bounded_range("0.5", draws=4), "pure").loss == Fraction(1, 2)
    gaussian = price_of(Cost.gaussian("0.01", "0.6", "1e-6"), "zcdp")
    assert gaussian == (Fraction(1, 200), 0)
    assert price_of(Cost.approximate("0.5", "1e-7"), "zcdp").delta == Fraction(1, 10**7)
    assert price_of(Cost.gaussian("0.01", "0.6", "1e-6"), "pure") == (Fraction(3, 5), Fraction(1, 10**6))


@pytest.mark.parametrize(("cost", "pure", "zcdp"), [("0.5", 6, 1), ("0.1", 30, 36)])
def test_the_two_filters_allow_what_the_price_list_says(cost, pure, zcdp):
    for accounting, count in (("pure", pure), ("zcdp", zcdp)):
        with open_book(":memory:", budget=Budget(3, "1e-6", accounting)) as book:
            assert book.budget.more(Cost.laplace(cost)) == count
            for turn in range(count):
                book.charge(f"{turn}", key(), Cost.laplace(cost))
            with pytest.raises(BudgetExceeded):
                book.charge("more", key(), Cost.laplace(cost))
            assert book.budget.exact["spent"] <= 3


def test_a_filter_is_read_back_and_never_recomputed():
    for budget in (Budget(3, "1e-6"), Budget(3, "1e-6", "zcdp")):
        rule = open_filter(budget)
        assert read_filter(rule.to_dict()) == rule
    changed = {**open_filter(Budget(3, "1e-6", "zcdp")).to_dict(), "loss": "1/7"}
    assert read_filter(changed).cap.loss == Fraction(1, 7)
    assert isinstance(open_filter(Budget(1)), PureFilter)
    assert isinstance(open_filter(Budget(1, "1e-6", "zcdp")), ZcdpFilter)


@given(st.permutations([Fraction(1, 3), Fraction(1, 7), Fraction(2, 23), Fraction("0.1"), Fraction(1, 10**70), Fraction(1, 9973)]))
def test_the_total_is_the_same_in_any_order(epsilons):
    with open_book(":memory:", epsilon=5) as book:
        for turn, epsilon in enumerate(epsilons):
            book.charge(f"{turn}", key(), Cost.pure(epsilon))
        total = book.budget.exact["spent"]
    assert total == sum(of_grains(grains(epsilon)) for epsilon in epsilons)
    assert 0 <= total - sum(epsilons) <= Fraction(len(epsilons), GRAIN)
