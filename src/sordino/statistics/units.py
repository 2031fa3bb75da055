"""How many people."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sordino.privacy.relation import PrivacyUnit
from sordino.statistics.added import Added
from sordino.statistics.port import Context, Plain, Step
from sordino.statistics.reach import Reach
from sordino.statistics.rows import CountStep
from sordino.summaries.totals import Item

__all__ = ["CountUnits", "count_units", "units_item"]


def units_item(context: Context) -> Item:
    """Distinct people; where every row is a unit, rows."""
    return Item("units" if context.unit.column is not None else "rows")


@dataclass(frozen=True)
class CountUnits(Plain):
    """The number of people (or of rows, where a row is the unit): a count to which everybody adds at most one."""

    label = "count_units"
    way = "laplace"
    columns: tuple[str, ...] = ()

    def question(self) -> dict[str, Any]:
        return {"statistic": "count_units"}

    def step(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step:
        unit = context.unit
        once = replace(context, unit=PrivacyUnit(unit.column, unit.relation, 1, unit.max_groups))
        reach = Reach(Fraction(1), Fraction(1), once)
        return CountStep(units_item(context), Added(epsilon, reach.first(), reach.touched))


def count_units() -> CountUnits:
    """How many people there are."""
    return CountUnits()
