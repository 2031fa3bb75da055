"""The interquartile range of a column."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sordino.statistics.port import Context, Plain, Ways
from sordino.statistics.position import as_private
from sordino.statistics.several import several

__all__ = ["InterquartileRange", "iqr"]

QUARTILES = (Fraction(1, 4), Fraction(3, 4))


@dataclass(frozen=True)
class InterquartileRange(Plain):
    """Upper less lower quartile, drawn together, never negative; days for dates, seconds for timestamps."""

    column: str
    private: bool = False
    weight = 2
    unbounded = True

    @property
    def label(self) -> str:
        return f"iqr({self.column})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def question(self) -> dict[str, Any]:
        said = {"bounds": "private"} if self.private else {}
        return {"statistic": "iqr", "column": self.column, **said}

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        return several(self.column, QUARTILES, "range", epsilon, context, private=self.private)


def iqr(column: str, *, bounds: str | None = None) -> InterquartileRange:
    """The interquartile range of a column."""
    return InterquartileRange(column, as_private(bounds))
