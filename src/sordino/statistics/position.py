"""The median and other quantiles of a column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sordino.errors import QueryError
from sordino.privacy.number import exact
from sordino.statistics.fitted import FITTED, FittedStep
from sordino.statistics.port import Context, Plain, Ways
from sordino.statistics.ranks import SPELT, RankStep
from sordino.statistics.several import several

__all__ = ["Quantile", "Quantiles", "as_level", "as_private", "median", "quantile", "quantiles"]


def as_level(q: Any) -> Fraction:
    """A legal quantile level, strictly between 0 and 1."""
    level = exact(q, "q")
    if not 0 < level < 1:
        raise QueryError("SRD-103", f"q is {float(level):g}.", "Give a quantile between 0 and 1, or ask for min or max.")
    return level


def as_private(bounds: Any) -> bool:
    """Whether the caller says that the declared bounds are of no use, or that there are none."""
    if bounds not in (None, "private"):
        raise QueryError("SRD-106", f"bounds is {bounds!r}.", 'Leave bounds out, or say bounds="private".')
    return bounds is not None


@dataclass(frozen=True)
class Quantile(Plain):
    """One quantile by inverse sensitivity; the median is q = 1/2."""

    column: str
    q: Fraction = Fraction(1, 2)
    private: bool = False
    unbounded = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "q", as_level(self.q))

    @property
    def label(self) -> str:
        return f"median({self.column})" if self.q == Fraction(1, 2) else f"quantile({self.column}, {float(self.q):g})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def question(self) -> dict[str, Any]:
        said = {"bounds": "private"} if self.private else {}
        return {"statistic": "quantile", "column": self.column, "q": str(self.q), **said}

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        """Inverse sensitivity first: it beats fitted noise at every price below about 2, and no other comes with a rank bar."""
        fitted = {way: lambda way=way: FittedStep(self.column, self.q, way, epsilon, delta, context) for way in FITTED}
        return {"exponential": lambda: RankStep(self.column, (self.q,), "one", epsilon, context, self.private), **fitted}


@dataclass(frozen=True)
class Quantiles(Plain):
    """Several quantiles, in one draw, by halving, or each by a draw of its own."""

    column: str
    levels: tuple[Fraction, ...]
    private: bool = False
    unbounded = True

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
        said = [f"{float(q):g}" for q in self.levels]
        listed = said if len(said) <= SPELT else [*said[:2], f"... {len(said)} levels ...", said[-1]]
        return f"quantiles({self.column}, {', '.join(listed)})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def question(self) -> dict[str, Any]:
        said = {"bounds": "private"} if self.private else {}
        return {"statistic": "quantiles", "column": self.column, "q": [str(q) for q in self.levels], **said}

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        return several(self.column, self.levels, "many", epsilon, context, private=self.private)


def median(column: str, *, bounds: str | None = None) -> Quantile:
    """The median of a column; bounds="private" where its public bounds are missing or say nothing."""
    return Quantile(column, private=as_private(bounds))


def quantile(column: str, q: Any, *, bounds: str | None = None) -> Quantile:
    """One quantile of a column."""
    return Quantile(column, q, as_private(bounds))


def quantiles(column: str, levels: Iterable[Any], *, bounds: str | None = None) -> Quantiles:
    """Several quantiles of a column, in rising order."""
    return Quantiles(column, tuple(levels), as_private(bounds))
