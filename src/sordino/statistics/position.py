"""The median and other quantiles of a column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sordino.errors import QueryError
from sordino.privacy.number import exact
from sordino.statistics.port import Context, Plain, Step
from sordino.statistics.ranks import RankStep

__all__ = ["Quantile", "Quantiles", "as_level", "median", "quantile", "quantiles"]


def as_level(q: Any) -> Fraction:
    """A legal quantile level, strictly between 0 and 1."""
    level = exact(q, "q")
    if not 0 < level < 1:
        raise QueryError("SRD-103", f"q is {float(level):g}.", "Give a quantile between 0 and 1, or ask for min or max.")
    return level


@dataclass(frozen=True)
class Quantile(Plain):
    """One quantile by inverse sensitivity; the median is q = 1/2."""

    column: str
    q: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", as_level(self.q))

    @property
    def label(self) -> str:
        return f"median({self.column})" if self.q == Fraction(1, 2) else f"quantile({self.column}, {float(self.q):g})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def question(self) -> dict[str, Any]:
        return {"statistic": "quantile", "column": self.column, "q": str(self.q)}

    def step(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step:
        return RankStep(self.column, (self.q,), "one", epsilon, context)


@dataclass(frozen=True)
class Quantiles(Plain):
    """Several quantiles, each drawn at an equal share and then sorted: sorting is post-processing and brings no level further off."""

    column: str
    levels: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        levels = tuple(sorted(as_level(q) for q in self.levels))
        if not levels or len(set(levels)) != len(levels):
            raise QueryError("SRD-103", "the quantiles are missing or repeat.", "Give each level once, such as [0.25, 0.5, 0.75].")
        object.__setattr__(self, "levels", levels)

    @property
    def weight(self) -> int:  # type: ignore[override]
        return len(self.levels)

    @property
    def label(self) -> str:
        return f"quantiles({self.column}, {', '.join(f'{float(q):g}' for q in self.levels)})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def question(self) -> dict[str, Any]:
        return {"statistic": "quantiles", "column": self.column, "q": [str(q) for q in self.levels]}

    def step(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step:
        return RankStep(self.column, self.levels, "many", epsilon, context)


def median(column: str) -> Quantile:
    """The median of a column."""
    return Quantile(column)


def quantile(column: str, q: Any) -> Quantile:
    """One quantile of a column."""
    return Quantile(column, q)


def quantiles(column: str, levels: Iterable[Any]) -> Quantiles:
    """Several quantiles of a column, in rising order."""
    return Quantiles(column, tuple(levels))
