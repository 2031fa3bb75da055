"""Coefficients with what is known of their error, and the linear algebra that pools noisy equations about them. Free: it follows draws.

One Gaussian price paid in portions: several Gaussian draws, each asked for after the ones before, that together cost no more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.mechanisms.gaussian import largest_mu
from sordino.mechanisms.laplace import check_scale
from sordino.privacy.certificate import GaussianShift, LaplaceShift
from sordino.privacy.cost import Cost
from sordino.privacy.families import GaussianLaw, LaplaceLaw
from sordino.privacy.law import output_grid
from sordino.summaries import Draw
from sordino.summaries.moment import FINE, LARGEST

__all__ = [
    "SHIFT",
    "UNIT",
    "Curvature",
    "Equation",
    "Estimate",
    "LaplacePortions",
    "Portions",
    "floored",
    "inside",
    "located",
    "lowered",
    "portions",
    "root_down",
    "root_up",
    "whole_theta",
]

Floats = NDArray[np.float64]
Matrix = tuple[tuple[float, ...], ...]
FEWEST = 3  # products of two features: fewer do not say how large their like are
DOUBT = 1.64 * math.sqrt(2)  # how far, in units of the noise, drawn curvature is lowered before an interval leans on it


@dataclass(frozen=True)
class Estimate:
    """Coefficients for rows in [-1, 1] and three parts of their error: noise, what clipped rows may have moved, sampling.

    For a direction v the first and the last are variances v'Mv of normal errors; the middle one is the square of a bound.
    """

    theta: tuple[float, ...]
    noise: Matrix
    moved: Matrix
    sampling: Matrix
    rows: float
    clipped: float = 0.0  # drawn number of rows whose contribution was shortened
    scale: float = 0.0  # of the residuals, where psi is about it

    def half(self, directions: Floats, level: float, *, population: bool) -> Floats:
        """Half-widths of directions @ theta: about this table's coefficients, or about those of the population it is a sample of."""
        deviations = NormalDist().inv_cdf((1 + level) / 2)
        spread = np.array(self.noise) + (np.array(self.sampling) if population else 0.0)
        squares = deviations**2 * _along(directions, spread) + _along(directions, np.array(self.moved))
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def numbers(self) -> tuple[float, ...]:
        """Everything as one row of numbers."""
        matrices = (v for matrix in (self.noise, self.moved, self.sampling) for line in matrix for v in line)
        return (float(len(self.theta)), *self.theta, *matrices, self.rows, self.clipped, *([self.scale] if self.scale else []))

    @classmethod
    def of(cls, numbers: Sequence[float]) -> Estimate:
        """From such a row."""
        d = int(numbers[0])
        end = 1 + d + 3 * d * d
        noise, moved, sampling = np.reshape(np.array(numbers[1 + d : end]), (3, d, d))
        rows, clipped, *scale = numbers[end:]
        return cls.made(np.array(numbers[1 : 1 + d]), noise, moved, sampling, rows=rows, clipped=clipped, scale=scale[0] if scale else 0.0)

    @classmethod
    def made(cls, theta: Any, noise: Any, moved: Any, sampling: Any, *, rows: float, clipped: float = 0.0, scale: float = 0.0) -> Estimate:
        line, drift = tuple(np.asarray(theta).tolist()), _matrix(moved)
        return cls(line, _matrix(noise), drift, _matrix(sampling), float(rows), float(clipped), float(scale))


def _matrix(values: Any) -> Matrix:
    return tuple(tuple(line) for line in np.nan_to_num(values, nan=0.0, posinf=1e300, neginf=-1e300).tolist())


def _along(directions: Floats, matrix: Floats) -> Floats:
    return np.asarray(np.einsum("ij,jk,ik->i", directions, matrix, directions))


@dataclass(frozen=True)
class Equation:
    """A drawn v with v = A (t - at) + error: `noise` is the standard deviation of each of its coordinates."""

    at: Floats
    drawn: Floats
    noise: float

    def precision(self, t: Floats, blur: float, kept: float = 1.0) -> Floats:
        """The inverse covariance of the error where A itself is drawn with noise `blur`: that noise multiplies t - at.

        Where only the share `kept` of the products of two features is believed, so is only that share of their noise.
        """
        far = t - self.at
        square = float(far @ far)
        whole = square * np.eye(len(t)) + np.outer(far, far)
        rest = np.diag(2 * far**2)  # of the diagonal, and of the sums of the features alone
        rest[0, 0] += square - far[0] ** 2
        rest[1:, 1:] += far[0] ** 2 * np.eye(len(t) - 1)
        return np.asarray(np.linalg.inv(self.noise**2 * np.eye(len(t)) + blur**2 * (kept * whole + (1 - kept) * rest)))


@dataclass(frozen=True)
class Curvature:
    """A drawn X'X, the noise of its entries, and the precision of what is believed about coefficients beforehand."""

    square: Floats
    blur: float
    prior: Floats

    @classmethod
    def of(cls, square: Floats, blur: float) -> Curvature:
        """For rows in [-1, 1]: a line inside the box has coefficients of about 1/sqrt d, and its constant may be anything in the box."""
        d = len(square)
        return cls(square, blur, np.diag([1.0, *[d / 4] * (d - 1)]))

    @cached_property
    def believed(self) -> tuple[Floats, float]:
        """The square with the products of two features, about those of their means, shrunk as far as they look like noise, and by how much.

        The squares of the drawn products average to their own square plus that of the noise, so what they exceed it by is what to keep
        (empirical Bayes): features that lie unrelated in their box do not pay for a noise that was drawn to learn how they are related.
        """
        d, rows = len(self.square), max(float(self.square[0, 0]), 4 * self.blur)
        places = np.triu_indices(d - 1, 1)
        if len(places[0]) < FEWEST:
            return self.square, 1.0
        mean = self.square[0, 1:] / rows
        product = rows * np.outer(mean, mean)
        related = self.square[1:, 1:] - product
        noise = self.blur**2 * (1 + 2 * float(np.mean(mean**2)))
        signal = max(float(np.mean(related[places] ** 2)) - noise, 0.0)
        kept = signal / (signal + noise)
        held = self.square.copy()
        held[1:, 1:] = product + kept * related
        held[np.diag_indices(d)] = np.diag(self.square)
        return held, kept

    def solve(self, equations: Sequence[Equation], start: Floats, turns: int) -> Floats:
        r"""The mode of t given all equations and the prior around zero, by fixed points between t and the noise it meets.

        Theorem. If the drawn square is X'X + E with E of variance blur^2 off the diagonal and twice that on it, then v - A (t - at) has,
        for the solution t, covariance noise^2 I + blur^2 (|t - at|^2 I + (t - at)(t - at)').
        Proof. Cov(E u)_ij = blur^2 (|u|^2 [i = j] + u_i u_j), and the noise of v is independent of it. QED
        """
        square, kept = self.believed
        t, steady = start, floored(square, 0.5 * self.blur * math.sqrt(max(kept * len(start), 2.0)))
        for _ in range(turns):
            precision, told = self.prior.copy(), np.zeros(len(t))
            for equation in equations:
                weight = steady @ equation.precision(t, self.blur, kept)
                precision += weight @ steady
                told += weight @ (equation.drawn + steady @ equation.at)
            t = np.asarray(np.linalg.solve(precision, told))
        return t

    def spread(self, equations: Sequence[Equation], t: Floats) -> tuple[Floats, Floats]:
        """The covariance of t from below-lowered curvature, and the map from the equations' errors to that of t."""
        careful = lowered(self.square, self.blur)
        gains = sum((careful @ equation.precision(t, self.blur) for equation in equations), np.zeros(self.square.shape))
        noise = np.asarray(np.linalg.inv(self.prior + gains @ careful))
        return noise, np.asarray(noise @ gains)


def inside(square: Floats) -> Floats:
    """The nearest matrix without negative eigenvalues: a sum of squares has none, its noise may."""
    return floored(square, 0.0)


def floored(square: Floats, least: float) -> Floats:
    """The same eigenvectors, no eigenvalue below `least`."""
    values, vectors = np.linalg.eigh(square)
    return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)


def lowered(square: Floats, noise: float) -> Floats:
    """Curvature from below: eigenvalues less what noise may have added, so that a direction noise could have made is left to the prior."""
    values, vectors = np.linalg.eigh(square)
    return np.asarray((vectors * np.maximum(values - DOUBT * noise, 0.0)) @ vectors.T)


def whole_theta(theta: Floats, most: float = LARGEST / FINE) -> tuple[int, ...]:
    """Coefficients as a request carries them: whole units, shrunk where their absolute sum exceeds `most`."""
    finite = np.nan_to_num(theta, nan=0.0, posinf=0.0, neginf=0.0)
    total = float(np.abs(finite).sum()) * FINE
    shrunk = finite * min(1.0, (most * FINE - len(finite)) / total) if total > 0 else finite
    return tuple(int(value) for value in np.rint(shrunk * FINE))


SHIFT = 12  # sums of products come in units of 2^-40 and are cut to 2^-28 before noise is added
UNIT = 2**28
DIGITS = 10**15
FARTHEST = 2**62


def root_up(square: Fraction) -> Fraction:
    """A rational just above the square root."""
    scaled = math.ceil(square * DIGITS**2)
    root = math.isqrt(scaled)
    return Fraction(root if root * root == scaled else root + 1, DIGITS)


def root_down(square: Fraction) -> Fraction:
    """A rational just below the square root."""
    return Fraction(math.isqrt(math.floor(square * DIGITS**2)), DIGITS)


def located(values: Iterable[int]) -> NDArray[np.int64]:
    """Sums in units of 2^-40, cut down to whole units of 2^-28. Cutting moves a sum that moved by d at most by d rounded up."""
    return np.array([min(max(int(value) >> SHIFT, -FARTHEST), FARTHEST) for value in values], np.int64)


@dataclass(frozen=True)
class Portions:
    r"""The price (epsilon, delta) as a mu that Gaussian draws share.

    Theorem. Draws whose sensitivities over standard deviations are mu_1, mu_2, ..., each asked for in view of the earlier outcomes, are
    together as private as one Gaussian with mu^2 = mu_1^2 + mu_2^2 + ...
    Proof. Given the earlier outcomes each pair of neighbours has a Gaussian pair of mu_i or less; adaptive composition of Gaussian pairs is
    the Gaussian pair of the root of the sum of squares (Dong, Roth and Su 2022). QED
    """

    epsilon: Fraction
    delta: Fraction

    @staticmethod
    def deviation(scale: Any) -> float:
        """The standard deviation of noise of this scale."""
        return float(scale)

    @property
    def mu(self) -> Fraction:
        return largest_mu(self.epsilon, self.delta)

    def scale(self, reach: Fraction, share: Fraction) -> Fraction:
        """The standard deviation that spends this share of mu^2 on a sum that one unit moves by at most `reach` in L2 norm."""
        scale = reach / (self.mu * root_down(share))
        check_scale(scale)
        return scale

    @property
    def cost(self) -> Cost:
        return Cost.gaussian(self.mu**2, self.epsilon, self.delta)

    @staticmethod
    def witness(spent: Iterable[tuple[Fraction, Fraction]]) -> GaussianShift:
        """All draws at once, from their (reach, scale)."""
        return GaussianShift(math.sqrt(sum((reach / scale) ** 2 for reach, scale in spent)))

    @staticmethod
    def draw(draw: Draw, location: NDArray[np.int64], scale: Any) -> NDArray[np.int64]:
        """Gaussian noise around whole numbers; one scale, or one for each of them."""
        largest = scale if isinstance(scale, Fraction) else max(scale)
        return np.asarray(draw(GaussianLaw().at(location, scale, grid=output_grid(largest))), np.int64)

    @staticmethod
    def symmetric(draw: Draw, whole: NDArray[np.object_], scale: Fraction, *, cut: bool = False) -> NDArray[np.float64]:
        """A symmetric matrix of whole sums with noise on its upper triangle, sqrt 2 larger on the diagonal: equal in every rotated basis.

        With `cut` the sums are in units of 2^-40 and are cut to 2^-28 first.
        """
        rows, cols = np.triu_indices(len(whole))
        double = scale * root_up(Fraction(2))
        scales = [double if i == j else scale for i, j in zip(rows, cols, strict=True)]
        found = whole[rows, cols]
        place = located(found) if cut else np.array([min(int(value), FARTHEST) for value in found], np.int64)
        full = np.zeros(whole.shape)
        full[rows, cols] = full[cols, rows] = Portions.draw(draw, place, scales)
        return full


@dataclass(frozen=True)
class LaplacePortions:
    r"""The price epsilon without a delta, shared by Laplace draws: shares add up, and sensitivities are in L1 norm.

    Theorem. Draws whose L1 sensitivities over scales are e_1, e_2, ..., each asked for in view of the earlier outcomes, are together
    (e_1 + e_2 + ...)-DP. Proof. Given the earlier outcomes each is e_i-DP, and pure losses add up. QED
    """

    epsilon: Fraction

    def scale(self, reach: Fraction, share: Fraction) -> Fraction:
        """The scale that spends this share of epsilon on a sum that one unit moves by at most `reach` in L1 norm."""
        scale = reach / (self.epsilon * share)
        check_scale(scale)
        return scale

    @staticmethod
    def deviation(scale: Any) -> float:
        return float(scale) * math.sqrt(2)

    @property
    def cost(self) -> Cost:
        return Cost.pure(self.epsilon)

    @staticmethod
    def witness(spent: Iterable[tuple[Fraction, Fraction]]) -> LaplaceShift:
        return LaplaceShift(float(sum(reach / scale for reach, scale in spent)), scalar=False)

    @staticmethod
    def draw(draw: Draw, location: NDArray[np.int64], scale: Fraction) -> NDArray[np.int64]:
        return np.asarray(draw(LaplaceLaw().at(location, scale, grid=output_grid(scale))), np.int64)

    @staticmethod
    def symmetric(draw: Draw, whole: NDArray[np.object_], scale: Fraction, *, cut: bool = False) -> NDArray[np.float64]:
        """A symmetric matrix of whole sums with one scale of noise on its upper triangle."""
        rows, cols = np.triu_indices(len(whole))
        found = whole[rows, cols]
        place = located(found) if cut else np.array([min(int(value), FARTHEST) for value in found], np.int64)
        full = np.zeros(whole.shape)
        full[rows, cols] = full[cols, rows] = LaplacePortions.draw(draw, place, scale)
        return full


def portions(epsilon: Fraction, delta: Fraction) -> Portions | LaplacePortions:
    """Gaussian with a delta, Laplace without one."""
    return Portions(epsilon, delta) if delta else LaplacePortions(epsilon)
