"""The variance and the standard deviation of a column, with divisor n, or n - 1 as in SQL."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sordino.statistics.bernstein import Bernstein
from sordino.statistics.known import KnownVariance
from sordino.statistics.moments import MomentsStep
from sordino.statistics.port import Context, Plain, Step
from sordino.statistics.reach import length_grid, public_size

__all__ = ["Variance", "std", "variance"]


@dataclass(frozen=True)
class Variance(Plain):
    """The variance of a bounded column, from three Bernstein sums, or by itself where n is public.

    `root` asks for its square root, `sample` divides by n - 1, not n.
    """

    way = "laplace"
    column: str
    root: bool = False
    sample: bool = False

    @property
    def kind(self) -> str:
        return ("stddev_samp" if self.root else "var_samp") if self.sample else "std" if self.root else "variance"

    @property
    def label(self) -> str:
        return f"{self.kind}({self.column})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def question(self) -> dict[str, Any]:
        return {"statistic": self.kind, "column": self.column}

    def step(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step:
        grid, size = length_grid(context, self.column), public_size(context)
        if size is not None:
            return MomentsStep(KnownVariance(self.column, grid, epsilon, size), self.kind)
        return MomentsStep(Bernstein(self.column, grid, epsilon, context), self.kind)


def variance(column: str) -> Variance:
    """The variance of a column."""
    return Variance(column)


def std(column: str) -> Variance:
    """The standard deviation of a column."""
    return Variance(column, root=True)
