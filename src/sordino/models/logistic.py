"""Private logistic regression for scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sordino.errors import QueryError
from sordino.mechanisms.logistic_regression import LogisticRegression
from sordino.models.box import Box
from sordino.models.estimator import LEVEL, Private
from sordino.models.rows import Rows
from sordino.models.way import Odds, Way
from sordino.privacy.number import as_delta, as_epsilon, shown

__all__ = ["PrivateLogisticRegression"]

Floats = NDArray[np.float64]


class PrivateLogisticRegression(ClassifierMixin, Private):  # type: ignore[misc]
    """Logistic regression of two public classes under differential privacy; every row is a unit.

    classes    the two labels, (negative, positive), from public knowledge; rows with any other label drop out
    cap        True: rows longer than a privately drawn cap count less, which lowers the noise and moves no coefficient where the model
               holds; False: the plain maximum likelihood, whatever holds

    The other parameters are as in PrivateLinearRegression. After fit: coef_, intercept_, classes_, card_, and coef_interval_ at 95%, about
    the population these rows are a sample of; interval(level, kind="noise") is about the maximum likelihood of these rows. An interval of
    several log odds says that these rows and this price know nothing about a coefficient.
    """

    def __init__(
        self, *, epsilon: Any = None, delta: Any = 1e-6, bounds_X: Any = None, classes: Any = None, relation: str = "add_remove",
        ledger: Any = None, size: Any = None, cap: bool = True, fits: Any = None,
    ) -> None:  # fmt: skip
        self.epsilon, self.delta, self.bounds_X, self.classes = epsilon, delta, bounds_X, classes
        self.relation, self.ledger, self.size, self.cap, self.fits = relation, ledger, size, cap, fits

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.poor_score = True
        return tags

    def _labels(self) -> tuple[Any, Any]:
        if self.classes is None:
            raise QueryError("SRD-104", "classes is missing.", "Give classes=(negative, positive) from public knowledge.")
        given = list(self.classes) if isinstance(self.classes, list | tuple | np.ndarray) else []
        plain = [label.item() if isinstance(label, np.generic) else label for label in given]
        if len(plain) != 2 or plain[0] == plain[1]:
            raise QueryError("SRD-104", f"classes is {shown(self.classes)}.", "Give two different labels, (negative, positive).")
        return plain[0], plain[1]

    def _rows(self, features: Any, target: Any, box: Box) -> Rows:
        return Rows(features, target, box, classes=self._labels())

    def _facts(self) -> dict[str, Any]:
        return {"classes": [shown(label) for label in self._labels()]}

    def _way(self, features: int) -> Way:
        epsilon, delta = as_epsilon(self.epsilon), as_delta(self.delta, zero=True)
        if not delta:
            what = "logistic regression has Gaussian noise, which needs a delta."
            raise QueryError("SRD-102", what, "Give delta=1e-6; without one noise grows with the number of features, not with its root.")
        return Odds(LogisticRegression(epsilon, delta, features + 1, self.relation, capped=self.cap))

    def fit(self, X: Any, y: Any) -> Any:
        """Pay, look, draw. Sets coef_, intercept_, coef_interval_, classes_ and card_."""
        line = self._settle(self._released(X, y))
        self.coef_, self.intercept_ = line[None, 1:], line[:1]
        ends = self._ends(LEVEL, population=True)
        self.classes_, self.coef_interval_ = np.array(self._labels()), None if ends is None else ends[1:]
        return self

    def decision_function(self, X: Any) -> Floats:
        """The log odds of the second class."""
        return self._predictor(X)

    def predict_proba(self, X: Any) -> Floats:
        chance = 1 / (1 + np.exp(-np.clip(self._predictor(X), -700.0, 700.0)))
        return np.column_stack([1 - chance, chance])

    def predict_log_proba(self, X: Any) -> Floats:
        odds = self._predictor(X)
        return -np.column_stack([np.logaddexp(0.0, odds), np.logaddexp(0.0, -odds)])

    def predict(self, X: Any) -> NDArray[Any]:
        check_is_fitted(self)
        return np.asarray(self.classes_[(self._predictor(X) > 0).astype(int)])
