"""A model of rows that are known by their second moments only: what sums over them would be, at any coefficients. Free: it follows draws.

It is a preconditioner. The rounds of a logistic regression move their noisy gradients from one point to another with it, so it decides how
fast they agree, never where.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from sordino.mechanisms.estimate import DOUBT

__all__ = ["MomentModel", "sigmoid", "weighed"]

Floats = NDArray[np.float64]
POINTS = 512  # and as many mirrored
KNOWN = 0.6  # relative error of a modelled curvature against which a drawn one is weighed, over the root of the dimension
EVEN = 1 / 3  # the variance of a feature that is spread evenly over its bounds
GUESS = 0.1  # of a drawn second moment's own variance around that, over the dimension
NARROW, WIDE = 0.2, 5.0  # how far a drawn curvature may lie from the modelled one


def sigmoid(z: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-np.clip(z, -700.0, 700.0))))


@lru_cache(maxsize=16)
def _normal(dimension: int) -> Floats:
    """Public normal points: a Sobol sequence and its mirror image, with exactly zero mean and unit covariance."""
    from scipy.special import ndtri
    from scipy.stats.qmc import Sobol

    if not dimension:
        return np.zeros((1, 0))
    even = Sobol(dimension, scramble=False).random(POINTS) + 0.5 / POINTS
    points = ndtri(even)
    points = np.concatenate([points, -points])
    root = np.linalg.cholesky(points.T @ points / len(points))
    return np.asarray(np.linalg.solve(root, points.T).T)


@dataclass(frozen=True)
class MomentModel:
    """Rows (1, mean + deviation u) for public points u, as many as were drawn; `extra` is what a drawn curvature at `at` adds."""

    points: Floats
    rows: float
    at: Floats
    extra: Floats
    doubt: float = 0.3  # relative error of a modelled step

    @classmethod
    def of(cls, square: Floats, blur: float, *, careful: bool = False) -> MomentModel:
        """From a drawn sum of xx'; with `careful` its spread is lowered by what noise may have added."""
        p = len(square)
        rows = max(float(square[0, 0]), 4 * blur)
        noise = (blur / rows) ** 2
        mean = np.clip(square[0, 1:] / rows, -1.0, 1.0) * EVEN / (EVEN + noise)
        spread = square[1:, 1:] / rows - np.outer(mean, mean)
        if not careful:  # what noise hides is taken to be spread evenly over the bounds
            guess = EVEN * np.eye(p - 1)
            spread = guess + (spread - guess) * GUESS / (GUESS + p * noise * (1 + np.eye(p - 1)))
        values, vectors = np.linalg.eigh((spread + spread.T) / 2)
        least = 0.0 if careful else min(2 * blur * math.sqrt(p) / rows, EVEN)
        kept = np.clip(values - (DOUBT * blur / rows if careful else 0.0), least, p)
        points = mean + _normal(p - 1) @ (vectors * np.sqrt(kept)).T
        return cls(np.column_stack([np.ones(len(points)), points]), rows, np.zeros(p), np.zeros((p, p)))

    def total(self, b: Floats) -> Floats:
        """The sum of x sigmoid(x'b)."""
        chance = sigmoid(self.points @ b)
        return np.asarray(self.rows / len(self.points) * (chance @ self.points) + self.extra @ (b - self.at))

    def plain(self, b: Floats) -> Floats:
        """The sum of x x' p (1 - p), as the points alone say."""
        chance = sigmoid(self.points @ b)
        return np.asarray(self.rows / len(self.points) * (self.points.T * (chance * (1 - chance))) @ self.points)

    def curvature(self, b: Floats) -> Floats:
        """The same with what a drawn curvature adds, never too far from the points' own."""
        own = self.plain(b)
        return _near(own, own + self.extra, NARROW, WIDE) if self.extra.any() else own

    def told(self, drawn: Floats, blur: float, at: Floats) -> Self:
        """Corrected by a drawn curvature at a point: entry by entry as much as its noise allows, in the basis of the modelled one.

        The relative error a model may have falls with the root of the dimension: otherwise the noise of p^2 entries would add up.
        """
        own, p = self.plain(at), len(at)
        gain, vectors = _gain(own, blur, (KNOWN / math.sqrt(p)) ** 2)
        extra = vectors @ (gain * (vectors.T @ (drawn - own) @ vectors)) @ vectors.T
        doubt = max(0.3 * math.sqrt(float(np.mean(1 - gain))), 0.02)
        return replace(self, at=at, extra=extra, doubt=doubt)


def _gain(own: Floats, blur: float, share: float) -> tuple[Floats, Floats]:
    """How much of a drawn difference to believe, entry by entry in the eigenbasis of what was expected, and that basis."""
    values, vectors = _spectrum(own)
    noise = blur**2 * (1 + np.eye(len(own))) / np.outer(values, values)
    return np.asarray(share / (share + noise)), vectors


def _spectrum(own: Floats) -> tuple[Floats, Floats]:
    values, vectors = np.linalg.eigh(own)
    return np.maximum(values, 1e-12 * max(float(values[-1]), 1e-300)), np.asarray(vectors)


def _near(own: Floats, other: Floats, least: float, most: float) -> Floats:
    """The other matrix with its spectrum relative to the first one between these ends."""
    values, vectors = _spectrum(own)
    half, back = (vectors * np.sqrt(values)) @ vectors.T, (vectors / np.sqrt(values)) @ vectors.T
    ratio, turned = np.linalg.eigh(back @ other @ back)
    return np.asarray(half @ ((turned * np.clip(ratio, least, most)) @ turned.T) @ half)


def weighed(own: Floats, drawn: Floats, blur: float, share: float) -> Floats:
    """A drawn matrix shrunk to an expected one, its spectrum between half and six times that."""
    gain, vectors = _gain(own, blur, share)
    return _near(own, own + vectors @ (gain * (vectors.T @ (drawn - own) @ vectors)) @ vectors.T, 0.5, 6.0)
