"""The median and other quantiles of a column.

The interquartile range of a column.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sordino.errors import QueryError
from sordino.privacy.number import exact, shown
from sordino.statistics.ends import IntervalStep, with_interval
from sordino.statistics.fitted import FITTED, FittedStep
from sordino.statistics.port import Context, Plain, Shape, Ways
from sordino.statistics.ranks import SPELT, RankStep, several
from sordino.statistics.registry import Sealed, registered

__all__ = [
    "InterquartileRange",
    "Position",
    "Quantile",
    "Quantiles",
    "as_confidence",
    "as_interval",
    "as_level",
    "as_private",
    "iqr",
    "median",
    "quantile",
    "quantiles",
]

LEVEL = Fraction(19, 20)


def as_level(q: Any) -> Fraction:
    """A legal quantile level, strictly between 0 and 1."""
    level = exact(q, "q")
    if not 0 < level < 1:
        raise QueryError("SRD-103", f"q is {float(level):g}.", "Give a quantile between 0 and 1, or ask for min or max.")
    return level


def as_private(bounds: Any) -> bool:
    """Whether the caller says that the declared bounds are of no use, or that there are none."""
    if bounds is not None and not (isinstance(bounds, str) and bounds == "private"):
        raise QueryError("SRD-106", f"bounds is {shown(bounds)}.", 'Leave bounds out, or say bounds="private".')
    return bounds is not None


def as_interval(interval: Any) -> str | None:
    """What the ends of an interval are about: "noise" for these rows, "total" for their population; None for a point alone."""
    if interval is True or interval is False:
        return "noise" if interval else None
    if interval is not None and not (isinstance(interval, str) and interval in ("noise", "total")):
        fix = 'Use True for an interval in the unit of the column, "total" for one about the population, False for a single draw.'
        raise QueryError("SRD-106", f"interval is {shown(interval)}.", fix)
    return None if interval is None else str(interval)


def as_confidence(level: Any) -> Fraction:
    """The probability with which an interval is to cover."""
    found = exact(level, "level")
    if not Fraction(1, 2) <= found <= Fraction(99999, 100000):
        raise QueryError("SRD-103", f"level is {float(found):g}.", "Give a level such as 0.95, between 0.5 and 0.99999.")
    return found


@dataclass(frozen=True)
class Position(Plain):
    """What one quantile and several share: the column, and whether and how ends are drawn beside the point.

    `level` is how sure the ends are to be. It is part of the price and not of the question: ends for a higher one answer too.
    """

    column: str
    private: bool = field(default=False, kw_only=True)
    interval: str | None = field(default="noise", kw_only=True)
    level: Fraction = field(default=LEVEL, kw_only=True)
    unbounded = ranged = sampled = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "interval", as_interval(self.interval))
        object.__setattr__(self, "level", as_confidence(self.level))

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def question(self) -> dict[str, Any]:
        """A point alone is asked as it always was; its answers of any age are answers to it."""
        said = {"bounds": "private"} if self.private else {}
        return {**said, **({"interval": self.interval} if self.interval else {})}

    def drawn(self, ways: Ways, levels: tuple[Fraction, ...], shape: str, epsilon: Fraction, context: Context) -> Ways:
        """These ways, with the one that draws ends before or behind the others where ends are wanted."""
        if self.interval is None:
            return ways
        facts, kind = (self.column, levels, shape, epsilon, context, self.private), self.interval
        return with_interval(ways, lambda: IntervalStep(*facts, level=self.level, kind=kind), context)


@dataclass(frozen=True)
class Quantile(Position):
    """One quantile by inverse sensitivity; the median is q = 1/2."""

    q: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "q", as_level(self.q))

    @property
    def label(self) -> str:
        return f"median({self.column})" if self.q == Fraction(1, 2) else f"quantile({self.column}, {float(self.q):g})"

    def question(self) -> dict[str, Any]:
        return {"statistic": "quantile", "column": self.column, "q": str(self.q), **super().question()}

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        """Inverse sensitivity first: it beats fitted noise at every price below about 2, and no other comes with a rank bar or ends."""
        fitted = {way: lambda way=way: FittedStep(self.column, self.q, way, epsilon, delta, context) for way in FITTED}
        plain: Ways = {"exponential": lambda: RankStep(self.column, (self.q,), "one", epsilon, context, self.private), **fitted}
        return self.drawn(plain, (self.q,), "one", epsilon, context)


@dataclass(frozen=True)
class Quantiles(Position):
    """Several quantiles, in one draw, by halving, or each by a draw of its own."""

    levels: tuple[Fraction, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
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

    def shape(self, label: str) -> Shape:
        levels, own = [f"{float(q):g}" for q in self.levels], label == self.label
        return {"columns": [f"quantile({self.column}, {q})" if own else f"{label}_{q}" for q in levels]}

    def question(self) -> dict[str, Any]:
        return {"statistic": "quantiles", "column": self.column, "q": [str(q) for q in self.levels], **super().question()}

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        plain = several(self.column, self.levels, "many", epsilon, context, private=self.private)
        return self.drawn(plain, self.levels, "many", epsilon, context)


def _about(sealed: Sealed) -> str:
    q = sealed.said["q"]
    levels = [Fraction(str(level)) for level in (q if isinstance(q, Sequence) and not isinstance(q, str) else [q])]
    several = "s" if len(levels) > 1 else ""
    named = "the median" if levels == [Fraction(1, 2)] else f"the {', '.join(f'{float(level):g}' for level in levels)} quantile{several}"
    return f"{named} of {sealed.of}{sealed.clamped}"


@registered(
    about=_about, sql=("MEDIAN",), together=True, menu=(6, "median"),
    examples=(
        ("", ("income",), {}), (" as a point", ("income",), {"interval": False}), (" of days", ("born",), {}),
        (" of whole numbers", ("age",), {}),
    ),
)  # fmt: skip
def median(column: str, *, bounds: str | None = None, interval: Any = True, level: Any = LEVEL) -> Quantile:
    """The median of a column, with an interval in its unit; bounds="private" where its public bounds are missing or say nothing.

    interval=False is one draw with a rank bar; interval="total" covers the median of the population these rows are a sample of.
    """
    return Quantile(column, private=as_private(bounds), interval=interval, level=level)


@registered(about=_about, sql=("QUANTILE_CONT({}, {})",), together=True, menu=(7, "quantile"))
def quantile(column: str, q: Any, *, bounds: str | None = None, interval: Any = True, level: Any = LEVEL) -> Quantile:
    """One quantile of a column, with an interval in its unit; see `median`."""
    return Quantile(column, q, private=as_private(bounds), interval=interval, level=level)


@registered(about=_about, examples=(("", ("income", ["0.25", "0.5", "0.75"]), {}),))
def quantiles(column: str, levels: Iterable[Any], *, bounds: str | None = None, interval: Any = True, level: Any = LEVEL) -> Quantiles:
    """Several quantiles of a column, in rising order, each with an interval of its own; see `median`."""
    return Quantiles(column, tuple(levels), private=as_private(bounds), interval=interval, level=level)


QUARTILES = (Fraction(1, 4), Fraction(3, 4))


@dataclass(frozen=True)
class InterquartileRange(Plain):
    """Upper less lower quartile, drawn together, never negative; days for dates, seconds for timestamps."""

    column: str
    private: bool = False
    weight = 2
    unbounded = ranged = True

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


@registered(about="the distance of the quartiles of {of}{clamped}")
def iqr(column: str, *, bounds: str | None = None) -> InterquartileRange:
    """The interquartile range of a column."""
    return InterquartileRange(column, as_private(bounds))
