"""Simulated releases: at once or one after another, the same law."""

import numpy as np
import pytest

import sordino as sd
from sordino.session.twin import SALT, conversations

ROWS = {"x": (np.arange(400) % 100).tolist(), "town": ["a", "b", "b", "c"] * 100}
ASKED = {
    "count": lambda t: t.count(),
    "mean, two halves": lambda t: t.mean("x", method="clamped"),
    "mean, two stages": lambda t: t.mean("x", method="two_stage"),
    "median": lambda t: t.median("x"),
    "quantiles": lambda t: t.quantiles("x", [0.25, 0.5]),
    "trimmed mean": lambda t: t.trimmed_mean("x"),
    "huber mean": lambda t: t.huber_mean("x"),
    "mode": lambda t: t.mode("town"),
    "histogram": lambda t: t.histogram("town"),
    "filtered": lambda t: t.where("x > 10").median("x"),
    "groups": lambda t: t.group_by("town").count(),
}


@pytest.fixture(scope="module")
def table():
    with sd.table(ROWS, bounds={"x": (0, 120)}, keys={"town": ["a", "b", "c"]}, budget=sd.Budget(9, 1e-6), ledger=":memory:") as found:
        yield found


@pytest.mark.parametrize("name", ASKED)
def test_every_repeat_is_an_answer_of_its_own(table, name):
    query = ASKED[name](table)
    plan = query.settle(200, "1e-7")
    held = conversations(plan, table.engine, SALT, 5)
    one, *_ = conversations(plan, table.engine, SALT, 1)
    assert len(held) == 5
    for groups, answers in held:
        assert groups == one[0]
        assert {label: len(cells) for label, cells in answers.items()} == {label: len(cells) for label, cells in one[1].items()}


def test_repeats_are_independent_and_about_the_same_truth(table):
    values = sd.lab.simulate(table.mean("x", method="two_stage"), epsilon=5, repeats=500)
    assert len(set(values.tolist())) > 490
    assert abs(values.mean() - 49.5) < 0.5
    lags = np.corrcoef(values[:-1], values[1:])[0, 1]
    assert abs(lags) < 0.3  # six standard errors
