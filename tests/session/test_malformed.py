"""Every argument of every verb is refused when the question is built: a malformed call raises QueryError and charges nothing."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import sordino as sd
from sordino.session.release import Release


class Unprintable:
    """What can neither be shown nor compared."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        raise RuntimeError

    def __repr__(self) -> str:
        raise ValueError


ODD: list[Any] = [
    True, False, 0, -1, 1.5, float("nan"), float("inf"), 10**400, "", "x", "nope", "a'b", "\0", b"x", [], [True], [None], {}, {"x": 1}, (),
    ("x", "x"), lambda x: x, np.array([True, False]), object(), type, slice(1), Unprintable(), 1j, "x;DROP", "a" * 10_000, ["x"], [["x"]],
    {"a": {}}, sd.count, pd.Series([True]), pd.DataFrame({"x": [1]}),
]  # fmt: skip
GOOD = {"column": "x", "columns": ["x"], "q": 0.5, "k": 1, "predicates": ["x > 1"], "formula": "x ~ b"}
WISHES = ("epsilon", "rho", "delta", "within", "within_rank", "mechanism", "propose", "otherwise", "analyst", "request", "fresh")
CALLS = 2_000


@pytest.fixture(scope="module")
def table() -> Any:
    rows = {"x": [1, 2, 3] * 50, "k": ["a", "b", "c"] * 50, "b": [True, False, True] * 50}
    facts = {"bounds": {"x": (0, 10)}, "keys": {"k": ["a", "b"]}, "columns": {"b": "bool"}, "size": 150, "ledger": ":memory:"}
    with sd.table(rows, **facts, budget=sd.Budget(epsilon=10**5, delta=0.1)) as opened:
        yield opened


def call(table: Any, rng: random.Random) -> Callable[[], Any]:
    """One call with an odd argument somewhere."""
    odd = rng.choice(ODD)
    verbs = [
        name
        for name in dir(table)
        if not name.startswith("_") and name in sd.__all__ and name not in ("dataset", "open", "release", "table")
    ]

    def verb() -> Any:
        method = getattr(table, rng.choice(verbs))
        names = list(inspect.signature(method).parameters)
        wrong = rng.choice(names) if names else ""
        given = {name: odd if name == wrong else GOOD[name] for name in names if name == wrong or name in GOOD}
        return method(**given).release(epsilon=1)

    aggregates = [
        lambda: odd, lambda: sd.counts(odd), lambda: sd.counts([odd]), lambda: sd.sum(odd), lambda: sd.quantile("x", odd),
        lambda: sd.histogram("x", bins=odd), lambda: sd.top_k("k", odd),
    ]  # fmt: skip
    return rng.choice([
        verb, verb,
        lambda: table.where(odd).count().release(epsilon=1),
        lambda: table.group_by(odd).count().release(epsilon=1),
        lambda: table.agg(a=rng.choice(aggregates)()).release(epsilon=1),
        lambda: table.count().release(**{"epsilon": 1, "fresh": True, rng.choice(WISHES): odd}),
        lambda: table.count().preview(**{rng.choice(("epsilons", "within", "within_rank", "delta")): odd}),
        lambda: table.sql(odd).release(epsilon=1),
        lambda: table.batch(epsilon=odd).ask(table.count()),
    ])  # fmt: skip


def test_two_thousand_malformed_calls_raise_only_query_errors_and_charge_nothing(table: Any) -> None:
    rng, refused = random.Random(7), 0
    for number in range(CALLS):
        before, wrong = table.budget.naive, call(table, rng)
        try:
            answer = wrong()
        except sd.errors.QueryError:
            refused += 1
            assert table.budget.naive == before, number
        except sd.errors.BudgetExceeded:  # a price that is legal and beyond the cap
            assert table.budget.naive == before, number
        else:
            if table.budget.naive > before:
                assert isinstance(answer, Release), number  # what is charged is answered
    assert refused > 0.8 * CALLS


MASKS = [np.array([True] * 150), pd.Series([True] * 150), True, None, lambda row: True, [True] * 150, 1, {"x": 1}, ("x", 1)]


@pytest.mark.parametrize("mask", MASKS)
def test_a_mask_is_not_a_condition(table: Any, mask: Any) -> None:
    for start in (table, table.where("x > 1")):
        with pytest.raises(sd.errors.QueryError, match="condition is"):
            start.where(mask)


def test_a_verb_says_what_it_could_not_read(table: Any) -> None:
    with pytest.raises(sd.errors.QueryError, match=r"quantiles cannot be asked .*TypeError.*help\(quantiles\)"):
        table.quantiles("x", 0.5)
    with pytest.raises(sd.errors.QueryError, match="a predicate is True"):
        table.agg(c=sd.counts([True]))
