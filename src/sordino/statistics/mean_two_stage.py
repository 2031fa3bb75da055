"""The mean of a column whose bounds say little: private quartiles first, then the two halves inside limits drawn from them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from sordino.mechanisms.quantile_exponential import QuantileExponential
from sordino.privacy.certificate import Part
from sordino.schema.column import Grid
from sordino.statistics.added import Added, Floats, radius
from sordino.statistics.moments import BITS, inside, linear, share_of
from sordino.statistics.port import LEVEL, Answer, Context, Groups, Priced, one_unit, per_row, public_size
from sordino.statistics.reach import Reach, line_up
from sordino.summaries import Ask, Draw, Held
from sordino.summaries.totals import Clipped, Ranks

__all__ = ["StagedStep", "far_quartile", "outer_level", "quartile_mechanism", "quartile_share"]

QUARTILES = (Fraction(1, 4), Fraction(3, 4))
MOST = Fraction(3, 20)  # of epsilon, for one quartile
RARE = 1e-5  # how often a quartile may end up among the bounds instead of the rows
ROW = 2**BITS  # one row's contribution to the two halves, in drawn units
LEAST_REACH = Fraction(7, 2)  # quartile distances beyond either quartile: serves bells and incomes alike
SPIKED = Fraction(9, 10)  # the upper level where the lower quantile is zero: many rows are, and fewer others tell how far they lie
SPIKED_REACH = Fraction(20)  # in quartile distances, as the other
OUTERMOST = Fraction(1, 100)  # the level of the drawn quantiles where rows are plenty
BELL = 1.349  # quartile distance of a bell, in standard deviations
COUNTED = Fraction(1, 20)  # of epsilon, for the number of moved rows
ENOUGH = 5_000  # rows times epsilon, over the rows of one person, from which on that number says something: at most about 1% of the rows


def quartile_mechanism(grid: Grid, q: Fraction, epsilon: Fraction, context: Context) -> QuantileExponential:
    """A quantile over bounds of any width: every octave of the distance from zero weighs the same."""
    price, rows, zero = per_row(epsilon, context), context.limits.rows, zero_of(grid)
    return QuantileExponential(price.epsilon, q, 0, grid.width, rows, price.relation, "arsinh", zero, one_unit(grid))


def zero_of(grid: Grid) -> int:
    """The place of zero on the grid, or of the bound next to it."""
    return min(max(-grid.low, 0), grid.width)


def far_quartile(grid: Grid, epsilon: Fraction, context: Context, level: Fraction = QUARTILES[0]) -> float:
    """How many rows a quantile needs on its far side, at this price, not to be drawn among the empty octaves more than rarely.

    An octave away from the rows weighs at most as much as ten times the stretch that holds the middle of them; the rows beyond the
    quantile outweigh all octaves as soon as e^{-rate rows} is rare among them.
    """
    mechanism = quartile_mechanism(grid, level, epsilon, context)
    octaves = 2 * max(mechanism.measure.octaves, 1)
    return math.log(10 * octaves / RARE) / float(mechanism.rate)


def outer_level(grid: Grid, epsilon: Fraction, context: Context) -> Fraction:
    """How far out the limits are taken from, by the public number of rows: quartiles of a small table, 1% and 99% of a large one.

    Farther out, fewer rows hide beyond the limits: a column of zeros and a few large values has no quartiles that tell of them.
    """
    if not context.rows:
        return QUARTILES[0]
    needed = far_quartile(grid, epsilon * MOST, context, OUTERMOST) / context.rows
    return min(QUARTILES[0], max(OUTERMOST, Fraction(math.ceil(needed * 1000), 1000)))


def quartile_share(grid: Grid, epsilon: Fraction, context: Context, level: Fraction = QUARTILES[0]) -> Fraction:
    """The part of epsilon one quantile takes: what it needs at the public number of rows, at most 15%; a few percent of a large table."""
    if not context.rows:
        return MOST
    needed = far_quartile(grid, epsilon, context, level) / (context.rows * level)
    return min(MOST, Fraction(math.ceil(needed * 1000), 1000))


@dataclass(frozen=True)
class StagedStep(Priced):
    r"""Draw the quantiles p and 1 - p, then the mean of the column moved into [q_p - h w, q_{1-p} + h w], w their distance.

    Theorem. With price s for each quantile and the two halves (the sum, where n is public) of the moved column at epsilon - 2 s, the
    release is epsilon-DP, and the limits may be published. Where the public number of rows suffices, a twentieth of epsilon counts the
    moved rows first: with probability at least 95% there are no more than the drawn count and the 90% radius of its noise.
    Proof. The quantiles are s-DP each. The limits are a function of what was drawn and of public facts; given them, x -> min(max(x, low),
    high) is a map of rows, and the halves of its values have the L1 sensitivity of the halves of any column between low and high: high -
    low for one row, here divided by that width. A row is moved or not: one for each row of a person. Sequential composition. The count
    is exceeded only where its noise lies below minus its radius, half of the 10% by symmetry. QED
    Values beyond the limits count as the limits: what is estimated is the mean of the moved column, and the interval is about that.
    The level p falls from 1/4 to 1/100 as the public number of rows grows, and the reach h grows with its square root, as far as noise
    stays below two thirds of the error of sampling. Quantiles that coincide say that most rows are equal and nothing about the others,
    so the limits are then the bounds. A lower quantile of zero says that many rows are zero: then the upper one is drawn at the level .9,
    which is a choice of the next mechanism by what was drawn, at the same price, and the limits reach farther. A small table with nine
    zeros in ten rows still has much beyond its limits: ask for method="clamped" there.
    """

    column: str
    grid: Grid
    epsilon: Fraction
    context: Context
    bar: str = "published"
    covers: str = "the mean of the values moved into the drawn limits"

    def __post_init__(self) -> None:
        _ = self.mechanisms, self.spiked, self.noise, self.counting  # every refusal comes before the charge

    @cached_property
    def level(self) -> Fraction:
        return outer_level(self.grid, self.epsilon, self.context)

    @property
    def levels(self) -> tuple[Fraction, Fraction]:
        return self.level, 1 - self.level

    @cached_property
    def share(self) -> Fraction:
        return quartile_share(self.grid, self.epsilon, self.context, self.level)

    @property
    def rest(self) -> Fraction:
        return self.epsilon * (1 - 2 * self.share - (0 if self.counting is None else COUNTED))

    @cached_property
    def counting(self) -> Added | None:
        """The noise of the number of moved rows; None where it would say nothing, or how many rows there are is not public."""
        rows, person = self.context.rows, self.context.limits.counted
        if self.context.grouped or not rows or rows * self.epsilon < ENOUGH * person:
            return None
        return Reach(Fraction(1), Fraction(1), self.context).added(self.epsilon * COUNTED)

    @cached_property
    def mechanisms(self) -> tuple[QuantileExponential, ...]:
        return tuple(self._quantile(q) for q in self.levels)

    @cached_property
    def spiked(self) -> QuantileExponential:
        """In place of the upper quantile where the lower one is zero."""
        return self._quantile(max(self.levels[1], SPIKED))

    def upper(self, first: int) -> QuantileExponential:
        """The mechanism of the second quantile: a choice by what was drawn first, and by nothing else."""
        return self.spiked if first == zero_of(self.grid) else self.mechanisms[1]

    def _quantile(self, q: Fraction) -> QuantileExponential:
        return quartile_mechanism(self.grid, q, self.epsilon * self.share, self.context)

    @cached_property
    def size(self) -> int | None:
        return public_size(self.context)

    @cached_property
    def noise(self) -> Added:
        if self.size is not None:
            return Added(self.rest, ROW + 1)
        reach = Reach(Fraction(ROW), Fraction(2 * ROW), self.context)
        return reach.added(self.rest, rounded=2, coordinates=2)

    @property
    def scale(self) -> float:
        """The noise of one half, in rows."""
        return float(self.noise.scale / ROW)

    @cached_property
    def reach(self) -> Fraction:
        """h: how many of their distances the limits lie beyond the drawn quantiles; of a bell the limits are as wide at every level."""
        return self._beyond(LEAST_REACH, self.levels[1])

    @cached_property
    def spiked_reach(self) -> Fraction:
        """The same where one of the quantiles is zero."""
        return self._beyond(SPIKED_REACH, self.spiked.q)

    def _beyond(self, least: Fraction, level: Fraction) -> Fraction:
        if not self.context.rows:
            return least
        spread = math.sqrt(self.context.rows) / (2.5 * max(self.scale, 1e-9))  # w whose noise is two thirds of the error of sampling
        apart = 2 * NormalDist().inv_cdf(float(level)) / BELL
        wide = max(1 + 2 * float(least), spread) / apart
        return Fraction(math.floor(max(wide - 1, 1.0) / 2 * 8 + 1e-6), 8)

    @property
    def name(self) -> str:
        drawn = "quartiles" if self.level == QUARTILES[0] else f"quantiles {float(self.level):.3g} and {float(1 - self.level):.3g}"
        spent = f"{drawn} at {float(200 * self.share):.3g}% of epsilon"
        beyond = f"{float(self.reach):.4g} of their distances beyond them ({float(self.spiked_reach):.4g} where one of them is zero)"
        counted = "" if self.counting is None else f", the number of moved rows at {float(100 * COUNTED):.3g}%"
        return f"two stages, {spent}, values moved into limits {beyond}{counted}"

    @property
    def parts(self) -> tuple[Part, ...]:
        lower, upper = self.mechanisms
        price = per_row(self.epsilon * self.share, self.context)
        drawn = price.part(lower.certificate()), price.part(upper.certificate(), self.spiked.certificate())
        return (*drawn, *(() if self.counting is None else (self.counting.part,)), self.noise.part)

    def limits(self, drawn: Sequence[int]) -> tuple[int, int]:
        """The interval rows are moved into, from two drawn quartiles."""
        first, last = sorted(drawn)
        if first == last:
            return 0, self.grid.width
        far = (self.spiked_reach if zero_of(self.grid) in (first, last) else self.reach) * (last - first)
        return max(0, math.floor(first - far)), min(self.grid.width, math.ceil(last + far))

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        named = groups if self.context.private_keys else None
        every = (*self.mechanisms, self.spiked)
        levels = tuple(dict.fromkeys(mechanism.q for mechanism in every))
        found = []
        for windows in ask(Ranks(self.column, levels, max(mechanism.radius for mechanism in every), named)):
            of = dict(zip(levels, windows, strict=True))
            first = every[0].release(Held(of[every[0].q]), draw)
            upper = self.upper(first)
            found.append(self.limits([first, upper.release(Held(of[upper.q]), draw)]))
        limits = np.array(found, object)
        totals = ask(Clipped(self.column, tuple(found), groups))
        rows, total, moved = line_up(totals, Clipped(self.column, ()).items, groups)
        beyond = np.empty((len(found), 0)) if self.counting is None else self.counting.around(moved, draw)[:, None]
        drawn = self.noise.around(self.locations(rows, total, limits), draw) / ROW
        return self._answers(drawn, np.concatenate([limits.astype(float), beyond], axis=1), LEVEL)

    def locations(self, rows: Any, total: Any, limits: Any) -> Any:
        """Per group the sum above the low limit, and where n is private that below the high one, both in widths of the limits."""
        low, high = limits[:, 0], limits[:, 1]
        halves = [total - rows * low] if self.size is not None else [total - rows * low, rows * high - total]
        return np.stack([half * ROW // (high - low) for half in halves], axis=-1)

    def _answers(self, raw: Floats, kept: Floats, level: float) -> list[Answer]:
        if self.size is not None:
            parts = inside([part / self.size for part in linear(raw, (1.0,), self.noise, self.scale, level)], 0.0, 1.0)
        else:
            parts = share_of(raw, self.noise, self.scale, (self.noise.slop + 1) / ROW, level)
        step, low, width = float(self.grid.step), kept[:, 0] + self.grid.low, kept[:, 1] - kept[:, 0]
        values, lows, highs = ((step * (low + width * part)).tolist() for part in parts)
        every = np.concatenate([raw, kept], axis=1).tolist()
        return [Answer(v, a, b, raw=tuple(row)) for v, a, b, row in zip(values, lows, highs, every, strict=True)]

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any] | None:
        halves = 1 if self.size is not None else 2
        if len(answer.raw) != halves + (2 if self.counting is None else 3):  # an answer by another method
            return None
        drawn = np.array([answer.raw])
        again = self._answers(drawn[:, :halves], drawn[:, halves:], level)[0]
        return again.low, again.high

    def moved(self, answers: Sequence[Answer]) -> list[dict[str, Any]]:
        """What was moved, for the card: the limits in the column's unit, and at most how many of about how many rows (95%)."""
        halves = 1 if self.size is not None else 2
        out = []
        for answer in answers:
            low, high = (self.grid.value(int(end)) for end in answer.raw[halves : halves + 2])
            rows = self.size if self.size is not None else max(round(sum(answer.raw[:halves])), 0)
            most = None if self.counting is None else max(0, int(answer.raw[-1]) + self.counting.radius(2 * LEVEL - 1))
            out.append({"limits": [float(low), float(high)], "at most": most, "of about": rows})
        return out

    def width(self, rows: int | None, level: float = LEVEL) -> float | None:
        """The half-width if the limits turn out as wide as the bounds; it is narrower on every other table."""
        if rows is None:
            return None
        return self.grid.length(self.grid.width) * min(1.0, radius(self.noise.tail, (self.scale,), level) / max(rows, 1))

    def rmse(self, rows: int | None) -> float | None:
        return None if rows is None else self.grid.length(self.grid.width) * min(1.0, self.noise.rmse / ROW / max(rows, 1))
