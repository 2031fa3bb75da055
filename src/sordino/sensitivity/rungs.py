"""The sequences A(x, k): how large the local sensitivity can get within k steps of x, for k = 0, ..., count - 1.

Whole numbers between whole bounds give exact whole numbers, except where a mean divides. Theorems and proofs are beside the ladders
in `position` and `average`.
"""

from __future__ import annotations

from fractions import Fraction

from numpy.typing import ArrayLike

from sordino.sensitivity import average, position
from sordino.sensitivity.order import Array, Bounds

__all__ = [
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


def median(x: ArrayLike, *, bounds: Bounds, count: int, relation: str = "add_remove", max_rows: int = 1) -> Array:
    """A(x, k) of the lower median; see `position.median`."""
    return position.median(x, bounds=bounds, relation=relation, max_rows=max_rows).rungs(count)


def quantile(
    x: ArrayLike, *, q: float | Fraction | str, bounds: Bounds, count: int, relation: str = "add_remove", max_rows: int = 1
) -> Array:
    """A(x, k) of the order statistic of rank max(1, ceil(q n)); see `position.quantile`."""
    return position.quantile(x, q=q, bounds=bounds, relation=relation, max_rows=max_rows).rungs(count)


def min(x: ArrayLike, *, bounds: Bounds, count: int, relation: str = "add_remove", max_rows: int = 1) -> Array:
    """A(x, k) of the smallest value; see `position.min`."""
    return position.min(x, bounds=bounds, relation=relation, max_rows=max_rows).rungs(count)


def max(x: ArrayLike, *, bounds: Bounds, count: int, relation: str = "add_remove", max_rows: int = 1) -> Array:
    """A(x, k) of the largest value; see `position.max`."""
    return position.max(x, bounds=bounds, relation=relation, max_rows=max_rows).rungs(count)


def iqr(x: ArrayLike, *, bounds: Bounds, count: int, relation: str = "add_remove", max_rows: int = 1) -> Array:
    """A(x, k) of the interquartile range; see `position.iqr`."""
    return position.iqr(x, bounds=bounds, relation=relation, max_rows=max_rows).rungs(count)


def mean(x: ArrayLike, *, bounds: Bounds, count: int, relation: str = "add_remove", max_rows: int = 1) -> Array:
    """A(x, k) of the mean; see `average.mean`."""
    return average.mean(x, bounds=bounds, relation=relation, max_rows=max_rows).rungs(count)


def trimmed_mean(x: ArrayLike, *, trim: int, bounds: Bounds, count: int, relation: str = "add_remove", max_rows: int = 1) -> Array:
    """A(x, k) of the mean of the ranks t + 1 to n - t; see `average.trimmed_mean`."""
    return average.trimmed_mean(x, trim=trim, bounds=bounds, relation=relation, max_rows=max_rows).rungs(count)


def winsorized_mean(x: ArrayLike, *, trim: int, bounds: Bounds, count: int, relation: str = "add_remove", max_rows: int = 1) -> Array:
    """A(x, k) of the winsorised mean; see `average.winsorized_mean`."""
    return average.winsorized_mean(x, trim=trim, bounds=bounds, relation=relation, max_rows=max_rows).rungs(count)


def variance(x: ArrayLike, *, bounds: Bounds, count: int, relation: str = "add_remove", max_rows: int = 1) -> Array:
    """A(x, k) of the variance with 1/n; see `average.variance`."""
    return average.variance(x, bounds=bounds, relation=relation, max_rows=max_rows).rungs(count)


def trimmed_sum(x: ArrayLike, *, trim: int, bounds: Bounds, count: int, relation: str = "add_remove", max_rows: int = 1) -> Array:
    """A(x, k) of the sum of the ranks t + 1 to n - t, whole numbers for whole numbers; see `average.trimmed_sum`."""
    return average.trimmed_sum(x, trim=trim, bounds=bounds, relation=relation, max_rows=max_rows).rungs(count)


def winsorized_sum(x: ArrayLike, *, trim: int, bounds: Bounds, count: int, relation: str = "add_remove", max_rows: int = 1) -> Array:
    """A(x, k) of the winsorised sum, whole numbers for whole numbers; see `average.winsorized_sum`."""
    return average.winsorized_sum(x, trim=trim, bounds=bounds, relation=relation, max_rows=max_rows).rungs(count)
