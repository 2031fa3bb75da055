"""What the owner may write into a budget."""

from __future__ import annotations

import pickle
from fractions import Fraction

import pytest

from sordino.errors import QueryError
from sordino.ledger import Budget


def test_numbers_mean_what_was_written():
    budget = Budget(0.3, 1e-6, max_per_release=0.1, analysts={"zoe": 0.2, "amina": {"epsilon": 0.1}})
    assert (budget.epsilon, budget.delta, budget.max_per_release) == (Fraction(3, 10), Fraction(1, 10**6), Fraction(1, 10))
    assert dict(budget.analysts) == {"amina": Fraction(1, 10), "zoe": Fraction(1, 5)}
    assert (Budget(1).accounting, Budget(1).delta, Budget(1).max_per_release) == ("pure", 0, None)


def test_a_budget_is_a_value():
    budget = Budget(3, 1e-6, "zcdp", 0.5, {"amina": 1})
    assert budget == Budget("3", "0.000001", "zcdp", "1/2", {"amina": {"epsilon": 1}})
    assert hash(budget) == hash(Budget(3, 1e-6, "zcdp", 0.5, {}))
    assert pickle.loads(pickle.dumps(budget)) == budget
    assert Budget.from_dict(budget.to_dict()) == budget
    with pytest.raises(AttributeError):
        budget.epsilon = 5
    with pytest.raises(TypeError):
        budget.analysts["amina"] = 5


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"epsilon": 0}, "SRD-101"),
        ({"epsilon": -1}, "SRD-101"),
        ({"epsilon": float("nan")}, "SRD-101"),
        ({"epsilon": 10**7}, "SRD-101"),
        ({"epsilon": 1, "delta": 1}, "SRD-102"),
        ({"epsilon": 1, "accounting": "zcdp"}, "SRD-102"),
        ({"epsilon": 1, "accounting": "renyi"}, "SRD-106"),
        ({"epsilon": 1, "max_per_release": 0}, "SRD-101"),
        ({"epsilon": 1, "analysts": {"": 1}}, "SRD-106"),
        ({"epsilon": 1, "analysts": {"amina": {"eps": 1}}}, "SRD-106"),
        ({"epsilon": 1, "analysts": {"amina": "much"}}, "SRD-101"),
    ],
)
def test_a_budget_that_means_nothing_is_refused(given, code):
    with pytest.raises(QueryError) as refusal:
        Budget(**given)
    assert refusal.value.code == code


def test_a_budget_says_itself_in_one_line():
    assert str(Budget(3)) == "epsilon 3 (pure)"
    assert str(Budget(3, 1e-6, "zcdp")) == "epsilon 3, delta 1e-06 (zcdp)"
