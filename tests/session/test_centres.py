"""Means that fit the data and statistics of one's own, through the door users come by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError

ROWS = {
    "x": np.random.default_rng(1).normal(50, 10, 2000),
    "s": np.random.default_rng(2).normal(50, 10, 2000),
    "free": np.random.default_rng(3).normal(50, 10, 2000),
}
COLUMNS = {"s": {"type": "float", "bounds": (-1e4, 1e4), "shape": "symmetric"}, "free": "float"}


def opened(**facts: Any) -> Any:
    return sd.table(ROWS, columns=COLUMNS, bounds={"x": (-1e4, 1e4)}, budget=sd.Budget(epsilon=100, delta=1e-4), ledger=":memory:", **facts)


def test_another_mean_is_taken_only_by_name_and_the_card_says_which() -> None:
    with opened(size=2000) as people:
        named = {"two_stage": "two stages, quantiles 0.113 and 0.887 at 27% of epsilon", "trimmed": "trimmed mean at 10%"}
        for method, words in named.items():
            release = people.mean("x", method=method).release(epsilon=1)
            assert release.value == pytest.approx(50, abs=3)
            assert words in release.card["mechanism"]
        for column in ("x", "s"):
            assert "halves" in people.mean(column).release(epsilon=1).mechanism
    with opened() as people:
        people.count().release(epsilon=1)
        assert "halves" in people.mean("x").release(epsilon=1).mechanism  # whatever is recorded


def test_a_column_without_bounds_has_a_mean_that_says_what_that_cost() -> None:
    with opened() as people:
        release = people.mean("free", bounds="private").release(epsilon=1)
        assert release.value == pytest.approx(50, abs=3)
        assert release.low < release.value < release.high
        assert release.bar == "published"
        assert "quartiles at 30% of epsilon" in release.card["mechanism"]
        assert release.interval(0.5)[0] > release.low
        with pytest.raises(QueryError, match="bounds"):
            people.mean("free")


def test_a_statistic_of_ones_own_is_asked_like_any_other() -> None:
    @sd.statistic(bounds=(0, 100), relation="replace")
    def reach(x: Any) -> Any:
        return x[-1] - x[0]

    @reach.sensitivity_at
    def _(x: Any, k: int) -> Any:
        return 100.0

    with opened() as people:
        with pytest.raises(QueryError, match="bounds"):
            people.apply(reach, "free")
        query = people.apply(reach, "x")
        release = query.release(epsilon=1)
        assert 0 <= release.value <= 100
        assert "sensitivity supplied by the user for single rows, no pairs tried, not a proof" in release.card["assumes"][-1]
        spent = people.budget.spent
        assert query.release(epsilon=1).value == release.value
        assert people.budget.spent == spent
        refused = people.apply(reach, "x", propose="0.001").release(epsilon=1, mechanism="ptr")
        assert refused.refused
        assert np.isnan(float(refused))
        with pytest.raises(QueryError, match="laplace"):
            query.release(epsilon=1, mechanism="laplace")
        with pytest.raises(QueryError, match="statistic"):
            people.apply(len, "x")
        assert "smooth_laplace" in str(people.apply(reach, "x").explain(epsilon=1))


def test_the_same_words_work_inside_agg() -> None:
    with opened() as people:
        answer = people.agg(a=sd.mean("x", "two_stage"), b=sd.winsorized_mean("x", "0.2")).release(epsilon=2)
        assert answer.to_dict()["a"][0] == pytest.approx(50, abs=3)
        assert answer.to_dict()["b"][0] == pytest.approx(50, abs=20)
