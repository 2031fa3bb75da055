"""Distance to instability: how many units must change before something bad can happen. Each moves by at most one between neighbours.

For a statistic: before a table with local sensitivity above a proposed bound is reached. For a mode or a top-k set: before one more
unit could change the answer.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Hashable, Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from sordino.errors import QueryError
from sordino.privacy.relation import Relation
from sordino.sensitivity import average, position
from sordino.sensitivity.order import Bounds, whole

__all__ = ["from_rungs", "iqr", "max", "mean", "median", "min", "mode", "quantile", "top_k", "trimmed_mean", "variance", "winsorized_mean"]


def from_rungs(rungs: Callable[[int], float] | ArrayLike, *, above: float, limit: int | None = None) -> int:
    """The least k with A(x, k) > above, at most the number of rungs given (or `limit` for a function k -> A(x, k)).

    Theorem. For a legal ladder, A(x, k) <= A(x', k + 1), it moves by at most one between neighbours and never exceeds the number of
    steps to a table with local sensitivity above `above`.
    Proof. If A(x, k) > above then A(x', k + 1) > above; a minimum with a constant keeps a step of one. If LS(y) > above at d(x, y)
    = k then A(x, k) >= LS(y) > above. QED
    """
    if math.isnan(above):
        raise QueryError("SRD-103", "above is NaN.", "Give the proposed sensitivity as a number.")
    if callable(rungs):
        if limit is None:
            raise QueryError("SRD-103", "a ladder given as a function has no end.", "Give limit, the largest distance to look at.")
        return next((k for k in range(limit) if rungs(k) > above), limit)
    steps = np.asarray(rungs)[:limit]
    over = np.flatnonzero(steps > above)
    return int(over[0]) if len(over) else len(steps)


def mode(counts: Mapping[Hashable, int], *, relation: str = "add_remove", max_rows: int = 1) -> int:
    """How many units can change before one more could change which key is most frequent, ties going to the lowest key in byte order.

    The top-k set with k = 1.
    """
    return top_k(counts, 1, relation=relation, max_rows=max_rows)


def top_k(counts: Mapping[Hashable, int], k: int, *, relation: str = "add_remove", max_rows: int = 1) -> int:
    """How many units can change before one more could change the set of the k most frequent keys; ties go to the lowest key in bytes.

    Theorem. Let a be the k-th and b the next key by (count falling, key rising), and let an unseen key below all others stand in
    with count 0 where keys run out. With need = c_a - c_b, plus one if a wins a tie, and c rows of a person per key, the distance
    is max(0, ceil(need / c) - 1) when people come and go and max(0, ceil(need / (2 c)) - 1) when they are replaced; without the
    unseen key it would be too large.
    Proof. The set changes when some outsider passes some member. The last member and the first outsider need least, because every
    other pair has a larger difference or the same one and a worse tie. A person moves a difference by at most c (one count rises or
    another falls), by 2 c when replaced. So need / c people, rounded up, can change the set, and one fewer reach a table next to a
    change. Keys nobody holds yet are outsiders too, and when all rows of a vanish the set shrinks: both need no more than c_a. QED
    """
    size, rows = whole("k", k, 1), whole("max_rows", max_rows, 1)
    reach = rows if Relation.of(relation) is Relation.ADD_REMOVE else 2 * rows
    held = [(-whole("a count", count, 0), canonical(key)) for key, count in counts.items() if count != 0]
    ranked = [*sorted(held)[size - 1 : size + 1], (0, (b"", "")), (0, (b"", ""))]  # then keys nobody holds
    (last, member), (first, outsider) = ranked[:2]
    need = first - last + (outsider > member)
    return builtins.max(0, -(-need // reach) - 1)


def canonical(key: Hashable) -> tuple[bytes, str]:
    """The public order of keys: the bytes of their text, then the type's name, so that 1 and "1" stay apart."""
    text = key if isinstance(key, bytes) else str(key).encode("utf-8", "surrogatepass")
    return text, type(key).__name__


def median(x: ArrayLike, *, bounds: Bounds, above: float, relation: str = "add_remove", max_rows: int = 1) -> int | float:
    """The least k with A(x, k) > above for the lower median, infinity if there is none; see `position.median`."""
    return position.median(x, bounds=bounds, relation=relation, max_rows=max_rows).distance(above)


def quantile(
    x: ArrayLike, *, q: float | Fraction | str, bounds: Bounds, above: float, relation: str = "add_remove", max_rows: int = 1
) -> int | float:
    """The least k with A(x, k) > above for rank max(1, ceil(q n)), infinity if there is none; see `position.quantile`."""
    return position.quantile(x, q=q, bounds=bounds, relation=relation, max_rows=max_rows).distance(above)


def min(x: ArrayLike, *, bounds: Bounds, above: float, relation: str = "add_remove", max_rows: int = 1) -> int | float:
    """The least k with A(x, k) > above for the smallest value, infinity if there is none; see `position.min`."""
    return position.min(x, bounds=bounds, relation=relation, max_rows=max_rows).distance(above)


def max(x: ArrayLike, *, bounds: Bounds, above: float, relation: str = "add_remove", max_rows: int = 1) -> int | float:
    """The least k with A(x, k) > above for the largest value, infinity if there is none; see `position.max`."""
    return position.max(x, bounds=bounds, relation=relation, max_rows=max_rows).distance(above)


def iqr(x: ArrayLike, *, bounds: Bounds, above: float, relation: str = "add_remove", max_rows: int = 1) -> int | float:
    """The least k with A(x, k) > above for the interquartile range, infinity if there is none; see `position.iqr`."""
    return position.iqr(x, bounds=bounds, relation=relation, max_rows=max_rows).distance(above)


def mean(x: ArrayLike, *, bounds: Bounds, above: float, relation: str = "add_remove", max_rows: int = 1) -> int | float:
    """The least k with A(x, k) > above for the mean, infinity if there is none; see `average.mean`."""
    return average.mean(x, bounds=bounds, relation=relation, max_rows=max_rows).distance(above)


def trimmed_mean(x: ArrayLike, *, trim: int, bounds: Bounds, above: float, relation: str = "add_remove", max_rows: int = 1) -> int | float:
    """The least k with A(x, k) > above for the mean of the ranks t + 1 to n - t, infinity if there is none; see `average.trimmed_mean`."""
    return average.trimmed_mean(x, trim=trim, bounds=bounds, relation=relation, max_rows=max_rows).distance(above)


def winsorized_mean(
    x: ArrayLike, *, trim: int, bounds: Bounds, above: float, relation: str = "add_remove", max_rows: int = 1
) -> int | float:
    """The least k with A(x, k) > above for the winsorised mean, infinity if there is none; see `average.winsorized_mean`."""
    return average.winsorized_mean(x, trim=trim, bounds=bounds, relation=relation, max_rows=max_rows).distance(above)


def variance(x: ArrayLike, *, bounds: Bounds, above: float, relation: str = "add_remove", max_rows: int = 1) -> int | float:
    """The least k with A(x, k) > above for the variance with 1/n, infinity if there is none; see `average.variance`."""
    return average.variance(x, bounds=bounds, relation=relation, max_rows=max_rows).distance(above)
