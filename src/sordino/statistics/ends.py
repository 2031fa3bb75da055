"""Quantiles with an interval in the unit of the column: the middle is drawn first, then both ends among few points around it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from sordino.errors import QueryError
from sordino.mechanisms.quantile_end import QuantileEnd
from sordino.mechanisms.quantile_exponential import QuantileExponential
from sordino.privacy.certificate import Part
from sordino.statistics.port import LEVEL, Answer, Context, Groups, ReachPrice, Step, Ways, per_row
from sordino.statistics.ranks import Ordered, RankStep, several
from sordino.summaries import Ask, Draw, Held, Window
from sordino.summaries.totals import Ranks

__all__ = ["IntervalStep", "sampling_ranks", "with_interval"]

END = Fraction(3, 10)  # of the price for each end, the rest for the middle
FINEST = 10**6  # the nearest points are a millionth of the range from the middle
FOUND = math.log(FINEST) + 4  # how heavy the quantile must be beside such a point for the middle to be found
MANY = 5  # more levels than this have no ends where the number of rows is unknown: each would be that many times farther out
COUNTED = Fraction(5, 4)  # of the low end of a recorded count, for its high end
SAMPLED = Fraction(4, 5)  # of the rare event, for the sample; the rest for the noise


@dataclass(frozen=True)
class IntervalStep(Ordered):
    r"""Each level with ends that its value lies between with probability `level`, on every table.

    Theorem. The price is that of the middle and of the ends, and each level's interval covers the quantile of these rows with at least
    its probability; with kind "total" that of the population which at most `rows` independent rows were drawn from.
    Proof. The points of an end are public facts and the middle, which is drawn already: adaptive composition. Each end is missed with
    probability (1 - level)/2 by the theorem of QuantileEnd, whatever the middle was; a bad middle makes ends wide, never wrong. Of a
    population with P(x <= Q) >= q at least k of n rows are at most Q but with probability a, k the a-quantile of the binomial law; aiming
    q n - k ranks farther out, an end is missed with probability a + b. QED
    """

    level: Fraction = Fraction(19, 20)
    kind: str = "noise"
    bar = "drawn"

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.middle

    @cached_property
    def middle(self) -> Ordered:
        facts = (self.column, self.levels, self.shape, self.epsilon * (1 - 2 * END), self.context, self.private)
        if self.shape == "one":
            return RankStep(*facts)
        found = next(iter(several(*facts[:-1], private=self.private).values()))()
        assert isinstance(found, Ordered)
        return found

    @cached_property
    def end_price(self) -> ReachPrice:
        return per_row(self.epsilon * END / len(self.levels), self.context)

    @cached_property
    def ends(self) -> tuple[tuple[QuantileEnd, QuantileEnd], ...]:
        """The lower and the upper end of every level, around a public centre until there is a better one."""
        return tuple((self._end(q, False), self._end(q, True)) for q in self.levels)

    def _end(self, q: Fraction, upper: bool) -> QuantileEnd:
        rare, aside, width = (1 - self.level) / 2, Fraction(0), self.grid.width
        if self.kind == "total":
            aside = Fraction(math.ceil(sampling_ranks(self._most_rows(), 1 - q if upper else q, float(rare * SAMPLED))))
            rare *= 1 - SAMPLED
        finest = max(1, width // FINEST)
        if self.base == "arsinh":  # bounds that far apart say nothing about how near is near
            finest = max(1, min(finest, math.floor(1 / self.grid.step)))
        rows, relation = self.context.limits.rows, self.end_price.relation
        return QuantileEnd(self.end_price.epsilon, q, 0, width, width // 2, finest, upper, rare, aside, rows, relation)

    def _most_rows(self) -> int:
        """At most how many independent rows there are, as far as the public knows.

        A declared size is no less than that. What recorded counts say is the low end of theirs; a quarter more is beyond the high end of
        any count that is within a tenth.
        """
        if self.context.unit.max_rows > 1:
            what = "rows of one person are not independent, so the error of sampling is unknown."
            raise QueryError("SRD-105", what, "Ask with interval=True: that interval is about these rows.")
        found = self.context.size or math.ceil((self.context.rows or 0) * COUNTED)
        if not found:
            what = "the error of sampling follows from the number of rows, which is unknown."
            raise QueryError("SRD-105", what, "Declare size=, or release a count of the same rows first; or ask with interval=True.")
        return found

    @property
    def name(self) -> str:
        around = self.middle.name.partition(",")[0]
        return f"{self._called('QuantileEnd')}, {float(200 * END):g}% of epsilon, around {around}, {float(100 - 200 * END):g}%"

    @property
    def covers(self) -> str:
        """What the ends are about, and with which probability where that is not the usual one."""
        what = "" if self.kind == "noise" else "the population these rows are drawn from: noise and sampling"
        return what if self.level == Fraction(19, 20) else f"{what or 'these rows'}, at {float(100 * self.level):g}%"

    @property
    def parts(self) -> tuple[Part, ...]:
        ends = (self.end_price.part(end.certificate()) for pair in self.ends for end in pair)
        return (*self.middle.parts, *ends)

    @cached_property
    def radius(self) -> int:
        return max(end.radius for pair in self.ends for end in pair)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        return [self._drawn(middle, windows, draw) for middle, windows in self._middles(ask, draw, groups)]

    def _middles(self, ask: Ask, draw: Draw, groups: Groups) -> Iterator[tuple[tuple[int, ...], tuple[Window, ...]]]:
        """The middles of each group and the windows of its ends: one look at the table where every level is drawn alone."""
        named, middle = groups if self.context.private_keys else None, self.middle
        if isinstance(middle, RankStep):
            radius = max(self.radius, *(mechanism.radius for mechanism in middle.mechanisms))
            for windows in ask(Ranks(self.column, self.levels, radius, named)):
                pairs: Any = zip(middle.mechanisms, windows, strict=True)
                yield tuple(sorted(mechanism.release(Held(window), draw) for mechanism, window in pairs)), windows
            return
        drawn = middle.release(ask, draw, groups)
        for answer, windows in zip(drawn, ask(Ranks(self.column, self.levels, self.radius, named)), strict=True):
            yield tuple(sorted(int(step) for step in answer.raw)), windows

    def _drawn(self, middles: tuple[int, ...], windows: tuple[Window, ...], draw: Draw) -> Answer:
        lows, highs = [], []
        for middle, window, pair in zip(middles, windows, self.ends, strict=True):
            low, high = sorted(end.around(middle).release(Held(window), draw) for end in pair)
            lows.append(low)
            highs.append(high)
        return self._said((*middles, *lows, *highs))

    def _said(self, drawn: Sequence[int]) -> Answer:
        """The middle is moved between the ends: free, and it tames its rare wild draws."""
        k = len(self.levels)
        middles, lows, highs = drawn[:k], drawn[k : 2 * k], drawn[2 * k :]
        inside = [min(max(m, low), high) for m, low, high in zip(middles, lows, highs, strict=True)]
        values = [tuple(self.grid.value(step) for step in steps) for steps in (inside, lows, highs)]
        value, low, high = (found[0] if self.shape == "one" else found for found in values)
        return Answer(value, low, high, raw=tuple(drawn))

    def drawn(self, answers: Sequence[Answer]) -> dict[str, Any]:
        """What a record keeps of an interval: how sure it is, what it is about, and the point as an answer of its own at its own price."""
        middle, k = self.middle, len(self.levels)
        values = [middle._value([int(step) for step in answer.raw[:k]]) for answer in answers]
        point = {"values": values, "mechanism": middle.name, "ranks": middle.rank_width(), "cost": middle.cost.to_dict()}
        return {"level": float(self.level), "kind": self.kind, "point": point}

    def rank_width(self, level: float = LEVEL) -> float:
        """How many ranks from the quantile the farthest end is aimed: public, and about what half the interval will be."""
        return max(float(end.offset) for pair in self.ends for end in pair)

    @property
    def rows_needed(self) -> int:
        """How many rows it takes for the ends not to be the bounds, and for the middle to be found at its share of the price."""
        inner = max(min(q, 1 - q) for q in self.levels)
        needed = Fraction(self.rank_width()) / inner
        if isinstance(self.middle, RankStep):
            slowest = min(self.middle.mechanisms, key=lambda mechanism: mechanism.rate)
            needed = max(needed, Fraction(_found(slowest)) / (slowest.rate * inner))
        return math.ceil(needed)


def _found(mechanism: QuantileExponential) -> float:
    return min(math.log(mechanism.high - mechanism.low + 1) + 4, FOUND)


def sampling_ranks(rows: int, q: Fraction, rare: float) -> float:
    """How many of at most so many independent rows may be missing below a population's q-quantile, but with a rare probability.

    q n less the `rare`-quantile of the binomial law, and one more rank because fewer rows than the most may round the other way.
    """
    from scipy.stats import binom

    return max(0.0, float(q * rows) - float(binom.ppf(rare, rows, float(q)))) + 1


def with_interval(plain: Ways, make: Callable[[], IntervalStep], context: Context) -> Ways:
    """The ways of a quantile: the interval first, unless public facts say that its ends would be the bounds."""
    ways: dict[str, Callable[[], Step]] = {"interval": make, **plain}
    known, needed = believed_rows(context), "a larger price"
    try:
        step = make()
        rows = step.rows_needed
        if rows <= known if known is not None else len(step.levels) <= MANY:
            return ways
        needed = f"about {rows:,} rows at this price"
    except QueryError as error:
        if error.code != "SRD-101":
            raise
    first = next(iter(plain))
    text = f"an interval needs {needed}: all of it goes to the point, which has a rank bar."
    return {first: lambda: _pointed(plain[first](), text), **{way: made for way, made in ways.items() if way != first}}


def _pointed(step: Step, why: str) -> Step:
    assert isinstance(step, Ordered)
    return replace(step, why=why)


def believed_rows(context: Context) -> float | None:
    """How many rows a question or, with groups, an average group is about, as far as the public knows.

    A recorded count says it. A declared size counts people, and how many rows each has is not public: half of those allowed, here.
    """
    size, groups = context.size, len(context.keys or ()) if context.grouped else 0
    if not context.grouped and context.rows is not None and (context.unit.max_rows == 1 or context.rows != size):
        return context.rows
    return None if size is None else size * (1 + context.unit.max_rows) / 2 / max(1, groups)
