"""Sorted rows: all of them, the few that a cut keeps, and the share that a thinning keeps."""

from __future__ import annotations

import numpy as np
import pytest

from sordino.engines.source import open_source
from sordino.lab.awkward_tables import COLUMNS, FRAMES, awkward
from sordino.lab.reference_engine import Reference
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.summaries.totals import ALL, Rows

X = Column("x", "int", bounds=(0, 999))
FRAME = Frame(PrivacyUnit(), columns=(X,))


def answers(engine: object, frame: Frame, request: Rows, salt: int = 5) -> list[list[int]]:
    with engine.bounded(frame, salt) as bounded:  # type: ignore[attr-defined]
        found = list(bounded.ask(request))
    assert all(rows.n == len(rows.values) and rows.values.dtype == np.int64 for rows in found)
    return [rows.values.tolist() for rows in found]


def rows_of(values: list[int], request: Rows, salt: int = 5, *, portable: bool = False) -> list[int]:
    with open_source({"x": values}, (X,), portable=portable) as engine:
        return answers(engine, FRAME, request, salt)[0]


@pytest.mark.parametrize("name", ["rows", "rows by", "people by", "people by public", "nulls filled"])
def test_rows_are_the_oracles_whole_cut_and_thinned(name: str) -> None:
    table, frame = awkward(300), FRAMES[name]
    with open_source(table, COLUMNS, portable=True, threads=2) as engine:
        oracle = Reference(table, COLUMNS)
        for column in frame.columns:
            whole = answers(engine, frame, Rows(column.name))
            shares = tuple((ALL, ALL // 3, 0)[i % 3] for i in range(len(whole)))
            for request in (Rows(column.name), Rows(column.name, most=5), Rows(column.name, shares=shares)):
                assert answers(engine, frame, request) == answers(oracle, frame, request)


def removed(more: list[int], less: list[int]) -> tuple[int, int]:
    """How many values of the first are not in the second, and the other way round, as multisets."""
    values = set(more) | set(less)
    change = [more.count(v) - less.count(v) for v in values]
    return sum(c for c in change if c > 0), -sum(c for c in change if c < 0)


@pytest.mark.parametrize("portable", [True, False])
def test_a_row_more_is_at_most_one_swap_in_the_cut_and_one_addition_in_the_thinning(portable: bool) -> None:
    rng = np.random.default_rng(1)
    base = rng.integers(0, 20, 200).tolist()
    for extra in (base[0], 500):
        for salt in range(4):
            cut = [rows_of(v, Rows("x", most=60), salt, portable=portable) for v in (base, [extra, *base[::-1]])]
            assert len(cut[0]) == len(cut[1]) == 60
            assert removed(*cut) in ((0, 0), (1, 1))
            thin = [rows_of(v, Rows("x", shares=(ALL // 3,)), salt, portable=portable) for v in (base, [extra, *base[::-1]])]
            assert removed(*thin) in ((0, 0), (0, 1))


@pytest.mark.parametrize("portable", [True, False])
def test_equal_values_are_thinned_like_different_ones(portable: bool) -> None:
    kept = [len(rows_of([7] * 3_000, Rows("x", shares=(ALL // 4,)), salt, portable=portable)) for salt in range(8)]
    assert abs(sum(kept) - 6_000) < 6 * (8 * 3_000 * 3 / 16) ** 0.5
    assert len(set(kept)) > 1
    spread = rows_of([v for v in range(10) for _ in range(1_000)], Rows("x", most=5_000), portable=portable)
    assert all(abs(spread.count(v) - 500) < 120 for v in range(10))


def test_a_group_larger_than_a_slice_is_read_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sordino.engines.answer.SLICE", 100)
    monkeypatch.setattr("sordino.engines.answer.SLICE", 100)
    values = np.random.default_rng(2).integers(0, 1000, 700).tolist()
    assert rows_of(values, Rows("x")) == sorted(values)
    city = Column("g", "cat")
    with open_source({"x": values, "g": ["a"] * 650 + ["b"] * 50}, (X, city)) as engine:
        found = answers(engine, Frame(PrivacyUnit(), by=(city,), columns=(X,)), Rows("x", (("b",), ("a",), ("none",))))
    assert found == [sorted(values[650:]), sorted(values[:650]), []]
