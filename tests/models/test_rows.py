"""Awkward rows: never an error, never NaN, and the same shapes whatever is in them."""

from __future__ import annotations

import math
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sordino.ledger import Budget, open_ledger
from sordino.models import BoundedScaler
from sordino.models.box import as_box, as_numbers
from sordino.models.rows import ModelRows
from sordino.summaries.moment import ONE, Gram, MomentTerm

from .scenes import LABELS, NAMES, X, Y, models

ODD = [
    0.0, -0.0, 1, True, None, "0.5", "x", "", b"1", math.nan, math.inf, -math.inf, 1e308, 5e-324, 10**400, -(10**5000), 2**70,
    Decimal("0.25"), Fraction(1, 3), 1j, [], {}, {"a": 1}, object(), np.float32(0.5), np.int8(3), np.bool_(True), np.datetime64("NaT", "s"),
    "nan", "inf", "1_0",
]  # fmt: skip


class Rude:
    def __float__(self):
        raise RuntimeError("no")

    def __eq__(self, other):
        raise RuntimeError("no")

    __hash__ = None


def awkward(name):
    _, x, y = models()[name]
    for value in [*ODD, Rude()]:
        features, target = x.astype(object), np.array(y, object)
        features[0, 0] = value
        yield features, y
        target[3] = value
        yield x, target
    yield x[:0], y[:0]
    yield x[:1], y[:1]
    yield np.zeros_like(x), y
    yield np.full_like(x, np.nan), y
    yield np.ones_like(x) * 1e300, y
    yield x, np.full(len(y), y[0])
    yield x, np.full(len(y), 99)
    yield x.tolist(), list(y)
    yield [[[], *row[1:]] if i == 2 else row for i, row in enumerate(x.tolist())], list(y)
    yield x.tolist(), [[1] if i == 2 else value for i, value in enumerate(y.tolist())]


@pytest.mark.parametrize("name", NAMES)
def test_no_value_is_an_error_and_every_coefficient_is_a_number(name):
    model, x, _ = models()[name]
    shape = np.shape(model.fit(*models()[name][1:]).coef_)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning about a value is something visible
        for features, target in awkward(name):
            model.fit(features, target)
            assert np.shape(model.coef_) == shape
            assert np.isfinite(model.coef_).all()
            assert np.isfinite(model.intercept_).all()
            assert np.isfinite(np.asarray(model.decision_function(x) if hasattr(model, "decision_function") else model.predict(x))).all()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "theil_sen"])
def test_more_features_than_rows_are_fitted(name):
    model, _, y = models()[name]
    wide = np.random.default_rng(0).uniform(-1, 1, (12, 30))
    assert np.isfinite(model.fit(wide, y[:12]).coef_).all()


@pytest.mark.parametrize("name", NAMES)
def test_odd_tables_cost_and_look_like_any_other(name):
    """NaN rows, constant columns, one label, labels that are no class, nobody at all: one charge each, cards of one shape, no exception."""
    _, x, y = models()[name]
    odd = [(x, y), (x[:0], y[:0]), (np.ones_like(x), y), (np.where(np.arange(len(x))[:, None] % 2, np.nan, x), y)]
    odd += [(np.full_like(x, np.nan), y), (x, np.full(len(y), y[0])), (x, np.full(len(y), 99)), (x, np.array([None] * len(y), object))]
    with open_ledger(":memory:", budget=Budget(epsilon=50, delta=1e-3), relation="add_remove", unit=None, dataset="t") as ledger:
        shapes = set()
        for place, (features, target) in enumerate(odd, 1):
            model = models(ledger=ledger)[name][0].fit(features, target)
            assert ledger.spent == place
            assert np.isfinite(model.coef_).all()
            shown = None if model.coef_interval_ is None else np.shape(model.coef_interval_)
            shapes.add((np.shape(model.coef_), shown, tuple(model.card_), model.card_["mechanism"]))
        assert len(shapes) == 1


def test_rows_are_clamped_dropped_and_counted_as_documented():
    x = np.array([[0.5, 9.0], [np.nan, 0.0], [-9.0, 0.0], [0.0, 0.0]], object)
    y = np.array([0.5, 0.5, math.inf, None], object)
    rows = ModelRows(x, y, as_box((-1, 1), 2, "bounds_X"), as_box((-1, 1), 1, "bounds_y"))
    with rows.bounded(None, 0) as bounded:
        products = bounded.ask(Gram((MomentTerm(), MomentTerm("x1"), MomentTerm("x2"), MomentTerm("y")))).values[0]
    assert products[0, 0] == 2 * ONE**2
    assert products[0].tolist() == [2 * ONE**2, (ONE // 2 - ONE) * ONE, ONE * ONE, (ONE // 2 + ONE) * ONE]


def test_labels_that_are_no_class_drop_out():
    rows = ModelRows(X, np.where(LABELS, "yes", "no"), as_box((-1, 1), 2, "bounds_X"), classes=("no", "yes"))
    other = ModelRows(X, np.where(LABELS, "yes", "perhaps"), as_box((-1, 1), 2, "bounds_X"), classes=("no", "yes"))
    counts = []
    for held in (rows, other):
        with held.bounded(None, 0) as bounded:
            counts.append(int(bounded.ask(Gram((MomentTerm(),))).values[0][0, 0]) // ONE**2)
    assert counts == [len(LABELS), int(LABELS.sum())]


def test_the_order_of_the_rows_and_their_containers_change_nothing():
    order = np.random.default_rng(3).permutation(len(Y))
    box, limits = as_box((-1, 1), 2, "bounds_X"), as_box((-1, 1), 1, "bounds_y")
    question = Gram((MomentTerm(), MomentTerm("x1"), MomentTerm("x2"), MomentTerm("y")))
    answers = []
    for features, target in ((X, Y), (X[order], Y[order]), (np.asfortranarray(X), Y), (X.astype(object), list(Y))):
        with ModelRows(features, target, box, limits).bounded(None, 0) as bounded:
            answers.append(bounded.ask(question).values.tolist())
    assert all(answer == answers[0] for answer in answers)


def test_numbers_are_read_without_ever_failing():
    found = as_numbers(_held([*ODD, Rude()]))
    assert found.shape == (len(ODD) + 1,)
    assert found[3] == 1
    assert np.isnan(found[-1])
    assert found[ODD.index(10**400)] == math.inf
    assert found[ODD.index("0.5")] == 0.5


def _held(values):
    array = np.empty(len(values), object)
    array[:] = values
    return array


def test_the_scaler_needs_bounds_and_learns_nothing():
    scaler = BoundedScaler(bounds=[(0, 10), (-1, 1)])
    one = scaler.fit([[5, 0.0]]).transform([[0, -1], [5, 0], [10, 1], [99, np.nan]])
    assert one[:3].tolist() == [[-1, -1], [0, 0], [1, 1]]
    assert one[3, 0] == 1
    assert np.isnan(one[3, 1])
    assert scaler.fit([[1e9, -1e9]]).transform([[5, 0]]).tolist() == [[0, 0]]
    with pytest.raises(ValueError, match="bounds"):
        BoundedScaler().fit(X)
    assert scaler.get_feature_names_out(["a", "b"]).tolist() == ["a", "b"]
