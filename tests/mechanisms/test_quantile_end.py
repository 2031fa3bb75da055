"""An end of a quantile's interval: the law against its definition, small worlds, exact coverage on every small table, and twins."""

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from mechanism_world import RELATIONS, worst_pair

from sordino.errors import QueryError
from sordino.lab.world import exact_law
from sordino.mechanisms import QuantileEnd
from sordino.mechanisms.quantile_end import distances

KEPT = {"whole table": lambda t: t, "rows below 3": lambda t: tuple(v for v in t if v != 3)}
LEVELS = ("1/10", "1/3", "1/2", "9/10")
HIGH = 6


def tables(size):
    """Every table of so many rows on the points 0..6."""
    return itertools.combinations_with_replacement(range(HIGH + 1), size)


def quantile_ranks(q, n):
    """The ranks a q-quantile of n rows is read from, by either definition and by SQL's interpolation: the lowest and the highest."""
    at = q * n + 1 - q
    low = min(math.ceil(q * n), math.floor(q * n) + 1, math.floor(at))
    high = max(math.ceil(q * n), math.floor(q * n) + 1, math.ceil(at))
    return max(low, 1), min(max(high, 1), n)


def missed(end, table):
    """The exact probability that the end is on the wrong side of the quantile."""
    x, law = np.array(table, np.int64), np.exp(end.log_probability(np.array(table, np.int64)))
    low, high = quantile_ranks(end.q, len(x))
    wrong = end.points < x[high - 1] if end.upper else end.points > x[low - 1]
    return float(law[wrong].sum())


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("q", LEVELS)
def test_on_every_small_table_the_end_is_beyond_the_quantile_as_often_as_promised(q, upper):
    """Gaps, atoms, all ties, one row, everything at a bound: all tables of up to four rows on seven points, at three prices."""
    worst = 0.0
    for epsilon, centre, finest in itertools.product(("0.5", "2", "8"), (0, 3, 6), (1, 2)):
        end = QuantileEnd(Fraction(epsilon), Fraction(q), high=HIGH, centre=centre, finest=finest, upper=upper)
        worst = max(worst, *(missed(end, table) for size in range(1, 5) for table in tables(size)))
    assert worst <= 0.025


def hostile(n):
    """Tables of n rows that make a median hard to enclose: gaps at, above and below the rank, atoms, all equal, at the bounds."""
    half, top = n // 2, 10**6
    yield [0] * half + [top] * (n - half)
    for shift in (-20, -1, 1, 20):
        yield [100] * max(0, half + shift) + [top - 100] * min(n, n - half - shift)
    yield [500] * n
    yield [0] * n
    yield [top] * n
    yield [*range(1000, 1000 + half), *[7000] * (n - half)]
    yield [1, *[2] * (n - 2), top]


@pytest.mark.parametrize("n", [1, 2, 7, 40, 61, 62, 63, 200, 1000])
@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize("centre", [0, 500, 30_000, 10**6])
def test_on_hostile_tables_too_and_wherever_the_middle_fell(n, upper, centre):
    for q, epsilon, rare in (("1/2", "0.3", "1/40"), ("9/10", "1", "1/40"), ("1/2", "1", "1/200")):
        end = QuantileEnd(Fraction(epsilon), Fraction(q), high=10**6, centre=centre, upper=upper, rare=Fraction(rare))
        for table in hostile(n):
            assert missed(end, table[:n]) <= float(end.rare), (q, epsilon, table[:3], table[-3:])


def test_the_offset_is_needed():
    """On a staircase the promise is kept with nothing to spare: a rank or two less would break it."""
    end = QuantileEnd(Fraction(2), high=HIGH, centre=3)
    worst = max(missed(end, table) for size in range(1, 7) for table in tables(size))
    assert 0.024 < worst <= 0.025


def test_of_nobody_the_ends_are_most_likely_the_bounds():
    for upper in (False, True):
        end = QuantileEnd(Fraction(1), high=10**6, centre=30_000, upper=upper)
        law = np.exp(end.log_probability(np.array([], np.int64)))
        assert law[-1 if upper else 0] > 0.95


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("upper", [False, True])
def test_no_small_world_loses_more_than_epsilon(relation, kept, rows, upper):
    for q, rare in (("1/2", "1/40"), ("9/10", "1/4"), ("1/3", "1/2")):
        end = QuantileEnd(1, q, high=3, centre=1, upper=upper, rare=rare, max_rows=rows, relation=relation)
        assert worst_pair(end, relation, read=KEPT[kept], rows=rows)[1] <= 1


@pytest.mark.parametrize("upper", [False, True])
def test_the_law_is_the_one_of_the_definition(upper):
    """Rows rounded to points, rows added at the bounds, and the distance of the target from the ranks of each point, by hand."""
    end = QuantileEnd(Fraction(1, 2), "0.3", high=20, centre=7, finest=2, upper=upper)
    points, added = end.points.tolist(), math.ceil(end.offset)
    for table in ([], [4], [0, 20], [7, 7, 8, 9, 9], [3] * 30 + [18] * 20, list(range(21)) * 3):
        moved = [min(p for p in points if p >= v) if upper else max(p for p in points if p <= v) for v in table]
        moved += [0] * added + [20] * added
        aim = end.q * len(table) + added + (end.offset if upper else -end.offset)
        ranks = [(sum(v < p for v in moved), sum(v <= p for v in moved)) for p in points]
        score = [min(float(max(0, below - aim, aim - upto)), end.clip) for below, upto in ranks]
        weights = np.exp(-float(end.rate) * np.array(score))
        expected = weights / weights.sum()
        assert np.exp(end.log_probability(np.array(table, np.int64))) == pytest.approx(expected, rel=1e-9)
        drawn = exact_law(end, table)
        assert [float(drawn.get(p, 0)) for p in points] == pytest.approx(expected, rel=1e-6)


def test_points_are_few_whatever_the_grid():
    assert len(distances(10**6, 1)) < 146
    for high, finest in ((10**6, 1), (2**48, 2**28), (120, 1), (1, 1), (2, 1)):
        for centre in (0, high // 3, high):
            end = QuantileEnd(1, high=high, centre=centre, finest=finest)
            assert len(end.points) <= end.most <= min(295, high + 1)
            assert end.points[0] == 0
            assert end.points[-1] == high
            assert centre in end.points
    end = QuantileEnd(Fraction(3, 10), high=10**6, centre=30_000)
    assert 30 < end.offset < 31.3


def test_around_another_centre_everything_but_the_points_stays():
    end = QuantileEnd(1, high=1000, centre=500, upper=True)
    moved = end.around(20)
    assert moved == QuantileEnd(1, high=1000, centre=20, upper=True)
    assert moved.points.tolist() == QuantileEnd(1, high=1000, centre=20, upper=True).points.tolist()
    assert end.centre == 500


def test_an_end_too_far_away_is_refused_at_the_door():
    with pytest.raises(QueryError, match="ranks away"):
        QuantileEnd("0.000001", high=10**6)


# mistakes, each caught by coverage or by privacy


@dataclass(frozen=True)
class Unpadded(QuantileEnd):
    """No public rows at the bounds: the first and the last point have only the ranks of their own rows."""

    def log_weights(self, ranks, n):
        aim = self.q * n + (self.offset if self.upper else -self.offset)
        below, upto = np.append(0, ranks), np.append(ranks, n)
        score = np.minimum(np.maximum(np.maximum(below - float(aim), float(aim) - upto), 0), self.clip)
        return -float(self.rate) * score


@dataclass(frozen=True)
class Nearest(QuantileEnd):
    """Rows rounded to the nearest point: half of them to the wrong side."""

    def ranks(self, window):
        middles = (self.points[1:] + self.points[:-1] + 1) // 2
        return np.clip(window.first - 1 + np.searchsorted(window.values, middles, side="left"), 0, window.n)


@dataclass(frozen=True)
class Typical(QuantileEnd):
    """The offset that is enough on smooth data."""

    @property
    def offset(self):
        return Fraction(math.log(20) / float(self.rate)).limit_denominator(1024)


@dataclass(frozen=True)
class TrueMiddle(QuantileEnd):
    """Points laid around the rows' own median instead of a drawn one."""

    def release(self, ask, draw):
        window = ask(self.request)
        return QuantileEnd.release(self.around(int(window.values[len(window.values) // 2])), lambda request: window, draw)


def test_planted_mistakes_are_caught():
    few = [table for size in (1, 2, 3) for table in tables(size)]
    assert max(missed(Unpadded(Fraction(1, 2), high=HIGH, centre=3), table) for table in few) > 0.1
    coarse = [[p] * 300 for p in range(0, 10**6, 9_973)]
    near = Nearest(Fraction(1), high=10**6, centre=500_000, finest=100_000)
    assert max(missed(near, table) for table in coarse) > 0.9
    gap = [100] * 500 + [10**6 - 100] * 500
    assert missed(Typical(Fraction(3, 10), high=10**6, centre=30_000), gap) > 0.5
    assert missed(QuantileEnd(Fraction(3, 10), high=10**6, centre=30_000), gap) <= 0.025
    assert worst_pair(TrueMiddle(1, high=40, centre=0, finest=3), "replace")[1] > 1
