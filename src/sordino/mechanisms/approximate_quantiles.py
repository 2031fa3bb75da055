"""Very many quantiles: the middle one first, then the two halves of the table on their own.

Equal rows spread evenly over sub-points of their grid step, so that ties can be split.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.joint_exponential import as_levels
from sordino.mechanisms.listing import claim, listed
from sordino.mechanisms.quantile_exponential import WEIGHT_ERROR, Measure, QuantileExponential
from sordino.privacy.certificate import Certificate, Finite
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import Categorical, UniformInteger
from sordino.privacy.number import as_epsilon
from sordino.privacy.relation import Relation
from sordino.summaries import Ask, Draw
from sordino.summaries.totals import MOST_ROWS, Values

__all__ = ["ApproximateQuantiles", "Spot", "SpotCells", "SpreadTable", "Stretch", "spread"]

Integers = NDArray[np.int64]


class Spot(NamedTuple):
    """All sub-points of the grid up to this one: the first `parts` of a point, and every point before it."""

    point: int
    parts: int


class Stretch(NamedTuple):
    """A part of a spread table: its rows first..last-1, and the sub-points after `start` up to `stop`, where they lie."""

    first: int
    last: int
    start: Spot
    stop: Spot


@dataclass(frozen=True)
class SpotCells:
    """Runs of sub-points with one score: those after `start` up to `stop`, as points and parts; at least one sub-point each."""

    start: tuple[Integers, Integers]
    stop: tuple[Integers, Integers]
    score: NDArray[np.float64]
    whole: int  # parts of a point

    def masses(self, measure: Measure) -> NDArray[np.float64]:
        """Masses in units of a part of the least mass; sums of non-negative terms, so nothing cancels."""
        (p, a), (q, b) = self.start, self.stop
        first, last = (measure.total(point) - measure.total(point - 1) for point in (p, q))
        between = (measure.total(q - 1) - measure.total(p)).astype(float) * self.whole
        inside = first.astype(float) * (b - a)
        return np.asarray(np.where(p == q, inside, first.astype(float) * (self.whole - a) + between + last.astype(float) * b))


@dataclass(frozen=True)
class SpreadTable:
    """A sorted table whose rows are (point, part), the parts of equal points from the van der Corput sequence."""

    point: Integers
    part: Integers
    bits: int

    def upto(self, spot: Spot, part: Stretch) -> int:
        """Where, among the rows of a stretch, those up to this spot end."""
        rows = self.point[part.first : part.last]
        left, right = (part.first + int(np.searchsorted(rows, spot.point, side)) for side in ("left", "right"))
        return left + int(np.searchsorted(self.part[left:right], spot.parts, "left"))

    def cells(self, part: Stretch, q: Fraction, clip: float) -> SpotCells:
        """Every sub-point of a stretch, with its distance in ranks from q times its rows, at most `clip`."""
        n, (a, b) = part.last - part.first, q.as_integer_ratio()
        low, high = max(math.floor(q * n - Fraction(clip)), 0), min(math.ceil(q * n + Fraction(clip)), n)
        rows = slice(part.first + low, part.first + high)
        new = np.flatnonzero((np.diff(self.point[rows], prepend=-1) != 0) | (np.diff(self.part[rows], prepend=-1) != 0))
        point, piece = self.point[rows][new], self.part[rows][new]
        ends = low + np.append(new, high - low)
        if b * (n + 1) >= 2**62:  # a level with many digits counts in Python integers
            ends = ends.astype(object)
        score = np.empty(2 * len(point) + 1)
        score[::2] = np.abs(b * ends - a * n) / b
        score[1::2] = np.maximum(np.maximum(b * ends[:-1] - a * n, a * n - b * ends[1:]), 0) / b
        points = np.concatenate([[part.start.point], np.repeat(point, 2), [part.stop.point]])
        parts = np.concatenate([[part.start.parts], np.stack([piece, piece + 1], axis=1).ravel(), [part.stop.parts]])
        held = (points[1:] > points[:-1]) | (parts[1:] > parts[:-1])
        before, after = ((points[at][held], parts[at][held]) for at in (slice(None, -1), slice(1, None)))
        return SpotCells(before, after, np.minimum(score, clip)[held], 1 << self.bits)


def spread(values: Integers, bits: int) -> SpreadTable:
    """The o-th of equal values goes to the part whose bits are those of o in reverse: one value more moves none of the others."""
    if not len(values):
        return SpreadTable(values, values, bits)
    start = np.flatnonzero(np.diff(values, prepend=values[0] - 1))
    place = np.arange(len(values)) - np.repeat(start, np.diff(np.append(start, len(values))))
    part = np.zeros(len(values), np.int64)
    for bit in range(min(bits, int(place.max()).bit_length())):
        part |= ((place >> bit) & 1) << (bits - 1 - bit)
    if len(start) < len(values):
        part = part[np.lexsort((part, values))]
    return SpreadTable(values, part, bits)


class Range(NamedTuple):
    """A part of the table and the levels that belong there, which lie between two others."""

    where: Stretch
    levels: tuple[Fraction, ...]
    bottom: Fraction
    top: Fraction


@listed("approximate quantiles", "approximatequantiles", "recursive quantiles", note="004 goal (many quantiles)")
@dataclass(frozen=True)
class ApproximateQuantiles:
    r"""Draw the middle level by the quantile mechanism, split the rows at it, and go on in both halves.

    Theorem. With l = floor(log2 M) + 1 layers and every draw at epsilon/l, Delta = m max(q', 1-q') for its own relative level q', the
    whole is epsilon-DP under add_remove; every draw at epsilon/(2l) under replace. It costs no more than one draw of bounded range epsilon.
    Proof. Rows are first spread over sub-points of their grid step: the o-th of equal rows goes to the o-th point of the van der Corput
    sequence, so a row more is one spread row more and no other moves. The halves of a layer are disjoint, given the points drawn
    before. Of m new rows c_i fall into half i; its scores move by c_i/m of what its draw is calibrated for, so a layer costs at most
    epsilon/l in all, and l layers compose. A replacement takes up to m rows away and adds up to m. Ranges add and are dominated by one
    draw's (see the statistics). QED
    The recursion is Kaplan, Schnapp and Stemmer's (2022). Without the spreading a value with many ties would go to one half whole.
    """

    epsilon: Fraction
    levels: tuple[Fraction, ...] = tuple(Fraction(j, 100) for j in range(1, 100))
    low: int = 0
    high: int = 1
    max_rows: int = 1
    relation: Relation = Relation.ADD_REMOVE
    base: str = "uniform"
    origin: int = 0
    unit: int = 1
    bits: int = 20  # a grid step has 2^bits sub-points

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "levels", as_levels(self.levels))
        object.__setattr__(self, "relation", Relation.of(self.relation))
        if isinstance(self.bits, bool) or not isinstance(self.bits, int) or not 0 <= self.bits <= 40:
            raise QueryError("SRD-103", f"bits is {self.bits!r}.", "Give a whole number from 0 to 40.")
        _ = self.single

    @property
    def layers(self) -> int:
        return len(self.levels).bit_length()

    @cached_property
    def single(self) -> QuantileExponential:
        """One draw at a relative level of one half: it checks the parameters and holds the base measure."""
        each = self.epsilon / (self.layers * (2 if self.relation is Relation.REPLACE else 1))
        where = (self.low, self.high, self.max_rows, Relation.ADD_REMOVE, self.base, self.origin, self.unit)
        return QuantileExponential(each, Fraction(1, 2), *where)

    @property
    def measure(self) -> Measure:
        return self.single.measure

    def rate(self, q: Fraction) -> float:
        """The factor of the score in the exponent of a draw at this relative level."""
        return float((self.single.epsilon - WEIGHT_ERROR) / (2 * self.max_rows * max(q, 1 - q)))

    def clip(self, q: Fraction) -> float:
        """The public K: beyond it all sub-points together weigh less than a millionth of one at the quantile."""
        return min(self._spread + math.log(1e6), 690.0) / self.rate(q)

    @property
    def _spread(self) -> float:
        """ln of the mass of all sub-points over that of the least."""
        return math.log(int(self.measure.total(self.high)) / self.measure.least) + self.bits * math.log(2)

    def release(self, ask: Ask, draw: Draw) -> tuple[int, ...]:
        table = spread(ask(Values()).values, self.bits)
        return tuple(self._halve(table, self.whole(table), lambda part, q: self._drawn(table, part, q, draw)))

    def whole(self, table: SpreadTable) -> Range:
        everything = Stretch(0, len(table.point), Spot(self.low, 0), Spot(self.high, 1 << self.bits))
        return Range(everything, self.levels, Fraction(0), Fraction(1))

    def _halve(self, table: SpreadTable, part: Range, choose: Callable[[Range, Fraction], Spot]) -> list[int]:
        """The levels of a range, in order: the middle one, then those of either half."""
        if not part.levels:
            return []
        level = part.levels[len(part.levels) // 2]
        spot = choose(part, (level - part.bottom) / (part.top - part.bottom))
        below, above = self.halves(table, part, spot)
        return [*self._halve(table, below, choose), spot.point, *self._halve(table, above, choose)]

    def halves(self, table: SpreadTable, part: Range, spot: Spot) -> tuple[Range, Range]:
        """The rows up to a spot with the lower levels, and those after it with the upper ones."""
        here, cut = len(part.levels) // 2, table.upto(spot, part.where)
        below = Range(part.where._replace(last=cut, stop=spot), part.levels[:here], part.bottom, part.levels[here])
        above = Range(part.where._replace(first=cut, start=spot), part.levels[here + 1 :], part.levels[here], part.top)
        return below, above

    def weighed(self, table: SpreadTable, part: Range, q: Fraction) -> tuple[SpotCells, NDArray[np.float64]]:
        """The cells of a range and their weights at a relative level."""
        cells = table.cells(part.where, q, self.clip(q))
        return cells, cells.masses(self.measure) * np.exp(-self.rate(q) * cells.score)

    def _drawn(self, table: SpreadTable, part: Range, q: Fraction, draw: Draw) -> Spot:
        """One spot after `start` up to `stop`; where there is none, `stop`, after the same number of draws."""
        cells, weights = self.weighed(table, part, q)
        empty = not len(weights)

        def run(i: int) -> tuple[int, int]:
            start, stop = (self._units(Spot(int(edge[0][i]), int(edge[1][i]))) for edge in (cells.start, cells.stop))
            return start, stop

        chosen = draw(Categorical(np.ones(1) if empty else weights, lambda: [(-1, 0)] if empty else [*map(run, range(len(weights)))]))
        if empty:
            draw(UniformInteger(0, 0))
            return part.where.stop
        start, stop = run(chosen)
        return self._located(draw(UniformInteger(start + 1, stop)))

    def mass(self, point: int) -> tuple[int, int]:
        """The mass before a point, and its own."""
        before, upto = (int(self.measure.total(y)) for y in (point - 1, point))
        return before, upto - before

    def _units(self, spot: Spot) -> int:
        """The mass of everything up to a spot, in parts of the least mass."""
        before, own = self.mass(spot.point)
        return (before << self.bits) + own * spot.parts

    def _located(self, unit: int) -> Spot:
        point = self.measure.locate(-(-unit // (1 << self.bits)))
        before, own = self.mass(point)
        return Spot(point, -(-(unit - (before << self.bits)) // own))

    def log_probability(self, x: Any, spots: Sequence[Spot]) -> float:
        """ln of the probability that the draws, in the order they are made, give these spots: the law that is sampled."""
        table, total, script = spread(np.sort(np.asarray(x, np.int64)), self.bits), 0.0, iter(spots)

        def follow(part: Range, q: Fraction) -> Spot:
            nonlocal total
            cells, weights = self.weighed(table, part, q)
            spot = next(script)
            unit = self._units(spot)
            stops = [self._units(Spot(int(p), int(k))) for p, k in zip(*cells.stop, strict=True)]
            own = self.mass(spot.point)[1]
            decay = -self.rate(q) * cells.score[next(i for i, stop in enumerate(stops) if unit <= stop)]
            total += math.log(own) + float(decay) - math.log(weights.sum())
            return spot

        self._halve(table, self.whole(table), follow)
        return total

    def rank_reach(self, rare: float) -> float:
        r"""How many rows beyond its rank some level lies at most, but with probability `rare`, among up to 5,000,000 rows.

        Theorem. With t the bound of one draw at `rare` over M, and at most s rows in one spot, it is l (t + s).
        Proof. Let the ends of a range be off by a and b rows, and its own draw by t. Its rank is off by (1-q') a + q' b and t, and the
        split puts up to s rows on the wrong side: a layer adds at most t + s to the larger of |a| and |b|. QED
        """
        far = (self._spread + math.log(len(self.levels) * (1 - rare) / rare)) / self.rate(Fraction(1))
        shared = -(-MOST_ROWS // (1 << self.bits))
        return self.layers * (far + shared) if far < self.clip(Fraction(1)) else math.inf

    def certificate(self) -> Certificate:
        """A heap beside one end, and one person joining at that end or moving across, with every draw at one end or the other."""
        m, low, high = self.max_rows, self.low, self.high
        pairs = []
        for end, near in ((low, low + 1), (high, high - 1)):
            heap = [near] * (3 * m)
            less = [*heap, *[high if end == low else low] * m] if self.relation is Relation.REPLACE else heap
            logs = [self.log_probability(table, self._script(end)) for table in (less, [*heap, *[end] * m])]
            pairs.append(Finite(*([math.exp(log - max(logs))] for log in logs)))  # one outcome of tiny probability: its ratio counts
        unit = f"{self.relation.value}; at most {m} rows per person"
        reason = "no pair of tables is known on which all layers attain their share at once"
        return claim(self, Cost.bounded_range(self.epsilon), *pairs, assumes=unit, loose=reason)

    def _script(self, end: int) -> list[Spot]:
        """All levels in the point at an end, in rising parts, named in the order of the draws."""
        count = len(self.levels)
        spots = [Spot(end, max(1, ((1 << self.bits) * (i + 1)) // (count + 1))) for i in range(count)]
        order: list[Spot] = []

        def visit(part: list[Spot]) -> None:
            if part:
                here = len(part) // 2
                order.append(part[here])
                visit(part[:here])
                visit(part[here + 1 :])

        visit(spots)
        return order

    @classmethod
    def examples(cls) -> Sequence[ApproximateQuantiles]:
        wide = 2**44
        return (
            cls(Fraction(1), high=wide),
            cls(Fraction(1), tuple(Fraction(j, 20) for j in range(1, 20)), high=wide, relation=Relation.REPLACE, max_rows=2),
            cls(Fraction(1), high=wide, low=-wide, base="arsinh", unit=2**12),
        )
