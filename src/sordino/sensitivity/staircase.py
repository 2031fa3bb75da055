"""The ladder of a quantile when rows come and go: the rank itself moves with n."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from sordino.sensitivity.ladder import Ladder
from sordino.sensitivity.order import Array, Order

__all__ = ["staircase_ladder"]

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
