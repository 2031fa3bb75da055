"""The interquartile range of a column."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sordino.statistics.port import Context, Plain, Step
from sordino.statistics.ranks import RankStep

__all__ = ["InterquartileRange", "iqr"]

QUARTILES = (Fraction(1, 4), Fraction(3, 4))


@dataclass(frozen=True)
class InterquartileRange(Plain):
    """Upper less lower quartile, each at half of the price, never negative; days for dates, seconds for timestamps."""

    column: str
    weight = 2

    @property
    def label(self) -> str:
        return f"iqr({self.column})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def question(self) -> dict[str, Any]:
        return {"statistic": "iqr", "column": self.column}

    def step(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step:
        return RankStep(self.column, QUARTILES, "range", epsilon, context)


def iqr(column: str) -> InterquartileRange:
    """The interquartile range of a column."""
    return InterquartileRange(column)
