"""Several quantiles in one draw: the exponential mechanism over rising tuples of grid points, from windows of order statistics.

Grid points in runs of equal rank: the values that occur, and the gaps between them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.listing import claim, listed
from sordino.mechanisms.path import Paths, chances
from sordino.mechanisms.quantile_exponential import WIDEST, Measure, QuantileExponential
from sordino.privacy.certificate import Certificate, Finite, Later
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import Categorical, UniformInteger
from sordino.privacy.number import as_epsilon, exact
from sordino.privacy.relation import Relation
from sordino.summaries import Ask, Draw, RankWindow, Window
from sordino.summaries.request import rank_window

__all__ = ["JointExponential", "RankCells", "as_levels", "rank_cells"]

Integers = NDArray[np.int64]
RARE = math.log(1e6)  # the floor weighs this much less than a single tuple at the quantiles
CUT = 36.0  # ln of how far below the floor the paths outside the tube are
DEEPEST = 1290.0  # how many powers of e doubles can tell apart in one draw
FINEST = 10**6  # the common denominator of the levels: ranks times this stay below 2^62


def as_levels(levels: Any) -> tuple[Fraction, ...]:
    """Quantile levels that rise from above 0 to below 1."""
    found = tuple(exact(q, "q") for q in levels) if isinstance(levels, tuple | list) else ()
    if not found or any(a >= b for a, b in pairwise((Fraction(0), *found, Fraction(1)))):
        what = "the levels do not rise, or there are none."
        raise QueryError("SRD-103", what, "Give rising levels strictly between 0 and 1, such as (0.25, 0.5, 0.75).")
    return found


@dataclass(frozen=True)
class RankCells:
    """The points first..last of each cell, in rising order; how many rows lie below it and up to it; the mass of its points."""

    first: Integers
    last: Integers
    below: Integers
    upto: Integers
    mass: Integers


def rank_cells(windows: Sequence[Window], measure: Measure) -> RankCells:
    """Every cell the windows know: the points between two neighbouring windows that do not touch belong to none.

    A value that fills the edge of a window counts as far as the window sees it, or, where it reaches into the next window, as far as
    that one does.
    """
    n = windows[0].n
    ranks = np.concatenate([window.first + np.arange(len(window.values)) for window in windows])
    values, place = np.unique(np.concatenate([window.values for window in windows]), return_inverse=True)
    below, upto = np.full(len(values), n, np.int64), np.zeros(len(values), np.int64)
    np.minimum.at(below, place, np.clip(ranks - 1, 0, n))
    np.maximum.at(upto, place, np.clip(ranks, 0, n))
    touch = upto[:-1] == below[1:]
    first = np.insert(values[1:], np.arange(len(values) - 1), values[:-1] + 1)  # a gap, then the value after it
    last = np.insert(values[1:], np.arange(len(values) - 1), np.where(touch, values[1:] - 1, values[:-1]))
    cells = [np.concatenate([values[:1], first]), np.concatenate([values[:1], last])]
    ends = [np.concatenate([end[:1], np.insert(end[1:], np.arange(len(values) - 1), upto[:-1])]) for end in (below, upto)]
    held = cells[1] >= cells[0]
    first, last, below, upto = (part[held] for part in (*cells, *ends))
    return RankCells(first, last, below, upto, measure.total(last) - measure.total(first - 1))


@listed("joint exponential mechanism", "jointexp", "joint quantiles", note="004 goal (many quantiles)")
@dataclass(frozen=True)
class JointExponential:
    r"""Choose rising grid points y_1 <= .. <= y_M with weight mass(y) (e^{-c TV(y)} + e^{-c K}), c = epsilon/(2 Delta).

    TV(y) is the least of sum_j |(r_j - r_{j-1}) - (q_j - q_{j-1}) n| over ranks r_j between #{x < y_j} and #{x <= y_j}, with r_0 = 0,
    r_{M+1} = n, q_0 = 0 and q_{M+1} = 1: how many rows are on the wrong side of some y_j, ties counted wherever they serve best.
    mass(y) is the product of the points' masses over the factorials of how often each occurs: M points drawn alone, then sorted.

    Theorem. With Delta = 2 m (1 - min_j (q_j - q_{j-1})) under add_remove and 2 m under replace the choice is epsilon-DP, of bounded
    range epsilon, for every public K and mass. For one level it is the quantile mechanism.
    Proof. A row more puts a unit of length on the axis of ranks. Take the best ranks before, and add to each r_j the part of that unit
    below it: they are legal after, r_j - r_{j-1} grows by o_j >= 0 with sum_j o_j = 1, and the targets by g_j = q_j - q_{j-1}, so TV
    grows by at most sum_j |o_j - g_j| <= 2 (1 - min g), a convex function at its worst corner. Taking the unit out again, anywhere in
    the row's own ties, gives the same bound the other way. Up to m rows more: the o_j sum to m. Up to m rows away and up to m new:
    sum_j |o'_j - o_j - (sum o' - sum o) g_j| <= 2 m, by the same argument. Both terms of the weight then change by at most e^{c Delta},
    so does their sum, and so does the normaliser: bounded range 2 c Delta.
    An offset r_j - q_j n beyond R = K/2 + 18/c means TV >= 2R, hence e^{-c TV} <= e^{-36} e^{-c K}: leaving such tuples only their floor
    moves no log-weight by more than e^{-36}, and windows of radius R + 1 tell all other weights. Sums are computed in logarithms; `slack`
    bounds their error and is paid out of epsilon. Inside a cell uniform integers of its mass are drawn, so every point has its exact
    mass. QED
    The mechanism is Gillenwater, Joseph and Kulesza's (2021), with ties, a floor and a local window.
    """

    epsilon: Fraction
    levels: tuple[Fraction, ...] = (Fraction(1, 4), Fraction(3, 4))
    low: int = 0
    high: int = 1
    max_rows: int = 1
    relation: Relation = Relation.ADD_REMOVE
    base: str = "uniform"
    origin: int = 0
    unit: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "levels", as_levels(self.levels))
        object.__setattr__(self, "relation", Relation.of(self.relation))
        _ = self.single
        if self.denominator > FINEST or self.depth > DEEPEST or 10 * self.slack > self.epsilon or self.places >= 2**62:
            what = f"{len(self.levels)} levels at epsilon {float(self.epsilon):g} on {self.high - self.low + 1:,} grid points."
            raise QueryError("SRD-103", what, "Ask for fewer or rounder levels, or use ApproximateQuantiles.")

    @property
    def gaps(self) -> tuple[Fraction, ...]:
        return tuple(b - a for a, b in pairwise((Fraction(0), *self.levels, Fraction(1))))

    @cached_property
    def single(self) -> QuantileExponential:
        """The same grid with one level: it checks the parameters and holds the base measure."""
        where = (self.low, self.high, self.max_rows, self.relation, self.base, self.origin, self.unit)
        return QuantileExponential(self.epsilon, self.levels[0], *where)

    @property
    def measure(self) -> Measure:
        return self.single.measure

    @property
    def denominator(self) -> int:
        return math.lcm(*(q.denominator for q in self.levels))

    @property
    def reach(self) -> Fraction:
        """Delta, the sensitivity of TV."""
        return 2 * self.max_rows * (Fraction(1) if self.relation is Relation.REPLACE else 1 - min(self.gaps))

    @property
    def rate(self) -> Fraction:
        """c, the factor of TV in the exponent."""
        return (self.epsilon - self.slack) / (2 * self.reach)

    @property
    def spread(self) -> float:
        """ln of the mass of all tuples over that of the least."""
        return len(self.levels) * math.log(int(self.measure.total(self.high)) / self.measure.least)

    @property
    def depth(self) -> float:
        """How far apart, in powers of e, the weights of one draw can be and matter."""
        return 2 * self.spread + RARE + CUT + math.lgamma(len(self.levels) + 1)

    def _radius(self, rate: float) -> int:
        return min(math.ceil((self.spread + RARE + CUT) / (2 * rate)), WIDEST)

    @cached_property
    def slack(self) -> Fraction:
        r"""What rounding may cost, in epsilon.

        A logarithm is at most B = (M+1)(spread + depth) + 2cR in size, and one operation on it errs by at most 4 u B, u = 2^-53. With at
        most N = 4 M (2R + 3) states in a level a sum goes through 2 sqrt(N) + 2 log2(N) + 8 M + 12 operations, a weight through M sums,
        and the probability of a path through two weights per level; the price counts both tables.
        """
        count = len(self.levels)
        rate = float(self.epsilon / (2 * self.reach))
        radius = self._radius(rate / 2)
        states = 4 * count * (2 * radius + 3)
        sums = 2 * math.sqrt(states) + 2 * math.log2(states) + 8 * count + 12
        size = (count + 1) * (self.spread + self.depth) + 2 * rate * radius
        return Fraction(math.ceil(4 * count * (count + 1) * sums * size * 2**8), 2**59) + Fraction(4, 2**50)

    @cached_property
    def radius(self) -> int:
        """R: offsets beyond it weigh no more than the floor."""
        return self._radius(float(self.rate))

    @property
    def places(self) -> int:
        """A bound on how many pairs of an offset and a cell there are."""
        return (2 * self.radius + 4) * self.denominator * (4 * len(self.levels) * (self.radius + 3))

    @property
    def floor(self) -> float:
        """c K: what the radius allows, or as much as anybody needs."""
        return max(0.0, min(2 * float(self.rate) * self.radius - CUT, self.spread + RARE))

    def paths(self, windows: Sequence[Window]) -> tuple[RankCells, Paths]:
        """The cells of a table and the paths through them."""
        cells, n, whole = rank_cells(windows, self.measure), windows[0].n, self.denominator
        targets = (0, *(int(q * whole) * n for q in self.levels))
        masses = np.log(cells.mass) - math.log(int(self.measure.total(self.high)))
        return cells, Paths(cells.below * whole, cells.upto * whole, masses, targets, float(self.rate) / whole, self.radius * whole)

    def release(self, ask: Ask, draw: Draw) -> tuple[int, ...]:
        windows = [ask(RankWindow(q, self.radius + 1)) for q in self.levels]
        known = (self, *map(id, windows))
        if known not in windows[0].memo:  # a simulation draws from the same windows again and again
            windows[0].memo[known] = (*self.paths(windows), windows[1:])
        cells, paths, _ = windows[0].memo[known]
        visits = paths.draw(draw)
        weights = np.array([np.logaddexp.reduce(paths.last), -self.floor - math.lgamma(len(self.levels) + 1)])
        anywhere = draw(Categorical(chances(weights))) == 1
        spans = []
        for cell, times in visits:
            start = int(self.measure.total(cells.first[cell] - 1))
            spans += [(start, int(cells.mass[cell]))] * times
        if anywhere:
            spans = [(0, int(self.measure.total(self.high)))] * len(spans)
        drawn = sorted(draw(UniformInteger(start + 1, start + mass)) for start, mass in spans)
        return tuple(self.measure.locate(mass) for mass in drawn)

    def walk(self, x: NDArray[np.int64], points: Sequence[int]) -> Fraction:
        """TV of a tuple of points on a sorted table."""
        offset, length = Fraction(0), Fraction(0)
        for q, y in zip(self.levels, points, strict=True):
            below, upto = (int(np.searchsorted(x, y, side)) for side in ("left", "right"))
            here = min(max(offset, below - q * len(x)), upto - q * len(x))
            offset, length = here, length + abs(here - offset)
        return length + abs(offset)

    def log_probability(self, x: NDArray[np.int64], tuples: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """ln P(y) for given tuples on a small table: the law that is sampled, for certificates and small worlds."""
        x = np.sort(np.asarray(x, np.int64))
        _, paths = self.paths([rank_window(x, q, self.radius + 1, self.low, self.high) for q in self.levels])
        total = int(self.measure.total(self.high))
        floor = -self.floor - math.lgamma(len(self.levels) + 1)
        whole = np.logaddexp(np.logaddexp.reduce(paths.last), floor)
        found = []
        for points in tuples:
            masses = [int(self.measure.total(y) - self.measure.total(y - 1)) / total for y in points]
            often = math.prod(math.factorial(points.count(y)) for y in set(points))
            near = np.logaddexp(-float(self.rate) * float(self.walk(x, points)), -self.floor)
            found.append(math.log(math.prod(masses)) - math.log(often) + near - whole)
        return np.array(found)

    def rank_reach(self, rare: float) -> float:
        r"""How many rows beyond its rank some level lies at most, but with probability `rare`.

        Theorem. t = ln(W / (rare/(1-rare) - 1e-6))/(2c), with W the mass of all tuples over that of the least, on every table.
        Proof. The tuple of the values of ranks ceil(q_j n) has TV = 0. A tuple with a level more than t rows off has TV >= 2t, so all of
        them together weigh at most W (e^{-2ct} + e^{-cK}) times that one; W e^{-cK} is at most 1e-6 where the radius is not capped. QED
        """
        left = rare / (1 - rare) - math.exp(self.spread - self.floor)
        return (self.spread - math.log(left)) / (2 * float(self.rate)) if left > 0 else math.inf

    def certificate(self) -> Certificate:
        """All rows in the narrowest gap of most tuples, none of them in that of one tuple; one person joins it: the worst corner."""
        tables = self._worst()
        pairs = [Later(partial(self._pair, *table)) for table in tables]
        unit = f"{self.relation.value}; at most {self.max_rows} rows per person"
        heavy = 2 * float(self.rate) * len(tables[0][0]) > self.spread / len(self.levels) - 9
        small = heavy or self.high - self.low < 10**6 or self.base == "arsinh"
        reason = "on a small grid, or at a high price, no pair of tables attains the bound" if small else ""
        return claim(self, Cost.bounded_range(self.epsilon), *pairs, assumes=unit, loose=reason)

    def _pair(self, x: Any, y: Any, points: Sequence[Sequence[int]]) -> Finite:
        return Finite(*(np.exp(self.log_probability(table, points)).tolist() for table in (x, y)))

    def _worst(self) -> list[tuple[list[int], list[int], list[tuple[int, ...]]]]:
        m, gaps = self.max_rows, self.gaps
        narrow = gaps.index(min(gaps))
        room = 2 * len(gaps) + 2
        if self.high - self.low < 2 * room:
            values = np.linspace(self.low, self.high, len(gaps) + 1).astype(int).tolist()
            more = [*values, self.low] if self.relation is not Relation.REPLACE else [*values[:-1], self.low]
            return [(values, more, [tuple(values[:-2])])]
        middle = self.low + room if narrow == 0 else self.high - room if narrow == len(gaps) - 1 else (self.low + self.high) // 2
        size = self.denominator * m
        spots = [middle + 2 * (t - narrow) for t in range(len(gaps))]
        heap = [spot for t, spot in enumerate(spots) if t != narrow for _ in range(int(gaps[t] * size))]
        aim = tuple(spot - 1 if t > narrow else spot + 1 for t, spot in enumerate(spots) if t != narrow)
        far = self.high if narrow < len(gaps) - 1 else self.low
        less = [*heap, *[far] * m] if self.relation is Relation.REPLACE else heap
        away = tuple(self.low + t if t < narrow else self.high - len(gaps) + t for t in range(len(self.levels)))
        return [(less, [*heap, *[middle] * m], [tuple(sorted(aim)), away])]

    @classmethod
    def examples(cls) -> Sequence[JointExponential]:
        wide, deciles = 2**44, tuple(Fraction(j, 10) for j in range(1, 10))
        return (
            cls(Fraction(1), high=wide),
            cls(Fraction(1, 10), (Fraction(1, 2), Fraction(9, 10)), high=wide, max_rows=3),
            cls(Fraction(1), deciles, high=wide, relation=Relation.REPLACE),
            cls(Fraction(1), high=wide, low=-wide, base="arsinh", unit=2**12),
        )
