"""Answers computed from one drawn vector of moments: count, sum, mean, variance, std share it for one price.

The two halves: the sum above the lower bound and the sum below the upper bound, drawn together. Mean, sum and count in one price.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Protocol

import numpy as np

from sordino.errors import QueryError
from sordino.privacy.certificate import Part
from sordino.schema.column import Grid
from sordino.statistics.added import Floats, TotalNoise, radius, ratio_interval
from sordino.statistics.port import LEVEL, Answer, Context, Groups, Priced, Ways
from sordino.statistics.reach import Reach, Whole, read_totals
from sordino.summaries import Ask, Draw
from sordino.summaries.totals import Item

__all__ = ["ColumnMoments", "Estimate", "Halves", "MomentsStep", "halve", "inside", "linear", "read_off", "scaled", "share_of", "unit_of"]

BITS = 24
Estimate = tuple[Any, Any, Any]


def unit_of(row: int, *, refine: bool) -> Fraction:
    """The power of two that brings one row's contribution to 24 bits: noise spans millions of steps, and 2^38 rows fit in 64 bits.

    Without `refine` totals are only ever made coarser, so that small whole numbers stay whole.
    """
    power = BITS - row.bit_length()
    return Fraction(2) ** (power if refine else min(power, 0))


def scaled(totals: Whole, unit: Fraction) -> Whole:
    """floor(total * unit), exactly."""
    return np.asarray(totals * unit.numerator // unit.denominator)


def linear(raw: Floats, weights: Sequence[float], noise: TotalNoise, scale: float, level: float) -> Estimate:
    """A weighted sum of drawn numbers with its interval: the noise is the same weighted sum of public laws."""
    weight = np.asarray(weights, float)
    value = raw @ weight
    far = radius(noise.tail, [float(w) * scale for w in weight], level) if weight.any() else 0.0
    return value, value - far, value + far


def inside(found: Sequence[Any], low: float, high: float) -> Estimate:
    """An estimate of something that lies between two ends, moved there with its interval before that is cut.

    No number between the ends is lost: each is at least as near to the moved estimate. And a draw far beyond an end has an interval that is
    as long as the noise, where cutting alone would leave a point.
    """
    value, first, last = found
    near = np.clip(value, low, high)
    return near, np.clip(near + (first - value), low, high), np.clip(near + (last - value), low, high)


class ColumnMoments(Protocol):
    """One drawn vector per group, and what can be computed from it. `raw` is in rows: the sum of its coordinates estimates n."""

    @property
    def grid(self) -> Grid: ...
    @property
    def noise(self) -> TotalNoise: ...
    @property
    def noises(self) -> Mapping[str, TotalNoise]: ...  # those that fit, by name, the narrower first
    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Floats: ...
    def estimate(self, kind: str, raw: Floats, level: float) -> Estimate: ...
    def width(self, kind: str, rows: int, level: float) -> float: ...
    def rmse(self, kind: str, rows: int) -> float: ...


@dataclass(frozen=True)
class MomentsStep(Priced):
    """One statistic read off a vector of moments."""

    source: ColumnMoments
    kind: str

    @property
    def bar(self) -> str:
        """The interval of a variance is a hull over means and holds with at least 95%; the others hold with exactly that."""
        return "bound" if self.kind in ("variance", "std", "var_samp", "stddev_samp") else "exact"

    def __post_init__(self) -> None:
        _ = self.cost  # every refusal comes before the charge

    @property
    def name(self) -> str:
        return f"{self.source.noise.name}, {type(self.source).__name__.lower()}"

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.source.noise.part,)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        return self.answers(self.source.release(ask, draw, groups))

    def answers(self, raw: Floats, level: float = LEVEL) -> list[Answer]:
        """Post-processing of the drawn vectors: no further price."""
        value, low, high = self.source.estimate(self.kind, raw, level)
        if self.kind == "count" or (self.kind == "sum" and self.source.grid.kind in ("int", "bool")):
            value = np.rint(value)  # the truth is whole, so the whole numbers inside the interval hold as often as the interval
            low, high = np.minimum(np.ceil(low), value), np.maximum(np.floor(high), value)
            return [Answer(int(v), int(a), int(b), raw=tuple(r)) for v, a, b, r in zip(value, low, high, raw.tolist(), strict=True)]
        return [Answer(float(v), float(a), float(b), raw=tuple(r)) for v, a, b, r in zip(value, low, high, raw.tolist(), strict=True)]

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any]:
        again = self.answers(np.array([answer.raw]), level)[0]
        return again.low, again.high

    def width(self, rows: int | None, level: float = LEVEL) -> float | None:
        if self.kind in ("count", "sum"):
            return self.source.width(self.kind, 1, level)
        return None if rows is None else self.source.width(self.kind, max(rows, 1), level)

    def rmse(self, rows: int | None) -> float | None:
        """The root mean squared error, where it depends on the data at the table for which it is largest."""
        if self.kind in ("count", "sum"):
            return self.source.rmse(self.kind, 1)
        return None if rows is None else self.source.rmse(self.kind, max(rows, 1))


def read_off(source: Any, kind: str) -> Ways:
    """One statistic of a vector of moments, by every noise that fits it."""
    return {name: partial(MomentsStep, replace(source, way=name), kind) for name in source.noises}


def halve(rows: Whole, total: Whole, width: int, unit: Fraction) -> Whole:
    """(sum x, sum (W - x)) per group, in whole units."""
    return np.stack([scaled(total, unit), scaled(rows * width - total, unit)], axis=-1)


def share_of(raw: Floats, noise: TotalNoise, scale: float, slop: float, level: float) -> Estimate:
    """The mean as a share of the width, with its interval; raw[..., 0] and raw[..., 1] are the drawn halves in rows."""

    def scales(t: Floats) -> Sequence[Any]:
        return (1 - t) * scale, t * scale

    return ratio_interval(raw[..., 0], raw[..., 1], scales, noise.tail, slop=slop, level=level)


@dataclass(frozen=True)
class Halves:
    r"""a = sum(x - L) and b = sum(U - x), with Laplace noise of scale m (U - L)/epsilon on each.

    Theorem. The pair is epsilon-DP under add_remove, although n is private; under replace with scale 2 m (U - L)/epsilon, a filter
    included. The mean is L + (U - L) a/(a + b), the number of rows (a + b)/(U - L), the sum (a U + b L)/(U - L).
    Proof. One row moves the pair by (x - L, U - x), whose L1 norm is U - L for every x; m rows by m (U - L). Two rows differ by at most
    2 |x - y| <= 2 (U - L). The rest is post-processing, as a + b = n (U - L) before the noise. QED
    Gaussian noise: in L2 norm one row moves the pair by at most U - L, at either bound, and two rows differ by at most sqrt(2) (U - L).
    """

    column: str
    grid: Grid
    epsilon: Fraction
    context: Context
    delta: Fraction = Fraction(0)
    way: str | None = None  # laplace or gaussian; None: the narrower of those that fit

    @cached_property
    def unit(self) -> Fraction:
        return unit_of(self.grid.width, refine=True)

    @cached_property
    def noises(self) -> Mapping[str, TotalNoise]:
        width = Fraction(self.grid.width)
        cut = 0 if self.unit.denominator == 1 else 2
        squared = (width**2, 2 * width**2)
        reach = Reach(width, 2 * width, self.context)
        return reach.noises(self.epsilon, self.delta, squared, scale=self.unit, rounded=cut, coordinates=2)

    @property
    def noise(self) -> TotalNoise:
        return self.noises[self.way or next(iter(self.noises))]

    @property
    def _row(self) -> float:
        """One row in drawn units."""
        return float(self.grid.width * self.unit)

    @property
    def scale(self) -> float:
        """The noise of either half, in rows."""
        return float(self.noise.scale) / self._row

    def locations(self, rows: Whole, total: Whole) -> Whole:
        return halve(rows, total, self.grid.width, self.unit)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Floats:
        rows, total = read_totals(ask, (Item("rows", self.column), Item("sum", self.column)), groups)
        return self.noise.around(self.locations(rows, total), draw) / self._row

    def estimate(self, kind: str, raw: Floats, level: float) -> Estimate:
        step = float(self.grid.step)
        if kind == "count":
            return linear(raw, (1.0, 1.0), self.noise, self.scale, level)
        if kind == "sum":
            return linear(raw, (self.grid.high * step, self.grid.low * step), self.noise, self.scale, level)
        if kind == "mean":
            low, span = float(self.grid.low * self.grid.step), self.grid.length(self.grid.width)
            value, *ends = share_of(raw, self.noise, self.scale, (self.noise.slop + 1) / self._row, level)
            return low + span * value, low + span * ends[0], low + span * ends[1]
        raise QueryError("SRD-106", f"{kind!r} cannot be read off two halves.", "Ask for count, sum or mean.")

    def width(self, kind: str, rows: int, level: float) -> float:
        """The half-width before spending; for the mean at a share of 0 or 1, where it is largest."""
        step = float(self.grid.step)
        if kind == "count":
            return math.ceil(radius(self.noise.tail, (self.scale, self.scale), level))
        if kind == "sum":
            return radius(self.noise.tail, (self.scale * self.grid.high * step, self.scale * self.grid.low * step), level)
        return self.grid.length(self.grid.width) * min(1.0, radius(self.noise.tail, (self.scale,), level) / rows)

    def rmse(self, kind: str, rows: int) -> float:
        """Likewise: for the mean at a share of 0 or 1."""
        step, noise = float(self.grid.step), self.noise.rmse / self._row
        if kind == "count":
            return math.sqrt(2) * noise
        if kind == "sum":
            return noise * math.hypot(self.grid.high * step, self.grid.low * step)
        return self.grid.length(self.grid.width) * min(1.0, noise / rows)
