"""What stands for bounds that nobody declared."""

from fractions import Fraction

import pytest

from sordino.schema.column import Column
from sordino.schema.frame import HORIZON, unbounded


def test_numbers_without_bounds_reach_to_the_horizon():
    grid = unbounded(Column("x", "float")).grid()
    assert (grid.step, grid.low, grid.high) == (Fraction(1, 4096), -(2**52), 2**52)
    whole = unbounded(Column("x", "int")).grid()
    assert (whole.step, whole.low, whole.high) == (1, -HORIZON, HORIZON)
    assert unbounded(Column("x", "decimal", scale=2)).grid().step == Fraction(1, 100)
    assert unbounded(Column("x", "float", resolution=Fraction(1, 2))).grid().step == Fraction(1, 2)


@pytest.mark.parametrize(
    "column",
    [
        Column("x", "float", (0, 1)),
        Column("x", "cat"),
        Column("x", "bool"),
        Column("x", "date"),
        Column("x", "decimal", scale=9),
        Column("x", "float", resolution=Fraction(1, 10**9)),
    ],
    ids=repr,
)
def test_everything_else_stays_as_it_was_declared(column):
    assert unbounded(column) == column
