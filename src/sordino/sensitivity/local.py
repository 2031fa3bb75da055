"""Local sensitivity: the most one unit can move a statistic of this very table. Noise of this size alone is not private.

The first rung of each ladder; theorems and proofs are beside the ladders in `position` and `average`.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from numpy.typing import ArrayLike

from sordino.sensitivity import average, position
from sordino.sensitivity.order import Bounds

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


def median(x: ArrayLike, *, bounds: Bounds, relation: str = "add_remove", max_rows: int = 1) -> Any:
    """How far one unit can move the lower median of x; see `position.median`."""
    return position.median(x, bounds=bounds, relation=relation, max_rows=max_rows).local()


def quantile(x: ArrayLike, *, q: float | Fraction | str, bounds: Bounds, relation: str = "add_remove", max_rows: int = 1) -> Any:
    """How far one unit can move the order statistic of rank max(1, ceil(q n)) of x; see `position.quantile`."""
    return position.quantile(x, q=q, bounds=bounds, relation=relation, max_rows=max_rows).local()


def min(x: ArrayLike, *, bounds: Bounds, relation: str = "add_remove", max_rows: int = 1) -> Any:
    """How far one unit can move the smallest value of x; see `position.min`."""
    return position.min(x, bounds=bounds, relation=relation, max_rows=max_rows).local()


def max(x: ArrayLike, *, bounds: Bounds, relation: str = "add_remove", max_rows: int = 1) -> Any:
    """How far one unit can move the largest value of x; see `position.max`."""
    return position.max(x, bounds=bounds, relation=relation, max_rows=max_rows).local()


def iqr(x: ArrayLike, *, bounds: Bounds, relation: str = "add_remove", max_rows: int = 1) -> Any:
    """How far one unit can move the interquartile range of x; see `position.iqr`."""
    return position.iqr(x, bounds=bounds, relation=relation, max_rows=max_rows).local()


def mean(x: ArrayLike, *, bounds: Bounds, relation: str = "add_remove", max_rows: int = 1) -> Any:
    """How far one unit can move the mean of x; see `average.mean`."""
    return average.mean(x, bounds=bounds, relation=relation, max_rows=max_rows).local()


def trimmed_mean(x: ArrayLike, *, trim: int, bounds: Bounds, relation: str = "add_remove", max_rows: int = 1) -> Any:
    """How far one unit can move the mean of the ranks t + 1 to n - t of x; see `average.trimmed_mean`."""
    return average.trimmed_mean(x, trim=trim, bounds=bounds, relation=relation, max_rows=max_rows).local()


def winsorized_mean(x: ArrayLike, *, trim: int, bounds: Bounds, relation: str = "add_remove", max_rows: int = 1) -> Any:
    """How far one unit can move the winsorised mean of x; see `average.winsorized_mean`."""
    return average.winsorized_mean(x, trim=trim, bounds=bounds, relation=relation, max_rows=max_rows).local()


def variance(x: ArrayLike, *, bounds: Bounds, relation: str = "add_remove", max_rows: int = 1) -> Any:
    """How far one unit can move the variance with 1/n of x; see `average.variance`."""
    return average.variance(x, bounds=bounds, relation=relation, max_rows=max_rows).local()


def trimmed_sum(x: ArrayLike, *, trim: int, bounds: Bounds, relation: str = "add_remove", max_rows: int = 1) -> Any:
    """How far one unit can move the sum of the ranks t + 1 to n - t, whole numbers for whole numbers of x; see `average.trimmed_sum`."""
    return average.trimmed_sum(x, trim=trim, bounds=bounds, relation=relation, max_rows=max_rows).local()


def winsorized_sum(x: ArrayLike, *, trim: int, bounds: Bounds, relation: str = "add_remove", max_rows: int = 1) -> Any:
    """How far one unit can move the winsorised sum, whole numbers for whole numbers of x; see `average.winsorized_sum`."""
    return average.winsorized_sum(x, trim=trim, bounds=bounds, relation=relation, max_rows=max_rows).local()
