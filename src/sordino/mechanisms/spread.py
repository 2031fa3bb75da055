"""Equal rows spread evenly over sub-points of their grid step, so that ties can be split."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sordino.mechanisms.measure import Measure

__all__ = ["Spot", "SpotCells", "Spread", "Stretch", "spread"]

Integers = NDArray[np.int64]


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
