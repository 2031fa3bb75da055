"""Logistic regression by objective perturbation, asked of a table: the same rows and terms, a point that says what it is, and refusals."""

from __future__ import annotations

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError

RNG = np.random.default_rng(5)
N = 4_000
AGE = RNG.integers(20, 80, N)
DOSE = RNG.uniform(0, 2, N)
ARM = RNG.choice(["a", "b", "c", "elsewhere"], N)
ODDS = 0.04 * (AGE - 50) - 0.8 * DOSE + 0.7 * (ARM == "b")
ILL = np.array(
    [None if gone else bool(ill) for gone, ill in zip(RNG.random(N) < 0.02, RNG.random(N) < 1 / (1 + np.exp(-ODDS)), strict=True)]
)
ROWS = {"who": np.arange(N) // 2, "age": AGE, "dose": np.where(RNG.random(N) < 0.02, np.nan, DOSE), "arm": ARM, "ill": ILL.tolist()}
FACTS = {"bounds": {"age": (20, 80), "dose": (0, 2)}, "keys": {"arm": ["a", "b", "c"]}, "columns": {"ill": "bool"}}
FORMULA = "ill ~ age + dose + C(arm) + C(arm):dose"


def opened(epsilon=2_000, delta=1e-3, **more):
    return sd.table(ROWS, **FACTS, budget=sd.Budget(epsilon=epsilon, delta=delta), ledger=":memory:", size=N, **more)


def ridge(penalty):
    """The penalised maximum likelihood in coordinates, and back; rows without a value or a public key left out."""
    kept = np.array([v is not None for v in ILL]) & ~np.isnan(ROWS["dose"]) & (ARM != "elsewhere")
    dose = ROWS["dose"][kept]
    columns = [AGE[kept], dose, ARM[kept] == "b", ARM[kept] == "c"]
    columns += [np.where(ARM[kept] == key, dose, 0.0) for key in "bc"]
    middle, half = np.array([50, 1, 0, 0, 1, 1.0]), np.array([30, 1, 1, 1, 1, 1.0])
    x = np.column_stack([np.ones(kept.sum()), (np.column_stack(columns) - middle) / half])
    y, b = ILL[kept].astype(float), np.zeros(7)
    for _ in range(40):
        p = 1 / (1 + np.exp(-x @ b))
        b -= np.linalg.solve((x.T * (p * (1 - p))) @ x + penalty * np.eye(7), x.T @ (p - y) + penalty * b)
    slopes = b[1:] / half
    return np.array([b[0] - slopes @ middle, *slopes])


@pytest.mark.parametrize("unit", [{}, {"unit": "who", "max_rows": 2, "max_groups": 1}])
def test_at_a_high_price_it_is_the_penalised_likelihood_of_the_complete_rows(unit):
    with opened(**unit) as table:
        query = table.logistic(FORMULA, method="objective")
        (step,) = query.settle(1_000, 1e-6).steps.values()
        found = query.release(epsilon=1_000, delta=1e-6)
    assert list(found.value) == ["intercept", "age", "dose", "arm=b", "arm=c", "arm=b:dose", "arm=c:dose"]
    exact = ridge(step.mechanism.penalty)
    assert np.abs(np.array(list(found.value.values())) - exact).max() < 0.02
    assert step.mechanism.max_rows == unit.get("max_rows", 1)


def test_it_says_what_it_is_before_and_after_it_is_paid():
    with opened() as table:
        query = table.regress("ill ~ age", loss="logistic", method="objective")
        before = query.preview(epsilons=[1])
        found = query.release(epsilon=1, delta=1e-6)
        assert query.release(epsilon=1, delta=1e-6).value == found.value  # recalled
        assert table.logistic("ill ~ age").preview(epsilons=[1]).about != before.about
        assert table.budget.spent == 1
    penalty = found.card["bar about"]["regress(ill ~ age)"]
    assert penalty.startswith("a point, shrunk towards zero: at epsilon 1 the log loss has ")
    for said in (before.about, found.about):
        assert "no interval; it is a point, shrunk towards zero" in said
    assert any("a point without an interval" in note for note in before.notes)
    assert found.interval() is None
    with pytest.raises(QueryError, match="a point without an interval"):
        found.interval(kind="total")
    with pytest.raises(QueryError, match="no coefficients to test"):
        sd.tests.wald(found)
    assert before.lines[0].forecasts[0].rmse > 0


def test_few_rows_are_said_before_they_are_paid_for():
    with sd.table({"x": [1.0], "y": [True]}, bounds={"x": (0, 1)}, columns={"y": "bool"}, budget=sd.Budget(9, 1e-3), size=60) as table:
        notes = table.logistic("y ~ x", method="objective").preview(epsilons=[0.5]).notes
    assert any("60 rows are not enough at this price" in note for note in notes)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (lambda t: t.logistic("arm ~ age", method="objective"), "knows two classes"),
        (lambda t: t.regress("age ~ dose", method="objective"), 'Add loss="logistic"'),
        (lambda t: t.regress("age ~ dose", loss="huber", method="objective"), 'Add loss="logistic"'),
        (lambda t: t.logistic("ill ~ age", method="pull"), "Use one of auto, objective"),
        (lambda t: t.logistic("ill ~ age", method="objective").release(epsilon=1, delta=0), "takes a delta"),
        (lambda t: t.group_by("arm").logistic("ill ~ age", method="objective").release(epsilon=1, delta=1e-6), "no groups"),
    ],
)
def test_what_it_cannot_do_is_refused_before_the_charge(asked, said):
    with opened() as table:
        with pytest.raises(QueryError, match=said):
            asked(table)
        assert table.budget.spent == 0


def test_without_a_delta_in_the_budget_the_default_is_named():
    with (
        sd.table(ROWS, **FACTS, budget=sd.Budget(epsilon=3), ledger=":memory:") as table,
        pytest.raises(QueryError, match="leave method= out"),
    ):
        table.logistic("ill ~ age", method="objective").release(epsilon=1)


def test_one_class_nobody_and_odd_columns_are_answered_like_any_other():
    odd = {"x": [np.nan, np.inf, -np.inf], "y": [True, None, True]}
    for rows in ({"x": [], "y": []}, odd, {"x": [0.5] * 30, "y": [True] * 30}):
        with sd.table(
            rows, bounds={"x": (0, 1)}, columns={"x": "float", "y": "bool"}, budget=sd.Budget(9, 1e-3), ledger=":memory:"
        ) as table:
            found = table.logistic("y ~ x", method="objective").release(epsilon=1, delta=1e-6).value
            assert all(np.isfinite(value) for value in found.values())
