"""How many rows satisfy each of several predicates, in one release."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.privacy.certificate import Part
from sordino.schema.expression import Predicate
from sordino.schema.normal import canonical
from sordino.schema.value import shown
from sordino.statistics.added import Added, AddedGaussian, quieter
from sordino.statistics.port import LEVEL, Answer, Context, Groups, Plain, Priced, Ways
from sordino.statistics.reach import Reach
from sordino.statistics.read import read_totals
from sordino.summaries import Ask, Draw
from sordino.summaries.totals import Item

__all__ = ["Counts", "counts"]


@dataclass(frozen=True)
class CountsStep(Priced):
    """One noisy whole number per predicate and group."""

    items: tuple[Item, ...]
    noise: Added | AddedGaussian
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
class Counts(Plain):
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


def counts(predicates: Iterable[Any]) -> Counts:
    """How many rows satisfy each predicate, given as text such as "age >= 18"."""
    if isinstance(predicates, str | bytes) or not isinstance(predicates, Iterable):
        raise QueryError("SRD-103", f"the predicates are {shown(predicates)}.", 'List them: ["age >= 18", "age >= 65"].')
    asked = tuple(predicates)
    for item in asked:
        if not isinstance(item, str | Predicate):
            raise QueryError("SRD-206", f"a predicate is {shown(item)}.", 'Write each as text, such as "age >= 18".')
    return Counts(asked)
