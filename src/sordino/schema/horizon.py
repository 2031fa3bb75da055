"""What stands for the bounds of a number column that has none: so wide that they say nothing, so public that they leak nothing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sordino.schema.column import Column

__all__ = ["HORIZON", "unbounded"]

HORIZON = 2**40
FINE = Fraction(1, 2**12)


def unbounded(column: Column) -> Column:
    """The column between -2^40 and 2^40, floats in steps of 2^-12 where no resolution is declared.

    Quantiles can be found there, because their price grows with the logarithm of the width at most; sums and means cannot.
    Other types than int, float and decimal, and columns with bounds, are left as they are.
    """
    if column.bounds is not None or column.type not in ("int", "float", "decimal") or column.expression is not None:
        return column
    wide = replace(column, bounds=(-HORIZON, HORIZON))
    wide = replace(wide, resolution=column.resolution or FINE) if column.type == "float" else wide
    return wide if wide.grid().width <= 2**53 else column
