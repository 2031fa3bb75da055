"""Of a remote column only the ranks that are looked at travel, and they are the ones a sorted array would show."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.engines.database import EngineGlimpse, RemoteEngine
from sordino.engines.source import open_source
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.summaries.request import rank_window
from sordino.summaries.totals import Middles, Ranks, middle

GROUP, VALUE = Column("g", "int", bounds=(0, 99)), Column("v", "int", bounds=(0, 2**40))
FRAME = Frame(PrivacyUnit(), by=(GROUP,), columns=(VALUE,))
LEVELS = (Fraction(1, 10), Fraction(1, 2), Fraction(1))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_what_a_look_asks_for_is_what_it_needs(data: st.DataObject) -> None:
    x = np.sort(np.array(data.draw(st.lists(st.integers(0, 50), max_size=40)), dtype=np.int64))
    radius, kept = data.draw(st.integers(0, 8)), data.draw(st.integers(1, 60))

    def look(column: Any) -> Any:
        window, inner = rank_window(column, data_level, radius, 0, 50), middle(column, kept, radius, 50)
        return window.values.tolist(), window.first, window.n, inner.total, inner.lower.tolist(), inner.upper.tolist()

    data_level = data.draw(st.sampled_from(LEVELS))
    glimpse = EngineGlimpse(len(x))
    look(glimpse)
    known = [rank for start, stop in glimpse.ranges for rank in range(start, stop)]
    glimpse.ranks, glimpse.values = np.array(known, np.int64), x[known]
    glimpse.totals = {(start, stop): int(x[start:stop].sum()) for start, stop in glimpse.sums}
    assert look(glimpse) == look(x)


@pytest.mark.parametrize("at_once", [10**6, 200, 20])
def test_windows_and_middles_of_many_groups_are_read_in_few_and_small_answers(monkeypatch: Any, at_once: int) -> None:
    monkeypatch.setattr("sordino.engines.duckdb.EngineAnswer", RemoteEngine)
    monkeypatch.setattr("sordino.engines.database.AT_ONCE", at_once)
    read: list[int] = []
    fetch = RemoteEngine._fetch

    def counted(self: RemoteEngine, statement: str) -> Any:
        found = fetch(self, statement)
        read.append(len(next(iter(found.values()))))
        return found

    monkeypatch.setattr(RemoteEngine, "_fetch", counted)
    rng = np.random.default_rng(3)
    groups, values = rng.integers(0, 30, 20_000), rng.integers(0, 2**40, 20_000)
    kept = tuple(range(1, 1_500, 50))
    with open_source({"g": groups, "v": values}, (GROUP, VALUE)) as engine, engine.bounded(FRAME, 1) as bounded:
        found = list(bounded.ask(Ranks("v", LEVELS, 3)))
        middles = list(bounded.ask(Middles("v", kept, 2)))
    for place, group in enumerate(sorted(set(groups.tolist()), key=str)):
        x = np.sort(values[groups == group])
        expected = [rank_window(x, q, 3, 0, 2**40) for q in LEVELS]
        assert [(w.values.tolist(), w.first, w.n) for w in found[place]] == [(w.values.tolist(), w.first, w.n) for w in expected]
        truth = middle(x, kept[place], 2, 2**40)
        mine = middles[place]
        assert (mine.total, mine.lower.tolist(), mine.upper.tolist(), mine.n) == (
            truth.total,
            truth.lower.tolist(),
            truth.upper.tolist(),
            truth.n,
        )
    if at_once >= 200:
        assert max(read) <= max(min(at_once, 1_000), 30)
        assert sum(read) < 2_000  # of 20,000 values


def test_a_group_whose_window_is_too_large_is_read_by_itself(monkeypatch: Any) -> None:
    monkeypatch.setattr("sordino.engines.duckdb.EngineAnswer", RemoteEngine)
    monkeypatch.setattr("sordino.engines.database.AT_ONCE", 50)
    table = {"g": [0] * 300 + [1] * 5, "v": [*range(300), *range(5)]}
    with open_source(table, (GROUP, VALUE)) as engine, engine.bounded(FRAME, 1) as bounded:
        windows = [w.values.tolist() for (w,) in bounded.ask(Ranks("v", (Fraction(1, 2),), 100))]
    assert windows == [rank_window(np.arange(n), Fraction(1, 2), 100, 0, 2**40).values.tolist() for n in (300, 5)]
