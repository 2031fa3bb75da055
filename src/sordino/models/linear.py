"""Private least squares for scikit-learn.

Private robust regression for scikit-learn.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from sordino.errors import QueryError
from sordino.mechanisms.boosted_regression import BoostedRegression
from sordino.mechanisms.least_squares import LeastSquares
from sordino.mechanisms.normal_equations import NormalEquations
from sordino.models.box import Box, as_box
from sordino.models.estimator import LEVEL, Private
from sordino.models.rows import ModelRows
from sordino.models.way import Boosted, EquationsWay, SmoothRidge, Squares, TheilSen, Way
from sordino.privacy.number import as_delta, as_epsilon, as_positive

__all__ = ["METHODS", "PrivateHuberRegressor", "PrivateLinearRegression"]

METHODS = ("squares", "adassp", "boosted", "smooth", "theil_sen")
Floats = NDArray[np.float64]


class Linear(RegressorMixin, Private):  # type: ignore[misc]
    """A private linear predictor of a number."""

    bounds_y: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # two hundred rows at epsilon 1 are not enough for a good score, by design
        return tags

    def _limits(self) -> Box:
        return as_box(self.bounds_y, 1, "bounds_y")

    def _rows(self, features: Any, target: Any, box: Box) -> ModelRows:
        return ModelRows(features, target, box, self._limits())

    def _facts(self) -> dict[str, Any]:
        limits = self._limits()
        return {"bounds_y": [limits.low[0], limits.high[0]]}

    def fit(self, X: Any, y: Any) -> Any:
        """Pay, look, draw. Sets coef_, intercept_, coef_interval_, intercept_interval_ and card_."""
        line = self._settle(self._released(X, y))
        self.coef_, self.intercept_ = line[1:], float(line[0])
        ends = self._ends(LEVEL, population=True)
        self.coef_interval_ = None if ends is None else ends[1:]
        self.intercept_interval_ = None if ends is None else ends[0]
        return self

    def predict(self, X: Any) -> Floats:
        """Post-processing of the coefficients, at no price."""
        return self._predictor(X)


class PrivateLinearRegression(Linear):
    """Least squares of the clamped rows under differential privacy; every row is a unit.

    epsilon, delta    the price of one fit
    bounds_X          public (low, high) for all features, or one pair per feature; values outside are clamped
    bounds_y          public (low, high) of the target
    relation          "add_remove", or "replace" with size=
    ledger            where the fit is charged: the path of a ledger, a table of sd.table, or its ledger; None charges nobody and says so
    size              the public number of rows, if it is public
    method            "squares": least squares, a pilot and one refinement; with delta=0 by Laplace noise. Others by name, and they
                      estimate something else or worse:
                      "adassp": least squares in one look; "boosted": rounds on clipped residuals, biased where errors are skewed;
                      "theil_sen": one predictor, the median slope of pairs, pure; "smooth": ridge in a ball, pure
    fits              how many fits a search of scikit-learn may make; None: none

    After fit: coef_, intercept_, coef_interval_ and intercept_interval_ (95%, about the population these rows are a sample of, whatever
    the variance of its errors; None where the noise has a private scale), card_. interval(level, kind="noise") is about the least squares
    of these rows. There is no seed.
    """

    def __init__(
        self, *, epsilon: Any = None, delta: Any = 1e-6, bounds_X: Any = None, bounds_y: Any = None, relation: str = "add_remove",
        ledger: Any = None, size: Any = None, method: str = "squares", fits: Any = None,
    ) -> None:  # fmt: skip
        self.epsilon, self.delta, self.bounds_X, self.bounds_y = epsilon, delta, bounds_X, bounds_y
        self.relation, self.ledger, self.size, self.method, self.fits = relation, ledger, size, method, fits

    def _way(self, features: int) -> Way:
        epsilon, delta = as_epsilon(self.epsilon), as_delta(self.delta, zero=True)
        if self.method not in METHODS:
            raise QueryError("SRD-106", f"method {self.method!r} is unknown.", f"Use one of {', '.join(METHODS)}.")
        if self.method in ("boosted", "adassp") and not delta:
            what = f'method "{self.method}" has Gaussian noise, which needs a delta.'
            fix = 'Give delta=1e-6: noise grows with the root of the number of sums. Without one: method="squares", with Laplace noise.'
            raise QueryError("SRD-102", what, fix)
        if self.method == "theil_sen" and features != 1:
            raise QueryError("SRD-103", f"theil_sen has one predictor, not {features}.", 'Use method="squares".')
        match self.method:
            case "squares":
                return Squares(LeastSquares(epsilon, delta, features + 1, self.relation))
            case "boosted":
                return Boosted(BoostedRegression(epsilon, delta, features + 1, relation=self.relation))
            case "adassp":
                return EquationsWay(NormalEquations(epsilon, delta, features + 1, self.relation))
            case "theil_sen":
                return TheilSen(epsilon, self.relation)
        return SmoothRidge(epsilon, features + 1, self.relation)


class PrivateHuberRegressor(Linear):
    """Huber's regression under differential privacy: residuals beyond `threshold` times their own scale are clipped.

    threshold    in units of the residuals' 68% point, which is found privately as part of the fit; 1.35 is 95% efficient at the normal law
    rounds       how many rounds, fixed beforehand

    The other parameters and what a fit sets are as in PrivateLinearRegression. The noise is as small as the residuals, not as the range
    of y: wide bounds_y cost little.
    """

    def __init__(
        self, *, epsilon: Any = None, delta: Any = 1e-6, bounds_X: Any = None, bounds_y: Any = None, relation: str = "add_remove",
        ledger: Any = None, size: Any = None, threshold: Any = 1.35, rounds: int = 6, fits: Any = None,
    ) -> None:  # fmt: skip
        self.epsilon, self.delta, self.bounds_X, self.bounds_y = epsilon, delta, bounds_X, bounds_y
        self.relation, self.ledger, self.size = relation, ledger, size
        self.threshold, self.rounds, self.fits = threshold, rounds, fits

    def _way(self, features: int) -> Way:
        epsilon, delta, clip = as_epsilon(self.epsilon), as_delta(self.delta), as_positive(self.threshold, "threshold")
        return Boosted(BoostedRegression(epsilon, delta, features + 1, self.rounds, clip, self.relation))
