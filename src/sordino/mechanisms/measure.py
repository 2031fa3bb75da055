"""Base measures of the quantile mechanism: how much a grid point counts before the data are seen. Public, integer, exact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Measure"]


@dataclass(frozen=True)
class Measure:
    r"""The mass of the grid points low..high: uniform, or falling like 1/|y| away from an origin ("arsinh").

    The arsinh measure gives every octave |y - origin| in [unit 2^e, unit 2^{e+1}) the same mass and is uniform inside it and below
    2 unit: the arsinh curve drawn as a polygon through powers of two, so that every mass is a whole number and cells of any width are
    weighed and drawn from exactly. `total(y)` is the mass of all points up to y.
    """

    low: int
    high: int
    origin: int | None = None
    unit: int = 1

    @property
    def octaves(self) -> int:
        if self.origin is None:
            return 0
        farthest = max(abs(self.low - self.origin), abs(self.high - self.origin)) // self.unit
        return max(0, farthest.bit_length() - 1)

    def _from_origin(self, t: NDArray[np.int64]) -> NDArray[np.int64]:
        """Mass of the points 0..t at distance from the origin, t >= 0: unit 2^E (e+1) + (t + 1 - unit 2^e) 2^{E-e}."""
        scaled = t // self.unit
        e = np.maximum(np.frexp(np.maximum(scaled, 1).astype(float))[1].astype(np.int64) - 1, 0)
        whole = np.int64(self.unit) << self.octaves
        return np.asarray(whole * (e + 1) + ((t + 1 - (np.int64(self.unit) << e)) << (self.octaves - e)))

    def total(self, y: Any) -> NDArray[np.int64]:
        """The mass of the points low..y."""
        y = np.asarray(y, np.int64)
        if self.origin is None:
            return np.asarray(y - self.low + 1)
        return np.asarray(self._signed(y - self.origin) - self._signed(np.asarray(self.low - 1 - self.origin, np.int64)))

    def _signed(self, t: NDArray[np.int64]) -> NDArray[np.int64]:
        right = self._from_origin(np.maximum(t, 0))
        left = (np.int64(1) << self.octaves) - self._from_origin(np.maximum(-t - 1, 0))
        return np.where(t >= 0, right, left)

    def locate(self, mass: int) -> int:
        """The least point y with total(y) >= mass."""
        if self.origin is None:
            return self.low + mass - 1
        low, high = self.low, self.high
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if int(self.total(middle)) >= mass else (middle + 1, high)
        return low

    @property
    def least(self) -> int:
        """The smallest mass of a single point: that of the farthest octave."""
        return 1
