"""What drawn sums say about coefficients: a Gaussian belief, updated by noisy linear equations. Post-processing, so at no price.

The belief starts from a public guess: a line that stays inside the box of the public bounds has coefficients of about 1 over the root of
their number, so that is the unit of their standard deviation, and the constant may be anything in the box.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sordino.mechanisms.normal_equations import Equations

__all__ = ["Belief", "Line", "inside", "solved"]

Floats = NDArray[np.float64]
ROUNDS = 6  # of the fixed point between coefficients and the noise they meet
WIDTHS = (0.25, 0.5, 1.0, 2.0)  # of the guess, to choose from


@dataclass(frozen=True)
class Line:
    """Coefficients for rows in [-1, 1], their covariance from noise alone and from noise and sampling, the residual's scale, the rows."""

    theta: tuple[float, ...]
    noise: tuple[tuple[float, ...], ...]
    total: tuple[tuple[float, ...], ...]
    scale: float
    rows: float

    @classmethod
    def of(cls, theta: Floats, noise: Floats, total: Floats, *, scale: float, rows: float) -> Line:
        first, second = (tuple(tuple(line) for line in part.tolist()) for part in (noise, total))
        return cls(tuple(theta.tolist()), first, second, float(scale), float(rows))


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
    a few widths of the guess the one that foretold b best gives the coefficients; the covariances are those of the widest, and how far it
    would have put the coefficients elsewhere counts as error.
    """
    A, b = np.array(equations.square), np.array(equations.moment)
    square, rows = inside(A), max(1.0, A[0, 0])  # the first term is the constant
    lines = [_told(equations, square, b, rows, Belief.guess(len(b), wide)) for wide in WIDTHS]
    best, wide = max(lines, key=lambda pair: pair[0])[1], lines[-1][1]
    t = np.array(best.theta)
    bias = np.outer(t - wide.theta, t - wide.theta)
    return Line.of(t, np.array(wide.noise) + bias, np.array(wide.total) + bias, scale=best.scale, rows=rows)


def _told(equations: Equations, square: Floats, b: Floats, rows: float, guess: Belief) -> tuple[float, Line]:
    first, second, _ = equations.noise
    t, variance, belief, one = guess.mean, 1.0, guess, np.eye(len(b))
    noise, error = one, one
    for _ in range(ROUNDS):
        size = min(float(t @ t), float(np.trace(guess.spread)))
        noise = (second**2 + first**2 * size) * one
        error = noise + variance * square
        belief = guess.told(square, b, error)
        t = belief.mean
        variance = min(max(float(equations.total - 2 * t @ b + t @ square @ t) / rows, 1e-8), 1.0)
    line = Line.of(t, guess.told(square, b, noise).spread, belief.spread, scale=math.sqrt(variance), rows=rows)
    return guess.likelihood(square, b, error), line
