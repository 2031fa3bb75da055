"""A declared column: its type, public bounds and keys, and the grid its numbers live on. Nothing here is ever read from the data."""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sordino.errors import QueryError
from sordino.privacy.number import exact

__all__ = ["NUMBERS", "TYPES", "Column", "Grid"]

NUMBERS = ("int", "float", "decimal", "bool", "date", "timestamp")
TYPES = (*NUMBERS, "cat", "id", "never")
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


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


@dataclass(frozen=True)
class Column:
    """One column of a table, as its owner declares it.

    type: int, float, decimal, bool, date, timestamp, cat, id, never. `bounds` are public and required before a number is used; `keys`
    are the public values of a group column, or None when they are private. `nulls` is "drop" or a constant that stands in for null.
    """

    name: str
    type: str
    bounds: tuple[Any, Any] | None = None
    keys: tuple[Any, ...] | None = None
    scale: int = 0  # decimals of a decimal(p, s)
    resolution: Fraction | None = None
    nulls: Any = "drop"
    shape: str | None = None

    @property
    def number(self) -> bool:
        return self.type in NUMBERS

    def grid(self) -> Grid:
        """The public grid of this column; an error with the fix if it has no bounds."""
        if not self.number:
            raise QueryError("SRD-203", f"column {self.name!r} is of type {self.type}, not a number.", "Ask for counts, or group by it.")
        if self.type == "bool":
            return Grid("bool", Fraction(1), 0, 1)
        if self.bounds is None:
            what = f"column {self.name!r} has no public bounds."
            raise QueryError("SRD-202", what, f"Declare bounds={{{self.name!r}: (low, high)}} from public knowledge, never from the data.")
        if self.type == "date":
            low, high = (Fraction((_day(b) - EPOCH.date()).days) for b in self.bounds)
            return Grid("date", Fraction(1), int(low), int(high))
        if self.type == "timestamp":
            low, high = (Fraction(int((_moment(b) - EPOCH).total_seconds())) for b in self.bounds)
            return Grid("timestamp", Fraction(1), int(low), int(high))
        low, high = (exact(b, "a bound", "SRD-202") for b in self.bounds)
        step = {"int": Fraction(1), "decimal": Fraction(1, 10**self.scale)}.get(self.type) or self.resolution
        if step is None:
            step = Fraction(2) ** (math.floor(math.log2(high - low)) - 48)
        return Grid(self.type, step, math.floor(low / step), math.floor(high / step))


def _day(value: Any) -> dt.date:
    if isinstance(value, dt.datetime):
        return value.date()
    return value if isinstance(value, dt.date) else dt.date.fromisoformat(str(value))


def _moment(value: Any) -> dt.datetime:
    moment = value if isinstance(value, dt.datetime) else dt.datetime.fromisoformat(str(value))
    return moment.replace(tzinfo=dt.UTC) if moment.tzinfo is None else moment.astimezone(dt.UTC)
