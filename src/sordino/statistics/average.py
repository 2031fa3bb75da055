"""The mean of a column."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sordino.statistics.halves import Halves
from sordino.statistics.known import Known
from sordino.statistics.moments import MomentsStep
from sordino.statistics.port import Context, Plain, Step
from sordino.statistics.reach import length_grid, public_size

__all__ = ["Mean", "mean"]


@dataclass(frozen=True)
class Mean(Plain):
    """The mean of a bounded column: the two halves where n is private, the sum over n where n is public."""

    column: str

    @property
    def label(self) -> str:
        return f"mean({self.column})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def question(self) -> dict[str, Any]:
        return {"statistic": "mean", "column": self.column}

    def step(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step:
        grid, size = length_grid(context, self.column), public_size(context)
        if size is not None:
            return MomentsStep(Known(self.column, grid, epsilon, size), "mean")
        return MomentsStep(Halves(self.column, grid, epsilon, context), "mean")


def mean(column: str) -> Mean:
    """The mean of a column."""
    return Mean(column)
