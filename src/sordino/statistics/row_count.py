"""How many rows.

How many people.

How many rows have a value, and how many people have such a row.

How many rows satisfy each of several predicates, in one release.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.privacy.certificate import Part
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import shown
from sordino.schema.expression import Expression, IsNull, Name, Not, Predicate, canonical
from sordino.schema.spelling import describe
from sordino.statistics.added import AddedGaussian, TotalNoise, quieter
from sordino.statistics.port import LEVEL, Answer, Context, Groups, Plain, Priced, Shape, Ways
from sordino.statistics.reach import Reach, read_totals
from sordino.statistics.registry import registered
from sordino.summaries import Ask, Draw
from sordino.summaries.totals import Item

__all__ = ["Count", "CountStep", "CountUnits", "PredicateCounts", "Present", "PresentUnits", "count", "count_units", "counts", "units_item"]

ONE = Fraction(1)


@dataclass(frozen=True)
class CountStep(Priced):
    """One noisy whole number per group."""

    item: Item
    noise: TotalNoise
    bar: str = "exact"

    @property
    def name(self) -> str:
        return self.noise.name

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.noise.part,)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        drawn = self.noise.around(read_totals(ask, (self.item,), groups)[0], draw)
        radius = self.noise.radius(LEVEL)
        return [Answer(v, v - radius, v + radius) for v in drawn.tolist()]

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any]:
        radius = self.noise.radius(level)
        return answer.value - radius, answer.value + radius

    def width(self, rows: int | None, level: float = LEVEL) -> float:
        return float(self.noise.radius(level))

    def rmse(self, rows: int | None) -> float:
        return self.noise.rmse


@dataclass(frozen=True)
class Count(Plain):
    r"""The number of rows.

    Theorem. With N rows of a person that count, whole noise of scale N/epsilon is epsilon-DP under add_remove; under replace N/epsilon
    suffices ungrouped (a filter and nulls included) and 2 N/epsilon with groups.
    Proof. A person adds at most N to all counts together; a replaced one changes an ungrouped count by |j - j'| <= N, and takes N from
    some groups and brings N to others. QED
    With groups and a delta, Gaussian noise for the L2 norm is offered too, and taken where its interval is narrower.
    """

    label = "count"
    sampled = True
    columns: tuple[str, ...] = ()

    def question(self) -> dict[str, Any]:
        return {"statistic": "count"}

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        return _counted(Item("rows"), epsilon, delta, context)


def _counted(item: Item, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
    """A count to which one row adds one, by every noise that fits."""
    noises = Reach(ONE, ONE, context).noises(epsilon, delta, (ONE, ONE))
    return {name: partial(CountStep, item, noise) for name, noise in noises.items()}


@registered(about="their number{sets}", sql=("COUNT(*)",), together=True, menu=(1, "number of rows"))
def count() -> Count:
    """How many rows there are."""
    return Count()


def units_item(context: Context) -> Item:
    """Distinct people; where every row is a unit, rows."""
    return Item("units" if context.unit.column is not None else "rows")


@dataclass(frozen=True)
class CountUnits(Plain):
    r"""The number of people (or of rows, where a row is the unit): a count to which everybody adds at most one.

    Theorem. With a person in at most J groups, whole noise of scale J/epsilon is epsilon-DP under add_remove, 2 J/epsilon under replace
    with groups and 1/epsilon without.
    Proof. A person is counted once in each group, however many rows are there. QED
    """

    label = "count_units"
    columns: tuple[str, ...] = ()

    def question(self) -> dict[str, Any]:
        return {"statistic": "count_units"}

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        return _counted(units_item(context), epsilon, delta, _once(context))


def _once(context: Context) -> Context:
    """As if everybody had one row in each group they are in."""
    unit, groups = context.unit, context.limits.touched
    return replace(context, unit=PrivacyUnit(unit.column, unit.relation, groups, groups, 1))


@registered(about="the number of different {unit}s", sql=("COUNT(DISTINCT {})",), together=True, menu=(2, "number of people"))
def count_units() -> CountUnits:
    """How many people there are."""
    return CountUnits()


@dataclass(frozen=True)
class _NotNull(Plain):
    """Rows in which a column is not null: one condition of the frame, at index `first`."""

    column: str
    expression: Expression | None = None
    first: int = 0
    columns: tuple[str, ...] = ()

    @property
    def predicates(self) -> tuple[Any, ...]:  # type: ignore[override]
        return (Not(IsNull(Name(self.column, self.expression))),)


@registered("present", about="the number that have a {of}", sql=("COUNT({})",), verb=False)
@dataclass(frozen=True)
class Present(_NotNull):
    """The number of rows in which a column is not null: a count of the rows that fulfil one condition, at the price of a count."""

    @property
    def label(self) -> str:
        return f"count({self.column})"

    def question(self) -> dict[str, Any]:
        return {"statistic": "present", "column": self.column}

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        return _counted(Item("counted", index=self.first), epsilon, delta, context)


@dataclass(frozen=True)
class PeopleStep(CountStep):
    """One noisy number of people per group, of whom one row at least fulfils a condition."""

    @property
    def covers(self) -> str:
        return "the people whose rows that count have one: of somebody with more rows than count, some are left out"


@registered("present_units", about="the number of different {unit}s that have a {of}", verb=False)
@dataclass(frozen=True)
class PresentUnits(_NotNull):
    r"""The number of people with a row in which a column is not null: at the price of a number of people.

    Theorem. With a person in at most J groups, whole noise of scale J/epsilon is epsilon-DP under add_remove, 2 J/epsilon under replace
    with groups and 1/epsilon without.
    Proof. A person is counted in a group if one of the rows they have there, after bounding, fulfils the condition: once at most, and by
    their own rows alone. QED
    """

    @property
    def label(self) -> str:
        return f"count_units({self.column})"

    def question(self) -> dict[str, Any]:
        return {"statistic": "present_units", "column": self.column}

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        noises = Reach(ONE, ONE, _once(context)).noises(epsilon, delta, (ONE, ONE))
        return {name: partial(PeopleStep, Item("people", index=self.first), noise) for name, noise in noises.items()}


@dataclass(frozen=True)
class CountsStep(Priced):
    """One noisy whole number per predicate and group."""

    items: tuple[Item, ...]
    noise: TotalNoise
    bar: str = "exact"

    @property
    def name(self) -> str:
        return self.noise.name

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.noise.part,)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        drawn = self.noise.around(np.stack(read_totals(ask, self.items, groups), axis=1), draw)
        found = [Answer(tuple(row)) for row in drawn.tolist()]
        return [Answer(answer.value, *self.interval(answer, LEVEL)) for answer in found]

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any]:
        radius = self.noise.radius(level)
        return tuple(v - radius for v in answer.value), tuple(v + radius for v in answer.value)

    def width(self, rows: int | None, level: float = LEVEL) -> float:
        return float(self.noise.radius(level))

    def rmse(self, rows: int | None) -> float:
        return self.noise.rmse


@dataclass(frozen=True)
class PredicateCounts(Plain):
    r"""The numbers of rows that satisfy each of d predicates.

    Theorem. In one group of m rows a person Laplace noise of scale m d/epsilon, or Gaussian noise for the L2 sensitivity m sqrt(d), is
    private, under both relations.
    Proof. One row may satisfy every predicate and a replaced person changes each count by at most m: at most m d in L1 norm, m sqrt(d)
    in L2 norm. Groups as in every vector of totals. QED
    The quieter of the two is taken, by public facts, when a delta is on offer. Each interval holds with probability 95% on its own.
    """

    predicates: tuple[Any, ...]
    first: int = 0
    columns: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not self.predicates:
            raise QueryError("SRD-103", "there is no predicate to count.", 'Give predicates such as ["age >= 18", "age >= 65"].')

    @property
    def label(self) -> str:
        return f"counts({len(self.predicates)})"

    def shape(self, label: str) -> Shape:
        own = label == self.label
        return {"columns": [f"count({describe(p)})" if own else f"{label}_{i}" for i, p in enumerate(self.predicates, 1)]}

    def question(self) -> dict[str, Any]:
        return {"statistic": "counts", "predicates": [canonical(p) for p in self.predicates]}

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        d = len(self.predicates)
        reach = Reach(Fraction(d), Fraction(d), context)
        moved = d * reach.touched
        items = tuple(Item("counted", index=self.first + i) for i in range(d))
        laplace = reach.added(epsilon, coordinates=d)
        gaussian = AddedGaussian(epsilon, delta, reach.second(), moved) if delta else None
        return {name: partial(CountsStep, items, noise) for name, noise in quieter(laplace, gaussian).items()}


@registered(about="how many fulfil each condition", examples=(("", (["age > 10", "age > 50 AND ok"],), {}),))
def counts(predicates: Iterable[Any]) -> PredicateCounts:
    """How many rows satisfy each predicate, given as text such as "age >= 18"."""
    if isinstance(predicates, str | bytes) or not isinstance(predicates, Iterable):
        raise QueryError("SRD-103", f"the predicates are {shown(predicates)}.", 'List them: ["age >= 18", "age >= 65"].')
    asked = tuple(predicates)
    if not asked:
        raise QueryError("SRD-208", "counts names no condition.", 'List at least one: ["age >= 18"].')
    for item in asked:
        if not isinstance(item, str | Predicate):
            raise QueryError("SRD-206", f"a predicate is {shown(item)}.", 'Write each as text, such as "age >= 18".')
    return PredicateCounts(asked)
