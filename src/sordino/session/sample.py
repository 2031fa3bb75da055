"""Made-up rows of one column that answer as an engine would, and the population they are drawn from: both from released numbers alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.schema.column import Grid, coarse_shift
from sordino.summaries.totals import Clipped, GroupTotals, Item, Middles, Ranks, Rows, Sorted, Totals, middle, rank_window

__all__ = ["Population", "Sample"]

Floats = NDArray[np.float64]
Steps = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Population:
    """A law whose quantiles are a polygon in normal scores: through two of them it is normal, through more it bends where they do."""

    scores: tuple[float, ...]
    values: tuple[float, ...]

    @classmethod
    def through(cls, levels: Sequence[float], values: Sequence[float]) -> Population:
        from scipy.special import ndtri

        return cls(tuple(float(ndtri(level)) for level in levels), tuple(float(value) for value in values))

    def at(self, scores: Floats) -> Floats:
        """The values at normal scores, straight on beyond the first and the last known one."""
        known, values = np.array(self.scores), np.array(self.values)
        rise = np.diff(values) / np.diff(known)
        piece = np.clip(np.searchsorted(known, scores) - 1, 0, len(rise) - 1)
        return np.asarray(values[piece] + rise[piece] * (scores - known[piece]))

    def even(self, rows: int) -> Floats:
        """That many rows, one in the middle of each of as many equally likely stretches."""
        from scipy.special import ndtri

        return self.at(ndtri((np.arange(rows) + 0.5) / rows))


@dataclass(frozen=True, eq=False)
class Sample:
    """One column without groups."""

    column: str
    grid: Grid
    steps: Steps  # in rising order

    @classmethod
    def of(cls, column: str, grid: Grid, x: Floats) -> Sample:
        low, high = float(grid.low * grid.step), float(grid.high * grid.step)
        whole = np.floor(np.clip(x, low, high) / float(grid.step)).astype(np.int64) - grid.low
        return cls(column, grid, np.sort(np.clip(whole, 0, grid.width)))

    def ask(self, request: Any) -> Any:
        match request:
            case Ranks():
                return iter([tuple(rank_window(self.steps, q, request.radius, 0, self.grid.width) for q in request.q)])
            case Middles():
                return iter([middle(self.steps, kept, request.radius, self.grid.width) for kept in request.kept])
            case Rows():
                return iter([Sorted(self.steps[: request.most], min(len(self.steps), request.most))])
            case Clipped():
                low, high = request.limits[0]
                rows, total, moved = request.items
                found = self._totals(np.clip(self.steps, low, high), (rows, total))
                beyond = np.array([int(((self.steps < low) | (self.steps > high)).sum())], object)
                return GroupTotals(found.keys, {**found.values, moved: beyond})
            case Totals():
                return self._totals(self.steps, request.items)
        raise QueryError("SRD-106", f"a sample does not answer {type(request).__name__}.", "Ask for another statistic.")

    def _totals(self, steps: Steps, items: Sequence[Item]) -> GroupTotals:
        """Sums of Python integers: no sum is too large."""

        def one(what: str) -> int:
            if what == "sum":
                return sum(steps.tolist())
            if what in ("coarse", "squares"):
                coarse = (steps >> coarse_shift(self.grid)).tolist()
                return sum(coarse) if what == "coarse" else sum(v * v for v in coarse)
            return len(steps)

        return GroupTotals(((),), {item: np.array([one(item.what)], object) for item in items})
