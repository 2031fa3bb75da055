"""How many different values a column has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any

from sordino.errors import QueryError
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column, shown
from sordino.schema.frame import spelled
from sordino.statistics.column_mode import public_values, refuse_private_groups
from sordino.statistics.port import LEVEL, Answer, Context, Counted, Groups, Plain, Ways, column_of
from sordino.statistics.reach import Reach, read_cells
from sordino.statistics.registry import registered
from sordino.statistics.row_count import CountStep
from sordino.summaries import Ask, Draw
from sordino.summaries.totals import Item

__all__ = ["CountDistinct", "count_distinct"]

ONE = Fraction(1)


@dataclass(frozen=True)
class DistinctStep(CountStep):
    """One noisy number of values that occur, per group."""

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        found = read_cells(ask, self.item, groups)
        drawn = self.noise.around([sum(1 for key, rows in cells.items() if rows > 0 and key is not None) for cells in found], draw)
        return [Answer(v, *self.interval(Answer(v), LEVEL)) for v in drawn.tolist()]

    @property
    def covers(self) -> str:
        return "the different values in the rows that count: of one who has more of them, some are left out"


@dataclass(frozen=True)
class CountDistinct(Plain):
    r"""The number of different values of a column, each person covering at most l of them.

    Theorem. With at most l values of a person that count, in all groups together, whole noise of scale l/epsilon is epsilon-DP under
    add_remove and, ungrouped, under replace; with groups 2 l/epsilon under replace.
    Proof. The values are part of the groups when rows are bounded, by that person's rows alone: another person adds no value but the at
    most l of their own, and takes none away. A replaced person takes at most l and brings at most l, whose difference is at most l in
    one group and 2 l over several. QED
    What is counted is at most the number of different values. The largest number that l values a person could cover is that of a maximum
    matching of people with values (Knop and Steinke 2023), with the same sensitivity; the values kept here are a draw of them, which
    every engine makes while it reads, and are all of them where nobody has more than l.
    """

    column: str
    columns: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"count_distinct({self.column})"

    def counted(self, context: Context) -> Counted:
        return Counted(self.column, public_values(_listable(column_of(context, self.column))))

    def question(self) -> dict[str, Any]:
        return {"statistic": "count_distinct", "column": self.column}

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        refuse_private_groups(context, self.label)
        keys, unit = self.counted(context).keys, context.unit
        values = context.cells(None if keys is None else len(keys)).touched
        each = values if keys is None else min(values, len(keys))  # all of them may lie in one group
        once = replace(context, unit=PrivacyUnit(unit.column, unit.relation, values, values, each))
        noises = Reach(ONE, ONE, once).noises(epsilon, delta, (ONE, ONE))
        return {name: partial(DistinctStep, Item("rows"), noise) for name, noise in noises.items()}


def _listable(column: Column) -> Column:
    """A column whose values are keys: text, truth values, and whole numbers or days whose bounds leave few of them."""
    found = spelled(column)
    if found.keys is None and column.type not in ("cat", "bool"):
        what = f"the values of {shown(column.name)} cannot be counted one by one: a person may cover at most so many of them, which"
        fix = "Count text, truth values, or whole numbers and days with bounds of at most 1,000 values; bin numbers, as in FLOOR(x / 10)."
        raise QueryError("SRD-203", f"{what} takes values that can be keys.", fix, column=column.name)
    return found


@registered(
    about="the number of different values of {of}", cells=True, sql=("COUNT(DISTINCT {})",), together=True,
    menu=(3, "number of different values"), examples=(("", ("zip",), {}), (" of whole numbers", ("age",), {})),
)  # fmt: skip
def count_distinct(column: str) -> CountDistinct:
    """How many different values a column has, each person covering at most as many as they may be in groups."""
    return CountDistinct(column)
