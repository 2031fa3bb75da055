"""Where the number of rows is public: the sum above the lower bound, for mean and sum in one price, and the variance itself."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from sordino.errors import QueryError
from sordino.schema.column import Grid, coarse_shift
from sordino.statistics.added import Added, AddedGaussian, Floats, TotalNoise, quieter, radius
from sordino.statistics.moments import BITS, Estimate, inside, linear, scaled, unit_of
from sordino.statistics.port import Groups
from sordino.statistics.reach import Whole, read_totals
from sordino.summaries import Ask, Draw
from sordino.summaries.totals import Item

__all__ = ["Known", "KnownVariance"]


def _noises(reach: int, epsilon: Fraction, delta: Fraction) -> Mapping[str, TotalNoise]:
    """One number that moves by at most `reach`: both norms are the same."""
    return quieter(Added(epsilon, reach), AddedGaussian(epsilon, delta, Fraction(reach), 1) if delta else None)


@dataclass(frozen=True)
class Known:
    r"""sum(x - L) with Laplace noise of scale (U - L)/epsilon.

    Theorem. It is epsilon-DP under replace for the whole table, one row per unit, nothing dropped; the mean is L + a/n, the sum a + n L.
    Proof. No row comes or goes, and a replaced one moves the sum by at most U - L. n is the declared size, whatever the table holds, and
    so is a count beside them. QED
    """

    column: str
    grid: Grid
    epsilon: Fraction
    size: int
    delta: Fraction = Fraction(0)
    way: str | None = None

    @cached_property
    def unit(self) -> Fraction:
        return unit_of(self.grid.width, refine=True)

    @cached_property
    def noises(self) -> Mapping[str, TotalNoise]:
        reach = -(-self.grid.width * self.unit.numerator // self.unit.denominator)
        return _noises(reach + (0 if self.unit.denominator == 1 else 1), self.epsilon, self.delta)

    @property
    def noise(self) -> TotalNoise:
        return self.noises[self.way or next(iter(self.noises))]

    @property
    def _row(self) -> float:
        return float(self.grid.width * self.unit)

    @property
    def scale(self) -> float:
        return float(self.noise.scale) / self._row

    def locations(self, total: Whole) -> Whole:
        return scaled(total, self.unit)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Floats:
        (total,) = read_totals(ask, (Item("sum", self.column),), groups)
        return self.noise.around(self.locations(total), draw)[:, None] / self._row

    def estimate(self, kind: str, raw: Floats, level: float) -> Estimate:
        low, span = float(self.grid.low * self.grid.step), self.grid.length(self.grid.width)
        if kind == "count":
            value = first = last = np.full(len(raw), float(self.size))
            return value, first, last
        parts = linear(raw, (span,), self.noise, self.scale, level)
        if kind == "sum":
            value, first, last = (part + low * self.size for part in parts)
        elif kind == "mean":
            value, first, last = (low + part for part in inside([part / self.size for part in parts], 0.0, span))
        else:
            raise QueryError("SRD-106", f"{kind!r} cannot be read off a sum.", "Ask for count, sum or mean.")
        return value, first, last

    def width(self, kind: str, rows: int, level: float) -> float:
        if kind == "count":
            return 0.0
        far = self.grid.length(self.grid.width) * radius(self.noise.tail, (self.scale,), level)
        return far / self.size if kind == "mean" else far

    def rmse(self, kind: str, rows: int) -> float:
        if kind == "count":
            return 0.0
        noise = self.grid.length(self.grid.width) * self.noise.rmse / self._row
        return min(noise / self.size, self.grid.length(self.grid.width)) if kind == "mean" else noise


@dataclass(frozen=True)
class KnownVariance:
    r"""The variance over the squared width of the bounds, with Laplace noise of scale (n - 1)/(n^2 epsilon).

    Theorem. It is epsilon-DP under replace for the whole table, one row per unit, nothing dropped, if the table has at least the declared
    number n of rows, or is filled up to it with rows at the lower bound, as is done here.
    Proof. A row that moves from x to y in [0, 1] moves n^2 times the variance, n sum x^2 - (sum x)^2, by (y - x) ((n - 1) (x + y) - 2 s), s
    the sum of the others, between 0 and n - 1: at most n - 1. Over n^2 that falls with n from 2 on, and a replacement does
    not change n. Cutting to whole units adds one. QED
    Grids of more than 20 bits are first made coarser by a public power of two.
    """

    column: str
    grid: Grid
    epsilon: Fraction
    size: int
    delta: Fraction = Fraction(0)
    way: str | None = None

    @cached_property
    def top(self) -> int:
        """W: the largest coarse integer."""
        return self.grid.width >> coarse_shift(self.grid)

    @cached_property
    def unit(self) -> Fraction:
        """Drawn units in one squared width."""
        rows = max(self.size, 2)
        return Fraction(2) ** (BITS + (rows * rows // (rows - 1)).bit_length())

    @cached_property
    def noises(self) -> Mapping[str, TotalNoise]:
        rows = max(self.size, 2)
        return _noises(math.ceil(self.unit * (rows - 1) / rows**2) + 1, self.epsilon, self.delta)

    @property
    def noise(self) -> TotalNoise:
        return self.noises[self.way or next(iter(self.noises))]

    @property
    def scale(self) -> float:
        return float(self.noise.scale / self.unit)

    def locations(self, rows: Whole, total: Whole, squares: Whole) -> Whole:
        n = np.maximum(rows, self.size)
        return np.asarray((n * squares - total * total) * int(self.unit) // (n * n * self.top**2))

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Floats:
        items = (Item("rows", self.column), Item("coarse", self.column), Item("squares", self.column))
        drawn = self.noise.around(self.locations(*read_totals(ask, items, groups)), draw)
        return drawn[:, None] / float(self.unit)

    @property
    def _span(self) -> float:
        return self.grid.length(self.top << coarse_shift(self.grid))

    def estimate(self, kind: str, raw: Floats, level: float) -> Estimate:
        factor = self.size / max(self.size - 1, 1) if kind.endswith("samp") else 1.0
        drawn = linear(raw, (1.0,), self.noise, self.scale, level)
        found = [part * self._span**2 * factor for part in inside(drawn, 0.0, 0.25)]
        value, low, high = found if kind in ("variance", "var_samp") else [np.sqrt(part) for part in found]
        return value, low, high

    def width(self, kind: str, rows: int, level: float) -> float:
        return self._shown(kind, radius(self.noise.tail, (self.scale,), level))

    def rmse(self, kind: str, rows: int) -> float:
        return self._shown(kind, self.noise.rmse / float(self.unit))

    def _shown(self, kind: str, share: float) -> float:
        """An error of the variance in the column's unit; for std the square root of the variance's, where it is largest."""
        share = min(share, 0.25)
        return self._span**2 * share if kind in ("variance", "var_samp") else self._span * math.sqrt(share)
