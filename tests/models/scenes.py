"""Tables and neighbours the model tests share."""

from __future__ import annotations

from typing import Any

import numpy as np

from sordino.models import PrivateHuberRegressor, PrivateLinearRegression, PrivateLogisticRegression

RNG = np.random.default_rng(21)
X = RNG.uniform(-1, 1, (60, 2))
Y = np.clip(0.2 + X @ [0.4, -0.3] + RNG.normal(0, 0.1, 60), -1, 1)
LABELS = (Y > 0.2).astype(int)
BOX = {"bounds_X": (-1, 1), "bounds_y": (-1, 1)}


def models(epsilon: float = 1, **more: Any) -> dict[str, Any]:
    """Every estimator and method, and the features and target it takes."""
    linear = {name: PrivateLinearRegression(epsilon=epsilon, **BOX, method=name, **more) for name in ("squares", "boosted", "adassp")}
    pure = PrivateLinearRegression(epsilon=epsilon, delta=0, **BOX, method="smooth", **more)
    pairs = PrivateLinearRegression(epsilon=epsilon, delta=0, **BOX, method="theil_sen", **more)
    logistic = {"bounds_X": (-1, 1), "classes": (0, 1), **more}
    return {
        **{name: (model, X, Y) for name, model in linear.items()},
        "smooth": (pure, X, Y),
        "theil_sen": (pairs, X[:, :1], Y),
        "huber": (PrivateHuberRegressor(epsilon=epsilon, **BOX, rounds=3, **more), X, Y),
        "logistic": (PrivateLogisticRegression(epsilon=epsilon, **logistic), X, LABELS),
        "objective": (PrivateLogisticRegression(epsilon=epsilon, method="objective", **logistic), X, LABELS),
        "uncapped logistic": (PrivateLogisticRegression(epsilon=epsilon, cap=False, **logistic), X, LABELS),
    }


NAMES = tuple(models())
