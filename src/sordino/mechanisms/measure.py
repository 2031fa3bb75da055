"""Base measures of the quantile mechanism: how much a grid point counts before the data are seen. Public, integer, exact.

Grid points in runs of equal rank: the values that occur, and the gaps between them.

Equal rows spread evenly over sub-points of their grid step, so that ties can be split.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sordino.summaries import Window

__all__ = ["Measure", "RankCells", "Spot", "SpotCells", "Spread", "Stretch", "rank_cells", "spread"]

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Measure:
    r"""The mass of the grid points low..high: uniform, or falling like 1/|y| away from an origin ("arsinh").

    The arsinh measure gives every octave |y - origin| in [unit 2^e, unit 2^{e+1}) the same mass and is uniform inside it and below
    2 unit: the arsinh curve drawn as a polygon through powers of two, so that every mass is a whole number and cells of any width are
    weighed and drawn from exactly. The origin itself weighs as much as an octave: nothing is as often exactly zero as what people
    record. `total(y)` is the mass of all points up to y.
    """

    low: int
    high: int
    origin: int | None = None
    unit: int = 1

    @cached_property
    def octaves(self) -> int:
        if self.origin is None:
            return 0
        farthest = max(abs(self.low - self.origin), abs(self.high - self.origin)) // self.unit
        return max(0, farthest.bit_length() - 1)

    @cached_property
    def _stretches(self) -> tuple[Integers, Integers, Integers]:
        """Where the polygon bends: the first point of each stretch, the mass of one of its points, the mass before it."""
        if self.origin is None:
            return np.array([self.low]), np.array([1]), np.array([0])
        one = 1 << self.octaves
        away = [(self.origin, one * self.unit), (self.origin + 1, one)]
        away += [(self.origin + (self.unit << e), one >> e) for e in range(1, self.octaves + 1)]
        toward = [(self.origin + 1 - (self.unit << e + 1), one >> e) for e in reversed(range(self.octaves + 1))]
        begun = [(first, mass) for first, mass in (*toward, *away) if first <= self.low][-1:]
        inside = [(first, mass) for first, mass in (*toward, *away) if self.low < first <= self.high]
        first = np.array([self.low, *(point for point, _ in inside)], np.int64)
        mass = np.array([found for _, found in (*begun, *inside)], np.int64)
        return first, mass, np.concatenate([[0], np.cumsum(np.diff(first) * mass[:-1])])

    def total(self, y: Any) -> Integers:
        """The mass of the points low..y."""
        y, (first, mass, before) = np.asarray(y, np.int64), self._stretches
        at = np.maximum(np.searchsorted(first, y, side="right") - 1, 0)
        return np.asarray(before[at] + (y - first[at] + 1) * mass[at])

    def locate(self, mass: int) -> int:
        """The least point y with total(y) >= mass."""
        first, each, before = self._stretches
        at = int(np.searchsorted(before, mass)) - 1
        return int(first[at]) + (mass - int(before[at]) - 1) // int(each[at])

    @property
    def least(self) -> int:
        """The smallest mass of a single point: that of the farthest octave."""
        return 1


@dataclass(frozen=True)
class RankCells:
    """The points first..last of each cell, in rising order; how many rows lie below it and up to it; the mass of its points."""

    first: Integers
    last: Integers
    below: Integers
    upto: Integers
    mass: Integers


def rank_cells(windows: Sequence[Window], measure: Measure) -> RankCells:
    """Every cell the windows know: the points between two neighbouring windows that do not touch belong to none.

    A value that fills the edge of a window counts as far as the window sees it, or, where it reaches into the next window, as far as
    that one does.
    """
    n = windows[0].n
    ranks = np.concatenate([window.first + np.arange(len(window.values)) for window in windows])
    values, place = np.unique(np.concatenate([window.values for window in windows]), return_inverse=True)
    below, upto = np.full(len(values), n, np.int64), np.zeros(len(values), np.int64)
    np.minimum.at(below, place, np.clip(ranks - 1, 0, n))
    np.maximum.at(upto, place, np.clip(ranks, 0, n))
    touch = upto[:-1] == below[1:]
    first = np.insert(values[1:], np.arange(len(values) - 1), values[:-1] + 1)  # a gap, then the value after it
    last = np.insert(values[1:], np.arange(len(values) - 1), np.where(touch, values[1:] - 1, values[:-1]))
    cells = [np.concatenate([values[:1], first]), np.concatenate([values[:1], last])]
    ends = [np.concatenate([end[:1], np.insert(end[1:], np.arange(len(values) - 1), upto[:-1])]) for end in (below, upto)]
    held = cells[1] >= cells[0]
    first, last, below, upto = (part[held] for part in (*cells, *ends))
    return RankCells(first, last, below, upto, measure.total(last) - measure.total(first - 1))


class Spot(NamedTuple):
    """All sub-points of the grid up to this one: the first `parts` of a point, and every point before it."""

    point: int
    parts: int


class Stretch(NamedTuple):
    """A part of a spread table: its rows first..last-1, and the sub-points after `start` up to `stop`, where they lie."""

    first: int
    last: int
    start: Spot
    stop: Spot


@dataclass(frozen=True)
class SpotCells:
    """Runs of sub-points with one score: those after `start` up to `stop`, as points and parts; at least one sub-point each."""

    start: tuple[Integers, Integers]
    stop: tuple[Integers, Integers]
    score: NDArray[np.float64]
    whole: int  # parts of a point

    def masses(self, measure: Measure) -> NDArray[np.float64]:
        """Masses in units of a part of the least mass; sums of non-negative terms, so nothing cancels."""
        (p, a), (q, b) = self.start, self.stop
        first, last = (measure.total(point) - measure.total(point - 1) for point in (p, q))
        between = (measure.total(q - 1) - measure.total(p)).astype(float) * self.whole
        inside = first.astype(float) * (b - a)
        return np.asarray(np.where(p == q, inside, first.astype(float) * (self.whole - a) + between + last.astype(float) * b))


@dataclass(frozen=True)
class Spread:
    """A sorted table whose rows are (point, part), the parts of equal points from the van der Corput sequence."""

    point: Integers
    part: Integers
    bits: int

    def upto(self, spot: Spot, part: Stretch) -> int:
        """Where, among the rows of a stretch, those up to this spot end."""
        rows = self.point[part.first : part.last]
        left, right = (part.first + int(np.searchsorted(rows, spot.point, side)) for side in ("left", "right"))
        return left + int(np.searchsorted(self.part[left:right], spot.parts, "left"))

    def cells(self, part: Stretch, q: Fraction, clip: float) -> SpotCells:
        """Every sub-point of a stretch, with its distance in ranks from q times its rows, at most `clip`."""
        n, (a, b) = part.last - part.first, q.as_integer_ratio()
        low, high = max(math.floor(q * n - Fraction(clip)), 0), min(math.ceil(q * n + Fraction(clip)), n)
        rows = slice(part.first + low, part.first + high)
        new = np.flatnonzero((np.diff(self.point[rows], prepend=-1) != 0) | (np.diff(self.part[rows], prepend=-1) != 0))
        point, piece = self.point[rows][new], self.part[rows][new]
        ends = low + np.append(new, high - low)
        if b * (n + 1) >= 2**62:  # a level with many digits counts in Python integers
            ends = ends.astype(object)
        score = np.empty(2 * len(point) + 1)
        score[::2] = np.abs(b * ends - a * n) / b
        score[1::2] = np.maximum(np.maximum(b * ends[:-1] - a * n, a * n - b * ends[1:]), 0) / b
        points = np.concatenate([[part.start.point], np.repeat(point, 2), [part.stop.point]])
        parts = np.concatenate([[part.start.parts], np.stack([piece, piece + 1], axis=1).ravel(), [part.stop.parts]])
        held = (points[1:] > points[:-1]) | (parts[1:] > parts[:-1])
        before, after = ((points[at][held], parts[at][held]) for at in (slice(None, -1), slice(1, None)))
        return SpotCells(before, after, np.minimum(score, clip)[held], 1 << self.bits)


def spread(values: Integers, bits: int) -> Spread:
    """The o-th of equal values goes to the part whose bits are those of o in reverse: one value more moves none of the others."""
    if not len(values):
        return Spread(values, values, bits)
    start = np.flatnonzero(np.diff(values, prepend=values[0] - 1))
    place = np.arange(len(values)) - np.repeat(start, np.diff(np.append(start, len(values))))
    part = np.zeros(len(values), np.int64)
    for bit in range(min(bits, int(place.max()).bit_length())):
        part |= ((place >> bit) & 1) << (bits - 1 - bit)
    if len(start) < len(values):
        part = part[np.lexsort((part, values))]
    return Spread(values, part, bits)
