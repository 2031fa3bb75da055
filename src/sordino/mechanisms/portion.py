"""One Gaussian price paid in portions: several Gaussian draws, each asked for after the ones before, that together cost no more."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.mechanisms.gaussian import largest_mu
from sordino.mechanisms.laplace import check_scale
from sordino.privacy.cost import Cost
from sordino.privacy.families import GaussianLaw, LaplaceLaw
from sordino.privacy.law import output_grid
from sordino.privacy.witness import GaussianShift, LaplaceShift
from sordino.summaries import Draw

__all__ = ["SHIFT", "UNIT", "LaplacePortions", "Portions", "located", "portions", "root_down", "root_up"]

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
