"""How many people."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sordino.privacy.relation import PrivacyUnit
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
    r"""The number of people (or of rows, where a row is the unit): a count to which everybody adds at most one.

    Theorem. With a person in at most J groups, whole noise of scale J/epsilon is epsilon-DP under add_remove, 2 J/epsilon under replace
    with groups and 1/epsilon without.
    Proof. A person is counted once in each group, however many rows are there. QED
    """

    label = "count_units"
    way = "laplace"
    columns: tuple[str, ...] = ()

    def question(self) -> dict[str, Any]:
        return {"statistic": "count_units"}

    def step(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step:
        unit, groups = context.unit, context.limits.touched
        once = replace(context, unit=PrivacyUnit(unit.column, unit.relation, groups, groups, 1))
        return CountStep(units_item(context), Reach(Fraction(1), Fraction(1), once).added(epsilon))


def count_units() -> CountUnits:
    """How many people there are."""
    return CountUnits()
