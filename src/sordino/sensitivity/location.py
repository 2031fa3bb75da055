"""The ladder of an M-estimate of location: the root of sum psi(x - m) = 0, and how far a few rows can move it.

Influence curves of M-estimators as sums of ramps in whole numbers, so that their sums over a column are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.privacy.relation import Relation
from sordino.sensitivity.ladder import Ladder
from sordino.sensitivity.order import Array

__all__ = ["BOUNDED", "HUBER", "PSIS", "Location", "Ramps", "read_bounded", "read_curve"]

HUBER = 1.345  # 95% efficient at the normal law
LOGCOSH = 1.2047  # the same for tanh(z / c)
FARTHEST, PER_SCALE = 8, 4  # a curve of one's own is read up to 8 scales from zero, at every quarter
HEIGHT = 2**12
PSIS = ("huber", "logcosh")
TUKEY = 4.685  # 95% efficient at the normal law: z (1 - (z/c)^2)^2 up to c, and nothing beyond
BOUNDED = (*PSIS, "tukey")


@dataclass(frozen=True)
class Ramps:
    """psi(d) = sum of slope (clip(d, left, right) - clip(0, left, right)): zero at zero, non-decreasing, between -bound and bound.

    Everything is a whole number: d in grid steps, slopes without a unit. Ramps may overlap, and wide ones are better than many narrow
    ones: a row counts for a ramp as long as it stays on it.
    """

    left: tuple[int, ...]
    right: tuple[int, ...]
    slope: tuple[int, ...]

    def __call__(self, d: Any) -> Array:
        at = np.asarray(d, dtype=np.int64)
        parts = zip(self.left, self.right, self.slope, strict=True)
        return np.asarray(sum(s * (np.clip(at, a, b) - min(max(0, a), b)) for a, b, s in parts))

    @property
    def bound(self) -> int:
        return int(np.abs(self([min(self.left), max(self.right)])).max())

    @property
    def steepest(self) -> int:
        """The largest slope of psi anywhere."""
        parts = list(zip(self.left, self.right, self.slope, strict=True))
        return max(sum(s for a, b, s in parts if a <= at < b) for at in self.left)

    @classmethod
    def through(cls, knots: Sequence[float], heights: Sequence[float], scale: int) -> Ramps:
        """The polygon through (knot, height), knots in scales of `scale` steps each, as layers of its slope: widest ramps first."""
        places = [round(Fraction(knot) * scale) for knot in knots]
        rises = zip(places[:-1], places[1:], np.diff(heights).tolist(), np.diff(knots).tolist(), strict=True)
        found = _layers([(a, b, round(HEIGHT * rise / width)) for a, b, rise, width in rises if b > a])
        if not found:
            return cls((-1,), (1,), (1,))  # a scale below the grid: the sign of d
        left, right, slope = zip(*found, strict=True)
        return cls(left, right, slope)


def _layers(stretches: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """The same slopes as few wide layers: where neighbours are steeper, their common part is one ramp over both."""
    out: list[tuple[int, int, int]] = []
    open_layers: list[tuple[int, int]] = []  # (start, slope reached), steeper towards the end
    for start, _, slope in [*stretches, (stretches[-1][1], stretches[-1][1], 0)] if stretches else []:
        since = start
        while open_layers and open_layers[-1][1] > slope:
            since, reached = open_layers.pop()
            under = max(slope, open_layers[-1][1] if open_layers else 0)
            out.append((since, start, reached - under))
        if slope > (open_layers[-1][1] if open_layers else 0):
            open_layers.append((since, slope))
    return sorted(out, key=lambda ramp: ramp[0] - ramp[1])


def read_curve(psi: str | Callable[[float], float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Knots and heights of a named curve, or of one's own: bounded, non-decreasing, zero at zero. Refused here if it is not."""
    if psi == "huber":
        return (-HUBER, HUBER), (-HUBER, HUBER)
    if psi == "logcosh":
        knots = np.arange(-4 * PER_SCALE, 4 * PER_SCALE + 1) / PER_SCALE
        return tuple(knots.tolist()), tuple(np.tanh(knots / LOGCOSH).tolist())
    if not callable(psi):
        raise QueryError("SRD-106", f"psi {psi!r} is unknown.", f"Use one of {', '.join(PSIS)}, or a bounded non-decreasing function.")
    grid = np.arange(-FARTHEST * PER_SCALE, FARTHEST * PER_SCALE + 1) / PER_SCALE
    try:
        heights = np.array([float(psi(z)) for z in grid.tolist()])
    except Exception as error:
        raise QueryError("SRD-103", f"psi cannot be evaluated ({type(error).__name__}).", "Give a function of one number.") from error
    size = float(np.abs(heights).max()) if np.isfinite(heights).all() else 0.0
    middle = heights[len(grid) // 2]
    if not size or (np.diff(heights) < -1e-9 * size).any() or abs(middle) > 1e-9 * size or not heights[0] < 0 < heights[-1]:
        what = "psi is not a non-decreasing function with psi(0) = 0 that takes both signs."
        raise QueryError("SRD-103", what, "Give one like lambda z: max(-1, min(1, z)), in units of the scale.")
    steady = np.maximum.accumulate(heights / size)
    return tuple(grid.tolist()), tuple((steady - steady[len(grid) // 2]).tolist())


def read_bounded(psi: str | Callable[[float], float]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Knots and heights of any bounded curve through zero, rising there: it may fall again. Beyond its last knots it stays as it is."""
    if psi in PSIS:
        return read_curve(psi)
    if psi == "tukey":
        knots = np.linspace(-TUKEY, TUKEY, 41)
        return tuple(knots.tolist()), tuple((knots * (1 - (knots / TUKEY) ** 2) ** 2).tolist())
    if not callable(psi):
        raise QueryError("SRD-106", f"psi {psi!r} is unknown.", f"Use one of {', '.join(BOUNDED)}, or a bounded function.")
    grid = np.arange(-FARTHEST * PER_SCALE, FARTHEST * PER_SCALE + 1) / PER_SCALE
    try:
        heights = np.array([float(psi(z)) for z in grid.tolist()])
    except Exception as error:
        raise QueryError("SRD-103", f"psi cannot be evaluated ({type(error).__name__}).", "Give a function of one number.") from error
    size, middle = float(np.abs(heights).max()) if np.isfinite(heights).all() else 0.0, len(grid) // 2
    if not size or abs(heights[middle]) > 1e-9 * size or not heights[middle - 1] < 0 < heights[middle + 1]:
        what = "psi is not a bounded function with psi(0) = 0 that rises there."
        raise QueryError("SRD-103", what, "Give one like lambda z: z / (1 + z * z), in units of the scale.")
    return tuple(grid.tolist()), tuple((heights / max(heights[middle + 1] * PER_SCALE, size / 100)).tolist())


FEW = 2_000  # rungs for which all ways to share moves between both ends are tried


@dataclass(frozen=True, eq=False, repr=False)
class Location:
    r"""Roots T_h = min{m in 0..W: sum psi(x - m) + h <= 0} (W if there is none) of a sorted column of grid integers, and their ladder.

    Theorem. With |psi| <= c, people of at most m rows and e = c m when people come and go, e = 2 c m when they are replaced (n may then be
    private), both of these are legal ladders of T_0, and so is their minimum:
        box(k)  = max(T_{(k+1) e} - T_{-k e}, T_{k e} - T_{-(k+1) e}),
        flat(k) = ceil(e / (N_k - k m s)), where s is the steepest slope of psi and N_k adds the slopes of all rows whose part of psi is
        straight for every centre between T_{-(k+1) e} and T_{(k+1) e}; infinite where that is not positive.
    For single replaced rows box(k) may be the largest T_{j c} - T_{(j - 2 (k+1)) c}, 0 <= j <= 2 (k+1), for k >= 1.
    Proof. One step changes the sum at every m by at most e, so k steps take T_0 to no more than T_{k e} and no less than T_{-k e}: if
    sum psi(x - m) + k e <= 0 then the changed sum at m is <= 0, and where the sum less k e is positive the changed one is. Hence box; a
    neighbour's T_{h + e} is at least this table's T_h, hence legal. On [T_{-(k+1) e}, T_{(k+1) e}], where the centres of a table y within
    k steps and of its neighbour lie, the sum over y falls by at least N_k - k m s per grid step, because k people took away at most
    k m rows; and between the two centres it falls by less than e before the last step. Hence flat. A neighbour sees a wider range of
    centres and at most m rows more, so its N_{k+1} <= N_k + m s: legal. A replaced row moves the sum up for all m or down for all m, by at
    most 2 c, and one taken out by at most c at either end; so the moves at the two ends share 2 c per row. QED
    """

    x: Array
    width: int
    psi: Ramps
    relation: Relation = Relation.ADD_REMOVE
    rows: int = 1
    most: int | None = None  # the number of rows at which the table was cut: near it an added row may replace another

    @cached_property
    def sums(self) -> Array:
        """Prefix sums modulo 2^64: differences that fit are exact."""
        return np.concatenate([[0], np.cumsum(self.x.astype(np.int64))])

    def total(self, m: Array) -> Array:
        """sum psi(x - m), exactly, for whole numbers m."""
        out = np.zeros(len(m), np.int64)
        n = len(self.x)
        for left, right, slope in zip(self.psi.left, self.psi.right, self.psi.slope, strict=True):
            a, b = np.searchsorted(self.x, m + left), np.searchsorted(self.x, m + right, side="right")
            inside = (self.sums[b] - self.sums[a]) - (b - a) * m
            zero = min(max(0, left), right)
            out += slope * (inside + a * left + (n - b) * right - n * zero)
        return out

    def roots(self, h: Array) -> Array:
        """T_h for each of several h, by bisection: the sum does not rise with m."""
        low, high = np.zeros(len(h), np.int64), np.full(len(h), self.width, np.int64)
        while (low < high).any():
            middle = low + (high - low) // 2
            reached = self.total(middle) + h <= 0
            low, high = np.where(reached, low, np.minimum(middle + 1, high)), np.where(reached, middle, high)
        return low

    @cached_property
    def value(self) -> int:
        return int(self.roots(np.zeros(1, np.int64))[0])

    def _rungs(self, count: int, relation: Relation) -> Array:
        step = self.psi.bound * self.rows * (2 if relation is Relation.REPLACE else 1)
        k = np.arange(count + 1)
        up, down = self.roots(k * step), self.roots(-k * step)
        box = np.maximum(up[1:] - down[:-1], up[:-1] - down[1:])
        if relation is Relation.REPLACE and self.rows == 1 and count <= FEW:
            box = np.minimum(box, self._shared(count))
        slope = np.zeros(count, np.int64)
        for left, right, steep in zip(self.psi.left, self.psi.right, self.psi.slope, strict=True):
            start, stop = np.searchsorted(self.x, up[1:] + left), np.searchsorted(self.x, down[1:] + right, side="right")
            slope += steep * np.maximum(stop - start, 0)
        rest = slope - k[:-1] * self.rows * self.psi.steepest
        flat = np.where(rest > 0, -(-step // np.maximum(rest, 1)), self.width)
        return np.asarray(np.minimum(np.minimum(box, flat), self.width))

    def _shared(self, count: int) -> Array:
        """max_j T_{j c} - T_{(j - 2 (k+1)) c}; the first rung starts at T_0 itself."""
        j = np.arange(2 * count + 1) * self.psi.bound
        up, down = self.roots(j), self.roots(-j)
        ends = [(up[: 2 * k + 3] - down[2 * k + 2 :: -1]).max() for k in range(count)]
        if count:
            ends[0] = max(up[2] - down[0], up[0] - down[2])
        return np.array(ends, np.int64)

    def ladder(self) -> Ladder:
        r"""The rungs of the relation; where the table might have been cut, those for replacements.

        Theorem. A table cut to N rows stays under a legal ladder for rows that come and go if rung k is that for replacements whenever
        n + (k + 1) m > N.
        Proof. Below that all tables within k + 1 steps are uncut and steps are additions and removals. At N a step may replace m rows.
        A rung for replacements is at least the one for additions, covers both, and a neighbour's next rung is for replacements too. QED
        """

        def block(k0: int, k1: int) -> Array:
            if self.relation is Relation.REPLACE:
                return self._rungs(k1, Relation.REPLACE)[k0:]
            found = self._rungs(k1, Relation.ADD_REMOVE)
            if self.most is not None and len(self.x) + k1 * self.rows > self.most:
                cut = len(self.x) + (np.arange(k1) + 1) * self.rows > self.most
                found = np.where(cut, self._rungs(k1, Relation.REPLACE), found)
            return np.asarray(found[k0:])

        return Ladder(block, self.width, len(self.x) + 1)
