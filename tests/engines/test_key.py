"""Bins of a number column are groups like any other."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from sordino.engines.source import open_source
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.summaries.totals import Item, Totals

ROWS = Item("rows")
AMOUNT = Column("amount", "float", bounds=(0, 16))


def counts(values, edges, *, column=AMOUNT, by=(), extra=None, unit=None, salt=7):
    """Rows per bin through the engine, by group key."""
    bins = Column(column.name, column.type, bounds=column.bounds, keys=tuple(range(len(edges) - 1)))
    source = {column.name: values, **(extra or {})}
    person = PrivacyUnit("id", max_rows=2, max_groups=1) if unit else PrivacyUnit()
    names = Column("id", "id") if unit else None
    frame = Frame(person, names, by=(*by, bins), edges=edges)
    with open_source(source, (column, *by, *([names] if names else []))) as engine, engine.bounded(frame, salt) as rows:
        answer = rows.ask(Totals((ROWS,)))
    return dict(zip(answer.keys, answer.values[ROWS].tolist(), strict=True))


def step(value):
    return int(value / float(AMOUNT.grid().step))


@pytest.mark.parametrize("many", [1, 2, 3, 7, 64, 1500])
def test_bins_agree_with_numpy_on_edges_ties_and_the_closed_right_end(many):
    edges = np.linspace(0, 16, many + 1)
    values = np.concatenate([edges, np.linspace(0, 16, 4001), [0.0] * 5, [16.0] * 5])
    steps = tuple(step(edge) for edge in edges)
    truth = np.histogram(np.floor(values / float(AMOUNT.grid().step)), bins=np.array(steps, float))[0]
    assert list(counts(values.tolist(), steps).values()) == truth.tolist()


def test_rows_in_no_bin_and_nulls_drop_out():
    values = [None, float("nan"), 1.0, 3.9, 4.0, 7.9, 8.0, 8.1, "x", -5.0, 99.0]
    assert counts(values, (step(4), step(6), step(8))) == {(0,): 1, (1,): 2}


def test_infinities_and_far_values_are_clamped_before_they_are_binned():
    assert counts([float("inf"), float("-inf"), 1e308, -3.0], (step(0), step(8), step(16))) == {(0,): 2, (1,): 2}


def test_bins_follow_the_query_groups_and_every_cell_appears():
    town = Column("town", "cat", keys=("a", "b"))
    found = counts([1.0, 9.0, 9.5, 2.0], (0, step(8), step(16)), by=(town,), extra={"town": ["a", "a", "b", "c"]})
    assert found == {("a", 0): 1, ("a", 1): 1, ("b", 0): 0, ("b", 1): 1}


def test_bounding_sees_the_bins_as_groups():
    values = [1.0] * 5 + [9.0] * 5
    found = counts(values, (0, step(8), step(16)), extra={"id": [1] * 10}, unit=True)
    assert sorted(found.values()) == [0, 2]


PERSON = Column("person", "id")


def people(ids, rows=1):
    """Every kept row's value through the engine: equal for equal people, as the hash of an id is that of its text."""
    unit = PrivacyUnit("person", max_rows=rows)
    with open_source({"person": ids, "amount": list(range(len(ids)))}, (PERSON, AMOUNT), portable=True) as engine:
        found = {}
        for salt in (1, 2):
            with engine.bounded(Frame(unit, PERSON, columns=(AMOUNT,)), salt) as bounded:
                totals = bounded.ask(Totals((Item("units"), Item("sum", "amount"))))
                found[salt] = [int(totals.values[item][0]) for item in (Item("units"), Item("sum", "amount"))]
    return found


IDS = [3, 1, 3, 2, 1, -7, 0, 3, 10**15, 10**15 + 1]


@pytest.mark.parametrize("rows", [1, 2])
def test_an_id_is_the_same_person_whatever_stores_it(rows):
    stored = {
        "integers": IDS,
        "numpy integers": np.array(IDS),
        "floats": [float(v) for v in IDS],
        "numpy floats": np.array(IDS, float),
        "floats because a row has none": pd.Series([*IDS, None])[:-1],
        "nullable integers": pd.Series(IDS, dtype="Int64"),
        "text": [str(v) for v in IDS],
        "categories": pd.Series([str(v) for v in IDS], dtype="category"),
        "categories of floats": pd.Series([float(v) for v in IDS], dtype="category"),
        "decimals": [Decimal(v) for v in IDS],
        "decimals with places": [Decimal(v).quantize(Decimal("0.00")) for v in IDS],
        "a mixture": [v if i % 3 else float(v) if i % 2 else str(v) for i, v in enumerate(IDS)],
        "arrow decimals": pa.array([Decimal(v) for v in IDS], pa.decimal128(38, 10)),
        "single precision": np.array(IDS[:8], np.float32),
    }
    expected = people(IDS, rows)
    for name, ids in stored.items():
        assert people(ids, rows) == (people(IDS[:8], rows) if name == "single precision" else expected), name
    assert people(np.array([3, 1, 3], np.uint64)) == people([3, 1, 3])


def test_flags_are_true_and_false_zero_has_one_sign_and_text_is_as_it_is():
    assert people([True, False, True]) == people(["true", "false", "true"]) == people(np.array([True, False, True]))
    assert people([0.0, -0.0, 1.0])[1][0] == 2
    assert people(["7", "7.0", " 7", "07"])[1][0] == 4
    assert people([0.5, 0.5, 1.5, float("nan"), None])[1][0] == 2
    assert people([1e300, 1e300, float("inf"), Decimal("1E+1000000"), Decimal("NaN")])[1][0] == 3
