"""diffprivlib: numpy-like tools and scikit-learn-like models; neighbours replace a row, or sums and counts follow its own rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from diffprivlib import tools
from diffprivlib.mechanisms import Gaussian, Laplace
from diffprivlib.models import LinearRegression, LogisticRegression
from work import DELTA, EPSILONS, FEW, RICH, drawn, repeated, serve, timed

ENDS = (0, 1e6)


def income(folder: Path, *, draws: int, seconds: float) -> Any:
    x = np.load(folder / "income.npy")
    questions = {
        "count": lambda e: tools.count_nonzero(x >= RICH, epsilon=e),
        "sum": lambda e: tools.sum(x, bounds=ENDS, epsilon=e),
        "mean, replace": lambda e: tools.mean(x, bounds=ENDS, epsilon=e),
        "median": lambda e: tools.median(x, bounds=ENDS, epsilon=e),
        "quantile .9": lambda e: tools.quantile(x, 0.9, bounds=ENDS, epsilon=e),
        "iqr": lambda e: tools.quantile(x, 0.75, bounds=ENDS, epsilon=e / 2) - tools.quantile(x, 0.25, bounds=ENDS, epsilon=e / 2),
        "variance, replace": lambda e: tools.var(x, bounds=ENDS, epsilon=e),
    }
    return repeated(questions, draws, seconds)


def outliers(folder: Path, *, draws: int, seconds: float) -> Any:
    x = np.load(folder / "outliers.npy")
    questions = {
        "mean": lambda e: tools.mean(x, bounds=(0, 1e4), epsilon=e),
        "median": lambda e: tools.median(x, bounds=(0, 1e4), epsilon=e),
    }
    return repeated(questions, draws, seconds)


def regression(folder: Path, *, tables: int, draws: int, seconds: float) -> Any:
    xs, ys = np.load(folder / "synthetic_x.npy"), np.load(folder / "synthetic_y.npy")

    def fit(epsilon: float, i: int) -> Any:
        return LinearRegression(epsilon=epsilon, bounds_X=(-1, 1), bounds_y=(-1, 1)).fit(xs[i], ys[i]).coef_.tolist()

    return {str(e): drawn(lambda i, e=e: fit(e, i % tables), draws, seconds) for e in EPSILONS}


def slope(folder: Path, *, draws: int, seconds: float) -> Any:
    x, y = np.load(folder / "diabetes.npy")
    fit = lambda e: LinearRegression(epsilon=e, bounds_X=(-1, 1), bounds_y=(-1, 1)).fit(x[:, None], y).coef_[0]  # noqa: E731
    return repeated({"slope": fit}, draws, seconds)


def logistic(folder: Path, *, splits: int, draws: int, seconds: float) -> Any:
    parts = [dict(np.load(folder / f"digits{split}.npz")) for split in range(splits)]

    def told(i: int) -> Any:
        part = parts[i % splits]
        model = LogisticRegression(epsilon=1.0, data_norm=16 * np.sqrt(64), max_iter=1_000).fit(part["x"], part["y"])
        return model.predict(part["held"]).tolist()

    return drawn(told, draws, seconds, FEW)


def noise(folder: Path, *, count: int) -> Any:
    laplace, gaussian = Laplace(epsilon=1.0, sensitivity=1.0), Gaussian(epsilon=1.0, delta=DELTA, sensitivity=1.0)

    def many(mechanism: Any) -> None:
        for _ in range(count):
            mechanism.randomise(0.0)

    return {"laplace": count / timed(lambda: many(laplace)), "gaussian": count / timed(lambda: many(gaussian))}


def median(folder: Path) -> Any:
    values = np.load(folder / "values.npy")
    return {"seconds": timed(lambda: tools.median(values, bounds=(0, 1_000), epsilon=1.0))}


def start(folder: Path) -> Any:
    return tools.count_nonzero(np.load(folder / "income.npy") >= 0, epsilon=1.0)


serve({"income": income, "outliers": outliers, "regression": regression, "slope": slope, "logistic": logistic, "noise": noise,
       "median": median, "start": start})  # fmt: skip
