"""The best pair of two sorted sequences under separable weights, by a convex hull."""

from __future__ import annotations

import numpy as np

from sordino.sensitivity.order import Array

__all__ = ["best_pair", "upper_hull"]

SWEEPS = 16  # vectorised sweeps before the sequential chain; usually a handful of points is left by then


def upper_hull(x: Array, y: Array) -> Array:
    """Indices of the vertices of the upper right hull of points whose y falls strictly and whose x rises strictly.

    A point on or under the segment between its two surviving neighbours is never the only best in any direction, so it may go. A
    sweep deletes such points at every other place only: of two neighbours that lean on each other one stays, and rounding errors
    cannot add up along a run. The chain of Andrew (1979) finishes what is left.
    """
    keep = np.arange(len(x))
    for sweep in range(SWEEPS):
        dx, dy = np.diff(x[keep]), np.diff(y[keep])
        bulge = dx[:-1] * dy[1:] < dx[1:] * dy[:-1]
        if bulge.all():
            break
        bulge[sweep % 2 :: 2] = True
        keep = keep[np.concatenate(([True], bulge, [True]))]
    chain: list[int] = []
    xs, ys = x[keep].tolist(), y[keep].tolist()
    for i in range(len(keep)):
        while len(chain) > 1:
            a, b = chain[-2], chain[-1]
            if (xs[b] - xs[a]) * (ys[i] - ys[b]) < (xs[i] - xs[b]) * (ys[b] - ys[a]):
                break
            chain.pop()
        chain.append(i)
    return keep[chain]


def best_pair(upper: Array, up: Array, lower: Array, down: Array) -> float:
    r"""The largest up_a down_b (upper_a - lower_b) over all pairs, in time linear in the two lengths (plus one binary search each).

    `upper` does not fall, `lower` does not rise, and the weights `up`, `down` are positive and do not rise: going further out costs
    more.

    Theorem. With X_a = upper_a - c and Y_b = c - lower_b for any c between the sequences, the answer is max_b down_b max_a <(up_a
    X_a, up_a), (1, Y_b)>, and the inner maximum is attained at a vertex of the upper right hull of the points (up_a X_a, up_a).
    Proof. up_a (X_a + Y_b) is the inner product; a linear form over finitely many points with a direction in the positive quadrant
    is maximal at such a vertex. Along the hull the slopes are monotone, so each Y_b finds its vertex by binary search among the
    slopes. X and Y are non-negative: nothing cancels, and a rounding error in the choice of the vertex costs a relative rounding
    error in the value. QED
    """
    if not len(upper) or not len(lower):
        return 0.0
    centre = lower[0]
    gain, drop = (upper - centre).astype(np.float64), (centre - lower).astype(np.float64)
    x = up * gain
    # a point is worth a look only if it beats everything cheaper
    fresh = np.concatenate(([True], (x[1:] > np.maximum.accumulate(x)[:-1]) & (up[1:] < up[:-1])))
    gain, weight, x = gain[fresh], up[fresh], x[fresh]
    corner = upper_hull(x, weight)
    gain, weight, x = gain[corner], weight[corner], x[corner]
    with np.errstate(over="ignore"):  # an infinite slope only says "always go on"
        slopes = (x[1:] - x[:-1]) / (weight[:-1] - weight[1:])
    chosen = len(slopes) - np.searchsorted(slopes[::-1], drop, side="right")
    near = np.stack([np.clip(chosen + step, 0, len(gain) - 1) for step in (-1, 0, 1)])
    return float((weight[near] * (gain[near] + drop) * down).max())
