"""The ladders of order statistics: median, quantiles, extremes, interquartile range."""

from __future__ import annotations

import builtins
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from sordino.privacy.relation import Relation
from sordino.sensitivity.ladder import Ladder
from sordino.sensitivity.order import Array, Bounds, Order, rank, share, whole
from sordino.sensitivity.rank_ladder import box_ladder, quantile_box, staircase_ladder, window_ladder

__all__ = ["iqr", "max", "median", "min", "quantile"]


def door(x: ArrayLike | Order, bounds: Bounds, relation: str, max_rows: int) -> tuple[Order, bool, int]:
    """The column, whether units are replaced, and how many rows a unit holds."""
    kind, rows = Relation.of(relation), whole("max_rows", max_rows, 1)
    order = x if isinstance(x, Order) else Order.of(x, bounds)
    order.room(rows)
    return order, kind is Relation.REPLACE, rows


def replaced(order: Order, at: int, rows: int) -> Ladder:
    """The rank `at` under replacements at a public size; an empty table has no neighbours."""
    return window_ladder(order, at, at, rows) if order.n else Ladder.flat(order.dtype(0).item())


def median(x: ArrayLike | Order, *, bounds: Bounds, relation: str = "add_remove", max_rows: int = 1) -> Ladder:
    """The lower median, rank ceil(n/2): one gap per k when rows come and go, the best window of k + 1 when they are replaced.

    Theorem. Add_remove: A(k) = x_(floor((n+k)/2) + 1) - x_(ceil((n-1-k)/2)), exactly. Replace: `window_ladder` at ceil(n/2),
    exactly.
    Proof. `quantile_box` at q = 1/2 with o = k and p = k + 1: of its two gaps the one with the even sum of n and steps contains the
    other. QED
    """
    order, replace, rows = door(x, bounds, relation, max_rows)
    return replaced(order, rank("0.5", order.n), rows) if replace else quantile_box(order, Fraction(1, 2), rows)


def quantile(x: ArrayLike | Order, *, q: float | Fraction | str, bounds: Bounds, relation: str = "add_remove", max_rows: int = 1) -> Ladder:
    """The order statistic of rank max(1, ceil(q n)).

    When rows come and go: `staircase_ladder`, exact; `quantile_box` when people come and go. When they are replaced:
    `window_ladder`, exact. At q = 0 the rank no longer moves with n and the staircase would miss the gap above the minimum, so that
    case is the minimum.
    """
    level = share(q)
    if level == Fraction(1, 2):
        return median(x, bounds=bounds, relation=relation, max_rows=max_rows)
    if level == 0:
        return min(x, bounds=bounds, relation=relation, max_rows=max_rows)
    if level == 1:
        return max(x, bounds=bounds, relation=relation, max_rows=max_rows)
    order, replace, rows = door(x, bounds, relation, max_rows)
    if replace:
        return replaced(order, rank(level, order.n), rows)
    return staircase_ladder(order, level) if rows == 1 else quantile_box(order, level, rows)


def min(x: ArrayLike | Order, *, bounds: Bounds, relation: str = "add_remove", max_rows: int = 1) -> Ladder:
    """The smallest value.

    Theorem. Add_remove, one row: A(k) = max(x_(k+1) - L, x_(k+2) - x_(1)), the second term only while k + 2 <= n, exactly. People:
    `box_ladder` with rise(s) = s + 1, fall(0) = 1 and fall(s) = 0. Replace: `window_ladder` at rank 1.
    Proof. After k removals the minimum is at most x_(k+1) and a new row can take it to L; or x_(1) stays, its k successors go, and
    its own removal lifts the minimum to x_(k+2). The last row has no successor: its removal leads to the empty table, which counts
    as L. QED
    """
    order, replace, rows = door(x, bounds, relation, max_rows)
    if replace:
        return replaced(order, 1, rows)
    if rows > 1:
        return box_ladder(order, lambda steps: np.minimum(steps, order.n) + 1, lambda steps: np.where(steps > 0, 0, 1), rows)

    def block(k0: int, k1: int) -> Array:
        ends = order.span(k0 + 1, k1 + 1)
        out = ends[:-1] - order.dtype(order.lower)
        real = builtins.max(0, builtins.min(k1, order.n - 1) - k0)
        out[:real] = np.maximum(out[:real], ends[1 : real + 1] - order.at(1))
        return out

    return Ladder(block, order.width, order.n)


def max(x: ArrayLike | Order, *, bounds: Bounds, relation: str = "add_remove", max_rows: int = 1) -> Ladder:
    """The largest value.

    Theorem. Add_remove, one row: A(k) = max(U - x_(n-k), x_(n) - x_(n-k-1)), exactly. People: `quantile_box` at q = 1. Replace:
    `window_ladder` at rank n.
    Proof. The mirror of the minimum, except that the empty table counts as L, which is what x_(0) is: so the last removal needs no
    exception. QED
    """
    order, replace, rows = door(x, bounds, relation, max_rows)
    if replace:
        return replaced(order, order.n, rows)
    if rows > 1:
        return quantile_box(order, Fraction(1), rows)

    def block(k0: int, k1: int) -> Array:
        ends = order.span(order.n - k1, order.n - k0)[::-1]
        return np.asarray(np.maximum(order.dtype(order.upper) - ends[:-1], order.at(order.n) - ends[1:]))

    return Ladder(block, order.width, order.n)


def iqr(x: ArrayLike, *, bounds: Bounds, relation: str = "add_remove", max_rows: int = 1) -> Ladder:
    """The gap between the quartiles, ranks max(1, ceil(n/4)) and max(1, ceil(3n/4)).

    Theorem. Replace, one row: A = max(A_lower, A_upper) exactly, and 0 when n <= 1. Otherwise A_lower + A_upper, at most R, is a
    legal ladder; its first rung under add_remove is replaced by the exact local sensitivity.
    Proof. One replacement moves all order statistics the same way, so the difference changes by at most the larger of the two
    changes, and each of them can be made alone because the ranks differ. Otherwise the triangle inequality. A_0 may be exact
    because LS(x) is at most every A(x', 1). QED
    """
    order, replace, rows = door(x, bounds, relation, max_rows)
    order.room(2)
    if replace and order.n <= 1:
        return Ladder.flat(order.dtype(0).item())
    low = quantile(order.values, q="0.25", bounds=bounds, relation=relation, max_rows=max_rows)
    high = quantile(order.values, q="0.75", bounds=bounds, relation=relation, max_rows=max_rows)
    if replace and rows == 1:
        return low.larger(high)

    def block(k0: int, k1: int) -> Array:
        out: Array = np.minimum(low.block(k0, k1) + high.block(k0, k1), order.width)
        if k0 == 0 and not replace and rows == 1:
            out[0] = local_iqr(order)
        return out

    return Ladder(block, order.width, builtins.max(order.n, 1))  # rung 0 is replaced, so even the empty table has one rung to climb


def local_iqr(order: Order) -> Any:
    """The largest change of the interquartile range when one row is added or removed, from the few neighbours that can be extreme.

    Adding v makes the rank r equal to v clamped to [x_(r-1), x_(r)], so the change is piecewise linear in v with kinks at four
    order statistics; removing rank p makes it x_(r) or x_(r+1), so only the position of p among the two ranks matters.
    """
    n = order.n
    here = order.at(rank("0.75", n)) - order.at(rank("0.25", n)) if n else order.dtype(0)
    low, high = rank("0.25", n + 1), rank("0.75", n + 1)
    kinks = [order.dtype(order.lower), order.dtype(order.upper), *order.span(low - 1, low), *order.span(high - 1, high)]
    there = [np.clip(v, *order.span(high - 1, high)) - np.clip(v, *order.span(low - 1, low)) for v in kinks]
    low, high = rank("0.25", n - 1), rank("0.75", n - 1)
    if n == 1:
        there.append(order.dtype(0))
    elif n > 1:
        there += [order.at(high + (high >= p)) - order.at(low + (low >= p)) for p in (1, low + 1, high + 1) if p <= n]
    return builtins.max(abs(value - here) for value in there)
