"""The ladder of replacements: gaps between an order statistic above and one below, as far apart as k + 1 replacements reach.

The best pair of two sorted sequences under separable weights, by a convex hull.

The ladder of a quantile when rows come and go: the rank itself moves with n.

The ladder of a rank whose two ends move independently: one pair of order statistics per k, for people with several rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from sordino.sensitivity.ladder import Ladder
from sordino.sensitivity.order import Array, Order

__all__ = ["best_pair", "box_ladder", "quantile_box", "staircase_ladder", "upper_hull", "window_ladder"]

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


FEW = 32  # rungs looked up one by one; more are swept lower end by lower end, in contiguous slices


def staircase_ladder(order: Order, q: Fraction) -> Ladder:
    r"""A(k) for the rank max(1, ceil(q n)), 0 < q <= 1, under add_remove.

    Theorem. A(k) = max x_(i) - x_(j) over 0 <= j < i <= n + 1 with cost(i, j) <= k, where cost = (i - j - 1) + F(g), g = (1 - q) j
    - q (n + 1 - i), M = max(q, 1 - q), F = floor(g / M) if g >= 0 and ceil(-g / M) - 1 otherwise.
    Proof. The quantile is at least w exactly when G_w = q #{>= w} - (1 - q) #{< w} > 0, and at most s exactly when H_s = q #{> s} -
    (1 - q) #{<= s} <= 0; G_w is H_s minus the number of rows strictly between s and w. One row moves G_w by at most M <= 1, so a
    step from H_s <= 0 to G_w > 0, or back, needs a table y with nothing between. Emptying the gap between s = x_(j) and w = x_(i)
    costs i - j - 1 removals and leaves q #{>= w} - (1 - q) #{<= s} = -g. The step can follow when that balance is in (-M, M]; each
    other row moves it by at most M, and some row by M: F rows bring it there. All of this is exact, and balls of radius k + 1
    around neighbours contain balls of radius k, so the ladder is legal. QED

    For q > 1/2 fix j: with c = (1 - q) / q, h = floor(c j) + 1 and i* = n + 1 - h the cheapest gap ends at i*, costs b = n - j - h,
    and every second further step moves its end up by one: with k steps the end is i* + floor((k - b + 1) / 2). For q <= 1/2 the
    same holds in the mirror, with c = q / (1 - q) and h = ceil(c j). One end per k and j is all there is to look at.
    """
    n, small = order.n, q <= Fraction(1, 2)
    column = order.mirror() if small else order
    slope = q / (1 - q) if small else (1 - q) / q
    top, bottom = slope.numerator, slope.denominator
    kind: type = np.int64 if (n + 1) * max(top, bottom) < 2**62 else object  # a level with many digits counts in Python integers

    def stairs(k1: int) -> tuple[Array, Array, Array]:
        """The lower ends x_(j) worth looking at, the end i* of the cheapest gap above each, and its cost b."""
        first = max(0, math.floor((n - k1) / (1 + slope)) - 2)
        last = min(n, math.ceil((n + k1) / (1 + slope)) + 2)
        j = np.arange(first, last + 1)
        held: Array = j.astype(kind) * top
        h = (-(-held // bottom) if small else held // bottom + 1).astype(np.int64)
        value, cost = column.span(first, last), n - j - h
        # of equal lower ends the last one costs least and reaches furthest
        use = (cost < k1) & np.concatenate((value[1:] > value[:-1], [True]))
        return value[use], (n + 1 - h)[use], cost[use]

    def block(k0: int, k1: int) -> Array:
        value, star, cost = stairs(k1)
        base, far = int(star.min()), int((star + (k1 - cost) // 2).max())
        upper = column.span(base, far)
        out = np.zeros(k1 - k0, order.dtype)
        if k1 - k0 <= min(FEW, len(value)):
            for k in range(k0, k1):
                legal = cost <= k
                ends = (star + (k - cost + 1) // 2 - base)[legal]
                out[k - k0] = (upper[ends] - value[legal]).max(initial=0)
            return out
        twice = np.repeat(upper, 2)
        for v, s, b in zip(value, star.tolist(), cost.tolist(), strict=True):
            k = max(k0, b)
            start = 2 * (s - base) + 1 + k - b
            np.maximum(out[k - k0 :], twice[start : start + k1 - k] - v, out=out[k - k0 :])
        return out

    return Ladder(block, order.width, n)


def box_ladder(order: Order, rise: Callable[[Array], Array], fall: Callable[[Array], Array], rows: int) -> Ladder:
    """A(k) = max(x_(rise(p)) - x_(fall(o)), x_(rise(o)) - x_(fall(p))) with o = k m steps to get there and p = (k + 1) m to get across.

    Theorem. If no table within s row steps of x has the statistic above x_(rise(s)) or below x_(fall(s)), and `rise`, `fall` are
    such bounds for every table, then A is a legal ladder for people with at most m rows, provided a neighbour's bounds for s are
    inside x's for s + m.
    Proof. y is within o and its neighbour y' within p steps of x, so one of f(y), f(y') lies in the inner range and the other in
    the outer one. Legality is the proviso applied to o and p. QED
    """

    def block(k0: int, k1: int) -> Array:
        steps = np.arange(k0, k1 + 1) * rows
        high, low = rise(steps), fall(steps)
        upper = order.span(int(high[0]), int(high[-1]))[high - high[0]]
        lower = order.span(int(low[-1]), int(low[0]))[low - low[-1]]
        return np.asarray(np.maximum(upper[1:] - lower[:-1], upper[:-1] - lower[1:]))

    return Ladder(block, order.width, order.n)


def quantile_box(order: Order, q: Fraction, rows: int) -> Ladder:
    """Rank max(1, ceil(q n)) under add_remove: rise(s) = ceil(q n + s M), fall(s) = ceil(q n - s M), M = max(q, 1 - q), for 0 < q <= 1.

    Theorem. This is a legal ladder for people with at most m rows, and for q = 1/2 it is exact.
    Proof. The quantile is at least w if and only if G_w = q #{y >= w} - (1 - q) #{y < w} > 0, also on the empty table; one row
    changes G_w by at most M. So a value w within s steps has q n - #{x < w} > -s M, which says w <= x_(rise(s)); likewise from
    above for fall(s). A neighbour's G_w differs by at most m M, which is the proviso. For q = 1/2 every row changes G_w by exactly
    1/2, whichever side it is on, so both ends are reached together by removing the rows between them. QED
    """
    slope, unit = max(q, 1 - q), (order.n + 2) * rows
    level, top, bottom = q.numerator * slope.denominator * order.n, slope.numerator * q.denominator, q.denominator * slope.denominator
    kind: type = np.int64 if 2 * unit * max(top, bottom) + level < 2**62 else object  # a level with many digits counts in Python integers

    def place(steps: Array) -> Array:
        far: Array = np.clip(steps, -2 * unit, 2 * unit).astype(kind)  # M >= 1/2: beyond that both ends have left the table
        exact: Array = -(-(level + far * top) // bottom)
        return np.asarray(np.clip(exact, -1, order.n + 1), dtype=np.int64)

    return box_ladder(order, place, lambda steps: place(-steps), rows)
