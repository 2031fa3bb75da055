"""The public grid of a column follows from its declaration alone."""

import datetime as dt
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.errors import QueryError
from sordino.schema.column import Column, Grid


def test_every_number_type_has_its_grid():
    assert Column("a", "int", (-5, 120)).grid() == Grid("int", Fraction(1), -5, 120)
    assert Column("a", "decimal", (0, 9.99), scale=2).grid() == Grid("decimal", Fraction(1, 100), 0, 999)
    assert Column("a", "float", (0, 300), resolution=Fraction(1, 10)).grid() == Grid("float", Fraction(1, 10), 0, 3000)
    assert Column("a", "float", (0, 1)).grid() == Grid("float", Fraction(1, 2**48), 0, 2**48)
    assert Column("a", "bool").grid() == Grid("bool", Fraction(1), 0, 1)
    assert Column("a", "date", ("1969-12-31", dt.date(1970, 1, 2))).grid() == Grid("date", Fraction(1), -1, 1)
    assert Column("a", "timestamp", ("1969-12-31 23:59:59.5", "1970-01-01 00:01")).grid() == Grid("timestamp", Fraction(1), -1, 60)


@given(st.fractions(min_value=Fraction(1, 10**30), max_value=10**30))
def test_the_fine_grid_is_the_power_of_two_of_its_definition(span):
    step = Column("a", "float", (Fraction(0), span)).grid().step
    assert step * 2**48 <= span < step * 2**49
    assert math.log2(step) == int(math.log2(step))


def test_a_grid_integer_means_a_value_of_the_columns_kind():
    assert Column("a", "date", ("2020-01-01", "2020-02-01")).grid().value(31) == dt.date(2020, 2, 1)
    assert Column("a", "int", (10, 20)).grid().value(3) == 13
    assert Column("a", "decimal", (0, 10), scale=2).grid().value(5) == 0.05
    assert Column("a", "timestamp", ("2020-01-01", "2020-02-01")).grid().value(60) == dt.datetime(2020, 1, 1, 0, 1, tzinfo=dt.UTC)
    assert Column("a", "decimal", (0, 10), scale=2).grid().length(5) == 0.05


@pytest.mark.parametrize(
    ("column", "code"),
    [
        (Column("a", "cat"), "SRD-203"),
        (Column("a", "id"), "SRD-203"),
        (Column("a", "never"), "SRD-203"),
        (Column("a", "int"), "SRD-202"),
        (Column("a", "float", (1, 1)), "SRD-202"),
        (Column("a", "float", (0, float("nan"))), "SRD-202"),
        (Column("a", "date", ("soon", "later")), "SRD-202"),
        (Column("a", "timestamp", (1, 2)), "SRD-202"),
    ],
)
def test_without_a_grid_there_is_an_error_with_the_fix(column, code):
    with pytest.raises(QueryError) as caught:
        column.grid()
    assert caught.value.code == code
    assert caught.value.fix
