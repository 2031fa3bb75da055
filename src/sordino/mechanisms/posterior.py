"""What drawn sums say about coefficients: a Gaussian belief, updated by noisy linear equations. Post-processing, so at no price.

The belief starts from a public guess: a line that stays inside the box of the public bounds has coefficients of about 1 over the root of
their number, so that is the unit of their standard deviation, and the constant may be anything in the box.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sordino.mechanisms.margin import Margin, of_equations
from sordino.mechanisms.normal_equations import Equations

__all__ = ["Belief", "Line", "inside", "solved"]

Floats = NDArray[np.float64]
ROUNDS = 6  # of the fixed point between coefficients and the noise they meet
WIDTHS = (0.25, 0.5, 1.0, 2.0)  # of the guess, to choose from


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

    def likelihood(self, slope: Floats, value: Floats, noise: Floats) -> float:
        """How well this belief foretold the value, as a logarithm."""
        foretold = slope @ self.spread @ slope.T + noise
        return float(-value @ np.linalg.solve(foretold, value) - np.linalg.slogdet(foretold)[1]) / 2


def inside(square: Floats) -> Floats:
    """The nearest matrix without negative eigenvalues: X'X has none, its noise may."""
    values, vectors = np.linalg.eigh(square)
    return np.asarray((vectors * np.maximum(values, 0.0)) @ vectors.T)


def solved(equations: Equations) -> Line:
    r"""Coefficients from drawn normal equations.

    Theorem. With the solution t of X'X t = X'y, the drawn A = X'X + E and b = X'y + e satisfy b - A t = e - E t, a Gaussian vector with
    covariance (sb^2 + sA^2 |t|^2) I + sA^2 t t'.
    Proof. E is symmetric with variance sA^2 off the diagonal and 2 sA^2 on it, so Cov(E t)_ij = sA^2 (|t|^2 [i = j] + t_i t_j). QED
    Sampling adds the residual variance times X'X. The belief is told b = A t + error, with the error's covariance at the current t. Among
    a few widths of the guess the one that foretold b best gives the coefficients.
    """
    A, b = np.array(equations.square), np.array(equations.moment)
    square, rows = inside(A), max(1.0, A[0, 0])  # the first term is the constant
    lines = [_told(equations, square, b, rows, Belief.guess(len(b), wide)) for wide in WIDTHS]
    _, theta, scale = max(lines, key=lambda found: found[0])
    return Line(tuple(theta.tolist()), of_equations(equations), scale, float(rows))


def _told(equations: Equations, square: Floats, b: Floats, rows: float, guess: Belief) -> tuple[float, Floats, float]:
    """How well this guess foretold the equations, the coefficients, and the scale of the residuals."""
    first, second, _ = equations.noise
    t, variance, belief, one = guess.mean, 1.0, guess, np.eye(len(b))
    error = one
    for _ in range(ROUNDS):
        size = min(float(t @ t), float(np.trace(guess.spread)))
        error = (second**2 + first**2 * size) * one + variance * square
        belief = guess.told(square, b, error)
        t = belief.mean
        variance = min(max(float(equations.total - 2 * t @ b + t @ square @ t) / rows, 1e-8), 1.0)
    return guess.likelihood(square, b, error), t, math.sqrt(variance)
