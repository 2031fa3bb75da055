"""The ladder of a rank whose two ends move independently: one pair of order statistics per k, for people with several rows."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

from sordino.sensitivity.ladder import Ladder
from sordino.sensitivity.order import Array, Order

__all__ = ["box_ladder", "quantile_box"]


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
