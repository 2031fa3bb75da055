"""How many rows have a value."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sordino.schema.expression import Expression, IsNull, Name, Not
from sordino.statistics.port import Context, Plain, Step
from sordino.statistics.reach import Reach
from sordino.statistics.rows import CountStep
from sordino.summaries.totals import Item

__all__ = ["Present"]


@dataclass(frozen=True)
class Present(Plain):
    """The number of rows in which a column is not null: a count of the rows that fulfil one condition, at the price of a count."""

    way = "laplace"
    column: str
    expression: Expression | None = None
    first: int = 0
    columns: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"count({self.column})"

    @property
    def predicates(self) -> tuple[Any, ...]:  # type: ignore[override]
        return (Not(IsNull(Name(self.column, self.expression))),)

    def question(self) -> dict[str, Any]:
        return {"statistic": "present", "column": self.column}

    def step(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step:
        reach = Reach(Fraction(1), Fraction(1), context)
        return CountStep(Item("counted", index=self.first), reach.added(epsilon))
