"""What the rounds of a robust regression have learnt about coefficients: a Gaussian belief, updated by noisy linear equations, for free.

The belief starts from a public guess: a line that stays inside the box of the public bounds has coefficients of about 1 over the root of
their number, so that is the unit of their standard deviation, and the constant may be anything in the box.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sordino.mechanisms.margin import Margin

__all__ = ["Belief", "Line"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Line:
    """Coefficients for rows in [-1, 1], how far off they can be, the residual's scale, the rows."""

    theta: tuple[float, ...]
    margin: Margin
    scale: float
    rows: float


@dataclass(frozen=True)
class Belief:
    """Mean and covariance of the coefficients."""

    mean: Floats
    spread: Floats

    @classmethod
    def guess(cls, dimension: int, wide: float = 1.0) -> Belief:
        return cls(np.zeros(dimension), np.diag([1.0, *[wide**2 / dimension] * (dimension - 1)]))

    def told(self, slope: Floats, value: Floats, noise: Floats) -> Belief:
        """After seeing value = slope (theta - mean) + error, error of this covariance."""
        gain = self.spread @ slope.T @ np.linalg.inv(slope @ self.spread @ slope.T + noise)
        left = np.eye(len(self.mean)) - gain @ slope
        after = left @ self.spread @ left.T + gain @ noise @ gain.T
        return Belief(self.mean + gain @ value, (after + after.T) / 2)
