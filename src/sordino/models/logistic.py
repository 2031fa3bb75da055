"""Private logistic regression for scikit-learn."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from sordino.errors import QueryError
from sordino.mechanisms.logistic_regression import LogisticRegression
from sordino.mechanisms.multinomial_regression import MOST, MultinomialRegression
from sordino.mechanisms.objective_perturbation import ObjectivePerturbation
from sordino.models.box import Box
from sordino.models.estimator import LEVEL, Private
from sordino.models.rows import ModelRows
from sordino.models.way import Odds, Pulled, Way
from sordino.privacy.number import as_delta, as_epsilon, shown
from sordino.statistics.regression_objective import METHODS

__all__ = ["PrivateLogisticRegression"]

Floats = NDArray[np.float64]


class PrivateLogisticRegression(ClassifierMixin, Private):  # type: ignore[misc]
    """Logistic regression of two or more public classes under differential privacy; every row is a unit.

    classes    the labels, (negative, positive) or up to ten, from public knowledge; rows with any other label drop out
    delta      0: Laplace noise, which grows with the number of features and not with its root; better for very few features only
    method     "auto": gradients in rounds, pooled, with intervals; "objective": objective perturbation of two classes, one point that is
               shrunk towards zero, without an interval; it needs a delta
    cap        True: rows longer than a privately drawn cap count less, which lowers the noise and moves no coefficient where the model
               holds; False: the plain maximum likelihood, whatever holds

    The other parameters are as in PrivateLinearRegression. After fit: coef_, intercept_, classes_, card_, and coef_interval_ at 95%, about
    the population these rows are a sample of; interval(level, kind="noise") is about the maximum likelihood of these rows. An interval of
    several log odds says that these rows and this price know nothing about a coefficient. With more than two classes coef_ has a line for
    each, and the lines sum to zero, as scikit-learn's do.
    """

    def __init__(
        self, *, epsilon: Any = None, delta: Any = 1e-6, bounds_X: Any = None, classes: Any = None, relation: str = "add_remove",
        ledger: Any = None, size: Any = None, cap: bool = True, fits: Any = None, method: str = "auto",
    ) -> None:  # fmt: skip
        self.epsilon, self.delta, self.bounds_X, self.classes = epsilon, delta, bounds_X, classes
        self.relation, self.ledger, self.size, self.cap, self.fits = relation, ledger, size, cap, fits
        self.method = method

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = isinstance(self.classes, list | tuple | np.ndarray) and len(self.classes) > 2
        tags.classifier_tags.poor_score = True
        return tags

    def _labels(self) -> tuple[Any, ...]:
        if self.classes is None:
            raise QueryError("SRD-104", "classes is missing.", "Give classes=(negative, positive), or several, from public knowledge.")
        given = list(self.classes) if isinstance(self.classes, list | tuple | np.ndarray) else []
        plain = [label.item() if isinstance(label, np.generic) else label for label in given]
        if not 2 <= len(plain) <= MOST or any(one == other for i, one in enumerate(plain) for other in plain[:i]):
            raise QueryError("SRD-104", f"classes is {shown(self.classes)}.", f"Give two to {MOST} different labels, negative first.")
        return tuple(plain)

    def _rows(self, features: Any, target: Any, box: Box) -> ModelRows:
        return ModelRows(features, target, box, classes=self._labels())

    def _facts(self) -> dict[str, Any]:
        pulled = {"estimate": "a point without an interval, shrunk towards zero"} if self.method == "objective" else {}
        return {"classes": [shown(label) for label in self._labels()], **pulled}

    def _way(self, features: int) -> Way:
        epsilon, delta = as_epsilon(self.epsilon), as_delta(self.delta, zero=True)
        many = len(self._labels())
        if self.method not in METHODS:
            raise QueryError("SRD-106", f"method {shown(self.method)} is unknown.", f"Use one of {', '.join(METHODS)}.")
        if self.method == "objective":
            return self._pulled(epsilon, delta, features, many)
        if many > 2:
            several = MultinomialRegression(epsilon, delta, features + 1, self.relation, capped=self.cap, classes=many)
            return Odds(several, "MultinomialRegression")
        return Odds(LogisticRegression(epsilon, delta, features + 1, self.relation, capped=self.cap))

    def _pulled(self, epsilon: Fraction, delta: Fraction, features: int, many: int) -> Way:
        if many > 2:
            raise QueryError("SRD-103", f"objective perturbation knows two classes, not {many}.", 'Use method="auto".')
        if not delta:
            fix = 'Give delta=1e-6; without one method="auto" has Laplace noise.'
            raise QueryError("SRD-102", 'method "objective" has a Gaussian pull, which needs a delta.', fix)
        return Pulled(ObjectivePerturbation(epsilon, delta, features + 1, self.relation))

    def _back(self) -> tuple[Floats, float]:
        """With several classes: every class's line, intercept first, from the coordinates of all but the first against it."""
        alone, level = super()._back()
        many = len(self._labels())
        if many == 2:
            return alone, level
        lines = np.vstack([np.zeros(many - 1), np.eye(many - 1)]) - 1 / many
        return np.asarray(np.kron(lines, alone), np.float64), level

    def _line(self) -> Floats:
        return np.column_stack([self.intercept_, self.coef_]).ravel()

    def fit(self, X: Any, y: Any) -> Any:
        """Pay, look, draw. Sets coef_, intercept_, coef_interval_, classes_ and card_."""
        line = np.reshape(self._settle(self._released(X, y)), (-1, self.n_features_in_ + 1))
        self.coef_, self.intercept_ = line[:, 1:], line[:, 0]
        ends = self._ends(LEVEL, population=True)
        self.classes_, self.coef_interval_ = np.array(self._labels()), None
        if ends is not None:
            self.coef_interval_ = ends[1:] if len(line) == 1 else np.reshape(ends, (*line.shape, 2))[:, 1:]
        return self

    def decision_function(self, X: Any) -> Floats:
        """The log odds of the second class; with several classes the predictor of each."""
        check_is_fitted(self)
        if len(self.classes_) == 2:
            return self._predictor(X)
        rows = validate_data(self, X, reset=False, ensure_all_finite=False, dtype=np.float64)
        return np.asarray(rows @ self.coef_.T + self.intercept_)

    def predict_proba(self, X: Any) -> Floats:
        return np.asarray(np.exp(self.predict_log_proba(X)))

    def predict_log_proba(self, X: Any) -> Floats:
        odds = self.decision_function(X)
        if odds.ndim == 1:
            return -np.column_stack([np.logaddexp(0.0, odds), np.logaddexp(0.0, -odds)])
        return np.asarray(odds - np.logaddexp.reduce(odds, axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:
        odds = self.decision_function(X)
        return np.asarray(self.classes_[(odds > 0).astype(int) if odds.ndim == 1 else np.argmax(odds, axis=1)])
