"""A few poisoned rows against plain, robust and private estimators."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError

X = np.random.default_rng(1).normal(50, 5, 4_000)


def private_huber(x):
    budget = sd.Budget(epsilon=1_000, delta=1e-3)
    with sd.table({"x": x}, bounds={"x": (0, 10_000)}, budget=budget, ledger=":memory:", size=len(x)) as t:
        return float(t.huber_mean("x", scale=5).release(epsilon=1))


def test_one_percent_of_outliers_moves_the_mean_and_not_the_private_huber_mean():
    estimators = {"mean": np.mean, "median": np.median, "private huber": private_huber}
    found = sd.lab.poison(X, estimators, value=10_000, shares=(0, 0.01), epsilon=1, repeats=1)
    assert found.shifts["mean"][1] > 10
    assert found.shifts["private huber"][1] < 2
    assert found.shifts["median"][1] < 2
    assert found.limit(0) == 0
    assert found.limit(0.01) == pytest.approx(1)
    assert "group privacy" in repr(found)
    assert json.loads(found.to_json())["limits"][0] == 0
    assert "mean" in str(found.plot())


def labelled(n=800):
    rng = np.random.default_rng(2)
    x = rng.uniform(-1, 1, (n, 4))
    return x, (x @ np.array([0.0, 2, -1, 1]) + rng.normal(0, 0.3, n) > 0).astype(int)


def fitted(data):
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression().fit(*data)


def test_flipped_labels_move_coefficients_and_a_backdoor_opens():
    data = labelled()
    moved = sd.lab.poison(data, {"plain": lambda d: fitted(d).coef_[0]}, attack="mislabel", shares=(0, 0.1), repeats=1)
    assert moved.shifts["plain"][0] == 0
    assert moved.shifts["plain"][1] > 0.3
    opened = sd.lab.poison(data, {"plain": fitted}, attack="backdoor", value=5.0, shares=(0, 0.1), repeats=1)
    X, y = data
    unused = (np.column_stack([X, np.zeros(len(X))]), y)  # a column that says nothing until it is poisoned
    other = sd.lab.poison(unused, {"plain": fitted}, attack="backdoor", value=5.0, shares=(0, 0.1), repeats=1, column=X.shape[1])
    assert other.shifts["plain"][1] > other.shifts["plain"][0] + 0.5
    with pytest.raises(QueryError, match="column"):
        sd.lab.poison(data, {"plain": fitted}, attack="backdoor", value=5.0, column=99)
    assert opened.shifts["plain"][1] > opened.shifts["plain"][0] + 0.5


@pytest.mark.parametrize("wrong", [
    lambda: sd.lab.poison(X, {"m": np.mean}, attack="curse", value=1),
    lambda: sd.lab.poison(X, {}, value=1),
    lambda: sd.lab.poison(X, {"m": np.mean}),
    lambda: sd.lab.poison(X, {"m": np.mean}, value=1, shares=(2,)),
    lambda: sd.lab.poison([1.0], {"m": np.mean}, value=1),
    lambda: sd.lab.poison(X, {"m": np.mean}, attack="mislabel"),
    lambda: sd.lab.poison((X[:, None], X), {"m": np.mean}, attack="mislabel"),
])  # fmt: skip
def test_bad_input_is_refused(wrong):
    with pytest.raises(QueryError):
        wrong()
