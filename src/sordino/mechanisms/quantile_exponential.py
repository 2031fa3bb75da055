"""A quantile by inverse sensitivity: the exponential mechanism over the whole grid, from a window of order statistics.

Its base measures: how much a grid point counts before the data are seen. Public, integer, exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.listing import claim, listed
from sordino.privacy.certificate import Certificate, Finite, Witness
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import Categorical, UniformInteger
from sordino.privacy.number import as_epsilon, as_reach, exact
from sordino.privacy.relation import Relation
from sordino.summaries import Ask, Draw, RankWindow, Window
from sordino.summaries.request import rank_window

__all__ = ["Cells", "Measure", "QuantileExponential"]

Integers = NDArray[np.int64]
WEIGHT_ERROR = Fraction(1, 2**40)  # four times the largest error of a log-weight in doubles
WIDEST = 4_000_000


@dataclass(frozen=True)
class Measure:
    r"""The mass of the grid points low..high: uniform, or falling like 1/|y| away from an origin ("arsinh").

    The arsinh measure gives every octave |y - origin| in [unit 2^e, unit 2^{e+1}) the same mass and is uniform inside it and below
    2 unit: the arsinh curve drawn as a polygon through powers of two, so that every mass is a whole number and cells of any width are
    weighed and drawn from exactly. The origin itself weighs as much as an octave: nothing is as often exactly zero as what people
    record. `total(y)` is the mass of all points up to y.
    """

    low: int
    high: int
    origin: int | None = None
    unit: int = 1

    @cached_property
    def octaves(self) -> int:
        if self.origin is None:
            return 0
        farthest = max(abs(self.low - self.origin), abs(self.high - self.origin)) // self.unit
        return max(0, farthest.bit_length() - 1)

    @cached_property
    def _stretches(self) -> tuple[Integers, Integers, Integers]:
        """Where the polygon bends: the first point of each stretch, the mass of one of its points, the mass before it."""
        if self.origin is None:
            return np.array([self.low]), np.array([1]), np.array([0])
        one = 1 << self.octaves
        away = [(self.origin, one * self.unit), (self.origin + 1, one)]
        away += [(self.origin + (self.unit << e), one >> e) for e in range(1, self.octaves + 1)]
        toward = [(self.origin + 1 - (self.unit << e + 1), one >> e) for e in reversed(range(self.octaves + 1))]
        begun = [(first, mass) for first, mass in (*toward, *away) if first <= self.low][-1:]
        inside = [(first, mass) for first, mass in (*toward, *away) if self.low < first <= self.high]
        first = np.array([self.low, *(point for point, _ in inside)], np.int64)
        mass = np.array([found for _, found in (*begun, *inside)], np.int64)
        return first, mass, np.concatenate([[0], np.cumsum(np.diff(first) * mass[:-1])])

    def total(self, y: Any) -> Integers:
        """The mass of the points low..y."""
        y, (first, mass, before) = np.asarray(y, np.int64), self._stretches
        at = np.maximum(np.searchsorted(first, y, side="right") - 1, 0)
        return np.asarray(before[at] + (y - first[at] + 1) * mass[at])

    def locate(self, mass: int) -> int:
        """The least point y with total(y) >= mass."""
        first, each, before = self._stretches
        at = int(np.searchsorted(before, mass)) - 1
        return int(first[at]) + (mass - int(before[at]) - 1) // int(each[at])

    @property
    def least(self) -> int:
        """The smallest mass of a single point: that of the farthest octave."""
        return 1


@dataclass(frozen=True)
class Cells:
    """Runs of grid points with one score: the points first..last of each, and its weight."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    log_decay: NDArray[np.float64]
    mass: NDArray[np.int64]

    @property
    def weights(self) -> NDArray[np.float64]:
        return np.asarray(self.mass * np.exp(self.log_decay))


@listed("inverse sensitivity", "quantile exponential", "exponential quantile", "private median", note="000 13.1.1 median; 004 (to beat)")
@dataclass(frozen=True)
class QuantileExponential:
    r"""Choose a grid point y with weight mass(y) e^{epsilon u(y)/(2 Delta)}, u(y) = -(how many ranks y lies from the quantile).

    Theorem. With u(y) = -min(max(0, #{x<y} - q n, q n - #{x<=y}), K) and Delta = m max(q, 1-q) for m rows per person under add_remove,
    Delta = m under replace, the choice is epsilon-DP for every public K and every public mass, and for no smaller epsilon.
    Proof. Adding m rows moves #{x<y} - q n by between -m q and m (1-q) and the other term oppositely; maxima, clipping and negation keep
    Lipschitz constants. The exponential mechanism with a base measure spends 2 Delta times the exponent's factor. Weights are computed
    in doubles with log-error at most eta and drawn exactly; 4 eta is paid out of epsilon. Inside a cell a uniform integer of its mass is
    drawn and mapped back to its point, so every point has its exact mass. QED
    Ties matter: each data value is a cell of its own, so a thousand equal rows return their value.
    """

    epsilon: Fraction
    q: Fraction = Fraction(1, 2)
    low: int = 0
    high: int = 1
    max_rows: int = 1
    relation: Relation = Relation.ADD_REMOVE
    base: str = "uniform"
    origin: int = 0
    unit: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "q", exact(self.q, "q"))
        object.__setattr__(self, "relation", Relation.of(self.relation))
        as_reach(self.max_rows)
        as_reach(self.unit)
        if self.epsilon < 1000 * WEIGHT_ERROR:
            raise QueryError("SRD-101", f"epsilon is {float(self.epsilon):g}.", "The quantile mechanism needs epsilon of at least 1e-9.")
        if not 0 <= self.q <= 1:
            raise QueryError("SRD-103", f"q is {float(self.q):g}.", "Give a quantile between 0 and 1; the median is 0.5.")
        if any(isinstance(end, bool) or not isinstance(end, int) for end in (self.low, self.high, self.origin)):
            what = f"the grid runs from {self.low!r} to {self.high!r}."
            raise QueryError("SRD-104", what, "Give low, high and origin in whole grid steps.")
        if not self.low < self.high or max(abs(self.low), abs(self.high), abs(self.origin)) > 2**53:
            raise QueryError("SRD-104", f"the grid runs from {self.low} to {self.high}.", "Give low < high, within 2^53 steps of zero.")
        if self.base not in ("uniform", "arsinh"):
            raise QueryError("SRD-106", f"base measure {self.base!r} is unknown.", 'Use "uniform" or "arsinh".')

    @cached_property
    def measure(self) -> Measure:
        if self.base == "uniform":
            return Measure(self.low, self.high)
        return Measure(self.low, self.high, self.origin, 1 << (self.unit.bit_length() - 1))

    @property
    def reach(self) -> Fraction:
        """Delta, the sensitivity of the score."""
        return self.max_rows * (Fraction(1) if self.relation is Relation.REPLACE else max(self.q, 1 - self.q))

    @property
    def rate(self) -> Fraction:
        """The factor of the score in the exponent."""
        return (self.epsilon - WEIGHT_ERROR) / (2 * self.reach)

    @cached_property
    def radius(self) -> int:
        """The public K: beyond it all points together weigh less than a millionth of one point at the quantile."""
        spread = int(self.measure.total(self.high)) / self.measure.least * 1e6
        return min(math.ceil(math.log(spread) / float(self.rate)), WIDEST)

    @property
    def request(self) -> RankWindow:
        """The ranks that determine every weight."""
        return RankWindow(self.q, self.radius)

    def target(self, n: int) -> Fraction:
        """The rank of score 0."""
        return self.q * n

    def cells(self, window: Window) -> Cells:
        """Every grid point, in runs of equal score."""
        values, starts = np.unique(window.values, return_index=True)
        ends = np.append(starts[1:], len(window.values)) - 1
        below = np.clip(window.first + starts - 1, 0, window.n)  # rows under each value
        upto = np.clip(window.first + ends, 0, window.n)  # rows up to and including it
        aim = self.target(window.n)
        target, b = aim.numerator, aim.denominator
        if b * (window.n + 1) >= 2**62:  # a level with many digits counts in Python integers
            below, upto = below.astype(object), upto.astype(object)
        atoms = np.maximum(np.maximum(b * below - target, target - b * upto), 0)
        gaps = np.abs(b * upto[:-1] - target)
        first = np.concatenate([[self.low], values, values[:-1] + 1, [values[-1] + 1]])
        last = np.concatenate([[values[0] - 1], values, values[1:] - 1, [self.high]])
        clipped = min(float(self.radius), 690 / float(self.rate))  # a weight that underflows to zero would be an infinite loss
        score = np.minimum(np.concatenate([[np.inf], atoms / b, gaps / b, [np.inf]]).astype(float), clipped)
        order = np.argsort(first, kind="stable")
        first, last, score = first[order], last[order], score[order]
        keep = last >= first
        first, last, score = first[keep], last[keep], score[keep]
        mass = self.measure.total(last) - self.measure.total(first - 1)
        return Cells(first, last, -float(self.rate) * score, mass)

    def log_probability(self, x: NDArray[np.int64], points: NDArray[np.int64]) -> NDArray[np.float64]:
        """ln P(y) for given grid points on a small sorted table: the law that is sampled, for certificates and small worlds."""
        cells = self.cells(rank_window(np.sort(x), self.request.q, self.request.radius, self.low, self.high))
        index = np.searchsorted(cells.first, points, side="right") - 1
        own = self.measure.total(points) - self.measure.total(points - 1)
        return np.asarray(np.log(own) + cells.log_decay[index] - math.log(cells.weights.sum()))

    def _pair(self, x: list[int], y: list[int]) -> Witness:
        one, other = np.array(x, np.int64), np.array(y, np.int64)
        seen = np.concatenate([one, other, [self.low, self.high]])
        points = np.unique(np.clip(np.concatenate([seen - 1, seen, seen + 1]), self.low, self.high))
        return Finite(np.exp(self.log_probability(one, points)).tolist(), np.exp(self.log_probability(other, points)).tolist())

    def certificate(self) -> Certificate:
        """A heap of rows near one end of the grid, and one person joining at that end or moving across: the pair that attains epsilon."""
        m, low, high = self.max_rows, self.low, self.high
        inner = min(max(self.q, Fraction(1, 1000)), Fraction(999, 1000))
        heap = math.ceil(m * max(inner / (1 - inner), (1 - inner) / inner)) + 1
        pairs = []
        for end, near in ((low, low + 1), (high, high - 1)):
            other = high if end == low else low
            if self.relation is Relation.REPLACE:
                pairs.append(self._pair([near] * heap + [other] * m, [near] * heap + [end] * m))
            else:
                pairs.append(self._pair([near] * heap, [near] * heap + [end] * m))
        unit = f"{self.relation.value}; at most {m} rows per person"
        reason = "on a small grid no pair of tables attains the bound" if high - low < 10**6 or self.base == "arsinh" else ""
        if not Fraction(1, 1000) <= self.q <= Fraction(999, 1000):
            reason = "at the extremes scores move one way only, and near them only large tables attain the bound"
        return claim(self, Cost.bounded_range(self.epsilon), *pairs, assumes=unit, loose=reason)

    def release(self, ask: Ask, draw: Draw) -> int:
        window = ask(self.request)
        if self not in window.memo:  # a simulation draws from the same window again and again
            window.memo[self] = self.cells(window)
        cells: Cells = window.memo[self]
        before = self.measure.total(cells.first - 1)
        chosen = draw(Categorical(cells.weights, lambda: [*zip(before.tolist(), (before + cells.mass).tolist(), strict=True)]))
        start = int(before[chosen])
        mass = draw(UniformInteger(start + 1, start + int(cells.mass[chosen])))
        return self.measure.locate(mass)

    @classmethod
    def examples(cls) -> Sequence[QuantileExponential]:
        wide, replace = 2**44, Relation.REPLACE
        return (
            cls(Fraction(1), high=wide),
            cls(Fraction(1, 10), Fraction(9, 10), high=wide),
            cls(Fraction(1), Fraction(1, 4), high=wide, max_rows=3, relation=replace),
            cls(Fraction(1), high=wide, low=-wide, base="arsinh", unit=2**12),
        )
