"""Means of the middle rows: a number of rows to keep is drawn or public, and their sum is released with noise that fits the data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.privacy.certificate import Part
from sordino.privacy.relation import Relation
from sordino.schema.column import Grid
from sordino.sensitivity.ladder import Ladder
from sordino.sensitivity.middle import Ends, middle_sum, weighted_sum
from sordino.sensitivity.order import Array
from sordino.statistics.added import Added
from sordino.statistics.port import LEVEL, Answer, Context, Groups, ReachPrice, Redrawn, length_grid, one_unit, per_group, public_size
from sordino.statistics.reach import Reach, read_totals
from sordino.statistics.smooth_fit import Drawn, Located, SmoothFit, smoothness
from sordino.summaries import Ask, Draw, Refused
from sordino.summaries.totals import Item, Middle, Middles

__all__ = ["Kept", "MiddleStep"]

COUNT = Fraction(2, 25)  # of epsilon, for the number of rows where it is private
SAFE = 2  # scales of the count's noise by which fewer rows are kept, so that they are there
LARGEST = 2**60  # sums are cut to whole units of a public power of two below this
MOST_RANKS = 4_000_000


@dataclass(frozen=True)
class Kept:
    """How many rows the middle has, and how many stand beyond either end of it."""

    middle: int
    beyond: int

    @classmethod
    def of(cls, rows: int, trim: Fraction) -> Kept:
        total = max(rows, 1)
        beyond = math.floor(trim * total)
        return cls(total - 2 * beyond, beyond)


@dataclass(frozen=True)
class MiddleStep(Redrawn):
    r"""The trimmed or winsorised mean: the sum of the middle rows with noise scaled to its smooth sensitivity, over their public number.

    Theorem. Where n is private, draw n^ = n + noise at 2/25 of epsilon; with M = n^ - 2 floor(trim n^) fixed by it, the sum of the M middle
    rows (t = floor(trim n^) more copies of the first and last one, if winsorised) has the legal ladder of `middle_sum` (`weighted_sum`),
    and its release at the rest costs epsilon in all. Where n is public M follows from it, and the release takes the whole price.
    Proof. n^ is a count with noise. M and t are functions of it, so given n^ the statistic is one fixed function of the table, whose
    ladder holds for every n. A sum cut to whole units of 2^j moves by at most its sensitivity cut upwards, and j is public. Dividing by
    M is post-processing. QED
    """

    column: str
    trim: Fraction
    way: str
    epsilon: Fraction
    delta: Fraction
    context: Context
    winsorized: bool = False

    def __post_init__(self) -> None:
        if self.grid.width * 2 * self.context.limits.rows >= LARGEST:
            what = f"the grid of {self.column!r} is too fine for its bounds."
            raise QueryError("SRD-202", what, "Declare narrower bounds or a resolution.")
        if self.radius > MOST_RANKS:
            what = f"at this price {self.radius:,} ranks around either end would be read in every group."
            raise QueryError("SRD-110", what, "Ask with a larger epsilon, or for another mean.")
        _ = self.count

    @cached_property
    def grid(self) -> Grid:
        return length_grid(self.context, self.column)

    @cached_property
    def size(self) -> int | None:
        return public_size(self.context)

    @cached_property
    def count(self) -> Added | None:
        """The noise of the number of rows; None where that is public."""
        if self.size is not None:
            return None
        reach = Reach(Fraction(1), Fraction(1), self.context)
        return reach.added(self.epsilon * COUNT)

    @cached_property
    def fit(self) -> SmoothFit:
        price = self.price
        return SmoothFit(self.way, price.epsilon, price.delta, smoothness(self.way, price.epsilon, *self._behind()))

    @cached_property
    def price(self) -> ReachPrice:
        return per_group(self.epsilon if self.size is not None else self.epsilon * (1 - COUNT), self.delta, self.context)

    def _behind(self) -> tuple[float | None, float]:
        """How many steps the trimmed rows hide the bounds, and how far the bounds are if rows are one unit of the column apart.

        The rows cut at either end hide them for that many replacements, or for twice as many rows that come or go.
        """
        rows = self.size or self.context.rows
        if not rows:
            return None, float(self.winsorized)
        cut = max(float(self.trim) * rows, 1.0)
        copies = 1 + cut if self.winsorized else 1  # of the first and the last row
        hidden = cut / self.steps * (1 if self.relation is Relation.REPLACE else 2)
        return hidden, max(math.log(copies * self.grid.width / one_unit(self.grid)) - 1.7, 1.0)

    @property
    def relation(self) -> Relation:
        """Which ladder: replacements at a public n, or rows that come and go."""
        return Relation.REPLACE if self.size is not None else Relation.ADD_REMOVE

    @cached_property
    def steps(self) -> int:
        """Row steps of one unit: a replaced person's rows leave and others come, unless n is public."""
        rows = self.context.limits.rows
        swapped = self.size is None and self.price.relation is Relation.REPLACE
        return 2 * rows if swapped else rows

    @cached_property
    def radius(self) -> int:
        """How far around either end ranks are read: what the rungs of the smooth bound look at."""
        most = self.grid.width * (self.steps + (2**30 if self.winsorized else 0))
        far = self.fit.window(min(most, LARGEST)) * self.steps
        return far + 1 if self.relation is Relation.REPLACE else far // 2 + 2

    @property
    def bar(self) -> str:
        return self.fit.bar

    @property
    def covers(self) -> str:
        return "" if self.size is not None else f"the {self._mean} mean of a number of middle rows that was drawn"

    @property
    def name(self) -> str:
        counted = "" if self.size is not None else f", number of rows at {float(100 * COUNT):g}% of epsilon"
        return f"{self.fit.name}, {self._mean} mean at {float(100 * self.trim):.4g}%{counted}"

    @property
    def _mean(self) -> str:
        return "winsorised" if self.winsorized else "trimmed"

    @property
    def parts(self) -> tuple[Part, ...]:
        return (*(() if self.count is None else (self.count.part,)), self.price.part(self.fit.certificate()))

    def repeated(self, ask: Ask, draw: Draw, groups: Groups, copies: int) -> list[list[Answer]]:
        """Per group several draws of the noise around one sum, for a forecast on public rows; one draw is the release."""
        kept = self._kept(ask, draw, groups)
        middles = ask(Middles(self.column, tuple(k.middle for k in kept), self.radius, groups))
        return [self._answers(middle, k, draw, copies) for middle, k in zip(middles, kept, strict=True)]

    def _kept(self, ask: Ask, draw: Draw, groups: Groups) -> list[Kept]:
        if self.count is None:
            assert self.size is not None
            return [Kept.of(self.size, self.trim)]
        (rows,) = read_totals(ask, (Item("rows", self.column),), groups)
        margin = math.ceil(SAFE * self.count.scale)
        return [Kept.of(int(n) - margin, self.trim) for n in self.count.around(rows, draw)]

    def located(self, middle: Middle, kept: Kept) -> tuple[Located, int]:
        """The sum in units of 2^j with its ladder, and j: a public power of two that keeps every sum within 60 bits."""
        weight = kept.beyond if self.winsorized else 0
        most = (kept.middle + 2 * weight) * self.grid.width
        shift = max(0, most.bit_length() - LARGEST.bit_length() + 1)
        ends = Ends.seen(middle, self.grid.width)
        relation = self.relation.value
        ladder = weighted_sum(ends, weight, relation, self.steps) if weight else middle_sum(ends, relation, self.steps)
        total = middle.total + weight * (int(middle.lower[middle.radius]) + int(middle.upper[middle.radius]))
        return Located(total >> shift, _cut(ladder, shift), 0, most >> shift), shift

    def _answers(self, middle: Middle, kept: Kept, draw: Draw, copies: int) -> list[Answer]:
        located, shift = self.located(middle, kept)
        unit = Fraction(2**shift, kept.middle + (2 * kept.beyond if self.winsorized else 0))
        drawn = self.fit.releases(located, draw, copies)
        return [self._said(one, unit, located.high) for one in drawn if not isinstance(one, Refused)]

    def _said(self, drawn: Drawn, unit: Fraction, high: int, level: float = LEVEL) -> Answer:
        """A drawn sum as a mean in the column's unit."""
        value = float(self.grid.value(drawn.value * unit))
        if drawn.scale is None:
            return Answer(value, raw=(drawn.value, unit.numerator, unit.denominator))
        low, top = (float(self.grid.value(end * unit)) for end in drawn.ends(0, high, level))
        return Answer(value, low, top, raw=(drawn.value, unit.numerator, unit.denominator, high, drawn.scale))

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any] | None:
        if self.bar == "none" or len(answer.raw) != 5:
            return None
        value, top, bottom, high = (int(part) for part in answer.raw[:-1])
        again = self._said(Drawn(value, answer.raw[-1]), Fraction(top, bottom), high, level)
        return again.low, again.high


def _cut(ladder: Ladder, shift: int) -> Ladder:
    """The ladder of a statistic cut to whole units of 2^shift: every rung cut upwards."""
    if not shift:
        return ladder

    def block(k0: int, k1: int) -> Array:
        return np.asarray(-((-ladder.block(k0, k1)) >> shift))

    return Ladder(block, -((-int(ladder.top)) >> shift), ladder.depth)
