"""The minimum of a penalised logistic loss, found to a gradient that is certified float by float: for every table and every pull."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

__all__ = ["ERROR", "curvature", "gradient", "minimum", "sigmoid"]

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]  # a vector as an unevaluated sum of two doubles
ERROR = 2.0**-47  # of one coordinate of a gradient, in units of rows + |pull| + penalty + 1
BITS = 33  # of a coefficient beside the 20 of a coordinate
PASSES, HALVINGS = 60, 40


def sigmoid(z: Floats) -> Floats:
    small = np.exp(-np.abs(z))
    return np.asarray(np.where(z >= 0, 1.0, small) / (1 + small))


def _split(one: Floats, other: Floats) -> Pair:
    """The same sum, the first part rounded to nearest (Knuth)."""
    whole = one + other
    back = whole - one
    return whole, (one - (whole - back)) + (other - back)


def _predicted(x: Floats, t: Pair) -> Floats:
    """x't: what is above the grid is exact, because whole numbers of 20 and 33 bits are multiplied and added; the rest is small."""
    size = max(1.0, float(np.abs(t[0]).sum()))
    step = 2.0 ** (math.frexp(size)[1] - BITS)
    grid = np.floor(t[0] / step) * step
    return np.asarray(x @ grid + x @ ((t[0] - grid) + t[1]))


def _summed(values: Floats) -> Floats:
    """Column sums, by halves, with what every addition rounds away added at the end."""
    lost = np.zeros(values.shape[1])
    while len(values) > 1:
        half = len(values) // 2
        whole, rest = _split(values[:half], values[half : 2 * half])
        lost += rest.sum(axis=0)
        values = np.concatenate([whole, values[2 * half :]]) if len(values) % 2 else whole
    return np.asarray(values.sum(axis=0) + lost)


def gradient(x: Floats, y: Floats, penalty: float, pull: Floats, t: Pair) -> Floats:
    r"""Of sum ln(1 + e^x't) - y x't + penalty |t|^2/2 + pull't.

    Theorem. For rows of whole multiples of 2^-20 in [-1, 1] and every t at which the objective is no larger than at 0, each coordinate is
    within ERROR N of the true one, N = n + |pull| + penalty + 1, if the exponential function is within four units of its last place.
    Proof. With u = 2^-53 a predictor is off by u |z| and far less, and |z| s'(z) < 1/4; the exponential, a sum, a quotient and a
    difference are off by 8 u, the product with x by u, each of n rows. Sums by halves keep beside them what they lose but for u n.
    penalty |t|^2/2 - |pull| |t| <= n ln 2, so penalty |t| <= sqrt(2 ln 2 n penalty) + 2 |pull| <= 2 N, and the last sums are off by
    12 u N. All of it is less than 64 u N. QED
    """
    chance = sigmoid(_predicted(x, t))
    total = _summed(x * (chance - y)[:, None]) if len(x) else np.zeros(len(pull))
    return np.asarray(total + (penalty * t[0] + (pull + penalty * t[1])))


def curvature(x: Floats, penalty: float, t: Floats) -> Floats:
    chance = sigmoid(x @ t)
    return np.asarray((x.T * (chance * (1 - chance))) @ x + penalty * np.eye(x.shape[1]))


def minimum(x: Floats, y: Floats, penalty: float, pull: Floats, near: float) -> Pair:
    r"""A point whose gradient is at most 5 near / 8 long, near at least 8 times the error of a gradient; it is found for every table.

    Theorem. The loop ends. Proof. Newton's steps end after a fixed number of passes. After them every step is -g/L with L = n d/4 +
    penalty, which bounds the curvature, g the gradient up to near/8 and |g| > near/2. So |true| <= 5|g|/4 and true'g >= 3|g|^2/4, and the
    objective falls by at least 3|g|^2/4L - |g|^2/2L = |g|^2/4L, which is at least (8 penalty/25 L) times what is left of it, strongly
    convex as it is; it has a minimum, and falls by near^2/16L at least as long as the loop goes on. QED
    """
    t: Pair = (np.zeros(len(pull)), np.zeros(len(pull)))
    found = gradient(x, y, penalty, pull, t)
    size = float(np.linalg.norm(found))
    for _ in range(PASSES):
        if size <= near / 2:
            return t
        step = np.linalg.solve(curvature(x, penalty, t[0]), found)
        share = 1.0
        for _ in range(HALVINGS):
            moved = _split(t[0], t[1] - share * step)
            tried = gradient(x, y, penalty, pull, moved)
            if (shorter := float(np.linalg.norm(tried))) <= (1 - share / 4) * size:
                t, found, size = moved, tried, shorter
                break
            share /= 2
        else:
            break
    steepest = len(x) * len(pull) / 4 + penalty
    while size > near / 2:
        t = _split(t[0], t[1] - found / steepest)
        found = gradient(x, y, penalty, pull, t)
        size = float(np.linalg.norm(found))
    return t
