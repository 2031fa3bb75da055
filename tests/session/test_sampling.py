"""Total intervals of means: noise and sampling together cover the population, from released numbers alone."""

from __future__ import annotations

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError


def opened(seed=1, **facts):
    rows = {"x": np.random.default_rng(seed).normal(50, 10, 2000), "g": ["a"] * 2000}
    budget = sd.Budget(epsilon=1000)
    return sd.table(rows, bounds={"x": (0, 100)}, keys={"g": ["a"]}, budget=budget, ledger=":memory:", **facts)


@pytest.mark.parametrize(("method", "size"), [("clamped", None), ("two_stage", 2000)])
def test_the_population_mean_is_covered(method, size):
    hits = 0
    for seed in range(8):
        with opened(seed, size=size) as people:
            people.std("x").release(epsilon=5)
            mean = people.mean("x", method=method).release(epsilon=1)
            low, high = mean.interval(kind="total")
            noise = mean.interval()
            assert low < noise[0] < noise[1] < high
            assert high - low < 3
            hits += low <= 50 <= high
    assert hits >= 7  # data and noise are keyed, so this is one and the same verdict every time


def test_levels_widen_and_nothing_is_paid():
    with opened() as people:
        people.std("x").release(epsilon=5)
        mean = people.mean("x").release(epsilon=1)
        spent = people.budget.spent
        narrow, wide = mean.interval(0.5, kind="total"), mean.interval(0.99, kind="total")
        assert wide[0] < narrow[0] < narrow[1] < wide[1]
        assert people.budget.spent == spent


def test_what_has_no_total_interval_says_so():
    with opened() as people:
        mean = people.mean("x").release(epsilon=1)
        with pytest.raises(QueryError, match="std"):
            mean.interval(kind="total")
        with pytest.raises(QueryError, match="kind"):
            mean.interval(kind="both")
        with pytest.raises(QueryError, match="one mean"):
            people.sum("x").release(epsilon=1).interval(kind="total")
        assert people.trimmed_mean("x").release(epsilon=1).interval(kind="total") is None
