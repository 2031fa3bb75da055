"""What k rows can do to the numbers a statistic is built of: counts, sums, order statistics and sums of differences."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sordino.sensitivity import position
from sordino.sensitivity.ball import Ball, Move
from sordino.sensitivity.enclosure import Enclosure
from sordino.sensitivity.ladder import Ladder
from sordino.sensitivity.order import Array, rank
from sordino.sensitivity.rank_ladder import box_ladder, window_ladder

if TYPE_CHECKING:
    from sordino.sensitivity.row_term import Row

__all__ = ["count", "differences", "order", "quantile", "total"]


def count(ball: Ball) -> Enclosure:
    """Exactly one more or one less, or the same."""
    if ball.replaces:
        same = np.full(ball.depth + 1, ball.size)
        return ball.enclosed("", same, same, ball.each(lambda move: (0.0, 0.0)))
    step = ball.each(lambda move: (-1.0, -1.0) if move.comes is None else (1.0, 1.0))
    return ball.enclosed("", np.maximum(ball.size - ball.steps, 0), ball.size + ball.steps, step)


def _sums(values: Array, k: int, beyond: float) -> Array:
    """0, the first, the first two, ... up to k of them; where there are no more, or less than that, `beyond`."""
    head = values[:k].astype(np.longdouble)
    each = np.concatenate((np.maximum(head, beyond), np.full(k - len(head), beyond, np.longdouble)))
    return np.asarray(np.concatenate(([0.0], np.cumsum(each))), float)


def total(ball: Ball, row: Row, trim: int) -> Enclosure:
    r"""The sum of a number over all rows, without the `trim` smallest and largest.

    Theorem. Without trimming: k rows that come and go lower the sum by at most the k largest of the rows that might leave and -L, as
    often as one likes; a row that comes adds a number of [L, U], and one that goes takes one away. k
    replacements lower it by at most the k largest of x_i - L. With t rows trimmed on either side: replaced rows as in `window_ladder`,
    with k of them lowering every rank to x_(i-k); a row v that comes adds v clamped to the t-th smallest and the t-th largest, so a
    number of [x_(t-k), x_(n-t+1+k)]; one that goes takes one of [x_(t+1-k), x_(n-t+k)] away; both may do nothing where n - k < 2 t, or
    n - k <= 2 t.
    Proof. Each is the hull over all tables within k, or follows from y_(i) >= x_(i-k) and the same from above; bounds for k at x lie
    inside those for k + 1 at a neighbour because ranks shift by at most one. For the clamped row: what the new row pushes out of the
    trimmed ends comes in. QED
    """
    if trim:
        return _trimmed(ball, row, trim)
    k, n, (low, high), values = ball.depth, ball.size, row.ends, ball.ordered(row).span(1, ball.size)
    here = float(values.astype(np.longdouble).sum())
    if ball.replaces:
        down, up = _sums(values[::-1] - low, min(k, n), 0.0), _sums(high - values, min(k, n), 0.0)
        fell, rose = (np.concatenate((part, np.full(k + 1 - len(part), part[-1]))) for part in (down, up))
    else:
        fell, rose = _sums(values[::-1], k, max(-low, 0.0)), _sums(-values, k, max(high, 0.0))
    step = ball.summed(row, (float(values[0]), float(values[-1])) if n else (low, high))
    return ball.enclosed(row.text, here - fell, here + rose, step)


def _trimmed(ball: Ball, row: Row, trim: int) -> Enclosure:
    k, n, column, text = ball.depth, ball.size, ball.ordered(row), row.text
    middle = float(column.span(trim + 1, n - trim).astype(np.longdouble).sum()) if n > 2 * trim else 0.0
    if ball.replaces:
        if n <= 2 * trim:
            return ball.enclosed(text, np.zeros(k + 1), np.zeros(k + 1), ball.each(lambda move: (0.0, 0.0)))
        wide = column.span(trim + 1 - k, n - trim + k).astype(np.longdouble)  # the middle, with k ranks more at either end
        upto, size = np.concatenate(([0.0], np.cumsum(wide))), n - 2 * trim
        ends = [np.asarray(upto[k + s * ball.steps + size] - upto[k + s * ball.steps], float) for s in (-1, 1)]
        rungs = np.asarray(window_ladder(column, trim + 1, n - trim).rungs(k), float)
        return ball.enclosed(text, ends[0], ends[1], ball.each(lambda move: (-rungs, rungs)))
    below, above = (
        column.span(trim - k + 1, trim + 1)[::-1],
        column.span(n - trim, n - trim + k),
    )  # x_(t+1-k) and x_(n-t+k) for k = 0, 1, ...
    none_comes, none_goes = n - ball.steps[:-1] < 2 * trim, n - ball.steps[:-1] <= 2 * trim
    comes = [np.where(none_comes, pick(part[1:], 0.0), part[1:]) for pick, part in ((np.minimum, below), (np.maximum, above))]
    goes = [np.where(none_goes, pick(part[:-1], 0.0), part[:-1]) for pick, part in ((np.minimum, below), (np.maximum, above))]
    far = np.full(k + 1, np.inf)
    far[0] = 0.0
    step = ball.each(lambda move: (-goes[1], -goes[0]) if move.comes is None else (comes[0], comes[1]))
    return ball.enclosed(text, middle - far, middle + far, step)


def quantile(ball: Ball, row: Row, q: Fraction) -> Enclosure:
    """The order statistic of rank max(1, ceil(q n)), on an empty table the lower bound: its exact ladder from `position`, either way."""
    k, n, column = ball.steps, ball.size, ball.ordered(row)
    bounds = (column.lower, column.upper)
    rungs = position.quantile(column, q=q, bounds=bounds, relation=ball.relation.value).rungs(ball.depth)
    if ball.replaces:
        at = rank(q, n) if n else 0
        return _ranked(ball, row, rungs, (at - k, at + k if n else np.zeros_like(k)))
    if q == 0:
        rise, fall = np.minimum(k, n) + (1 if n else 0) + (k > 0) * (n == 0), np.where(k > 0, 0, 1 if n else 0)
    else:
        slope = max(q, 1 - q)
        rise, fall = (np.array([math.ceil(q * n + side * step * slope) for step in k.tolist()]) for side in (1, -1))
    return _ranked(ball, row, rungs, (fall, rise))


def order(ball: Ball, row: Row, place: int) -> Enclosure:
    """The `place`-th smallest, or with a negative place the largest; where there are too few rows the bound beyond them.

    A row that comes can only push a rank from below down and one from above up: `box_ladder` with one rank for each row.
    """
    k, at, column = ball.steps, place if place > 0 else ball.size + 1 + place, ball.ordered(row)
    if ball.replaces:
        found = window_ladder(column, at, at) if 1 <= at <= ball.size else Ladder.flat(0.0)
        inside = 1 <= at <= ball.size
        return _ranked(ball, row, found.rungs(ball.depth), (at - k * inside, at + k * inside))
    found = box_ladder(column, lambda steps: at + steps, lambda steps: at - steps, 1)
    return _ranked(ball, row, found.rungs(ball.depth), (at - k, at + k), -1 if place > 0 else 1)


def _ranked(ball: Ball, row: Row, rungs: Any, ranks: tuple[Array, Array], comes: int = 0) -> Enclosure:
    """Between two ranks for every k, moving by its ladder; `comes` is the only direction of a row that comes, if there is one."""
    low, high = (np.clip(part, 0, ball.size + 1) for part in ranks)
    values, rungs = ball.ordered(row).span(0, ball.size + 1), np.asarray(rungs, float)

    def step(move: Move) -> tuple[Any, Any]:
        way = 0 if ball.replaces else comes if move.comes is not None else -comes
        return (0.0 if way > 0 else -rungs), (0.0 if way < 0 else rungs)

    return ball.enclosed(row.text, values[low], values[high], ball.each(step))


def differences(ball: Ball, row: Row) -> Enclosure:
    r"""The sum of |x_i - x_j| over all pairs of rows.

    Theorem. With T(v) = sum |x_i - v|, a row v that comes adds T(v), between the least B = T(median) and the larger of T at the ends of
    what is known of v; within k rows it is at least B - k R and at most k R more, R = U - L. One that goes takes as much away. A replaced
    row moves the sum by at most M + k R - max(B - (k + 1) R, 0), M the larger of T(L) and T(U), and by (n - 1) R.
    Proof. T is convex and every row changes T(v), hence its least and its largest value, by at most R. A replacement is the
    difference of two such sums over the n - 1 other rows, which lack one row of the table. QED
    """
    k, n, column, (low, high) = ball.steps[:-1], ball.size, ball.ordered(row), row.ends
    values = column.span(1, n).astype(np.longdouble)
    width, here = high - low, float(((2 * np.arange(1, n + 1) - n - 1) * values).sum())
    least = float(values[(n + 1) // 2 :].sum() - values[: n // 2].sum())
    far = np.full(ball.depth + 1, np.inf)
    far[0] = 0.0

    def largest(box: Any) -> float:
        return float(max(np.abs(values - end).sum() for end in row.within(box)))

    def step(move: Move) -> tuple[Any, Any]:
        if ball.replaces:
            moved = np.minimum(most + k * width - np.maximum(least - (k + 1) * width, 0.0), max(n - 1, 0) * width)
            return -moved, moved
        ends = np.maximum(least - k * width, 0.0), largest(move.comes or move.goes) + k * width
        return ends if move.comes is not None else (-ends[1], -ends[0])

    most = largest(row.columns)
    return ball.enclosed("", here - far, here + far, ball.each(step))
