"""Pipelines work; searches are refused with their price, or counted against what was agreed."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from sordino.errors import QueryError
from sordino.ledger import Budget, open_ledger
from sordino.models import BoundedScaler, PrivateLinearRegression, PrivateLogisticRegression
from sordino.models.estimator import SearchAllowance

from .scenes import BOX, LABELS, X, Y

GRID = {"method": ["boosted", "adassp"]}


def test_a_pipeline_fits_and_predicts():
    wide = X * 50 + 50
    model = make_pipeline(BoundedScaler(bounds=(0, 100)), PrivateLinearRegression(epsilon=1, **BOX, method="adassp")).fit(wide, Y)
    assert model.predict(wide).shape == Y.shape
    assert model[-1].card_["this release"]["epsilon"] == "1"
    labels = make_pipeline(BoundedScaler(bounds=(0, 100)), PrivateLogisticRegression(epsilon=1, bounds_X=(-1, 1), classes=(0, 1)))
    assert set(labels.fit(wide, LABELS).predict(wide)) <= {0, 1}


@pytest.mark.parametrize("through", ["estimator", "pipeline"])
def test_a_search_is_refused_with_the_price_of_all_its_fits(through):
    model = PrivateLinearRegression(epsilon=0.5, **BOX)
    grid = GRID
    if through == "pipeline":
        model, grid = make_pipeline(BoundedScaler(bounds=(-1, 1)), model), {"privatelinearregression__method": GRID["method"]}
    with pytest.raises(ValueError, match="11 times") as caught:
        GridSearchCV(model, grid, cv=5, error_score=np.nan).fit(X, Y)
    text = str(caught.value)
    assert "5.5 in all" in text
    assert "not private at all" in text


def test_a_search_that_raises_says_it_in_our_words():
    with pytest.raises(QueryError, match="SRD-103") as caught:
        GridSearchCV(PrivateLinearRegression(epsilon=0.5, **BOX), GRID, cv=3, error_score="raise").fit(X, Y)
    assert caught.value.facts["fits"] == 7
    with pytest.raises(QueryError, match="many times"):
        cross_val_score(PrivateLinearRegression(epsilon=0.5, **BOX), X, Y, error_score="raise")


def test_a_search_may_fit_as_often_as_was_agreed_and_every_fit_is_charged():
    with open_ledger(":memory:", budget=Budget(epsilon=30, delta=1e-3), relation="add_remove", unit=None, dataset="t") as ledger:
        model = PrivateLinearRegression(epsilon=1, **BOX, ledger=ledger, fits=7)
        search = GridSearchCV(model, GRID, cv=3, error_score="raise").fit(X, Y)
        assert ledger.spent == 7
        assert search.best_estimator_.card_["so far"]["epsilon"] == 7
        with pytest.raises(QueryError, match="used up"):
            GridSearchCV(model, GRID, cv=3, error_score="raise").fit(X, Y)
        assert ledger.spent == 7
        few = PrivateLinearRegression(epsilon=1, **BOX, ledger=ledger, fits=3)
        with pytest.raises(QueryError, match="used up"):
            GridSearchCV(few, GRID, cv=3, error_score="raise").fit(X, Y)
        assert ledger.spent == 10


def test_an_agreement_is_shared_by_clones_and_dies_with_the_process():
    model = PrivateLinearRegression(epsilon=1, **BOX, fits=2)
    one, other = clone(model), clone(clone(model))
    assert one._allowance is other._allowance is model._allowance
    assert copy.deepcopy(one)._allowance is one._allowance
    assert not pickle.loads(pickle.dumps(SearchAllowance(5))).take()


def test_clones_share_the_ledger_and_fitted_models_travel():
    with open_ledger(":memory:", budget=Budget(epsilon=3, delta=1e-4), relation="add_remove", unit=None, dataset="t") as ledger:
        model = PrivateLinearRegression(epsilon=1, **BOX, ledger=ledger)
        assert clone(model).ledger is ledger
    alone = PrivateLinearRegression(epsilon=1, **BOX).fit(X, Y)
    back = pickle.loads(pickle.dumps(alone))
    assert back.predict(X).tolist() == alone.predict(X).tolist()
    assert back.card_ == alone.card_
