"""diffprivlib on the tables of bench/models.py, run by its own environment: `python models_peer.py REPEATS`, one JSON object on stdout.

With a folder as well: the log losses of REPEATS logistic regressions of every table in its tables.npz (the label last), at epsilon 1.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path

import numpy as np
from diffprivlib.models import LinearRegression, LogisticRegression
from sklearn.datasets import load_diabetes, load_digits
from sklearn.model_selection import train_test_split

EPSILONS = (0.1, 0.5, 1.0)
BOX = {"bounds_X": (-1, 1), "bounds_y": (-1, 1)}


def synthetic(epsilon: float, repeats: int) -> float:
    beta, errors = np.linspace(-0.1, 0.1, 10), []
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1, 1, (10_000, 10))
        y = np.clip(x @ beta + rng.normal(0, 0.1, 10_000), -1, 1)
        errors.append(np.linalg.norm(LinearRegression(epsilon=epsilon, random_state=seed, **BOX).fit(x, y).coef_ - beta))
    return float(np.median(errors))


def slope(epsilon: float, repeats: int) -> float:
    data = load_diabetes(scaled=False)
    x, y = np.clip((data.data[:, [2]] - 15) / 35 * 2 - 1, -1, 1), np.clip(data.target, 0, 400) / 200 - 1
    truth = np.polyfit(x[:, 0], y, 1)[0]
    fits = (LinearRegression(epsilon=epsilon, random_state=seed, **BOX).fit(x, y).coef_[0] for seed in range(10 * repeats))
    return float(np.median([abs(found - truth) for found in fits]))


def heavy(epsilon: float, repeats: int) -> float:
    truth, errors = np.linspace(-1, 1, 10), []
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        x = rng.uniform(-1, 1, (10_000, 10))
        y = x @ truth + rng.standard_t(1.5, 10_000)
        model = LinearRegression(epsilon=epsilon, bounds_X=(-1, 1), bounds_y=(-100, 100), random_state=seed)
        errors.append(np.linalg.norm(model.fit(x, np.clip(y, -100, 100)).coef_ - truth))
    return float(np.median(errors))


def digits() -> float:
    """Objective perturbation needs a public norm of the rows: 64 features of at most 16. NaN where it does not run."""
    data, scores = load_digits(), []
    label = (data.target >= 5).astype(int)
    for seed in range(20):
        x, rest, y, held = train_test_split(data.data, label, test_size=0.25, random_state=seed)
        try:
            model = LogisticRegression(epsilon=1.0, data_norm=128.0, random_state=seed, max_iter=1000)
        except TypeError:  # 0.6.6 hands scikit-learn a parameter that newer versions do not have
            return float("nan")
        scores.append(model.fit(x, y).score(rest, held))
    return float(np.mean(scores))


def real(folder: str, repeats: int) -> dict[str, list[float]]:
    out = {}
    for name, rows in np.load(Path(folder) / "tables.npz").items():
        x, y = rows[:, :-1], rows[:, -1].astype(int)
        out[name] = []
        for seed in range(repeats):
            model = LogisticRegression(epsilon=1.0, data_norm=float(np.sqrt(x.shape[1])), random_state=seed).fit(x, y)
            z = x @ model.coef_[0] + model.intercept_[0]
            out[name].append(float(np.mean(np.logaddexp(0, z) - y * z)))
    return out


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    many = int(sys.argv[1])
    if len(sys.argv) > 2:
        print(json.dumps(real(sys.argv[2], many)))
        sys.exit()
    figures = {work.__name__: [work(epsilon, many) for epsilon in EPSILONS] for work in (synthetic, slope, heavy)}
    print(json.dumps({**figures, "digits": digits()}))
