"""A sorted column that is never sorted: every slice equals the slice of the sorted array."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.engines.answer import RankOrder, sorted_groups
from sordino.engines.source import open_source
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.summaries.request import rank_window
from sordino.summaries.totals import Item, Middles, Ranks, Totals, middle


def order(x: np.ndarray, width: int, rows: int) -> tuple[RankOrder, list[int]]:
    """An order over an array in memory, and how many values each read returned."""
    reads: list[int] = []

    def count(low: int, high: int, shift: int) -> tuple[np.ndarray, np.ndarray]:
        inside = x[(x >= low) & (x < high)]
        return np.unique((inside - low) >> shift, return_counts=True)

    def read(low: int, high: int) -> np.ndarray:
        inside = x[(x >= low) & (x < high)]
        reads.append(len(inside))
        return inside

    return RankOrder(width, count, read, rows), reads


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_every_slice_is_the_slice_of_the_sorted_array(data: st.DataObject) -> None:
    width = data.draw(st.sampled_from([1, 5, 4_000, 2**20, 2**40, 2**61]))
    near = st.integers(0, width) | st.integers(0, min(width, 3)) | st.just(width)
    x = np.array(data.draw(st.lists(near, max_size=60)), dtype=np.int64)
    found, reads = order(x, width, rows=data.draw(st.integers(1, 10)))
    assert len(found) == len(x)
    start, stop = sorted(data.draw(st.tuples(st.integers(0, len(x)), st.integers(0, len(x)))))
    assert found[start:stop].tolist() == np.sort(x)[start:stop].tolist()
    assert max(reads, default=0) <= 10


def test_only_the_wanted_ranks_are_read() -> None:
    x = np.random.default_rng(1).integers(0, 2**40, 100_000)
    found, reads = order(x, 2**40, rows=1_000)
    assert found[50_000:50_010].tolist() == np.sort(x)[50_000:50_010].tolist()
    assert sum(reads) < 1_000


def test_groups_are_sorted_by_one_key_or_by_two() -> None:
    group, value = np.array([2, 0, 2, 0, 2]), np.array([5, 9, 1, 9, 3])
    for width in (9, 2**61):
        assert [x.tolist() for x in sorted_groups(group, value, 4, width)] == [[9, 9], [], [1, 3, 5], []]


def test_a_large_column_is_read_in_pieces_and_groups_in_slices(monkeypatch) -> None:
    monkeypatch.setattr("sordino.engines.answer.SLICE", 500)
    monkeypatch.setattr("sordino.engines.answer.SLICE", 500)
    rng = np.random.default_rng(2)
    values, groups = np.concatenate([rng.normal(50, 20, 5_000), [7.0] * 3_000]), rng.integers(0, 40, 8_000) ** 2 // 100
    groups[:2_000] = 99
    number, group = Column("v", "float", bounds=(0, 100)), Column("g", "int", bounds=(0, 99))
    step = float(number.grid().step)
    quantised = np.floor(np.clip(values, 0, 100) / step).astype(np.int64)
    levels = (Fraction(1, 10), Fraction(1, 2), Fraction(1))
    with open_source({"v": values, "g": groups}, (number, group)) as engine:
        for by, wanted in (((), [np.ones(8_000, bool)]), ((group,), [groups == g for g in sorted(set(groups.tolist()), key=str)])):
            with engine.bounded(Frame(PrivacyUnit(), by=by, columns=(number,)), 1) as bounded:
                found = list(bounded.ask(Ranks("v", levels, 60)))
            for windows, mask in zip(found, wanted, strict=True):
                for q, window in zip(levels, windows, strict=True):
                    expected = rank_window(np.sort(quantised[mask]), q, 60, 0, number.grid().width)
                    assert (window.first, window.n, window.values.tolist()) == (expected.first, expected.n, expected.values.tolist())


def test_a_group_of_nulls_alone_is_found_among_integer_keys() -> None:
    number, group = Column("v", "int", bounds=(0, 9)), Column("g", "int", bounds=(0, 9))
    frame = Frame(PrivacyUnit(), by=(group,), columns=(number,))
    with open_source({"v": [1, 2, 3], "g": [None, 4, None]}, (number, group)) as engine, engine.bounded(frame, 1) as bounded:
        for keys, sizes in ((((None,),), [2]), (((4,), (5,)), [1, 0]), ((), [])):
            assert [window.n for (window,) in bounded.ask(Ranks("v", (Fraction(1, 2),), 1, keys=keys))] == sizes


def test_many_public_keys_are_listed_in_a_table() -> None:
    group = Column("g", "int", bounds=(0, 5_000), keys=(*range(3_000), None))
    name = Column("n", "cat", keys=tuple(f"it's {i}" for i in range(1_500)))
    rows = {"g": [0, 2_999, 3_000, None, 7], "n": ["it's 3", "x", "it's 1499", "it's 3", None]}
    with open_source(rows, (group, name)) as engine:
        for by, total in ((group, 4), (name, 3)):
            with engine.bounded(Frame(PrivacyUnit(), by=(by,)), 1) as bounded:
                found = bounded.ask(Totals((Item("rows"),)))
                assert found.keys == tuple((key,) for key in by.keys)
                assert found.values[Item("rows")].sum() == total


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_every_total_is_the_sum_of_the_slice(data: st.DataObject) -> None:
    width = data.draw(st.sampled_from([1, 5, 4_000, 2**40, 2**61]))
    near = st.integers(0, width) | st.integers(0, min(width, 3)) | st.just(width)
    x = np.array(data.draw(st.lists(near, max_size=60)), dtype=np.int64)
    found, _ = order(x, width, rows=data.draw(st.integers(1, 10)))
    start, stop = sorted(data.draw(st.tuples(st.integers(0, len(x)), st.integers(0, len(x)))))
    assert found.total(start, stop) == sum(np.sort(x)[start:stop].tolist())


def test_the_middle_of_a_large_column_is_added_up_in_the_database(monkeypatch) -> None:
    monkeypatch.setattr("sordino.engines.answer.RankOrder.__init__.__defaults__", (500, None))
    rng = np.random.default_rng(4)
    values = np.concatenate([rng.normal(50, 20, 5_000), [7.0] * 3_000])
    number = Column("v", "float", bounds=(0, 100))
    width = number.grid().width
    x = np.sort(np.floor(np.clip(values, 0, 100) / float(number.grid().step)).astype(np.int64))
    with open_source({"v": values}, (number,)) as engine, engine.bounded(Frame(PrivacyUnit(), columns=(number,)), 1) as bounded:
        for kept in (1, 6_000, 7_999, 9_000):
            (found,) = bounded.ask(Middles("v", (kept,), 3))
            expected = middle(x, kept, 3, width)
            assert (found.total, found.n) == (expected.total, expected.n)
            assert (found.lower.tolist(), found.upper.tolist()) == (expected.lower.tolist(), expected.upper.tolist())
