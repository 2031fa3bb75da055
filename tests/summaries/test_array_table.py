"""Rows in arrays answer what the oracle of all engines answers, group by group, also where a group has no rows."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sordino.errors import QueryError
from sordino.lab.reference_engine import Reference
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.summaries.array_table import ArrayColumn, ArrayTable
from sordino.summaries.totals import Clipped, Item, Middles, Ranks, Rows, Totals

WARDS = Column("ward", "cat", keys=("a", "b", "empty"))
KEYS = (("a",), ("b",), ("empty",))
UNIT = PrivacyUnit(None)


def tables(width: int, size: int, seed: int):
    """The same rows for the oracle and in arrays: many ties, values at both ends, nulls left out."""
    rng = np.random.default_rng(seed)
    x = rng.choice([0, 1, width // 2, width - 1, width], size)
    ward = rng.choice(["a", "b"], size)
    null = rng.random(size) < 0.2
    cells = [None if gone else int(v) for v, gone in zip(x, null, strict=True)]
    column = Column("x", "int", (0, width))
    frame = Frame(UNIT, by=(WARDS,), columns=(column,))
    arrays = ArrayColumn.of(width, [x[~null & (ward == key)] for (key,) in KEYS])
    rows = [int((ward == key).sum()) for (key,) in KEYS]
    made = ArrayTable(KEYS, {"x": arrays}, {Item("rows"): rows, Item("units"): rows})
    return Reference({"x": cells, "ward": ward.tolist()}, (column, WARDS)), frame, made


@pytest.mark.parametrize("width", [1, 100, 2**40])
@pytest.mark.parametrize("size", [0, 1, 40])
def test_the_oracle_says_the_same(width, size):
    engine, frame, made = tables(width, size, seed=size)
    items = (Item("rows"), Item("units"), *(Item(what, "x") for what in ("rows", "sum", "coarse", "squares")))
    with engine.bounded(frame, 1) as oracle:
        for request in (
            Totals(items),
            Clipped("x", ((0, width), (1, max(1, width // 2)), (0, 0)), KEYS),
        ):
            right, found = oracle.ask(request), made.ask(request)
            assert found.keys == right.keys
            assert {item: found.values[item].tolist() for item in found.values} == {i: right.values[i].tolist() for i in right.values}
        for keys in (None, KEYS[1:]):
            several = len(keys or KEYS)
            for request in (
                Ranks("x", (Fraction(1, 4), Fraction(1, 2)), 3, keys), Middles("x", (7,) * several, 2, keys), Rows("x", keys),
            ):  # fmt: skip
                for right, found in zip(oracle.ask(request), made.ask(request), strict=True):
                    assert said(found) == said(right)


def said(answer):
    if isinstance(answer, tuple):
        return [said(part) for part in answer]
    return {name: np.asarray(value).tolist() for name, value in vars(answer).items() if name != "memo"}


def test_what_is_not_there_is_not_answered():
    with pytest.raises(QueryError, match="SRD-106"):
        ArrayTable().ask("everything")
