"""Public bounds of features and target, and the total map from whatever an array holds to numbers inside them.

A scaler that knows its bounds beforehand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sordino.errors import QueryError
from sordino.privacy.number import as_bounds, shown

__all__ = ["BoundedScaler", "Box", "as_array", "as_box", "as_matrix", "as_numbers"]

Floats = NDArray[np.float64]
WIDEST = 1e300  # the distance of two bounds must be a number


@dataclass(frozen=True)
class Box:
    """One pair of public bounds per column."""

    low: tuple[float, ...]
    high: tuple[float, ...]

    @property
    def middle(self) -> Floats:
        return np.array([(a + b) / 2 for a, b in zip(self.low, self.high, strict=True)])

    @property
    def half(self) -> Floats:
        return np.array([(b - a) / 2 for a, b in zip(self.low, self.high, strict=True)])


def as_box(bounds: Any, columns: int, name: str) -> Box:
    """(low, high) for every column, or a list of one pair per column; from public knowledge, so there is no default."""
    if bounds is None:
        raise QueryError("SRD-104", f"{name} is missing.", f"Give {name}=(low, high), or one pair per column, from public knowledge.")
    try:
        shape = np.shape(bounds)
    except ValueError:
        shape = ()
    if shape == (2,):
        pairs = [bounds] * columns
    elif len(shape) == 2 and shape[1] == 2:
        pairs = list(bounds)
    else:
        raise QueryError("SRD-104", f"{name} is {shown(bounds)}.", "Give (low, high) for all columns, or one pair (low, high) per column.")
    if len(pairs) != columns:
        what = f"{name} has {len(pairs)} pairs for {columns} columns."
        raise QueryError("SRD-104", what, "Give one pair (low, high) per column, in the order of the columns.")
    exact = [as_bounds(tuple(pair)) for pair in pairs]
    low, high = (tuple(float(pair[end]) for pair in exact) for end in (0, 1))
    for a, b in zip(low, high, strict=True):
        if not (math.isfinite(a) and math.isfinite(b)) or not 0 < b - a <= WIDEST:
            raise QueryError("SRD-104", f"{name} has the pair ({a:g}, {b:g}).", "Give finite bounds that a double can tell apart.")
    return Box(low, high)


def as_numbers(values: Any) -> Floats:
    """Numbers, one per value, and NaN for what is none: never an error, because an error would tell that an odd value is there."""
    array = values if isinstance(values, np.ndarray) else np.asarray(values)
    if array.dtype.kind in "biuf":
        return np.asarray(array, np.float64)
    flat = [_number(value) for value in np.asarray(array, object).ravel().tolist()]
    return np.array(flat, np.float64).reshape(array.shape)


def _number(value: Any) -> float:
    try:
        if isinstance(value, int) and abs(value) >= 2**1023:  # beyond every double
            return math.inf if value > 0 else -math.inf
        return float(value)
    except Exception:  # a value's own methods may raise anything
        return math.nan


def as_array(values: Any) -> NDArray[Any]:
    """An array of whatever is there. A list in which one value is itself a list has no common shape; then its values stay as they are."""
    try:
        return np.asarray(values)
    except ValueError:
        held = np.empty(len(values), object)
        for place, value in enumerate(values):
            held[place] = value
        return held


def _spread(rows: NDArray[np.object_]) -> NDArray[np.object_]:
    """Lists of one length as lines of a matrix, though a value in one of them is itself a list."""
    if not len(rows) or not all(isinstance(row, list | tuple | np.ndarray) for row in rows) or len({len(row) for row in rows}) != 1:
        return rows
    held = np.empty((len(rows), len(rows[0])), object)
    for place, row in enumerate(rows):
        for column, value in enumerate(row):
            held[place, column] = value
    return held


def as_matrix(X: Any) -> Any:
    """The features as a two-dimensional array of some kind. What is wrong here is wrong with the container, not with a value."""
    if hasattr(X, "toarray") or type(X).__module__.startswith("scipy.sparse"):
        raise TypeError("Sparse data was passed, but dense data is required. Use X.toarray().")
    array = X if isinstance(X, np.ndarray) else as_array(X)
    if array.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    if array.ndim == 1 and array.dtype == object:
        array = _spread(array)
    if array.ndim != 2:
        what = f"Expected 2D array, got {array.ndim}D array instead."
        raise ValueError(f"{what} Reshape your data using X.reshape(-1, 1) if it has one feature, X.reshape(1, -1) if it is one sample.")
    if array.shape[1] == 0:
        raise ValueError(f"Found array with 0 feature(s) (shape={array.shape}) while a minimum of 1 is required.")
    return array


class BoundedScaler(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Map every feature from its public bounds to [-1, 1]; what is outside is clamped, what is no number is NaN.

    bounds    public (low, high) for all features, or one pair per feature

    A scaler that learns minimum and maximum from the rows publishes them. This one learns nothing, so it costs nothing.
    """

    def __init__(self, *, bounds: Any = None) -> None:
        self.bounds = bounds

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def fit(self, X: Any, y: Any = None) -> BoundedScaler:
        """Check the bounds against the number of features. No value is looked at."""
        features = as_matrix(X)
        validate_data(self, X, skip_check_array=True)
        box = as_box(self.bounds, features.shape[1], "bounds")
        self.low_, self.high_ = np.array(box.low), np.array(box.high)
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        features = as_matrix(X)
        validate_data(self, X, reset=False, skip_check_array=True)
        inside = np.clip(as_numbers(features), self.low_, self.high_)
        return np.asarray(2 * (inside - self.low_) / (self.high_ - self.low_) - 1)
