"""The sum above the lower bound, where the number of rows is public: mean and sum in one price."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from sordino.errors import QueryError
from sordino.schema.column import Grid
from sordino.statistics.added import Added
from sordino.statistics.moments import Estimate, linear, scaled, unit_of
from sordino.statistics.port import Groups
from sordino.statistics.read import Whole, read_totals
from sordino.statistics.tail import Floats, radius
from sordino.summaries import Ask, Draw
from sordino.summaries.totals import Item

__all__ = ["Known"]


@dataclass(frozen=True)
class Known:
    r"""sum(x - L) with Laplace noise of scale (U - L)/epsilon.

    Theorem. It is epsilon-DP under replace for the whole table, one row per unit, nothing dropped; the mean is L + a/n, the sum a + n L.
    Proof. No row comes or goes, and a replaced one moves the sum by at most U - L. n is the declared size, whatever the table holds. QED
    """

    column: str
    grid: Grid
    epsilon: Fraction
    size: int

    @cached_property
    def unit(self) -> Fraction:
        return unit_of(self.grid.width, refine=True)

    @cached_property
    def noise(self) -> Added:
        reach = -(-self.grid.width * self.unit.numerator // self.unit.denominator)
        return Added(self.epsilon, reach + (0 if self.unit.denominator == 1 else 1))

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
        parts = linear(raw, (span,), self.noise, self.scale, level)
        if kind == "sum":
            value, first, last = (part + low * self.size for part in parts)
        elif kind == "mean":
            value, first, last = (low + np.clip(part / self.size, 0.0, span) for part in parts)
        else:
            raise QueryError("SRD-106", f"{kind!r} cannot be read off a sum.", "Ask for sum or mean.")
        return value, first, last

    def width(self, kind: str, rows: int, level: float) -> float:
        far = self.grid.length(self.grid.width) * radius(self.noise.tail, (self.scale,), level)
        return far / self.size if kind == "mean" else far

    def rmse(self, kind: str, rows: int) -> float:
        noise = self.grid.length(self.grid.width) * self.noise.rmse / self._row
        return min(noise / self.size, self.grid.length(self.grid.width)) if kind == "mean" else noise
