"""The ladder of replacements: gaps between an order statistic above and one below, as far apart as k + 1 replacements reach."""

from __future__ import annotations

import numpy as np

from sordino.sensitivity.hull import best_pair
from sordino.sensitivity.ladder import Ladder
from sordino.sensitivity.order import Array, Order

__all__ = ["window_ladder"]


def window_ladder(order: Order, low: int, high: int, rows: int = 1) -> Ladder:
    """A(k) = max over a + b = (k + 1) m of x_(high + a) - x_(low - b), for ranks low <= high; for k = 0 only a = 0 and b = 0.

    Theorem. When low = high = r this is exactly the largest change that m simultaneous replacements make to x_(r) after k m others;
    for low = t + 1, high = n - t, m = 1 exactly that of the sum of x_(t+1), ..., x_(n-t) (Bun, Steinke 2019). It is a legal ladder.
    Proof. m replacements, all upwards, take x_(r) to at most x_(r+m), and the trimmed sum (m = 1) up by at most x_(high+1) -
    x_(low); downwards is the mirror image. k m replacements can widen such a gap only by taking rows out of it to either side, each
    by one place: that gives the a + b above, and any split is reached by moving exactly those rows to the bounds, except that with
    k = 0 the gap starts at x_(r) itself. Legality: if u of m replaced rows went up and d = m - u down, then x'_(i + d) >= x_(i) and
    x'_(i - u) <= x_(i), so the gap is contained in one that is m places wider. QED
    """

    def sides(reach: int) -> tuple[Array, Array]:
        return order.span(high, high + reach), order.span(low - reach, low)[::-1]

    def block(k0: int, k1: int) -> Array:
        reach = k1 * rows
        upper, lower = sides(reach)
        rises = np.concatenate(([0], np.flatnonzero(np.diff(upper)) + 1))  # of equal upper ends the nearest one is enough
        out = np.zeros(k1 - k0, order.dtype)
        if k1 - k0 <= len(rises):
            for k in range(k0, k1):
                width = (k + 1) * rows
                out[k - k0] = (upper[: width + 1] - lower[width::-1]).max()
        else:
            for a in rises.tolist():
                k = max(k0, -(-a // rows) - 1)
                gap = upper[a] - lower[(k + 1) * rows - a :: rows][: k1 - k]
                np.maximum(out[k - k0 :], gap, out=out[k - k0 :])
        if k0 == 0:
            out[0] = max(upper[rows] - lower[0], upper[0] - lower[rows])
        return out

    def quick(beta: float, count: int) -> float:
        upper, lower = sides(count * rows)
        steps = np.exp(-beta * np.arange(count + 1))
        best = 0.0
        for a in range(rows):  # a and b in complementary classes modulo m add up to whole people
            rise, drop = upper[a::rows], lower[-a % rows :: rows]
            later = steps if a == 0 else steps[1:]  # the weight of the second element of either class
            # the two first elements together are no step at all, or one that k = 0 cannot take
            ends = later[: len(drop) - 1] * (rise[0] - drop[1:])
            best = max(best, float(ends.max(initial=0)), best_pair(rise[1:], later[: len(rise) - 1], drop, steps[: len(drop)]))
        return best

    return Ladder(block, order.width, order.n, quick)
