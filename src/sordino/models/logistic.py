"""Private logistic regression for scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from sordino.errors import QueryError
from sordino.mechanisms.noisy_descent import NoisyDescent
from sordino.models.box import Box
from sordino.models.estimator import Private
from sordino.models.rows import Rows
from sordino.models.way import Descent, Way
from sordino.privacy.number import as_delta, as_epsilon, shown

__all__ = ["PrivateLogisticRegression"]

Floats = NDArray[np.float64]


class PrivateLogisticRegression(ClassifierMixin, Private):  # type: ignore[misc]
    """Logistic regression of two public classes under differential privacy, by noisy gradient descent; every row is a unit.

    classes    the two labels, (negative, positive), from public knowledge; rows with any other label drop out
    rounds     how many steps, fixed beforehand; None: as many as price, size and number of features ask for (NoisyDescent.logistic)

    The other parameters are as in PrivateLinearRegression. After fit: coef_, intercept_, classes_, card_; coef_interval_ is None, because
    the path of a descent has no interval that is known to hold.
    """

    def __init__(
        self, *, epsilon: Any = None, delta: Any = 1e-6, bounds_X: Any = None, classes: Any = None, relation: str = "add_remove",
        ledger: Any = None, size: Any = None, rounds: Any = None, fits: Any = None,
    ) -> None:  # fmt: skip
        self.epsilon, self.delta, self.bounds_X, self.classes = epsilon, delta, bounds_X, classes
        self.relation, self.ledger, self.size, self.rounds, self.fits = relation, ledger, size, rounds, fits

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
        size = None if self.size is None else int(self.size)
        return Descent(NoisyDescent.logistic(epsilon, delta, features + 1, size=size, rounds=self.rounds, relation=self.relation))

    def fit(self, X: Any, y: Any) -> Any:
        """Pay, look, draw. Sets coef_, intercept_, classes_ and card_."""
        line = self._settle(self._released(X, y))
        self.coef_, self.intercept_ = line[None, 1:], line[:1]
        self.classes_, self.coef_interval_ = np.array(self._labels()), None
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
