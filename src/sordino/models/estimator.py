"""What the private estimators share: parameters that are only stored, a fit that pays first, coefficients in the units of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d, validate_data

from sordino.errors import QueryError
from sordino.mechanisms.estimate import Estimate
from sordino.models.box import Box, as_array, as_box, as_matrix
from sordino.models.fit import Fit, Fitted, fitted
from sordino.models.purse import opened
from sordino.models.rows import Rows
from sordino.models.search import admit
from sordino.models.way import Way
from sordino.privacy.number import as_delta, as_epsilon
from sordino.privacy.relation import Relation

__all__ = ["Private"]

Floats = NDArray[np.float64]
LEVEL = 0.95


class Private(BaseEstimator):  # type: ignore[misc]
    """Fits once per call, for (epsilon, delta) each time; there is no seed, because a seed would take the noise away."""

    epsilon: Any
    delta: Any
    bounds_X: Any
    relation: str
    ledger: Any
    size: Any
    fits: Any

    def __sklearn_clone__(self) -> Any:
        """Parameters are shared, not copied: a ledger is one ledger however many estimators pay from it."""
        copy = type(self)(**self.get_params(deep=False))
        if "_allowance" in self.__dict__ or self.fits is not None:
            from sordino.models.search import Allowance

            whole = isinstance(self.fits, int) and not isinstance(self.fits, bool)
            copy._allowance = self.__dict__.setdefault("_allowance", Allowance(self.fits if whole else 0))
        return copy

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True  # rows with a missing value drop out
        tags.non_deterministic = True
        tags.target_tags.required = True
        return tags

    def _way(self, features: int) -> Way:
        raise NotImplementedError

    def _rows(self, features: Any, target: Any, box: Box) -> Rows:
        raise NotImplementedError

    def _facts(self) -> dict[str, Any]:
        return {}

    def _released(self, X: Any, y: Any) -> Fitted:
        """Everything that can be wrong is found before the charge, from parameters and containers alone."""
        admit(self)
        if self.epsilon is None:
            raise QueryError("SRD-101", "epsilon is missing.", "Give epsilon=, the price of one fit; most uses lie between 0.1 and 3.")
        as_epsilon(self.epsilon)
        as_delta(self.delta, zero=True)
        if Relation.of(self.relation) is Relation.REPLACE and self.size is None:
            raise QueryError("SRD-107", 'relation "replace" needs a public size.', "Give size=, the public number of rows.")
        if self.size is not None and (isinstance(self.size, bool) or not isinstance(self.size, int | np.integer) or self.size < 1):
            raise QueryError("SRD-103", f"size is {self.size!r}.", "Give the public number of rows, at least 1, or leave it out.")
        features = as_matrix(X)
        validate_data(self, X, y, skip_check_array=True)
        target = column_or_1d(y if hasattr(y, "shape") else as_array(y), warn=True)
        if target.dtype.kind == "c":
            raise ValueError("Complex data not supported")
        check_consistent_length(features, target)
        box = as_box(self.bounds_X, features.shape[1], "bounds_X")
        rows, way = self._rows(features, target, box), self._way(features.shape[1])
        facts = {"model": type(self).__name__, "privacy unit": "row", "relation": str(self.relation), "features": features.shape[1]}
        bounds = {"bounds_X": [list(pair) for pair in zip(box.low, box.high, strict=True)], **self._facts()}
        with opened(self.ledger, self.relation) as book:
            return fitted(Fit(way, {**facts, **bounds}), rows, book)

    def _predictor(self, X: Any) -> Floats:
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, ensure_all_finite=False, dtype=np.float64)
        return np.asarray(rows @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0])

    def _ends(self, level: float, *, population: bool) -> Floats | None:
        """Ends of intercept and coefficients, one row each; None where the noise has a private scale."""
        back, _ = self._back()
        line, found = self._line(), self._found
        if "estimate" in found:
            half = Estimate.of(found["estimate"]).half(back, level, population=population)
            return np.stack([line - half, line + half], axis=-1)
        margin = found.get("margin")
        if margin is None or level != LEVEL:
            return None
        if margin["hidden"]:
            return np.tile([-np.inf, np.inf], (len(line), 1))
        centre = back @ np.array(margin["centre"])
        centre[0] += self._back()[1]
        half = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", back, np.array(margin["spread"]), back), 0.0))
        return np.stack([np.minimum(centre - half, line), np.maximum(centre + half, line)], axis=-1)

    def _back(self) -> tuple[Floats, float]:
        """A matrix and an offset of the intercept: coefficients in the units of the data, intercept first, from those of coordinates."""
        box, limits = as_box(self.bounds_X, self.n_features_in_, "bounds_X"), self._limits()
        height, level = (limits.half[0], float(limits.middle[0])) if limits is not None else (1.0, 0.0)
        back = np.diag([height, *(height / box.half)])
        back[0, 1:] = -height * box.middle / box.half
        return back, level

    def _line(self) -> Floats:
        """Intercept and coefficients in the order of `_back`."""
        return np.concatenate([np.ravel(self.intercept_), np.ravel(self.coef_)])

    def _limits(self) -> Box | None:
        return None

    def _settle(self, found: Fitted) -> Floats:
        """Coefficients in the units of the data, intercept first; the draws they came from are kept for intervals."""
        self._found, self.card_ = found.found, found.card
        back, level = self._back()
        line = back @ np.array(found.found["theta"])
        line[0] += level
        return np.asarray(line)

    def interval(self, level: float = LEVEL, *, kind: str = "total") -> Floats | None:
        """One row (low, high) per coefficient, the intercept first: about the population, or with kind="noise" about these rows' own fit.

        None where the method has no interval at this level.
        """
        check_is_fitted(self)
        if kind not in ("noise", "total"):
            raise QueryError("SRD-106", f"kind {kind!r} is unknown.", 'Use "noise" or "total".')
        if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
            raise QueryError("SRD-103", f"level is {level!r}.", "Give a level between 0 and 1.")
        return self._ends(float(level), population=kind == "total")
