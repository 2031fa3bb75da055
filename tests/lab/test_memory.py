"""Models that remember, and a private one that does not."""

from __future__ import annotations

import json

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError


def people(n, d, seed):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (n, d)), rng.integers(0, 2, n)


def plain(X, y):
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(25, random_state=0).fit(X, y)


def private(X, y):
    from sordino.models import PrivateLogisticRegression

    return PrivateLogisticRegression(epsilon=1, delta=1e-6, bounds_X=(-1, 1), classes=(0, 1)).fit(X, y)


def test_an_overfitted_model_gives_its_members_away_and_a_private_one_does_not():
    members, strangers = people(400, 12, 1), people(2_000, 12, 2)
    found = sd.lab.memorization(plain, members, strangers, canaries=4)
    hidden = sd.lab.memorization(private, members, strangers, canaries=10)
    others = [sd.lab.memorization(private, people(400, 12, seed), strangers, canaries=1).auc for seed in range(3, 19)]
    assert found.auc > 0.8
    assert np.mean(others) < 0.55  # one of them is known to a sixtieth, their mean to a two hundred and fiftieth
    assert found.canary == 1
    assert hidden.canary <= found.canary
    assert found.tpr(0.01) > hidden.tpr(0.01)
    assert "AUC" in repr(found)
    assert json.loads(found.to_json())["auc"] == pytest.approx(found.auc)
    assert "private" in str(found.plot(hidden))


def test_a_tree_that_remembers_is_caught_with_every_seed():
    from sklearn.tree import DecisionTreeClassifier

    def labelled(seed):  # by a rule, so that a wrong label is wrong: with labels by a coin half of them are right by chance
        X, _ = people(60, 3, seed)
        return X, (X[:, 0] > 0).astype(int)

    def tree(X, y):
        return DecisionTreeClassifier(random_state=0).fit(X, y)

    found = [sd.lab.memorization(tree, labelled(s), labelled(s + 100), seed=s) for s in range(20)]
    assert min(one.canary for one in found) > 0.5
    assert min(one.low for one in found) > 0.2
    assert all(one.low <= one.canary <= one.high for one in found)


def test_what_does_not_learn_has_no_canary():
    class Blind:
        def predict(self, X):
            return np.zeros(len(X))

    found = sd.lab.memorization(lambda X, y: Blind(), people(30, 2, 1), people(40, 2, 2))
    assert found.canary < 0.3
    assert found.low == 0


def test_regressions_are_judged_by_squared_error():
    from sklearn.linear_model import LinearRegression

    rng = np.random.default_rng(3)
    inside, outside = (rng.normal(size=(60, 40)), rng.normal(size=60)), (rng.normal(size=(400, 40)), rng.normal(size=400))
    assert sd.lab.memorization(lambda X, y: LinearRegression().fit(X, y), inside, outside, canaries=1).auc > 0.75


@pytest.mark.parametrize("members", [None, ([[1.0]],), ([1.0, 2.0], [0, 1]), ([["a"]], [0]), ([[1.0]], [0, 1]), (np.empty((0, 1)), [])])
def test_what_is_no_table_of_people_is_refused(members):
    with pytest.raises(QueryError, match="members"):
        sd.lab.memorization(plain, members, people(3, 1, 1))


def test_members_and_strangers_have_the_same_columns():
    with pytest.raises(QueryError, match="columns"):
        sd.lab.memorization(plain, people(3, 1, 1), people(3, 2, 1))
