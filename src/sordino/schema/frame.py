"""The rows one release looks at: filter, groups, columns and the privacy unit, all public facts.

Public tables beside a private one: every private row meets at most one public row, so a join adds nobody and no rows.

What stands for the bounds of a number column that has none: so wide that they say nothing, so public that they leak nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.expression import Predicate
from sordino.schema.interval import MOST_VALUES

if TYPE_CHECKING:
    from sordino.schema.view import View

__all__ = ["HORIZON", "Frame", "Join", "Public", "spelled", "unbounded"]


@dataclass(frozen=True, eq=False)
class Public:
    """A table anybody may read, held in memory: one row per value of its unique columns. Numbers and dates are text of their type."""

    name: str
    columns: Mapping[str, Column]
    unique: tuple[str, ...]
    rows: Mapping[str, Sequence[int | str | None]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Join:
    """A public table matched by equality on all its unique columns.

    `name` tells two joins of one table apart; its columns are then called name.column. `on` pairs the name of a column at hand with a
    unique column. With `outer` rows without a match stay and have nulls there, otherwise they drop out.

    Theorem. The joined table has at most one row for each row before, whatever the private table holds; a person's rows and the unit's
    column are the same, so every bound on a person's contribution stays.
    Proof. Values of the unique columns occur once, because an engine groups the public rows by them first; equality on all of them meets
    at most one. QED
    """

    name: str
    table: Public
    on: tuple[tuple[str, str], ...]
    outer: bool = False

    @property
    def columns(self) -> dict[str, Column]:
        """The public columns as a question names them. A row without a match has null there, whatever stands in for null in the table."""
        named = {f"{self.name}.{name}": column for name, column in self.table.columns.items()}
        return {name: replace(column, name=name, nulls="drop") for name, column in named.items()}

    def own(self, name: str) -> str:
        """What the public table calls one of these columns."""
        return name.removeprefix(f"{self.name}.")


@dataclass(frozen=True)
class Frame:
    """What an engine must prepare before it may answer: the bounded table of one release.

    `by` are the group columns: with keys the rows of other keys drop out and every combination of keys is a group, in the order declared;
    without keys (in any of them) the groups are those that occur. `columns` are the number columns whose integers are needed; `counted`
    are predicates whose rows are counted. With `edges` (grid steps above the lower bound, ascending) the last group column is a number and
    its key is the index i of the bin edges[i] <= x < edges[i+1], the last bin closed on the right; its `keys` are then 0..len(edges)-2 and
    rows in no bin drop out. `joins` lay public tables beside each row, in order, before anything is filtered. A column with an expression
    is computed from other columns of the row. With a `view` the rows are those of the view instead of a source's. Rows with a null unit
    id drop out. Bounding is the last step before aggregation.
    """

    unit: PrivacyUnit
    unit_column: Column | None = None
    fold_ids: bool = False
    where: Predicate | None = None
    by: tuple[Column, ...] = ()
    columns: tuple[Column, ...] = ()
    counted: tuple[Predicate, ...] = ()
    edges: tuple[int, ...] | None = None
    joins: tuple[Join, ...] = ()
    view: View | None = None

    @cached_property
    def public_groups(self) -> tuple[tuple[object, ...], ...] | None:
        """Every group when all keys are public, in order (one empty group when ungrouped); None when some are private."""
        groups: list[tuple[object, ...]] = [()]
        for column in self.by:
            if column.keys is None:
                return None
            groups = [(*group, key) for group in groups for key in column.keys]
        return tuple(groups)


HORIZON = 2**40
FINE = Fraction(1, 2**12)


def unbounded(column: Column) -> Column:
    """The column between -2^40 and 2^40, floats in steps of 2^-12 where no resolution is declared.

    Quantiles can be found there, because their price grows with the logarithm of the width at most; sums and means cannot.
    Other types than int, float and decimal, and columns with bounds, are left as they are.
    """
    if column.bounds is not None or column.type not in ("int", "float", "decimal") or column.expression is not None:
        return column
    wide = replace(column, bounds=(-HORIZON, HORIZON))
    wide = replace(wide, resolution=column.resolution or FINE) if column.type == "float" else wide
    return wide if wide.grid().width <= 2**53 else column


def spelled(column: Column) -> Column:
    """A whole number or a day whose public bounds leave few values, with all of them as its keys; any other column as it is."""
    if column.keys is not None or column.bounds is None or column.type not in ("int", "date") or column.expression is not None:
        return column
    grid = column.grid()
    if grid.width >= MOST_VALUES:
        return column
    return replace(column, keys=tuple(grid.value(step) for step in range(grid.width + 1)))
