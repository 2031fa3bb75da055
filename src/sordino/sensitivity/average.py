"""The ladders of averages: mean, trimmed and winsorised mean, variance.

The sums behind the trimmed and winsorised means have ladders of their own: whole numbers for whole numbers, to be divided by the
public size after the release.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from sordino.errors import QueryError
from sordino.privacy.relation import Relation
from sordino.sensitivity import worst_case
from sordino.sensitivity.ladder import Ladder
from sordino.sensitivity.order import Array, Bounds, Order, whole
from sordino.sensitivity.rank_ladder import window_ladder

__all__ = ["mean", "trimmed_mean", "trimmed_sum", "variance", "winsorized_mean", "winsorized_sum"]


def mean(x: ArrayLike, *, bounds: Bounds, relation: str = "add_remove", max_rows: int = 1) -> Ladder:
    """The mean; the empty table counts as the midpoint.

    Theorem. Add_remove: A(k) = R m / max(n - k m, m + 1) is a legal ladder; only the size matters. Replace: the trimmed mean with t
    = 0, exact for m = 1.
    Proof. Within k people at least N = n - k m rows are left. Joining or removing a part B of a table of N rows moves the mean by
    |B| / N times the distance of two means, so by at most R m / N, and by at most R m / (m + 1) in any case. A neighbour has at
    least n - m rows. QED
    """
    order, rows = Order.of(x, bounds), whole("max_rows", max_rows, 1)
    if Relation.of(relation) is Relation.REPLACE:
        return trimmed_mean(order.values, trim=0, bounds=bounds, relation=relation, max_rows=rows) if order.n else Ladder.flat(0.0)
    top = worst_case.mean(bounds=bounds, relation=relation, max_rows=rows)

    def block(k0: int, k1: int) -> Array:
        return order.width * rows / np.maximum(order.n - np.arange(k0, k1) * rows, rows + 1)

    def quick(beta: float, count: int) -> float:
        # e^(-beta k) / (n - k m) is log-convex in k: only the ends matter, and the rung where the cap sets in
        last = max(0, -(-(order.n - rows - 1) // rows))
        return max(float(np.exp(-beta * k) * block(k, k + 1)[0]) for k in {0, max(0, last - 1), last})

    return Ladder(block, top, order.n, quick)


def trimmed_sum(x: ArrayLike, *, trim: int, bounds: Bounds, relation: str = "add_remove", max_rows: int = 1) -> Ladder:
    """The sum of the ranks t + 1 to n - t, under replacements: `window_ladder` with low = t + 1 and high = n - t."""
    worst_case.only_replace("trimmed_mean", relation)
    order, rows = Order.of(x, bounds), whole("max_rows", max_rows, 1)
    middle = worst_case.kept(order.n, trim)
    order.room(rows)
    return window_ladder(order, trim + 1, order.n - trim).people(rows, order.width * min(rows, middle))


def trimmed_mean(x: ArrayLike, *, trim: int, bounds: Bounds, relation: str = "add_remove", max_rows: int = 1) -> Ladder:
    """The mean without the t smallest and t largest rows: the trimmed sum over n - 2t (Bun, Steinke 2019)."""
    return trimmed_sum(x, trim=trim, bounds=bounds, relation=relation, max_rows=max_rows).over(len(np.asarray(x)) - 2 * trim)


def winsorized_sum(x: ArrayLike, *, trim: int, bounds: Bounds, relation: str = "add_remove", max_rows: int = 1) -> Ladder:
    """t x_(t+1) + (x_(t+1) + ... + x_(n-t)) + t x_(n-t), under replacements.

    Theorem. A = min(t A_(t+1) + A_trimmed + t A_(n-t), (t + 1) R) is a legal ladder (n R for n - 2t = 1); its first rung is
    replaced by the exact local sensitivity, the larger of moving every rank up by one and moving every rank down by one.
    Proof. The triangle inequality, rung by rung, and the global sensitivity. One replacement upwards takes each x_(i) to at most
    x_(i+1), all of them at once when the row leaves from below and arrives above; A_0 may be exact because LS(x) is at most every
    A(x', 1). QED
    """
    worst_case.only_replace("winsorized_mean", relation)
    order, rows = Order.of(x, bounds), whole("max_rows", max_rows, 1)
    n, t = order.n, trim
    middle = worst_case.kept(n, t)
    order.room((2 * t + 1) * rows)
    top, together = (order.width * (t + moved if moved < middle else n) for moved in (1, rows))
    left, inner, right = window_ladder(order, t + 1, t + 1), window_ladder(order, t + 1, n - t), window_ladder(order, n - t, n - t)

    def block(k0: int, k1: int) -> Array:
        out: Array = np.minimum(t * left.block(k0, k1) + inner.block(k0, k1) + t * right.block(k0, k1), top)
        if k0 == 0:
            low, high = order.span(t, t + 2), order.span(n - t - 1, n - t + 1)
            up = t * (low[2] - low[1]) + (high[2] - low[1]) + t * (high[2] - high[1])
            down = t * (low[1] - low[0]) + (high[1] - low[0]) + t * (high[1] - high[0])
            out[0] = max(up, down)
        return out

    return Ladder(block, top, n).people(rows, together)


def winsorized_mean(x: ArrayLike, *, trim: int, bounds: Bounds, relation: str = "add_remove", max_rows: int = 1) -> Ladder:
    """The mean with the t smallest rows moved up to x_(t+1) and the t largest down to x_(n-t): the winsorised sum over n."""
    return winsorized_sum(x, trim=trim, bounds=bounds, relation=relation, max_rows=max_rows).over(len(np.asarray(x)))


def variance(x: ArrayLike, *, bounds: Bounds, relation: str = "add_remove", max_rows: int = 1) -> Ladder:
    """The variance with 1/n, under replacements.

    Theorem. With D = max(U - mean, mean - L), A(k) = (n - 1) / n^2 min(R, D + (k + 1) R / n)^2 is a legal ladder.
    Proof. With mu the mean of the other n - 1 rows, a row v contributes (n - 1) / n^2 (v - mu)^2 and nothing else depends on v, so
    a replacement changes the variance by at most (n - 1) / n^2 max(U - mu, mu - L)^2. k replacements move the mean by at most k R /
    n, and leaving a row out moves it by at most R / n more: k + 1 in all. A neighbour's D differs by at most R / n. QED
    """
    worst_case.only_replace("variance", relation)
    order, rows = Order.of(x, bounds), whole("max_rows", max_rows, 1)
    n, width = order.n, float(order.width)
    if width > 2.0**500:
        raise QueryError("SRD-104", "bounds are too wide for a variance.", "Give bounds less than 2**500 apart.")
    if n <= 1:
        return Ladder.flat(0.0)
    centre = order.total() / n
    spread = max(order.upper - centre, centre - order.lower)

    def block(k0: int, k1: int) -> Array:
        reach = np.minimum(width, spread + np.arange(k0 + 1, k1 + 1) * (width / n))
        return np.asarray(reach**2 * ((n - 1) / n**2))

    top = worst_case.variance(bounds=bounds, n=n, relation=relation, max_rows=rows)
    return Ladder(block, width**2 * ((n - 1) / n**2), n).people(rows, top)
