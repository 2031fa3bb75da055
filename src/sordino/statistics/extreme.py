"""The smallest and the largest value of a column, as quantiles as near to the ends as privacy allows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sordino.statistics.port import Context, Plain, Step
from sordino.statistics.ranks import RankStep, quantile_mechanism
from sordino.statistics.reach import grid_of

__all__ = ["Extreme", "max", "min", "nearest_level"]

UNKNOWN = Fraction(1, 100)


def nearest_level(column: str, epsilon: Fraction, context: Context) -> Fraction:
    """The least level whose rank the mechanism can still tell from beyond the data, by public facts.

    A point beyond the extreme is q n ranks off, and there may be as many such points as the grid has: they are outweighed from
    q n = ln(mass)/rate on. At q = 0 the answer would be uniform below the smallest value. Without a declared size the level is 0.01.
    """
    if context.size is None:
        return UNKNOWN
    mechanism = quantile_mechanism(grid_of(context, column), Fraction(0), epsilon, context)
    rows = context.size * context.groups_per_person // (len(context.keys) if context.keys else 1)
    needed = math.ceil(math.log(float(mechanism.measure.total(mechanism.high))) / float(mechanism.rate))
    return Fraction(1, 2) if 2 * needed >= rows else Fraction(needed, rows)


@dataclass(frozen=True)
class Extreme(Plain):
    """The minimum or the maximum: both are out of reach of privacy itself, so the answer is the nearest quantile that is not.

    The level is a public fact and part of the mechanism's name.
    """

    column: str
    upper: bool

    @property
    def kind(self) -> str:
        return "max" if self.upper else "min"

    @property
    def label(self) -> str:
        return f"{self.kind}({self.column})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def question(self) -> dict[str, Any]:
        return {"statistic": self.kind, "column": self.column}

    def step(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step:
        level = nearest_level(self.column, epsilon, context)
        return RankStep(self.column, (1 - level if self.upper else level,), "one", epsilon, context)


def min(column: str) -> Extreme:
    """The smallest value of a column, as far as privacy can tell."""
    return Extreme(column, upper=False)


def max(column: str) -> Extreme:
    """The largest value of a column, as far as privacy can tell."""
    return Extreme(column, upper=True)
