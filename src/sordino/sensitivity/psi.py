"""Influence curves of M-estimators as sums of ramps in whole numbers, so that their sums over a column are exact."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.sensitivity.order import Array

__all__ = ["BOUNDED", "HUBER", "PSIS", "Ramps", "read_bounded", "read_curve"]

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
