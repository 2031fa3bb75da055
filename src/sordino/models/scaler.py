"""A scaler that knows its bounds beforehand."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sordino.models.box import as_box, as_matrix, as_numbers

__all__ = ["BoundedScaler"]


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
