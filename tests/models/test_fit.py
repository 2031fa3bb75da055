"""One fit is one charge, before the rows are read; after it nothing but the coefficients depends on them."""

from __future__ import annotations

import numpy as np
import pytest

import sordino as sd
from sordino.errors import BudgetExceeded, QueryError, ReleaseFailed
from sordino.ledger import Budget, open_ledger
from sordino.models import PrivateLinearRegression, PrivateLogisticRegression
from sordino.models.rows import ModelRows
from sordino.session.card import Card

from .scenes import BOX, LABELS, NAMES, X, Y, models


def book(epsilon=3.0, delta=1e-4, **more):
    facts = {"relation": "add_remove", "unit": None, "dataset": "t", **more}
    return open_ledger(":memory:", budget=Budget(epsilon=epsilon, delta=delta), **facts)


@pytest.mark.parametrize("name", NAMES)
def test_a_fit_is_charged_once_and_sealed_with_its_card(name):
    with book() as ledger:
        model, x, y = models(ledger=ledger)[name]
        model.fit(x, y)
        (entry,) = ledger.entries()
        assert entry.state == "sealed"
        assert entry.cost.epsilon == 1
        assert ledger.spent == 1
        assert isinstance(model.card_, Card)
        assert model.card_["so far"]["epsilon"] == 1
        assert model.card_["release"] == entry.id
        model.fit(x, y)
        assert ledger.spent == 2


@pytest.mark.parametrize("name", NAMES)
def test_without_a_ledger_the_card_says_so(name):
    model, x, y = models()[name]
    model.fit(x, y)
    assert model.card_["ledger"] == "not charged to any ledger"
    assert model.card_["mechanism"]
    assert model.card_["this release"]["epsilon"] == "1"
    assert model.card_.to_markdown()
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()


def test_the_charge_comes_before_the_first_look(monkeypatch):
    with book(epsilon=1) as ledger:
        seen = []

        def looked(self):
            seen.append(ledger.spent)
            return original(self)

        original = ModelRows._coordinates
        monkeypatch.setattr(ModelRows, "_coordinates", looked)
        model = PrivateLinearRegression(epsilon=1, **BOX, ledger=ledger).fit(X, Y)
        assert seen == [1]
        with pytest.raises(BudgetExceeded):
            model.fit(X, Y)
        assert seen == [1]


def test_a_failure_after_the_charge_has_one_text(monkeypatch):
    def broken(self):
        raise ValueError("row 17 is odd")

    monkeypatch.setattr(ModelRows, "_coordinates", broken)
    texts = set()
    with book() as ledger:
        for charged in (ledger, None):
            with pytest.raises(ReleaseFailed) as caught:
                PrivateLinearRegression(epsilon=1, **BOX, ledger=charged).fit(X, Y)
            texts.add(str(caught.value))
            assert caught.value.__cause__ is None
            assert caught.value.__context__ is None
        assert ledger.spent == 1
    assert not any("17" in text for text in texts)


def test_a_ledger_may_be_a_path_a_table_or_a_book(tmp_path):
    rows = {"a": X[:, 0], "b": X[:, 1], "y": Y}
    path = tmp_path / "t.ledger"
    facts = {"bounds": dict.fromkeys("aby", (-1, 1)), "budget": sd.Budget(epsilon=10, delta=1e-4)}
    with sd.table(rows, **facts, ledger=path) as table:
        table.count().release(epsilon=1)
        PrivateLinearRegression(epsilon=1, **BOX, ledger=table).fit(X, Y)
        PrivateLinearRegression(epsilon=1, **BOX, ledger=table.ledger).fit(X, Y)
        assert table.budget.spent == 3
    PrivateLinearRegression(epsilon=1, **BOX, ledger=path).fit(X, Y)
    PrivateLinearRegression(epsilon=1, **BOX, ledger=str(path)).fit(X, Y)
    with sd.table(rows, **facts, ledger=path) as table:
        assert table.budget.spent == 5
        assert table.ledger.verify()


def test_a_ledger_for_others_is_not_charged(tmp_path):
    with book(relation="replace") as other, pytest.raises(QueryError, match="SRD-107"):
        PrivateLinearRegression(epsilon=1, **BOX, ledger=other).fit(X, Y)
    with book(unit="person") as people, pytest.raises(QueryError, match="regress"):
        PrivateLinearRegression(epsilon=1, **BOX, ledger=people).fit(X, Y)
    with book(delta=0) as pure:
        with pytest.raises(QueryError, match="SRD-102"):
            PrivateLinearRegression(epsilon=1, **BOX, ledger=pure).fit(X, Y)
        PrivateLinearRegression(epsilon=1, delta=0, method="smooth", **BOX, ledger=pure).fit(X, Y)
        assert pure.spent == 1
    for ledger in (7, object(), tmp_path / "nothing.ledger"):
        with pytest.raises(sd.errors.SordinoError):
            PrivateLinearRegression(epsilon=1, **BOX, ledger=ledger).fit(X, Y)


def test_bad_parameters_are_refused_for_nothing():
    good = {"epsilon": 1, **BOX}
    wrong = [
        {"epsilon": None}, {"epsilon": 0}, {"epsilon": "x"}, {"delta": 1}, {"delta": -1}, {"bounds_X": None}, {"bounds_X": (1, -1)},
        {"bounds_X": (0, 0)}, {"bounds_X": [(0, 1)] * 3}, {"bounds_X": 5}, {"bounds_X": (0, float("inf"))}, {"bounds_X": [[0, 1, 2]]},
        {"bounds_y": None}, {"bounds_y": (float("nan"), 1)}, {"bounds_y": [(0, 1), (0, 1)]}, {"relation": "x"}, {"relation": "replace"},
        {"method": "x"}, {"method": "theil_sen"}, {"method": "boosted", "delta": 0}, {"size": 0}, {"size": True}, {"size": 1.5},
    ]  # fmt: skip
    with book() as ledger:
        for bad in wrong:
            with pytest.raises(QueryError) as caught:
                PrivateLinearRegression(**{**good, **bad}, ledger=ledger).fit(X, Y)
            assert caught.value.fix, bad
        classes = ({"classes": given} for given in (None, (1, 1), (1, 2, 1), tuple(range(11)), 5))
        for bad in (*classes, {"cap": 2}, {"cap": None}):
            with pytest.raises(QueryError):
                PrivateLogisticRegression(**{"epsilon": 1, "bounds_X": (-1, 1), "classes": (0, 1), **bad}, ledger=ledger).fit(X, LABELS)
        assert ledger.spent == 0


def test_containers_that_are_no_table_are_refused_for_nothing():
    model = PrivateLinearRegression(epsilon=1, **BOX)
    for x, y in ((X[:, 0], Y), (X[:, :0], Y), (X, Y[:-1]), (X, None), (X + 1j, Y), (X, Y + 1j), (X[None], Y), (5, Y)):
        with pytest.raises((ValueError, TypeError)):
            model.fit(x, y)
    assert not hasattr(model, "coef_")
