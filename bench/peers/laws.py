"""What our own errors are by the laws they are drawn from, in closed form: the textbook's formulas, and nothing of the library.

Noise on a grid is taken for the continuous law it rounds: the grids are far finer than anything that is measured here.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

Floats = np.ndarray[Any, Any]
Distribution = Callable[[float], float]  # at a number: the chance that a release is at most this


def count(epsilon: float) -> float:
    """The mean absolute error of discrete Laplace noise, P(z) proportional to e^(-epsilon |z|)."""
    return 1 / math.sinh(epsilon)


def laplace(centre: float, scale: float) -> Distribution:
    def below(at: float) -> float:
        half = math.exp(-abs(at - centre) / scale) / 2
        return half if at < centre else 1 - half

    return below


def halves(x: Floats, top: float, epsilon: float) -> Distribution:
    """The mean of x in [0, top] where its rows come or go: S + Z over n + Z + Z', in units of top, with Laplace noise of scale 1/epsilon.

    The share is at most c where (1 - c) Z - c Z' <= c n - S. P(a Z - b Z' > t) = (a^2 e^(-t/a) - b^2 e^(-t/b)) / (2 (a^2 - b^2)), t > 0.
    """
    n, mass = len(x), float(np.sum(x)) / top

    def below(at: float) -> float:
        c = at / top
        if not 0 <= c < 1:  # what is released lies within the bounds
            return float(c >= 1)
        a, b, t = (1 - c) / epsilon, max(c, 1e-12) / epsilon, c * n - mass
        if abs(a - b) < 1e-9:
            b *= 1 + 1e-6
        tail = (a * a * math.exp(-abs(t) / a) - b * b * math.exp(-abs(t) / b)) / (2 * (a * a - b * b))
        return 1 - tail if t > 0 else tail

    return below


def quantile(x: Floats, top: float, level: float, epsilon: float) -> Distribution:
    """A point y of [0, top] with density e^(-epsilon d(y) / (2 max(q, 1 - q))), d: how many ranks y lies from the quantile."""
    ends = np.concatenate([[0.0], np.sort(x), [top]])
    below_rank = np.arange(len(x) + 1)
    weight = np.diff(ends) * np.exp(-epsilon * np.abs(below_rank - level * len(x)) / (2 * max(level, 1 - level)))
    reached = np.concatenate([[0.0], np.cumsum(weight) / weight.sum()])
    return lambda at: float(np.interp(at, ends, reached))


def typical(law: Distribution, truth: float) -> float:
    """The median of the distance from the truth."""
    near, far = 0.0, 1.0
    while law(truth + far) - law(truth - far) < 0.5:
        far *= 2
    for _ in range(100):
        middle = (near + far) / 2
        near, far = (middle, far) if law(truth + middle) - law(truth - middle) < 0.5 else (near, middle)
    return far


def income(x: Floats, top: float, truths: dict[str, float], epsilon: float) -> dict[str, float]:
    """The figures of the questions whose law is known."""
    laws = {
        "sum": laplace(truths["sum"], top / epsilon),
        "mean": halves(x, top, epsilon),
        "mean, replace": laplace(truths["mean"], top / epsilon / len(x)),
        "median": quantile(x, top, 0.5, epsilon),
        "quantile .9": quantile(x, top, 0.9, epsilon),
    }
    return {"count": count(epsilon), **{name: typical(law, truths[name]) for name, law in laws.items()}}


def outliers(x: Floats, top: float, truth: float, epsilon: float) -> dict[str, float]:
    return {"mean": typical(halves(x, top, epsilon), truth), "median": typical(quantile(x, top, 0.5, epsilon), truth)}
