"""The means of several columns, in one release."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.privacy.certificate import Part
from sordino.schema.column import Grid
from sordino.statistics.added import Added, AddedGaussian, quieter
from sordino.statistics.halves import halve, share_of
from sordino.statistics.moments import BITS
from sordino.statistics.port import LEVEL, Answer, Context, Groups, Plain, Priced, Ways
from sordino.statistics.reach import Reach, length_grid, public_size, root_up
from sordino.statistics.read import read_totals
from sordino.statistics.tail import Floats, radius
from sordino.summaries import Ask, Draw
from sordino.summaries.totals import Item

__all__ = ["Means", "MeansStep", "means"]

ROW = 2**BITS  # one row of any column, in drawn units


@dataclass(frozen=True)
class MeansStep(Priced):
    r"""Two halves per column, every column in units of its own width, and one law of noise for all of them.

    Theorem. With d columns and m rows per person Laplace noise of scale m d on every half (in rows, epsilon 1), or Gaussian noise for the
    L2 sensitivity m sqrt(d), is private under add_remove; under replace 2 m d and m sqrt(2 d).
    Proof. One row's halves (t, 1 - t) have L1 norm 1 and L2 norm at most 1; two rows' halves differ by at most 2 and sqrt(2). Columns
    are coordinates of their own, also where nulls drop out of one and not of another. Cutting to whole units of 2^-24 row adds at
    most one unit per coordinate. Where n is public under replace the lower halves alone say the means: a replaced row moves each by at
    most 1, all of them by d in L1 and sqrt(d) in L2 norm. QED
    The mean's error is d/(epsilon n) widths under Laplace noise and about sqrt(d ln(1/delta))/(epsilon n) under Gaussian noise.
    """

    names: tuple[str, ...]
    grids: tuple[Grid, ...]
    noise: Added | AddedGaussian
    size: int | None = None  # where it is public
    bar: str = "exact"

    @property
    def scale(self) -> float:
        """The noise of one half, in rows."""
        return float(self.noise.scale / ROW)

    @property
    def name(self) -> str:
        return f"{self.noise.name}, {'halves' if self.size is None else 'known'}"

    @property
    def _each(self) -> int:
        """Drawn numbers of one column."""
        return 2 if self.size is None else 1

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.noise.part,)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        items = tuple(Item(what, name) for name in self.names for what in ("rows", "sum"))
        totals = read_totals(ask, items, groups)
        halves = [halve(totals[2 * j], totals[2 * j + 1], g.width, Fraction(ROW, g.width)) for j, g in enumerate(self.grids)]
        raw = self.noise.around(np.stack(halves, axis=1)[:, :, : self._each], draw) / ROW
        value, low, high = self._estimate(raw, LEVEL)
        ends = zip(value.tolist(), low.tolist(), high.tolist(), raw.reshape(len(raw), self._each * len(self.grids)).tolist(), strict=True)
        return [Answer(tuple(v), tuple(a), tuple(b), raw=tuple(r)) for v, a, b, r in ends]

    def _estimate(self, raw: Floats, level: float) -> tuple[Floats, Floats, Floats]:
        low = np.array([float(g.low * g.step) for g in self.grids])
        span = np.array([g.length(g.width) for g in self.grids])
        if self.size is None:
            share, first, last = share_of(raw, self.noise, self.scale, (self.noise.slop + 1) / ROW, level)
        else:
            far, above = radius(self.noise.tail, (self.scale,), level) + (self.noise.slop + 1) / ROW, raw[:, :, 0]
            share, first, last = (np.clip(part / self.size, 0.0, 1.0) for part in (above, above - far, above + far))
        return low + span * share, low + span * first, low + span * last

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any]:
        _, low, high = self._estimate(np.array(answer.raw).reshape(1, -1, self._each), level)
        return tuple(low[0].tolist()), tuple(high[0].tolist())

    def width(self, rows: int | None, level: float = LEVEL) -> float | None:
        """The half-width of the column with the widest bounds, at a mean near either bound, where it is largest."""
        if rows is None:
            return None
        span = max(g.length(g.width) for g in self.grids)
        return span * min(1.0, radius(self.noise.tail, (self.scale,), level) / max(rows, 1))

    def rmse(self, rows: int | None) -> float | None:
        """That of the column with the widest bounds, at a mean near either bound, where it is largest."""
        return None if rows is None else max(g.length(g.width) for g in self.grids) * min(1.0, self.noise.rmse / ROW / max(rows, 1))


@dataclass(frozen=True)
class Means(Plain):
    """The means of several columns as one vector: one price, and Gaussian noise from the number of columns where it is quieter."""

    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise QueryError("SRD-103", "the columns are missing or repeat.", "Name each column once.")

    @property
    def label(self) -> str:
        named = self.columns if len(self.columns) <= 6 else (*self.columns[:3], f"{len(self.columns) - 4} more", self.columns[-1])
        return f"means({', '.join(named)})"

    def question(self) -> dict[str, Any]:
        return {"statistic": "means", "columns": list(self.columns)}

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        d, grids = len(self.columns), tuple(length_grid(context, name) for name in self.columns)
        if (size := public_size(context)) is not None:
            public = Added(epsilon, d * (ROW + 1), d)
            cut = math.isqrt(d) + 1
            known = AddedGaussian(epsilon, delta, root_up(Fraction(d)) * ROW + cut, d) if delta else None
            return {name: partial(MeansStep, self.columns, grids, noise, size) for name, noise in quieter(public, known).items()}
        reach = Reach(Fraction(d), Fraction(2 * d), context)
        moved = 2 * d * reach.touched
        laplace = reach.added(epsilon, Fraction(ROW), 2 * d, 2 * d)
        cut = math.isqrt(moved) + 1
        gaussian = AddedGaussian(epsilon, delta, reach.second() * ROW + cut, moved) if delta else None
        return {name: partial(MeansStep, self.columns, grids, noise) for name, noise in quieter(laplace, gaussian).items()}


def means(columns: Iterable[str]) -> Means:
    """The means of several columns."""
    return Means(tuple(columns))
