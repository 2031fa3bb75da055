"""An end of an interval for a quantile: a point that is beyond the quantile with a promised probability, on every table."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.listing import claim, listed
from sordino.mechanisms.quantile_exponential import WIDEST, QuantileExponential
from sordino.privacy.certificate import Certificate, Finite, Later, Witness
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import Categorical
from sordino.privacy.number import as_epsilon, as_positive, as_reach, exact
from sordino.privacy.relation import Relation
from sordino.summaries import Ask, Draw, RankWindow, Window
from sordino.summaries.request import rank_window

__all__ = ["QuantileEnd", "distances"]

Integers = NDArray[np.int64]
RATIO = Fraction(11, 10)  # of the distances of two neighbouring points from the centre
FINE = 1024  # a public offset is rounded up to whole parts of a rank of this size
LEAST = Fraction(1, 10**6)  # of `rare`: the score is clipped where all points together weigh a millionth of one


@lru_cache(64)
def distances(width: int, finest: int) -> tuple[int, ...]:
    """finest, 1.1 finest, 1.21 finest, ... in whole steps, rounded up, below the width."""
    found, here = [], finest
    while here < width:
        found.append(here)
        here = max(here + 1, math.ceil(here * RATIO))
    return tuple(found)


@listed("quantile interval", "interval of a quantile", "confidence interval of a median", note="004 (to beat): intervals of quantiles")
@dataclass(frozen=True)
class QuantileEnd:
    r"""Choose among few public points around a public centre, aiming so many ranks beyond the quantile that the choice is beyond it.

    The points p_1 < .. < p_M are both bounds, the centre, and the centre plus and minus h, 1.1 h, 1.21 h, ... For the lower end rows are
    rounded down to points, K public rows are added at each bound, and point i has weight e^{-c d_i}, d_i the distance of the target
    q n - t + K from the ranks that point i has among these rows, at most some public number. For the upper end everything is mirrored.

    Theorem. With c = epsilon/(2 Delta), Delta = m max(q, 1-q) for m rows per person under add_remove and m under replace, the choice is
    epsilon-DP, of bounded range epsilon, whatever the points and t. With t = ln((M-1)(1-b)/b)/c it exceeds the value of rank ceil(q n)
    with probability at most b, on every table.
    Proof. Privacy: points, t and K are public, rounding is a map of rows, and up to m rows away and up to m new move each rank less q n
    by at most Delta; minima and maxima keep that, and the exponential mechanism spends 2 Delta c. Coverage: rounding is monotone, so the
    rounded quantile is the quantile rounded. A point above it has at least ceil(q n) real rows below and misses the target by t or more.
    There are at most M - 1 of them, together of weight B <= (M-1) e^{-ct}. The ranks of the points cover 0..n+2K, and so the target if
    K >= t: some point has weight 1, and the others are chosen with probability at most B/(1+B) <= b. QED

    With K >= t the point p_1 has all ranks from -infinity on and p_M all to infinity, so K itself does not enter. `t` is raised by
    less than one rank, q - 1/b for q = a/b in lowest terms, so that the interpolated quantile of SQL, between the values of the ranks
    around q n + 1 - q, is covered too; and by `aside`, where the end is to be farther out for a reason of the caller's.
    """

    epsilon: Fraction
    q: Fraction = Fraction(1, 2)
    low: int = 0
    high: int = 1
    centre: int = 0
    finest: int = 1
    upper: bool = False
    rare: Fraction = Fraction(1, 40)
    aside: Fraction = Fraction(0)
    max_rows: int = 1
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "q", exact(self.q, "q"))
        object.__setattr__(self, "rare", as_positive(self.rare, "rare"))
        object.__setattr__(self, "aside", exact(self.aside, "aside"))
        object.__setattr__(self, "relation", Relation.of(self.relation))
        _ = self.single
        as_reach(self.finest)
        if not 0 < self.q < 1:
            raise QueryError("SRD-103", f"q is {float(self.q):g}.", "Give a quantile strictly between 0 and 1; the median is 0.5.")
        if isinstance(self.centre, bool) or not isinstance(self.centre, int):
            raise QueryError("SRD-104", f"the centre is {self.centre!r}.", "Give the centre in whole grid steps.")
        if not isinstance(self.upper, bool):
            raise QueryError("SRD-103", f"upper is {self.upper!r}.", "Give True for the upper end, False for the lower one.")
        if not LEAST <= self.rare <= Fraction(1, 2) or self.aside < 0:
            what = f"rare is {float(self.rare):g}, aside is {float(self.aside):g}."
            raise QueryError("SRD-103", what, "Give rare between 1e-6 and 1/2, and aside in ranks, of at least 0.")
        if self.offset + self.clip + 2 > WIDEST:
            what = f"at epsilon {float(self.epsilon):g} the end would be {float(self.offset):,.0f} ranks away."
            raise QueryError("SRD-101", what, f"Ask with a larger epsilon: an end is looked for within {WIDEST:,} ranks.")

    @cached_property
    def single(self) -> QuantileExponential:
        """The quantile mechanism with the same score: it checks the parameters and holds the rate."""
        return QuantileExponential(self.epsilon, self.q, self.low, self.high, self.max_rows, self.relation)

    @property
    def rate(self) -> Fraction:
        """c, the factor of the distance in the exponent."""
        return self.single.rate

    @cached_property
    def decay(self) -> float:
        return float(self.rate)

    @cached_property
    def points(self) -> Integers:
        """p_1, .., p_M; a centre beyond a bound is moved there."""
        centre = min(max(self.centre, self.low), self.high)
        away = np.array(distances(self.high - self.low, self.finest), np.int64)
        inside = np.concatenate([centre - away, [centre], centre + away])
        inside = inside[(inside > self.low) & (inside < self.high)]
        return np.unique(np.concatenate([[self.low], inside, [self.high]]).astype(np.int64))

    def around(self, centre: int) -> QuantileEnd:
        """The same end with its points around another centre: what was checked and computed for one holds for all."""
        made = copy.copy(self)
        made.__dict__.pop("points", None)
        made.__dict__["centre"] = centre
        return made

    @cached_property
    def most(self) -> int:
        """A bound on M that holds for every centre: what is public before the centre is drawn."""
        width = self.high - self.low
        return min(2 * len(distances(width, self.finest)) + 3, width + 1)

    @cached_property
    def offset(self) -> Fraction:
        """t: how many ranks beyond the quantile is aimed."""
        odds = float((self.most - 1) * (1 - self.rare) / self.rare)
        inner = 1 - self.q if self.upper else self.q
        return Fraction(math.ceil(math.log(odds) / float(self.rate) * FINE * (1 + 1e-12)), FINE) + self.slip(inner) + self.aside

    @staticmethod
    def slip(q: Fraction) -> Fraction:
        """How far below q n the lower of the two ranks can be that SQL's quantile lies between; 0 for the median."""
        return q - Fraction(1, q.denominator)

    @cached_property
    def clip(self) -> float:
        """Distances beyond it weigh no less: all points together then weigh a millionth of one on target, which `rare` is no less than."""
        return math.log(self.most * 1e6) / float(self.rate)

    @cached_property
    def radius(self) -> int:
        return math.ceil(self.offset + Fraction(self.clip)) + 1

    @property
    def request(self) -> RankWindow:
        """The ranks that tell every weight."""
        return RankWindow(self.q, self.radius)

    def ranks(self, window: Window) -> Integers:
        """How many rows each point but the first has below it; for the upper end, each but the last up to it. As far as the window sees."""
        inner, side = (self.points[:-1], "right") if self.upper else (self.points[1:], "left")
        found = window.first - 1 + np.searchsorted(window.values, inner, side=side)  # type: ignore[call-overload]
        return np.asarray(np.clip(found, 0, window.n))

    def log_weights(self, ranks: Integers, n: int) -> NDArray[np.float64]:
        """-c d_i of every point, from those ranks: the first point has all lower ones, the last one all higher."""
        aim = self.q * n + (self.offset if self.upper else -self.offset)
        whole, target = aim.denominator, aim.numerator
        if whole * (n + 1) + abs(target) >= 2**62:  # a level with many digits counts in Python integers
            ranks = ranks.astype(object)
        over = np.append(0, np.maximum(ranks * whole - target, 0))
        under = np.append(np.maximum(target - ranks * whole, 0), 0)
        score = np.minimum((np.maximum(over, under) / whole).astype(float), self.clip)
        return np.asarray(-self.decay * score)

    def log_probability(self, x: Integers) -> NDArray[np.float64]:
        """ln of the probability of every point on a small table: the law that is sampled, for small worlds."""
        return self._law(rank_window(np.sort(x), self.q, self.radius, self.low, self.high))

    def _law(self, window: Window) -> NDArray[np.float64]:
        logs = self.log_weights(self.ranks(window), window.n)
        return np.asarray(logs - np.logaddexp.reduce(logs))

    def release(self, ask: Ask, draw: Draw) -> int:
        window = ask(self.request)
        return int(self.points[draw(Categorical(np.exp(self.log_weights(self.ranks(window), window.n))))])

    def certificate(self) -> Certificate:
        unit = f"{self.relation.value}; at most {self.max_rows} rows per person"
        enough = math.log(len(self.points) / 20) > self.epsilon
        reason = "" if enough else "some point is always on target, so that few points cannot attain the bound"
        pairs = (self._pair(x, y) for x, y in self._worst())
        return claim(self, Cost.bounded_range(self.epsilon), *pairs, assumes=unit, loose=reason)

    def _worst(self) -> Iterator[tuple[dict[int, int], dict[int, int]]]:
        """Rows at the far bound, as many as bring the target to the first rank, a few beside it, and one person who joins or leaves."""
        m, near, heap, far, share = self.max_rows, self.low, self.high - 1, self.high, self.q
        if self.upper:
            near, heap, far, share = self.high, self.low + 1, self.low, 1 - self.q
        size = math.ceil((self.offset + self.single.reach) / share)
        for rows in sorted({max(0, size + more) for more in (-2 * m, -m, 0, m)}):
            here = {heap: min(rows, 4 * m), far: max(rows - 4 * m, 0)}
            more = {**here, far: here[far] + m}
            if self.relation is Relation.REPLACE:
                yield more, {**here, near: m}
            else:
                yield here, {**here, near: m}
                yield more, here

    def neighbours(self) -> Sequence[tuple[Any, ...]]:
        """The certificate's own pairs, and small tables as for every quantile."""
        low, high, m = self.low, self.high, self.max_rows
        gone = [low] * m if self.relation is Relation.REPLACE else []
        plain = [("bimodal", [low] * 5 * m + [high] * 5 * m), ("all at a bound", [low] * 6), ("nearly nobody", [])]
        small = [(name, [*rows, *gone], [*rows, *[high] * m]) for name, rows in plain]
        return [*small, *((f"pair {i} of the certificate", _rows(x), _rows(y)) for i, (x, y) in enumerate(self._worst(), start=1))]

    def _pair(self, x: dict[int, int], y: dict[int, int]) -> Witness:
        """Two tables by how many rows have each value."""
        return Later(lambda: self._laws(x, y))

    def _laws(self, x: dict[int, int], y: dict[int, int]) -> Finite:
        laws = []
        for table in (x, y):
            values, many = np.array(sorted(table), np.int64), np.cumsum([0, *(table[value] for value in sorted(table))])
            n = int(many[-1])
            inner, side = (self.points[:-1], "right") if self.upper else (self.points[1:], "left")
            logs = self.log_weights(many[np.searchsorted(values, inner, side=side)], n)  # type: ignore[call-overload]
            laws.append(np.exp(logs - np.logaddexp.reduce(logs)).tolist())
        return Finite(*laws)

    @classmethod
    def examples(cls) -> Sequence[QuantileEnd]:
        million, replace = 10**6, Relation.REPLACE
        return (
            cls(Fraction(3, 10), high=million, centre=30_000),
            cls(Fraction(1), high=million, centre=30_000, upper=True),
            cls(Fraction(1, 10), Fraction(9, 10), high=2**44, centre=2**30, finest=2**24, upper=True, max_rows=2),
            cls(Fraction(1), Fraction(1, 4), high=million, centre=million // 2, relation=replace),
        )


def _rows(table: dict[int, int]) -> list[int]:
    return [value for value in sorted(table) for _ in range(table[value])]
