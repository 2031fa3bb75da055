"""Base measures of the quantile mechanism: how much a grid point counts before the data are seen. Public, integer, exact."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Measure"]

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
