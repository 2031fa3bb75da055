"""A filter narrows bounds, and never changes the clamped value of a row it keeps."""

import datetime as dt
from fractions import Fraction

import pytest
from hypothesis import given, settings

from sordino.plan.condition import parse_predicate
from sordino.schema.column import Column, as_number
from sordino.schema.frame import narrow

from .worlds import COLUMNS, ORDERED, holds, predicates, rows


def _clamp(value, bounds):
    low, high = (as_number(end) if as_number(end) is not None else end for end in bounds)
    return min(max(value, low), high)


@settings(max_examples=1500, deadline=None)
@given(predicates, rows)
def test_narrowed_bounds_keep_every_kept_value(predicate, row):
    for name in ORDERED:
        column = COLUMNS[name]
        low, high = narrow(predicate, column)
        assert _clamp(low, column.bounds) == _clamp(low, (low, high)) == low
        assert low < high
        if holds(predicate, row) and row[name] is not None:
            assert _clamp(row[name], (low, high)) == _clamp(row[name], column.bounds)


@pytest.mark.parametrize(
    ("text", "column", "bounds"),
    [
        ("age >= 18", "age", (18, 120)),
        ("age > 18 AND age <= 65", "age", (19, 65)),
        ("age BETWEEN 18 AND 200", "age", (18, 120)),
        ("NOT age < 18", "age", (18, 120)),
        ("age IN (5, 3, 9)", "age", (3, 9)),
        ("age < 10 OR age BETWEEN 20 AND 30", "age", (0, 30)),
        ("age < 10 OR sex = 'f'", "age", (0, 120)),
        ("age < 10 OR age IS NULL", "age", (0, 120)),
        ("age > 200", "age", (0, 120)),
        ("age = 5", "age", (0, 120)),
        ("age <> 5", "age", (0, 120)),
        ("age > 50 AND age < 20", "age", (0, 120)),
        ("60 > age", "age", (0, 59)),
        ("age NOT IN (1, 2)", "age", (0, 120)),
        ("NOT (age < 18 OR age > 65)", "age", (18, 65)),
        ("sex = 'f'", "age", (0, 120)),
        ("income < 0.5", "income", (0, Fraction(1, 2))),
        ("price >= 9.99", "price", (Fraction(999, 100), 999)),
        ("age < kids", "age", (0, 120)),
        ("born >= '2000-01-01'", "born", (dt.date(2000, 1, 1), dt.date(2030, 1, 1))),
        ("smoker", "smoker", None),
        ("sex = 'f'", "sex", None),
    ],
)
def test_bounds_after_a_filter(text, column, bounds):
    assert narrow(parse_predicate(text, COLUMNS), COLUMNS[column]) == bounds


def test_without_a_filter_or_bounds_nothing_changes():
    assert narrow(None, COLUMNS["age"]) == (0, 120)
    assert narrow(parse_predicate("age > 5", COLUMNS), Column("age", "int")) is None


def test_a_range_too_small_for_a_double_is_not_used():
    column = Column("income", "float", (0, 1_000_000))
    assert narrow(parse_predicate("income BETWEEN 0.1 AND 0.10000000000000000001", {"income": column}), column) == (0, 1_000_000)
