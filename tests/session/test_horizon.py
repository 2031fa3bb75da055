"""Quantiles of columns without bounds, or with bounds of no use: the same question, answered over a public horizon."""

from __future__ import annotations

import numpy as np
import pytest
from tests.session.twin import run

import sordino as sd
from sordino.errors import QueryError
from sordino.lab import simulate

pytestmark = pytest.mark.usefixtures("_same_ids")
X = np.random.default_rng(1).lognormal(np.log(40_000), 0.8, 1001)


def opened(x=X, **facts):
    source = {"x": x, "k": np.floor(np.minimum(x, 1e15)).astype(int), "g": ["a", "b"] * (len(x) // 2) + ["a"] * (len(x) % 2)}
    columns = {"x": "float", "k": "int", "g": {"type": "cat", "keys": ["a", "b"]}}
    return sd.table(source, columns=columns, budget=sd.Budget(epsilon=1_000_000, delta=0.01), ledger=":memory:", **facts)


ASKED = {
    "median": lambda q: q.median("x"),
    "median of whole numbers": lambda q: q.median("k", bounds="private"),
    "quantile": lambda q: q.quantile("x", 0.9, bounds="private"),
    "quantiles": lambda q: q.quantiles("x", [0.1, 0.5, 0.9]),
    "many quantiles": lambda q: q.quantiles("x", [j / 30 for j in range(1, 30)], bounds="private"),
    "iqr": lambda q: q.iqr("x"),
    "groups": lambda q: q.group_by("g").median("x"),
    "where": lambda q: q.where("x > 1000").median("x", bounds="private"),
}


@pytest.mark.parametrize("name", ASKED)
def test_quantiles_need_no_bounds(name):
    with opened() as table:
        found = ASKED[name](table).release(epsilon=5)
        assert "arsinh" in found.mechanism
        for value in np.ravel([v for cells in found.answers.values() for v in cells if v is not None]):
            assert 1_000 < value < 500_000
        facts = found.card["question"]["columns"]["k" if "whole" in name else "x"]
        assert facts["grid"][2] == 2**40 * (1 if "whole" in name else 2**12)


@pytest.mark.parametrize("name", ASKED)
def test_neighbours_with_extremes_cannot_be_told_apart(name):
    with opened() as here, opened(np.append(X, 1e300)) as there:
        first = run(ASKED[name](here))
        second = run(ASKED[name](there), pinned=first)
        assert first.asked == second.asked
        assert first.laws == second.laws
        assert first.seen == second.seen


def test_a_sum_still_needs_bounds_and_nothing_but_private_is_understood():
    with opened() as table:
        with pytest.raises(QueryError, match="SRD-202"):
            table.sum("x")
        with pytest.raises(QueryError, match="SRD-106"):
            table.median("x", bounds=(0, 1))


@pytest.mark.parametrize("bounds", [(0, 1_000_000), (0, 200_000)])
def test_at_tight_bounds_nothing_is_lost(bounds):
    """The planner keeps the uniform measure there, whatever the caller says: the plans are the same."""
    with sd.table({"x": X}, bounds={"x": bounds}, budget=sd.Budget(epsilon=9), ledger=":memory:") as table:
        point = {"interval": False}
        plain, private = (query.settle(0.1) for query in (table.median("x", **point), table.median("x", bounds="private", **point)))
        assert plain.mechanism == private.mechanism == "QuantileExponential, uniform, q = 0.5"
        assert plain.steps["median(x)"].mechanisms == private.steps["median(x)"].mechanisms


def test_a_median_between_absurd_bounds_misses_few_ranks():
    with opened() as table, sd.table({"x": X}, bounds={"x": (-1e12, 1e12)}, budget=sd.Budget(epsilon=9), ledger=":memory:") as wide:
        for query in (table.median("x"), wide.median("x")):
            ranks = np.searchsorted(np.sort(X), simulate(query, epsilon=0.1, repeats=400)) / 1001
            assert np.median(np.abs(ranks - 0.5)) < 0.03
