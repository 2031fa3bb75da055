"""The most frequent values in rank order, with their counts if they are asked for."""

from __future__ import annotations

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.lab.conformance import check_statistic
from sordino.statistics import top_k

RNG = np.random.default_rng(3)
NAMES = [f"k{i}" for i in range(12)]
TOPIC = RNG.choice(NAMES, 6000, p=np.arange(12, 0, -1) / 78)


@pytest.fixture(scope="module")
def table():
    data = {"topic": TOPIC, "listed": TOPIC, "who": np.arange(6000) // 3, "sex": RNG.choice(["f", "m"], 6000)}
    facts = {"keys": {"listed": NAMES, "sex": ["f", "m"]}, "columns": {"topic": "cat"}, "unit": "who"}
    limits = {"max_rows": 3, "max_groups": 3, "max_rows_per_group": 3}
    with sd.table(data, budget=sd.Budget(epsilon=10**6, delta=0.01), ledger=":memory:", name="t", **facts, **limits) as made:
        yield made


def counted(name):
    return int((name == TOPIC).sum())


@pytest.mark.parametrize("column", ["topic", "listed"])
def test_values_come_in_rank_order_and_counts_with_them(table, column):
    found = table.top_k(column, 4, counts=True).release(epsilon=1000, delta=1e-4)
    assert list(found.value) == ["k0", "k1", "k2", "k3"], "by rank, not by name"
    assert [found.value[name] for name in found.value] == [counted(name) for name in found.value]
    alone = table.top_k(column, 4).release(epsilon=1000, delta=1e-4)
    assert alone.value == ("k0", "k1", "k2", "k3")
    assert alone.low is None
    assert table.top_k(column, 4, counts=True).key() != table.top_k(column, 4).key()


def test_the_bars_of_counts_hold_for_the_values_that_were_chosen(table):
    inside = []
    for _ in range(60):
        found = table.top_k("listed", 3, counts=True).release(epsilon=2, fresh=True)
        inside += [found.low[name] <= counted(name) <= found.high[name] for name in found.value]
    assert np.mean(inside) > 0.9
    half = (found.high["k0"] - found.low["k0"]) / 2
    assert half == pytest.approx(np.log(20) * 3 / 1, abs=1.5), "3 rows a person at half of epsilon 2"
    assert found.cost.epsilon == 2
    by = table.group_by("sex").top_k("listed", 1, counts=True).release(epsilon=1000).to_dict()
    assert by["key"] == ["k0", "k0"]
    assert sum(by["count"]) == counted("k0")
    with pytest.raises(QueryError, match="counts is"):
        table.top_k("listed", 1, counts=7)


def test_conformance_with_counts_and_in_order():
    for asked in (top_k("job", 1, True), top_k("zip", 2)):
        found = check_statistic(asked, places=("",), sparse=True)
        assert found.ok, str(found)
        assert found.reached > 0.99
