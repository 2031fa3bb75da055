"""Smooth sensitivity: the least bound on local sensitivity that moves by at most e^beta between neighbours.

S(x) = max_k e^(-beta k) A(x, k). With a public `window` K only K rungs are read and the rest is replaced by e^(-beta K) times the
global sensitivity; that is smooth too. Proofs are at `ladder.Ladder.smooth` and beside the ladders in `position` and `average`.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from sordino.errors import QueryError
from sordino.sensitivity import average, position
from sordino.sensitivity.ladder import Ladder
from sordino.sensitivity.order import Array, Bounds, Number

__all__ = [
    "from_rungs",
    "iqr",
    "max",
    "mean",
    "median",
    "min",
    "quantile",
    "trimmed_mean",
    "trimmed_sum",
    "variance",
    "winsorized_mean",
    "winsorized_sum",
]


def from_rungs(rungs: ArrayLike, *, beta: float, top: Number) -> float:
    """The smooth bound of a ladder you bring: the rungs A(x, 0), ..., A(x, K - 1) and the global sensitivity `top` for the rest."""
    steps: Array = np.asarray(rungs)
    if not (steps >= 0).all() or not 0 <= top < math.inf:
        raise QueryError("SRD-103", "a rung or the global sensitivity is negative or NaN.", "Give rungs >= 0 and a finite top >= 0.")
    return Ladder(lambda k0, k1: steps[k0:k1], top, len(steps)).smooth(beta, len(steps))


def median(
    x: ArrayLike, *, bounds: Bounds, beta: float, relation: str = "add_remove", max_rows: int = 1, window: int | None = None
) -> float:
    """A beta-smooth bound on the local sensitivity of the lower median; see `position.median`."""
    return position.median(x, bounds=bounds, relation=relation, max_rows=max_rows).smooth(beta, window)


def quantile(
    x: ArrayLike,
    *,
    q: float | Fraction | str,
    bounds: Bounds,
    beta: float,
    relation: str = "add_remove",
    max_rows: int = 1,
    window: int | None = None,
) -> float:
    """A beta-smooth bound on the local sensitivity of the order statistic of rank max(1, ceil(q n)); see `position.quantile`."""
    return position.quantile(x, q=q, bounds=bounds, relation=relation, max_rows=max_rows).smooth(beta, window)


def min(x: ArrayLike, *, bounds: Bounds, beta: float, relation: str = "add_remove", max_rows: int = 1, window: int | None = None) -> float:
    """A beta-smooth bound on the local sensitivity of the smallest value; see `position.min`."""
    return position.min(x, bounds=bounds, relation=relation, max_rows=max_rows).smooth(beta, window)


def max(x: ArrayLike, *, bounds: Bounds, beta: float, relation: str = "add_remove", max_rows: int = 1, window: int | None = None) -> float:
    """A beta-smooth bound on the local sensitivity of the largest value; see `position.max`."""
    return position.max(x, bounds=bounds, relation=relation, max_rows=max_rows).smooth(beta, window)


def iqr(x: ArrayLike, *, bounds: Bounds, beta: float, relation: str = "add_remove", max_rows: int = 1, window: int | None = None) -> float:
    """A beta-smooth bound on the local sensitivity of the interquartile range; see `position.iqr`."""
    return position.iqr(x, bounds=bounds, relation=relation, max_rows=max_rows).smooth(beta, window)


def mean(x: ArrayLike, *, bounds: Bounds, beta: float, relation: str = "add_remove", max_rows: int = 1, window: int | None = None) -> float:
    """A beta-smooth bound on the local sensitivity of the mean; see `average.mean`."""
    return average.mean(x, bounds=bounds, relation=relation, max_rows=max_rows).smooth(beta, window)


def trimmed_mean(
    x: ArrayLike, *, trim: int, bounds: Bounds, beta: float, relation: str = "add_remove", max_rows: int = 1, window: int | None = None
) -> float:
    """A beta-smooth bound on the local sensitivity of the mean of the ranks t + 1 to n - t; see `average.trimmed_mean`."""
    return average.trimmed_mean(x, trim=trim, bounds=bounds, relation=relation, max_rows=max_rows).smooth(beta, window)


def winsorized_mean(
    x: ArrayLike, *, trim: int, bounds: Bounds, beta: float, relation: str = "add_remove", max_rows: int = 1, window: int | None = None
) -> float:
    """A beta-smooth bound on the local sensitivity of the winsorised mean; see `average.winsorized_mean`."""
    return average.winsorized_mean(x, trim=trim, bounds=bounds, relation=relation, max_rows=max_rows).smooth(beta, window)


def variance(
    x: ArrayLike, *, bounds: Bounds, beta: float, relation: str = "add_remove", max_rows: int = 1, window: int | None = None
) -> float:
    """A beta-smooth bound on the local sensitivity of the variance with 1/n; see `average.variance`."""
    return average.variance(x, bounds=bounds, relation=relation, max_rows=max_rows).smooth(beta, window)


def trimmed_sum(
    x: ArrayLike, *, trim: int, bounds: Bounds, beta: float, relation: str = "add_remove", max_rows: int = 1, window: int | None = None
) -> float:
    """A beta-smooth bound on the local sensitivity of the sum of the ranks t + 1 to n - t; see `average.trimmed_sum`."""
    return average.trimmed_sum(x, trim=trim, bounds=bounds, relation=relation, max_rows=max_rows).smooth(beta, window)


def winsorized_sum(
    x: ArrayLike, *, trim: int, bounds: Bounds, beta: float, relation: str = "add_remove", max_rows: int = 1, window: int | None = None
) -> float:
    """A beta-smooth bound on the local sensitivity of the winsorised sum; see `average.winsorized_sum`."""
    return average.winsorized_sum(x, trim=trim, bounds=bounds, relation=relation, max_rows=max_rows).smooth(beta, window)
