"""A declared column: its type, public bounds and keys, and the grid its numbers live on. Nothing here is ever read from the data."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sordino.errors import QueryError
from sordino.schema.value import EPOCH, as_moment, as_number, shown

if TYPE_CHECKING:
    from sordino.schema.expression import Expression

__all__ = ["LENGTH", "NUMBERS", "SHAPES", "TYPES", "Column", "Grid", "coarse_shift"]

NUMBERS = ("int", "float", "decimal", "bool", "date", "timestamp")
TYPES = (*NUMBERS, "cat", "id", "never")
LENGTH = 256  # characters of a text, where nobody says otherwise
SHAPES = ("symmetric", "skewed", "uniform")  # what an owner may say about a distribution without looking


@dataclass(frozen=True)
class Grid:
    """How a number becomes an integer: floor(clamp(x)/step) - low, from 0 to width. `low` and `high` are the bounds in steps."""

    kind: str
    step: Fraction
    low: int
    high: int

    @property
    def width(self) -> int:
        return self.high - self.low

    def value(self, steps: int | float | Fraction) -> Any:
        """What an integer (or a fraction between integers) above the lower bound means in the column's own unit."""
        exact_value = (Fraction(steps) + self.low) * self.step
        if self.kind == "date":
            return (EPOCH + dt.timedelta(days=math.floor(exact_value))).date()
        if self.kind == "timestamp":
            return EPOCH + dt.timedelta(seconds=math.floor(exact_value))
        if self.kind in ("int", "bool") and exact_value.denominator == 1:
            return int(exact_value)
        return float(exact_value)

    def length(self, steps: int | float | Fraction) -> float:
        """A distance in steps as a number in the column's unit (days for dates, seconds for timestamps)."""
        return float(Fraction(steps) * self.step)


def coarse_shift(grid: Grid) -> int:
    """How many low bits are dropped before squaring: coarse integers x >> shift have at most 20 bits, so a square has at most 40."""
    return max(0, grid.width.bit_length() - 20)


@dataclass(frozen=True)
class Column:
    """One column of a table, as its owner declares it.

    type: int, float, decimal, bool, date, timestamp, cat, id, never. `bounds` are public and required before a number is used; `keys`
    are the public values of a group column, or None when they are private. `nulls` is "drop" or a constant that stands in for null.
    `max_length` is how many characters of a text are read; what follows is as if it were not there.
    A derived column has an `expression`; its type and bounds follow from those of the columns it is made of.
    """

    name: str
    type: str
    bounds: tuple[Any, Any] | None = None
    keys: tuple[Any, ...] | None = None
    scale: int = 0  # decimals of a decimal(p, s)
    resolution: Fraction | None = None
    nulls: Any = "drop"
    shape: str | None = None
    expression: Expression | None = None
    max_length: int = LENGTH

    @property
    def number(self) -> bool:
        return self.type in NUMBERS

    def grid(self) -> Grid:
        """The public grid of this column; an error with the fix if it has no bounds."""
        if not self.number:
            what = f"column {shown(self.name)} is of type {self.type}, not a number."
            declare = f" If it holds numbers, declare bounds={{{shown(self.name)}: (low, high)}}." if self.type == "cat" else ""
            raise QueryError("SRD-203", what, f"Ask for counts, or group by it.{declare}", column=self.name)
        if self.type == "bool":
            return Grid("bool", Fraction(1), 0, 1)
        if self.bounds is None:
            what = f"column {shown(self.name)} has no public bounds."
            fix = f"Declare bounds={{{shown(self.name)}: (low, high)}} from public knowledge, never from the data."
            raise QueryError("SRD-202", what, fix, column=self.name)
        low, high = (self._steps(bound) for bound in self.bounds)
        if self.type in ("date", "timestamp"):
            return Grid(self.type, Fraction(1), math.floor(low), math.floor(high))
        step = {"int": Fraction(1), "decimal": Fraction(1, 10**self.scale)}.get(self.type) or self.resolution or _fine(high - low)
        return Grid(self.type, step, math.floor(low / step), math.floor(high / step))

    def _steps(self, bound: Any) -> Fraction:
        """A bound as a number: days or seconds since 1970 for dates and timestamps."""
        if self.type == "date":
            day = as_moment(bound)
            return Fraction((day.date() - EPOCH.date()).days) if day else self._refuse(bound)
        if self.type == "timestamp":
            moment = as_moment(bound)
            return Fraction((moment - EPOCH) // dt.timedelta(seconds=1)) if moment else self._refuse(bound)
        number = as_number(bound)
        return self._refuse(bound) if number is None else number

    def _refuse(self, bound: Any) -> Fraction:
        what = f"column {shown(self.name)} is of type {self.type} and has the bound {shown(bound)}."
        raise QueryError("SRD-202", what, "Give two finite bounds of that type, such as (0, 120).", column=self.name)


def _fine(span: Fraction) -> Fraction:
    """2^floor(log2(span 2^-48)) by whole numbers alone, so that the grid is the same on every machine."""
    if span <= 0:
        raise QueryError("SRD-202", "the bounds of a column leave no room between them.", "The lower bound must be below the upper bound.")
    power = span.numerator.bit_length() - span.denominator.bit_length()
    return Fraction(2) ** (power - (span < Fraction(2) ** power) - 48)
