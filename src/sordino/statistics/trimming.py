"""Trimmed and winsorised means of a column: centres that a few wild rows do not move."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from sordino.errors import QueryError
from sordino.privacy.number import exact
from sordino.statistics.fit import SMOOTHS
from sordino.statistics.middle import MiddleStep
from sordino.statistics.port import Context, Plain, Ways

__all__ = ["MIDDLE_WAYS", "Trimmed", "trimmed_mean", "winsorized_mean"]

MIDDLE_WAYS = (*SMOOTHS, "published")


@dataclass(frozen=True)
class Trimmed(Plain):
    """The mean without the smallest and largest share `trim` of the rows, or with these moved to the nearest row that is left."""

    column: str
    trim: Fraction = Fraction(1, 10)
    winsorized: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "trim", exact(self.trim, "trim"))
        if not 0 < self.trim < Fraction(1, 2):
            raise QueryError("SRD-103", f"trim is {float(self.trim):g}.", "Give the share cut at either end, between 0 and 0.5.")

    @property
    def kind(self) -> str:
        return "winsorized_mean" if self.winsorized else "trimmed_mean"

    @property
    def label(self) -> str:
        return f"{self.kind}({self.column})" if self.trim == Fraction(1, 10) else f"{self.kind}({self.column}, {float(self.trim):g})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def question(self) -> dict[str, Any]:
        return {"statistic": self.kind, "column": self.column, "trim": str(self.trim)}

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        def build(way: str) -> MiddleStep:
            return MiddleStep(self.column, self.trim, way, epsilon, delta, context, self.winsorized)

        return {way: partial(build, way) for way in MIDDLE_WAYS}


def trimmed_mean(column: str, trim: Any = "0.1") -> Trimmed:
    """The mean of the rows between the quantiles `trim` and 1 - `trim`."""
    return Trimmed(column, trim)


def winsorized_mean(column: str, trim: Any = "0.1") -> Trimmed:
    """The mean with the rows beyond the quantiles `trim` and 1 - `trim` moved to them."""
    return Trimmed(column, trim, winsorized=True)
