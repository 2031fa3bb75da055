"""Sensitivities that are too small: wrong constants, wrong data, wrong arithmetic, wrong people."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from planted_kit import HAND, Audited, Defined, Integrated, Listed, claims, planted, whole_noise

from sordino.mechanisms import StableHistogram
from sordino.privacy.certificate import LaplaceShift
from sordino.privacy.discrete import DiscreteLaplace
from sordino.sensitivity import exhaustive, smooth

SMALL_WORLD = range(4)


def variance(table):
    return float(np.var(table)) if table else 0.0


def lower_median(table):
    return sorted(table)[(len(table) - 1) // 2] if table else 0


@planted(
    HAND,
    Defined(SMALL_WORLD, (4,), "replace"),
    lambda: (variance, lambda x: smooth.variance(x, bounds=(0, 3), beta=0.3, relation="replace")),
)
def k_for_k_plus_one():
    """The reach of the variance after k replacements leaves out the row that is replaced: k R/n where (k + 1) R/n is needed."""

    def bound(x):
        n, away = len(x), max(3 - np.mean(x), np.mean(x))
        return max(math.exp(-0.3 * k) * (n - 1) / n**2 * min(3, away + k * 3 / n) ** 2 for k in range(n + 1))

    return variance, bound


def _smoothed(first):
    """max over all tables of e^(-0.3 d) first, by iteration in the small world."""
    world = exhaustive(lower_median, SMALL_WORLD, "replace", sizes=3)
    bound = np.array([first(world, i) for i in range(len(world.tables))])
    for _ in world.tables:
        bound = np.maximum(bound, math.exp(-0.3) * bound[world.around].max(axis=1))
    return lambda x: bound[world.at(x)]


@planted(
    "note 000, 13.2",
    Defined(SMALL_WORLD, (3,), "replace"),
    lambda: (lower_median, _smoothed(lambda world, i: world.first[i])),
)
def one_sided_local_sensitivity():
    """LS = max f(x) - f(x') without the absolute value: of two neighbours only the larger sees the gap."""
    return lower_median, _smoothed(lambda world, i: max(world.values[i] - world.values[j] for j in (i, *world.edges[i])))


@planted(
    HAND,
    Defined(SMALL_WORLD, (5,), "replace"),
    lambda: (lower_median, lambda x: smooth.median(x, bounds=(0, 3), beta=0.3, relation="replace", window=1)),
)
def window_without_its_tail():
    """Only the first rungs are read, and what lies beyond the window is left out instead of bounded."""

    def bound(x):
        ranked = [0, *sorted(x), 3]
        return max(ranked[3] - ranked[2], ranked[4] - ranked[3], 0.01)

    return lower_median, bound


@planted(
    HAND,
    Defined(SMALL_WORLD, (0, 1, 2, 3, 4), "add_remove", beta=3.0),
    lambda: (lower_median, lambda x: smooth.median(x, bounds=(0, 3), beta=3.0)),
)
def empty_table_in_the_middle():
    """The median of nobody is the middle of the range, and the bound was proved for the lower end."""
    return (lambda x: lower_median(x) if x else 1.5), lambda x: smooth.median(x, bounds=(0, 3), beta=3.0)


@planted(HAND, Listed([10], [10, 10]), lambda rows, draw: draw(DiscreteLaplace(Fraction(10), sum(rows))))
def width_for_magnitude(rows, draw):
    """A sum of values in [5, 10] with noise for the width 5, although a new row adds up to 10."""
    return draw(DiscreteLaplace(Fraction(5), sum(rows)))


def _by_group(scale):
    return lambda counts, draw: tuple(draw(DiscreteLaplace(Fraction(scale), np.array(counts))).tolist())


@planted(HAND, Listed((4, 4, 4), (5, 5, 5), span=8), _by_group(3))
def groups_without_max_groups(counts, draw):
    """Counts of groups share one epsilon as if groups were disjoint, but one person is in three of them."""
    return _by_group(1)(counts, draw)


@planted(HAND, Listed([0] * 9, [0] * 9 + [7] * 4), lambda rows, draw: draw(DiscreteLaplace(Fraction(4), len(rows))))
def rows_taken_for_people(rows, draw):
    """A count of rows with noise for one, where a person may have four."""
    return draw(DiscreteLaplace(Fraction(1), len(rows)))


def _shown(count):
    histogram = StableHistogram(1, Fraction(1, 1000))
    return lambda rows, draw: draw(DiscreteLaplace(histogram.scale, count(rows))) >= histogram.threshold


@planted(HAND, Listed([], ["p"] * 6, (1.0, 0.001)), _shown(lambda rows: len(set(rows))))
def keys_that_one_person_can_show(rows, draw):
    """A key appears when enough rows hold it, and six rows of one person are enough."""
    return _shown(len)(rows, draw)


@planted(HAND, Integrated(), lambda: claims(1, 0, LaplaceShift(4 / 4, scalar=False)))
def euclidean_sensitivity_for_laplace():
    """Four columns that move together: Laplace noise for their L2 norm 2, where it needs their L1 norm 4."""
    return claims(1, 0, LaplaceShift(4 / 2, scalar=False))


def _noisy(statistic, scale):
    return lambda data, n: np.round(statistic(data) * 16).astype(np.int64) + whole_noise(n, 16 * scale)


HUGE = 2.0**51
FLAT = np.full(1399, HUGE + 0.5)


def squares(x):
    mean = np.cumsum(x)[-1] / len(x)
    return float(((x - mean) ** 2).sum())


@planted(
    "opendp 0.16, sum of squared deviations",
    Audited(FLAT, np.append(HUGE, FLAT[1:])),
    _noisy(lambda x: squares(x - HUGE), 1),
)
def rounded_mean_in_squared_deviations(data, n):
    """The mean is rounded to a double before it is subtracted from every row: one row moves the rounding, and that moves them all."""
    return _noisy(squares, 1)(data, n)


CLIMB = np.full(2**15, 2.0, np.float32)
DESCEND = np.full(150_000, -0.003, np.float32)


@planted(
    "Casacuberta and others 2022",
    Audited(np.concatenate([CLIMB, DESCEND]), np.concatenate([CLIMB, np.float32([1]), DESCEND])),
    _noisy(lambda x: float(np.sum(x, dtype=np.float64)), 2),
)
def sum_in_single_precision(data, n):
    """Past a power of two small rows are rounded away one by one, before it they are rounded up: one row decides for all others."""
    return _noisy(lambda x: float(np.cumsum(x)[-1]), 2)(data, n)


def saturated(rows):
    total = 0
    for row in rows:
        total = max(-(2**15), min(2**15 - 1, total + row))
    return total


UP_DOWN = [100] * 400 + [-100] * 400


@planted("after opendp 0.16, integer sums", Audited(UP_DOWN, [*UP_DOWN[::-1], 1]), _noisy(sum, 100))
def sum_that_saturates(data, n):
    """The sum stops silently at the largest integer, so it depends on the order of the rows, which nobody declared."""
    return _noisy(saturated, 100)(data, n)


def clamped(data, n):
    return sum(min(max(x, 0), 10) for x in data) + whole_noise(n, 10)


@planted("diffprivlib 0.6.6 without bounds (it warns)", Audited([3, 4, 5], [3, 4, 5, 900]), clamped)
def bounds_from_the_data(data, n):
    """The bounds are the smallest and the largest value, and the noise is as wide as they are apart."""
    return sum(data) + whole_noise(n, max(data) - min(data))


PAIRS = ([(0.5, 0.2)], [(0.5, 0.2), (0.9, 0.8)])


def moments(rows, n, sensitivity):
    total = round(100 * sum(x * x for x, _ in rows))
    return total + (whole_noise(n, 100 * sensitivity) if sensitivity else np.zeros(n, int))


@planted("diffprivlib 0.6.6, LinearRegression", Audited(*PAIRS), lambda rows, n: moments(rows, n, 1.0))
def sensitivity_of_the_lower_bound(rows, n):
    """The sensitivity of a sum of squares is taken at the lower bound twice: zero for bounds (0, 1), and no noise at all."""
    lower = 0.0
    return moments(rows, n, max(abs(lower), abs(lower)) ** 2)


@planted(HAND, Audited([0] * 100, [0] * 99 + [10**6]), clamped)
def clipping_the_mean_not_the_rows(data, n):
    """The mean is clipped into [0, 10] and the rows are not, so one row can move it across the whole range."""
    return _noisy(lambda x: 100 * np.clip(np.mean(x), 0, 10), 10)(data, n)
