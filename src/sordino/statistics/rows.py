"""How many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sordino.privacy.certificate import Part
from sordino.statistics.added import Added
from sordino.statistics.port import LEVEL, Answer, Context, Groups, Plain, Priced, Step
from sordino.statistics.reach import Reach
from sordino.statistics.read import read_totals
from sordino.summaries import Ask, Draw
from sordino.summaries.totals import Item

__all__ = ["Count", "CountStep", "count"]


@dataclass(frozen=True)
class CountStep(Priced):
    """One noisy whole number per group."""

    item: Item
    noise: Added
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
    """

    label = "count"
    way = "laplace"
    columns: tuple[str, ...] = ()

    def question(self) -> dict[str, Any]:
        return {"statistic": "count"}

    def step(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step:
        reach = Reach(Fraction(1), Fraction(1), context)
        return CountStep(Item("rows"), reach.added(epsilon))


def count() -> Count:
    """How many rows there are."""
    return Count()
