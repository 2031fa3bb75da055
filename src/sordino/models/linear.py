"""Private least squares for scikit-learn."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from sordino.errors import QueryError
from sordino.mechanisms.boosted_regression import BoostedRegression
from sordino.mechanisms.normal_equations import NormalEquations
from sordino.models.box import Box, as_box
from sordino.models.estimator import Private, unscaled
from sordino.models.rows import Rows
from sordino.models.way import Boosted, Equations, SmoothRidge, TheilSen, Way
from sordino.privacy.number import as_delta, as_epsilon

__all__ = ["METHODS", "PrivateLinearRegression", "planned"]

METHODS = ("auto", "boosted", "adassp", "smooth", "theil_sen")
MANY = 200_000  # rows beyond which sorting the slopes of one predictor is not worth it
Floats = NDArray[np.float64]


def planned(features: int, delta: Fraction, size: int | None) -> str:
    """The method by public facts: pairs of rows for one predictor, the pure method without a delta, rounds otherwise."""
    if features == 1 and (size is None or size <= MANY or not delta):
        return "theil_sen"
    return "boosted" if delta else "smooth"


class Linear(RegressorMixin, Private):  # type: ignore[misc]
    """A private linear predictor of a number."""

    bounds_y: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # two hundred rows at epsilon 1 are not enough for a good score, by design
        return tags

    def _limits(self) -> Box:
        return as_box(self.bounds_y, 1, "bounds_y")

    def _rows(self, features: Any, target: Any, box: Box) -> Rows:
        return Rows(features, target, box, self._limits())

    def _facts(self) -> dict[str, Any]:
        limits = self._limits()
        return {"bounds_y": [limits.low[0], limits.high[0]]}

    def fit(self, X: Any, y: Any) -> Any:
        """Pay, look, draw. Sets coef_, intercept_, coef_interval_, intercept_interval_ and card_."""
        released = self._released(X, y)
        box = as_box(self.bounds_X, self.n_features_in_, "bounds_X")
        self.coef_, self.intercept_, ends = unscaled(released, box, self._limits())
        self.coef_interval_ = None if ends is None else ends[1:]
        self.intercept_interval_ = None if ends is None else ends[0]
        self.card_ = released.card
        return self

    def predict(self, X: Any) -> Floats:
        """Post-processing of the coefficients, at no price."""
        return self._predictor(X)


class PrivateLinearRegression(Linear):
    """Linear regression under differential privacy; every row is a unit.

    epsilon, delta    the price of one fit; delta=0 chooses a pure method
    bounds_X          public (low, high) for all features, or one pair per feature; values outside are clamped
    bounds_y          public (low, high) of the target
    relation          "add_remove", or "replace" with size=
    ledger            where the fit is charged: the path of a ledger, a table of sd.table, or its ledger; None charges nobody and says so
    size              the public number of rows, if it is public
    method            "boosted": rounds on clipped residuals; "adassp": noisy normal equations, one look; "smooth": ridge with noise
                      scaled by its smooth sensitivity, pure; "theil_sen": one predictor, the median slope of pairs, pure; "auto"
    fits              how many fits a search of scikit-learn may make; None: none

    After fit: coef_, intercept_, coef_interval_ and intercept_interval_ (at least 95% for errors independent of X, noise and sampling;
    infinite where noise hides the curvature, None where its scale is private), card_. There is no seed.
    """

    def __init__(
        self, *, epsilon: Any = None, delta: Any = 1e-6, bounds_X: Any = None, bounds_y: Any = None, relation: str = "add_remove",
        ledger: Any = None, size: Any = None, method: str = "auto", fits: Any = None,
    ) -> None:  # fmt: skip
        self.epsilon, self.delta, self.bounds_X, self.bounds_y = epsilon, delta, bounds_X, bounds_y
        self.relation, self.ledger, self.size, self.method, self.fits = relation, ledger, size, method, fits

    def _way(self, features: int) -> Way:
        epsilon, delta = as_epsilon(self.epsilon), as_delta(self.delta, zero=True)
        if self.method not in METHODS:
            raise QueryError("SRD-106", f"method {self.method!r} is unknown.", f"Use one of {', '.join(METHODS)}.")
        method = planned(features, delta, self.size) if self.method == "auto" else self.method
        if method in ("boosted", "adassp") and not delta:
            raise QueryError("SRD-102", f'method "{method}" needs a delta.', 'Give delta=1e-6, or method="auto" for a pure method.')
        if method == "theil_sen" and features != 1:
            raise QueryError("SRD-103", f"theil_sen has one predictor, not {features}.", 'Use method="auto".')
        match method:
            case "boosted":
                return Boosted(BoostedRegression(epsilon, delta, features + 1, relation=self.relation))
            case "adassp":
                return Equations(NormalEquations(epsilon, delta, features + 1, self.relation))
            case "theil_sen":
                return TheilSen(epsilon, self.relation)
        return SmoothRidge(epsilon, features + 1, self.relation)
