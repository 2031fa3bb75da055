"""Totals by several groupings of the same rows, as one release whose numbers add up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial, reduce
from itertools import chain, combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.privacy.certificate import Part
from sordino.privacy.law import output_grid
from sordino.privacy.relation import Relation
from sordino.statistics.added import Added, AddedGaussian, TotalNoise, quieter
from sordino.statistics.column_sum import Sum, SumStep
from sordino.statistics.linear_noise import sum_radius
from sordino.statistics.moments import scaled
from sordino.statistics.port import LEVEL, Answer, Context, Groups, Plain, Priced, Ways, length_grid
from sordino.statistics.reach import Reach, read_totals, root_up
from sordino.statistics.row_count import Count
from sordino.summaries import Ask, Draw
from sordino.summaries.totals import Item

__all__ = ["GroupingSets", "SetsStep", "fitted", "in_order", "over", "weights_of"]

Floats = NDArray[np.float64]
Set = tuple[int, ...]  # places of the columns of one grouping among those of the finest
ONE = Fraction(1)
MOST_NUMBERS = 1_000_000


def in_order(sets: Sequence[Sequence[int]]) -> tuple[Set, ...]:
    """Distinct groupings, the finest first."""
    return tuple(sorted({tuple(sorted(set(places))) for places in sets}, key=lambda places: (-len(places), places)))


def _inside(places: Set) -> Iterator[Set]:
    return chain.from_iterable(combinations(places, size) for size in range(len(places) + 1))


def _many(shape: Sequence[int], places: Sequence[int]) -> int:
    return math.prod(shape[j] for j in places)


def _information(shape: tuple[int, ...], sets: tuple[Set, ...], effect: Set) -> float:
    every = range(len(shape))
    return float(sum(
        _many(shape, [j for j in every if j not in s]) ** 2 * _many(shape, [j for j in s if j not in effect])
        for s in sets if set(effect) <= set(s)
    ))  # fmt: skip


def fitted(shape: tuple[int, ...], sets: tuple[Set, ...], drawn: Sequence[Floats]) -> list[Floats]:
    r"""The closest totals that add up: least squares over all groupings, whose numbers have equal noise.

    Theorem. Let x have the effects e_T (what is constant outside the columns T and adds up to 0 along each of them). The grouping S of x
    is M_S times the sum of e_T over T inside S, M_S the cells outside S; effects are orthogonal, so the least squares estimate of e_T is
    the mean over S containing T of the same contrast of what was drawn, weighted by M_S^2 times the cells of S outside T.
    Proof. A contrast along T adds up to 0 over cells outside S unless T is inside S; squared distances then split by effects. QED
    """
    every, effects = range(len(shape)), sorted({t for s in sets for t in _inside(s)}, key=len)
    found: dict[Set, Floats] = {}
    for effect in effects:
        total = np.zeros([shape[j] for j in effect])
        for s, y in zip(sets, drawn, strict=True):
            if set(effect) <= set(s):
                other = [j for j in every if j not in s]
                inner = [at for at, j in enumerate(s) if j not in effect]
                contrast = y.mean(axis=tuple(inner)) if inner else y
                for axis in range(len(effect)):
                    contrast = contrast - contrast.mean(axis=axis, keepdims=True)
                total = total + contrast * (_many(shape, other) * _many(shape, [s[at] for at in inner]))
        found[effect] = total / _information(shape, sets, effect)
    out = []
    for s in sets:
        whole = np.zeros([shape[j] for j in s])
        for effect in _inside(s):
            whole = whole + found[effect].reshape([shape[j] if j in effect else 1 for j in s])
        out.append(whole * _many(shape, [j for j in every if j not in s]))
    return out


def weights_of(shape: tuple[int, ...], sets: tuple[Set, ...], wanted: Set) -> Floats:
    """What one number of a grouping is, as a weighted sum of all that were drawn; the same for each of its numbers, but for their order."""
    every, out = range(len(shape)), []
    for s in sets:
        part = np.zeros([shape[j] for j in s])
        for effect in _inside(tuple(j for j in wanted if j in s)):
            lines = [np.eye(1, shape[j])[0] - 1 / shape[j] if j in effect else np.full(shape[j], 1 / shape[j]) for j in s]
            share = _many(shape, [j for j in every if j not in s]) * _many(shape, [j for j in s if j not in effect])
            part = part + reduce(np.multiply.outer, lines, np.ones(())) * (share / _information(shape, sets, effect))
        out.append(part.ravel() * _many(shape, [j for j in every if j not in wanted]))
    return np.concatenate(out)


@dataclass(frozen=True)
class SetsStep(Priced):
    r"""One noisy total for each group of each grouping, made to add up.

    Theorem. Let one person's rows move the totals of the finest groups by at most D in L1 norm and E in L2 norm. With k groupings whole
    noise of scale k D/epsilon is epsilon-DP, and Gaussian noise for the L2 norm sqrt(E^2 + (k - 1) F^2) is (epsilon, delta)-DP, F what
    one person can move a single total by (under replace sqrt(2) of that, or what a row changed in place moves it by, if more).
    Proof. All groupings add up the same bounded rows. In each the L1 norm is at most D, as adding cells up moves nothing further; the L2
    norm of a coarser one is largest with all rows in one group, or with one group left and another entered. QED
    What is shown is the weighted least squares fit of what was drawn, which is post-processing; each of its numbers is a public weighted
    sum of the drawn ones, and its interval is that of the sum.
    """

    noise: TotalNoise
    shape: tuple[int, ...]
    sets: tuple[Set, ...]
    keys: tuple[tuple[Any, ...], ...]
    total: SumStep | None = None  # None for a count
    bar: str = "exact"

    @property
    def name(self) -> str:
        return f"{self.noise.name}, {len(self.sets)} groupings made to add up"

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.noise.part,)

    @cached_property
    def groups(self) -> tuple[tuple[Any, ...], ...]:
        """The rows of the answer: every group of every grouping, None in the columns it adds up over."""
        columns = [tuple(dict.fromkeys(key[j] for key in self.keys)) for j in range(len(self.shape))]
        rows = (product(*(columns[j] if j in s else (None,) for j in range(len(columns)))) for s in self.sets)
        return tuple(chain.from_iterable(rows))

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        cells = self._cells(ask).reshape(self.shape)
        every = range(len(self.shape))
        sums = [np.asarray(cells.sum(axis=tuple(j for j in every if j not in s)), object) for s in self.sets]
        exact = np.concatenate([part.ravel() for part in sums])
        drawn = self.noise.around(exact if self.total is None else scaled(exact, self.total.unit), draw).astype(float)
        ends = np.cumsum([part.size for part in sums])[:-1]
        shaped = [part.reshape([self.shape[j] for j in s]) for part, s in zip(np.split(drawn, ends), self.sets, strict=True)]
        out = []
        for s, values in zip(self.sets, fitted(self.shape, self.sets, shaped), strict=True):
            far = self._radius(s, LEVEL)
            out += [Answer(v, v - far, v + far) for v in (values.ravel() * self._unit).tolist()]
        return out

    def _cells(self, ask: Ask) -> NDArray[np.object_]:
        if self.total is None:
            return read_totals(ask, (Item("rows"),), self.keys)[0]
        rows, total = read_totals(ask, (Item("rows", self.total.column), Item("sum", self.total.column)), self.keys)
        return np.asarray(total + self.total.grid.low * rows, object)

    @property
    def _unit(self) -> float:
        """One drawn unit in the statistic's own."""
        return 1.0 if self.total is None else float(self.total.grid.step / self.total.unit)

    def _radius(self, places: Set, level: float) -> float:
        known: dict[tuple[Set, float], float] = self.__dict__.setdefault("_known", {})
        if (places, level) not in known:
            weights, scale = weights_of(self.shape, self.sets, places), float(self.noise.scale)
            rounding = float(output_grid(self.noise.scale)) / math.sqrt(12) * float(np.linalg.norm(weights))
            gaussian = isinstance(self.noise, AddedGaussian)
            spread = math.hypot(scale * float(np.linalg.norm(weights)), rounding) if gaussian else rounding
            cut = 0.0 if self.total is None or self.total.unit.denominator == 1 else float(np.abs(weights).sum())
            known[places, level] = (sum_radius(np.zeros(0) if gaussian else weights * scale, spread, level) + cut) * self._unit
        return known[places, level]

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any]:
        """Which grouping an answer belongs to shows in its own interval."""
        for s in self.sets:
            far = self._radius(s, LEVEL)
            if answer.low == answer.value - far:
                far = self._radius(s, level)
                return answer.value - far, answer.value + far
        raise ValueError("an answer of another release")

    def width(self, rows: int | None, level: float = LEVEL) -> float:
        return max(self._radius(s, level) for s in self.sets)

    def rmse(self, rows: int | None) -> float:
        return self.noise.rmse * self._unit * max(float(np.linalg.norm(weights_of(self.shape, self.sets, s))) for s in self.sets)


@dataclass(frozen=True)
class GroupingSets(Plain):
    """A count or a sum by several groupings of the query's columns at once. Limits hold for the finest grouping, all columns together."""

    of: Count | Sum
    by: tuple[str, ...]
    sets: tuple[Set, ...]

    def __post_init__(self) -> None:
        asked: Any = self.of
        if not isinstance(asked, Count | Sum):
            what = f"{asked.label} by several groupings at once does not add up."
            raise QueryError(
                "SRD-203", what, 'Ask for COUNT(*) and SUM; a mean is .derive(m="s / n") of them. Or ask each GROUP BY on its own.'
            )

    @property
    def label(self) -> str:
        return self.of.label

    @property
    def columns(self) -> tuple[str, ...]:
        return self.of.columns

    def question(self) -> dict[str, Any]:
        return {**self.of.question(), "sets": [[self.by[j] for j in s] for s in self.sets]}

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        if context.keys is None:
            what = "several groupings at once take groups whose keys are public."
            raise QueryError("SRD-203", what, "Declare the keys of every group column, or ask each GROUP BY on its own.")
        if any(part is None for key in context.keys for part in key):
            raise QueryError("SRD-203", "a missing key could not be told from a total.", "Leave null out of the declared keys.")
        shape = tuple(len({key[j] for key in context.keys}) for j in range(len(self.by)))
        if sum(_many(shape, s) for s in self.sets) > MOST_NUMBERS:
            raise QueryError("SRD-207", "these groupings have too many groups.", f"Ask for at most {MOST_NUMBERS:,} numbers.")
        total = None
        if isinstance(self.of, Sum):
            total = SumStep(self.of.column, length_grid(context, self.of.column), epsilon, context)
        noises = self._noises(total, epsilon, delta, context)
        return {name: partial(SetsStep, noise, shape, self.sets, context.keys, total) for name, noise in noises.items()}

    def _noises(self, total: SumStep | None, epsilon: Fraction, delta: Fraction, context: Context) -> dict[str, TotalNoise]:
        add, swap, unit = ONE, ONE, ONE
        if total is not None:
            add, swap, unit = Fraction(total.row), Fraction(max(total.row, total.grid.width)), total.unit
        cut, many = (0 if unit.denominator == 1 else 1), len(self.sets)
        reach = Reach(add, swap, context)
        first = reach.first(unit, cut)
        laplace = Added(epsilon, many * first, many * reach.touched, first)
        fine = Reach(add**2, swap**2, context).second() if len(self.sets[0]) == len(self.by) else None
        rows = context.limits.counted
        apart = max(2 * add**2, swap**2) if context.unit.relation is Relation.REPLACE else add**2
        squares = (many - (fine is not None)) * rows**2 * apart + (0 if fine is None else fine**2)
        far = root_up(squares) * unit + (root_up(Fraction(many * reach.touched)) if cut else 0)
        if not delta or not (context.adds_rho or (many * first) ** 2 > far**2):
            return {"laplace": laplace}
        return quieter(laplace, AddedGaussian(epsilon, delta, far, many * reach.touched))


def over(statistic: Any, by: tuple[str, ...], sets: tuple[Set, ...]) -> GroupingSets:
    """A statistic over several groupings: one that was asked before they were named, or over others."""
    return replace(statistic, by=by, sets=sets) if isinstance(statistic, GroupingSets) else GroupingSets(statistic, by, sets)
