"""The most frequent values with their numbers of rows, or in the order of numbers that are drawn for that: one release, two draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from sordino.privacy.certificate import Part
from sordino.privacy.relation import PrivacyUnit
from sordino.statistics.added import Added
from sordino.statistics.port import LEVEL, Answer, Context, Groups, Priced, Step
from sordino.statistics.reach import Reach, read_cells
from sordino.summaries import Ask, Draw, Refused
from sordino.summaries.totals import Item

__all__ = ["COUNTS_SHARE", "ORDER_SHARE", "CountedTopStep"]

ONE = Fraction(1)
COUNTS_SHARE = Fraction(1, 2)  # of epsilon, for counts that are shown
ORDER_SHARE = Fraction(1, 4)  # for counts that only order a set


@dataclass(frozen=True)
class CountedTopStep(Priced):
    r"""The k most frequent values as `chosen` names them, and then a noisy count of each.

    Theorem. Whole noise of scale N/epsilon (2 N/epsilon under replace) on the counts of k named values is epsilon-DP after any private
    choice of them, N the rows of a person that can lie on k values of every group; choice and counts compose.
    Proof. The named values are released, so they are public when they are counted; a person's rows on them are at most N. QED
    The noise of a count is independent of the choice, so its interval holds for each named value: a count that had decided the choice
    would be too high on average.
    """

    chosen: Step
    size: int
    epsilon: Fraction
    context: Context
    shown: bool = True  # whether the counts are part of the answer, or only its order
    by_count: bool = False  # whether the counts decide the order
    bar: str = "exact"

    def __post_init__(self) -> None:
        object.__setattr__(self, "bar", "exact" if self.shown else "none")
        _ = self.noise  # every refusal comes before the charge

    @cached_property
    def noise(self) -> Added:
        unit, cells = self.context.unit, self.context.cells(self.size)
        once = PrivacyUnit(unit.column, unit.relation, cells.total, cells.groups, cells.rows)
        return Reach(ONE, ONE, replace(self.context, unit=once, grouped=True, keys=None)).added(self.epsilon)

    @property
    def name(self) -> str:
        return f"{self.chosen.name} + {self.noise.name}{'' if self.shown else ' for their order'}"

    @property
    def shown_from(self) -> int | None:
        return self.chosen.shown_from

    @property
    def parts(self) -> tuple[Part, ...]:
        return (*self.chosen.parts, self.noise.part)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        named = self.chosen.release(ask, draw, groups)
        cells = read_cells(ask, Item("rows"), groups)
        return [self._counted(answer.value, found, draw) for answer, found in zip(named, cells, strict=True)]

    def _counted(self, value: Any, cells: dict[Any, int], draw: Draw) -> Answer:
        if isinstance(value, Refused):
            return Answer(value)
        keys = value if isinstance(value, tuple) else (value,)
        drawn = dict(zip(keys, self.noise.around([cells.get(key, 0) for key in keys], draw).tolist(), strict=True))
        if self.by_count:
            drawn = dict(sorted(drawn.items(), key=lambda item: -item[1]))
        if not self.shown:
            return Answer(tuple(drawn))
        return Answer(drawn, *self.interval(Answer(drawn), LEVEL))

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any]:
        if not isinstance(answer.value, dict):
            return None, None
        far = self.noise.radius(level)
        return {key: count - far for key, count in answer.value.items()}, {key: count + far for key, count in answer.value.items()}

    def width(self, rows: int | None, level: float = LEVEL) -> float | None:
        return float(self.noise.radius(level)) if self.shown else None

    def rmse(self, rows: int | None) -> float | None:
        return self.noise.rmse if self.shown else None
