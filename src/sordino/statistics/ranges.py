"""Counts of bins whose ranges are what matters: drawn through the square root of adding up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.privacy.certificate import Part
from sordino.statistics.added import AddedGaussian
from sordino.statistics.linear_noise import sum_radius
from sordino.statistics.port import LEVEL, Answer, Groups, Priced
from sordino.statistics.reach import read_cells
from sordino.summaries import Ask, Draw
from sordino.summaries.totals import Item

__all__ = ["LEAST_BINS", "MOST_BINS", "BinNoise", "RangesStep", "coefficients"]

LEAST_BINS, MOST_BINS = 64, 4096  # from here on ranges gain; beyond, the matrix of all ranges is too large
UNIT = 2**20  # of a coefficient


@lru_cache(maxsize=16)
def coefficients(bins: int) -> tuple[int, ...]:
    """Those of 1/sqrt(1 - z) in whole units, rounded down: the square root of adding up, as a Toeplitz matrix."""
    found, c = [], Fraction(1)
    for k in range(bins):
        c = c if k == 0 else c * (2 * k - 1) / (2 * k)
        found.append(c.numerator * UNIT // c.denominator)
    return tuple(found)


@lru_cache(maxsize=16)
def _inverse(bins: int) -> NDArray[np.float64]:
    """Of the lower triangular matrix of these coefficients, by its first column."""
    c = np.array(coefficients(bins), float) / UNIT
    d = np.zeros(bins)
    d[0] = 1 / c[0]
    for k in range(1, bins):
        d[k] = -(c[1 : k + 1] @ d[k - 1 :: -1]) / c[0] if k > 1 else -c[1] * d[0] / c[0]
    place = np.arange(bins)
    return np.where(place[:, None] >= place[None, :], d[np.maximum(place[:, None] - place[None, :], 0)], 0.0)


@dataclass(frozen=True)
class BinNoise:
    """The noise of released bins: independent Laplace noises of a scale, or Gaussian noise of a deviation behind the square root."""

    scale: float
    root: bool

    def said(self) -> dict[str, Any]:
        """For the card."""
        return {"scale": self.scale, "kind": "Gaussian through the square root of adding up" if self.root else "Laplace"}

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> BinNoise:
        return cls(float(said["scale"]), said["kind"] != "Laplace")

    def sum_width(self, weights: NDArray[np.float64], level: float) -> float:
        """The half-width of a weighted sum of the released bins."""
        if not self.root:
            return sum_radius(weights * self.scale, 0.0, level)
        return sum_radius(np.zeros(0), self.scale * float(np.linalg.norm(weights @ _inverse(len(weights)))), level)


@dataclass(frozen=True)
class RangesStep(Priced):
    r"""Counts of bins drawn through the square root of adding up: any range of them has little noise.

    Theorem. Let R be the lower triangular Toeplitz matrix of the coefficients c_k of 1/sqrt(1 - z), rounded down. R x plus Gaussian noise
    for the L2 sensitivity N |c| (sqrt(2) N |c| under replace) is (epsilon, delta)-DP; R^-1 of it estimates the bins without bias, and a
    sum w of bins errs by a normal law of deviation sigma |w R^-1|.
    Proof. A row moves R x by one of its columns, whose norm is at most that of the first, |c|; entries are not negative, so two columns
    are at most sqrt(2) |c| apart; N rows of a person by N times that. The rest is post-processing. QED
    For prefixes of n bins |w R^-1| is that of a prefix of R, so their deviation is sigma_1 |c|^2 = sigma_1 (ln(n)/pi + 1.07) instead of
    sigma_1 sqrt(n).
    """

    noise: AddedGaussian
    labels: tuple[Any, ...]
    bar: str = "exact"

    @property
    def name(self) -> str:
        return f"Gaussian, square root of {len(self.labels)} bins"

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.noise.part,)

    @property
    def _deviation(self) -> float:
        return float(self.noise.scale) / UNIT

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        (found,) = read_cells(ask, Item("rows"), groups)
        x = np.array([found.get(place, 0) for place in range(len(self.labels))], np.int64)
        y = np.convolve(np.array(coefficients(len(x)), np.int64), x)[: len(x)]  # whole numbers: exact up to 2^43 rows
        drawn = self.noise.around(y, draw)
        counts = _inverse(len(x)) @ (drawn / UNIT)
        answer = Answer(dict(zip(self.labels, counts.tolist(), strict=True)))
        return [replace(answer, low=ends[0], high=ends[1]) for ends in [self.interval(answer, LEVEL)]]

    @property
    def _bins(self) -> BinNoise:
        return BinNoise(self._deviation, True)

    def noise_of_bins(self, answers: Sequence[Answer]) -> dict[str, Any]:
        """What the interval of any range needs."""
        return self._bins.said()

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any]:
        from scipy.special import ndtri

        far = float(ndtri((1 + level) / 2)) * self._deviation * np.linalg.norm(_inverse(len(self.labels)), axis=1)
        ends = list(zip(answer.value.items(), far.tolist(), strict=True))
        return {k: v - r for (k, v), r in ends}, {k: v + r for (k, v), r in ends}

    def width(self, rows: int | None, level: float = LEVEL) -> float:
        """Of the last bin, the widest."""
        return self._bins.sum_width(np.eye(len(self.labels))[-1], level)

    def rmse(self, rows: int | None) -> float:
        return self._deviation * float(np.linalg.norm(_inverse(len(self.labels))[-1]))
