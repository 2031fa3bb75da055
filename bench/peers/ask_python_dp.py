"""python-dp: Google's C++ building blocks from Python, on lists."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from pydp.algorithms.laplacian import BoundedMean, BoundedSum, BoundedVariance, Count, Percentile
from pydp.algorithms.numerical_mechanisms import GaussianMechanism, LaplaceMechanism
from work import DELTA, RICH, repeated, serve, timed

MOST = 1e6


def quantile(x: list[float], epsilon: float, level: float, upper: float) -> float:
    return float(Percentile(epsilon=epsilon, percentile=level, lower_bound=0, upper_bound=upper, dtype="float").quick_result(x))


def income(folder: Path, *, draws: int, seconds: float) -> Any:
    x = np.load(folder / "income.npy").tolist()
    rich = [v for v in x if v >= RICH]

    def bounded(kind: Any, epsilon: float) -> float:
        return float(kind(epsilon=epsilon, lower_bound=0, upper_bound=MOST, dtype="float").quick_result(x))

    questions = {
        "count": lambda e: Count(epsilon=e, dtype="float").quick_result(rich),
        "sum": lambda e: bounded(BoundedSum, e),
        "mean": lambda e: bounded(BoundedMean, e),
        "median": lambda e: quantile(x, e, 0.5, MOST),
        "quantile .9": lambda e: quantile(x, e, 0.9, MOST),
        "iqr": lambda e: quantile(x, e / 2, 0.75, MOST) - quantile(x, e / 2, 0.25, MOST),
        "variance": lambda e: bounded(BoundedVariance, e),
    }
    return repeated(questions, draws, seconds)


def outliers(folder: Path, *, draws: int, seconds: float) -> Any:
    x = np.load(folder / "outliers.npy").tolist()
    means = {"mean": lambda e: BoundedMean(epsilon=e, lower_bound=0, upper_bound=1e4, dtype="float").quick_result(x)}
    return repeated(means, draws, seconds)


def noise(folder: Path, *, count: int) -> Any:
    laplace, gaussian = LaplaceMechanism(1.0, 1.0), GaussianMechanism(1.0, DELTA, 1.0)

    def many(mechanism: Any) -> None:
        for _ in range(count):
            mechanism.add_noise(0.0)

    return {"laplace": count / timed(lambda: many(laplace), 3), "gaussian": count / timed(lambda: many(gaussian), 3)}


def median(folder: Path) -> Any:
    values = np.load(folder / "values.npy")
    return {"seconds": timed(lambda: quantile(values.tolist(), 1.0, 0.5, 1_000))}


def start(folder: Path) -> Any:
    return Count(epsilon=1.0, dtype="float").quick_result(np.load(folder / "income.npy").tolist())


serve({"income": income, "outliers": outliers, "noise": noise, "median": median, "start": start})
