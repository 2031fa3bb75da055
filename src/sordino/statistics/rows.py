"""How many rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sordino.privacy.certificate import Certificate
from sordino.privacy.cost import Cost
from sordino.statistics.added import Added
from sordino.statistics.port import LEVEL, Answer, Context, Groups, Plain, Step
from sordino.statistics.reach import Reach
from sordino.statistics.read import read_totals
from sordino.summaries import Ask, Draw
from sordino.summaries.totals import Item

__all__ = ["Count", "CountStep", "count"]


@dataclass(frozen=True)
class CountStep:
    """One noisy whole number per group."""

    item: Item
    noise: Added
    bar: str = "exact"

    @property
    def cost(self) -> Cost:
        return self.noise.cost

    @property
    def name(self) -> str:
        return self.noise.name

    def certificates(self) -> Sequence[Certificate]:
        return (self.noise.certificate(),)

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

    Theorem. With at most m rows per person, in at most g groups, whole noise of scale g m/epsilon is epsilon-DP under add_remove; under
    replace m/epsilon suffices ungrouped (a filter and nulls included) and 2 g m/epsilon with groups.
    Proof. A person adds at most m to each of g counts; a replaced one changes an ungrouped count by |j - j'| <= m, and 2 g counts. QED
    """

    label = "count"
    way = "laplace"
    columns: tuple[str, ...] = ()

    def question(self) -> dict[str, Any]:
        return {"statistic": "count"}

    def step(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step:
        reach = Reach(Fraction(1), Fraction(1), context)
        return CountStep(Item("rows"), Added(epsilon, reach.first(), reach.touched))


def count() -> Count:
    """How many rows there are."""
    return Count()
