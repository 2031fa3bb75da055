"""Global sensitivity: the most one unit can move a statistic on any table. For a scalar every norm agrees; histograms and vectors differ.

Under add_remove the size is private and n is ignored: the worst table of any size counts. Under replace n is public; the averages
need it. `max_rows` is how many rows one unit holds.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence
from fractions import Fraction

from sordino.errors import QueryError
from sordino.privacy.relation import Relation
from sordino.sensitivity.order import Bounds, Number, limits, share, whole

__all__ = [
    "count", "histogram", "iqr", "max", "mean", "median", "min", "quantile", "sum", "trimmed_mean", "variance", "vector", "winsorized_mean",
]  # fmt: skip


def door(
    bounds: Bounds, n: int | None, relation: str, norm: float, max_rows: int, *, needs_size: bool
) -> tuple[Number, int | None, Relation]:
    """The width of the bounds, the size and the relation, checked."""
    lower, upper = limits(bounds)
    kind = Relation.of(relation)
    whole("max_rows", max_rows, 1)
    if norm not in (1, 2, math.inf):
        raise QueryError("SRD-103", f"norm is {norm!r}.", "Use norm=1, norm=2 or norm=math.inf.")
    if n is not None:
        n = whole("n", n, 0)
    elif needs_size and kind is Relation.REPLACE:
        raise QueryError("SRD-103", "n is missing.", "Under replace the size is public: give n.")
    return upper - lower, n, kind


def only_replace(name: str, relation: str) -> None:
    """Refuse add_remove where only a fixed public size has a theorem."""
    if Relation.of(relation) is not Relation.REPLACE:
        raise QueryError("SRD-107", f"{name} has no bound under add_remove.", 'Use relation="replace" with a public size.')


def kept(n: int, trim: int) -> int:
    """How many rows a trimmed mean averages."""
    if n - 2 * whole("trim", trim, 0) < 1:
        raise QueryError("SRD-103", f"trim={trim} leaves nothing of {n} rows.", "Trim fewer than half of the rows.")
    return n - 2 * trim


def median(*, bounds: Bounds, n: int | None = None, relation: str = "add_remove", norm: float = 1, max_rows: int = 1) -> Number:
    """The whole width R: half a table at each bound is one row away from flipping.

    Theorem. The global sensitivity of every order statistic is R, and 0 for replacements in an empty table.
    Proof. All values lie in [L, U]. Replace: r - 1 rows at L, n - r at U and one row that moves from L to U. Add_remove: {U}
    against the empty table. QED
    """
    width, size, kind = door(bounds, n, relation, norm, max_rows, needs_size=False)
    return type(width)(0) if kind is Relation.REPLACE and size == 0 else width


def quantile(
    *, q: float | Fraction | str, bounds: Bounds, n: int | None = None, relation: str = "add_remove", norm: float = 1, max_rows: int = 1
) -> Number:
    """The whole width, as for the median."""
    share(q)
    return median(bounds=bounds, n=n, relation=relation, norm=norm, max_rows=max_rows)


def min(*, bounds: Bounds, n: int | None = None, relation: str = "add_remove", norm: float = 1, max_rows: int = 1) -> Number:
    """The whole width, as for the median."""
    return median(bounds=bounds, n=n, relation=relation, norm=norm, max_rows=max_rows)


def max(*, bounds: Bounds, n: int | None = None, relation: str = "add_remove", norm: float = 1, max_rows: int = 1) -> Number:
    """The whole width, as for the median."""
    return median(bounds=bounds, n=n, relation=relation, norm=norm, max_rows=max_rows)


def iqr(*, bounds: Bounds, n: int | None = None, relation: str = "add_remove", norm: float = 1, max_rows: int = 1) -> Number:
    """The whole width; a single row has no spread, so nothing can change.

    Theorem. R, and 0 for replacements when n <= 1.
    Proof. The interquartile range lies in [0, R]; with n >= 2 the quartiles have different ranks and one row moves the upper one
    from L to U while the lower one stays at L. Add_remove: {L} against {L, U}. With n = 1 both quartiles are the same row. QED
    """
    width, size, kind = door(bounds, n, relation, norm, max_rows, needs_size=False)
    return type(width)(0) if kind is Relation.REPLACE and size in (0, 1) else width


def mean(*, bounds: Bounds, n: int | None = None, relation: str = "add_remove", norm: float = 1, max_rows: int = 1) -> float:
    """Replace: R min(m, n) / n. Add_remove, the empty table at the midpoint: R m / (m + 1), so half the width for single rows.

    Theorem. Both are attained.
    Proof. Replace: m terms move by at most R each. Add_remove: joining j <= m rows B to a non-empty A moves the mean by j / (|A| +
    j) |mean B - mean A| <= R m / (m + 1), with equality for one row at U and m at L; the empty table is at most R/2 away. QED
    """
    width, size, kind = door(bounds, n, relation, norm, max_rows, needs_size=True)
    if kind is Relation.ADD_REMOVE:
        return width * max_rows / (max_rows + 1)
    return width * builtins.min(max_rows, size) / size if size else 0.0


def trimmed_mean(*, trim: int, bounds: Bounds, n: int, relation: str = "add_remove", norm: float = 1, max_rows: int = 1) -> float:
    """R min(m, n - 2t) / (n - 2t) for replacements.

    Theorem. One replacement moves the sum of ranks t+1..n-t by at most R, and the mean never moves by more than R.
    Proof. Upwards each x_(i) moves to at most x_(i+1): the changes telescope to x_(n-t+1) - x_(t+1) <= R. QED
    """
    only_replace("trimmed_mean", relation)
    width, _, _ = door(bounds, n, relation, norm, max_rows, needs_size=True)
    middle = kept(n, trim)
    return width * builtins.min(max_rows, middle) / middle


def winsorized_mean(*, trim: int, bounds: Bounds, n: int, relation: str = "add_remove", norm: float = 1, max_rows: int = 1) -> float:
    """R (t + m) / n for m replacements, and R when fewer than m + 1 ranks are left in the middle.

    Theorem. t x_(t+1) + (x_(t+1) + ... + x_(n-t)) + t x_(n-t) moves by at most (t + m) R when m < n - 2t and by n R otherwise, and
    this is attained.
    Proof. Upwards each x_(i) moves to at most x_(i+m). The change is linear in the gaps of the table, so largest when there is one
    gap of width R, after rank p: then the middle contributes at most min(m, n - 2t), and the two multiples t only both if p is
    within m above t + 1 and above n - t, which needs m >= n - 2t. QED
    """
    only_replace("winsorized_mean", relation)
    width, _, _ = door(bounds, n, relation, norm, max_rows, needs_size=True)
    return width * (trim + max_rows if max_rows < kept(n, trim) else n) / n


def variance(*, bounds: Bounds, n: int, relation: str = "add_remove", norm: float = 1, max_rows: int = 1) -> float:
    """R^2 u (n - u) / n^2 with u = min(m, floor(n/2)), for the variance with 1/n and m replacements; R^2 (n - 1) / n^2 for one.

    Theorem. Both are attained.
    Proof. n^2 times the variance is the sum of squared differences of all pairs. With c the mean of the n - m other rows and SS
    their sum of squares about it, the pairs that involve the m rows B contribute (n - m) sum_B (b - c)^2 + m SS + the pairs inside
    B. That is at least m SS, reached when all of B is at c. It is convex in each b, so largest with u of them at U and the rest at
    L, and convex in c, so largest with c at a bound: u (n - u) R^2 more than m SS. All others at L and u rows going from L to U
    attain it. QED
    """
    only_replace("variance", relation)
    width, _, _ = door(bounds, n, relation, norm, max_rows, needs_size=True)
    moved = builtins.min(max_rows, n // 2)
    return width**2 * moved * (n - moved) / n**2 if n else 0.0


def count(*, n: int | None = None, relation: str = "add_remove", norm: float = 1, max_rows: int = 1) -> int:
    """How many rows satisfy a condition: m, under both relations.

    Theorem. m is attained.
    Proof. A unit's m rows count between 0 and m. Add_remove: all of them satisfy the condition or are not there. Replace: all of them do
    or none does. With n rows no more than n can change. QED
    """
    _, size, kind = door((0, 1), n, relation, norm, max_rows, needs_size=False)
    return max_rows if kind is Relation.ADD_REMOVE or size is None else builtins.min(max_rows, size)


def sum(*, bounds: Bounds, n: int | None = None, relation: str = "add_remove", norm: float = 1, max_rows: int = 1) -> Number:
    """Add_remove: m times the bound farther from 0. Replace: m times the width.

    Theorem. Both are attained.
    Proof. A unit's rows add up to between m L and m U. Joining or leaving moves the sum by that much, so by m max(|L|, |U|) at most;
    replacing them by m (U - L) at most. Rows at the bounds attain it. QED
    """
    return vector(bounds=[bounds], n=n, relation=relation, norm=1, max_rows=max_rows)


def histogram(*, n: int | None = None, relation: str = "add_remove", norm: float = 1, max_rows: int = 1) -> float:
    """Counts of bins, a row in one of them. Add_remove: m in every norm. Replace: 2 m in L1, m sqrt 2 in L2, m in the largest bin.

    Theorem. Both are attained, with two bins or more.
    Proof. A unit's rows make a vector of counts that adds up to m at most; of those the longest in every norm is m in one bin. Replace
    subtracts one such vector from another: |v - w|_p <= m 2^{1/p}, with equality for two different bins. QED
    """
    _, size, kind = door((0, 1), n, relation, norm, max_rows, needs_size=False)
    rows = max_rows if size is None or kind is Relation.ADD_REMOVE else builtins.min(max_rows, size)
    return rows if kind is Relation.ADD_REMOVE or norm == math.inf else rows * 2 if norm == 1 else rows * math.sqrt(2)


def vector(*, bounds: Sequence[Bounds], n: int | None = None, relation: str = "add_remove", norm: float = 1, max_rows: int = 1) -> Number:
    """Sums of several columns, each with bounds of its own, a row in all of them: m times the norm of what one row adds or changes.

    Theorem. Add_remove: m |(max(|L_i|, |U_i|))_i|_p. Replace: m |(U_i - L_i)_i|_p. Both are attained.
    Proof. One row adds a vector inside the box, whose farthest corner from 0 is the first; two rows differ by at most the box's
    diagonal, the second. The triangle inequality gives m times that, and m equal rows attain it. QED
    """
    if not bounds:
        raise QueryError("SRD-104", "there are no columns.", "Give bounds=[(low, high), ...], one pair per column.")
    _, size, kind = door(bounds[0], n, relation, norm, max_rows, needs_size=False)
    ends = [limits(pair) for pair in bounds]
    away = kind is Relation.ADD_REMOVE
    moves = [builtins.max(abs(low), abs(high)) if away else high - low for low, high in ends]
    rows = max_rows if size is None or away else builtins.min(max_rows, size)
    if norm == math.inf or len(moves) == 1:
        return rows * builtins.max(moves)
    return rows * (builtins.sum(moves) if norm == 1 else math.sqrt(builtins.sum(move * move for move in moves)))
