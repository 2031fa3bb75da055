"""How far one step of the neighbour relation reaches into a grouped table, and what one group may then spend."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from sordino.errors import QueryError
from sordino.privacy.number import exp_up, round_down
from sordino.privacy.relation import Relation
from sordino.schema.column import Column, Grid
from sordino.statistics.port import Context

__all__ = ["Price", "Reach", "cells_per_person", "column_of", "grid_of", "length_grid", "one_unit", "per_group", "public_size"]

LARGEST = 50  # a mechanism with a delta spends no more than this on one of two steps: e^e would leave nothing of its delta


def column_of(context: Context, name: str) -> Column:
    """A declared column, or an error with the fix."""
    if name not in context.columns:
        raise QueryError("SRD-201", f"column {name!r} is unknown.", f"Known columns: {', '.join(context.columns) or 'none'}.")
    return context.columns[name]


def grid_of(context: Context, name: str) -> Grid:
    """The public grid of a number column with at least two points."""
    grid = column_of(context, name).grid()
    if grid.width < 1:
        raise QueryError("SRD-202", f"the bounds of {name!r} leave one value.", "Declare low < high, at least one grid step apart.")
    return grid


def length_grid(context: Context, name: str) -> Grid:
    """The grid of a column whose values may be added: dates and timestamps have quantiles, not sums."""
    grid = grid_of(context, name)
    if grid.kind in ("date", "timestamp"):
        what = f"column {name!r} is of type {grid.kind} and cannot be added."
        raise QueryError("SRD-203", what, "Ask for median, quantile, iqr, min or max.")
    return grid


def one_unit(grid: Grid) -> int:
    """One unit of the column in grid steps: what a difference between rows may be like, as far as the public knows.

    At least one step, and no more than the bounds are apart: of a column in [0, 1e-6] one unit says nothing.
    """
    return max(1, min(math.floor(1 / grid.step), grid.width))


def public_size(context: Context) -> int | None:
    """n where it is public: the whole table under replace, one row per unit, nothing dropped, a declared size."""
    unit = context.unit
    rows = unit.relation is Relation.REPLACE and unit.column is None and unit.max_rows == 1
    return context.size if rows and context.size and not context.filtered and not context.grouped else None


def cells_per_person(context: Context) -> int:
    """How many (group, value) cells a unit may be in when the counted column is part of the groups."""
    return context.unit.max_groups if context.unit.column is not None else 1


@dataclass(frozen=True)
class Reach:
    r"""The sensitivity of a vector of totals, from the largest contribution of one row.

    `add` bounds the norm of one row's contribution to its group, `swap` the distance of two rows' contributions (or of a row and none).

    Theorem. With at most m rows per person and group, in at most g groups, one step moves all totals by at most: ungrouped, m add under
    add_remove and m swap under replace; grouped, in L1 norm g m add and 2 g m add, in L2 norm sqrt(g) m add and
    sqrt(g) m max(sqrt(2) add, swap).
    Proof. An added person contributes at most m rows to each of g groups; coordinates of different groups are different. A replaced
    person leaves and enters: where both touch one group, rows are paired and each pair moves it by at most swap <= 2 add, the unpaired
    by add; elsewhere by m add each. With j groups in common the squares sum to j swap^2 + 2 (g - j) add^2 at most, whose largest
    value is at j = 0 or j = g. QED
    """

    add: Fraction
    swap: Fraction
    context: Context

    @property
    def touched(self) -> int:
        """How many groups one step can change."""
        if not self.context.grouped:
            return 1
        return self.context.groups_per_person * (2 if self.context.unit.relation is Relation.REPLACE else 1)

    def first(self, scale: Fraction = Fraction(1), rounded: int = 0) -> int:
        """The L1 sensitivity of totals multiplied by `scale`, `rounded` of whose coordinates per group are then cut to whole numbers.

        Cutting to whole numbers moves a coordinate that moved by d at most by ceil(d): one more per coordinate that moved.
        """
        replace = self.context.unit.relation is Relation.REPLACE
        row = self.swap if replace and not self.context.grouped else self.add
        return self.touched * (math.ceil(self.context.unit.max_rows * row * scale) + rounded)

    def second(self) -> Fraction:
        """The L2 sensitivity, rounded up; here `add` and `swap` are squared norms."""
        people, rows = self.context.groups_per_person, self.context.unit.max_rows
        if self.context.unit.relation is not Relation.REPLACE:
            norm = self.add * (people if self.context.grouped else 1)
        else:
            norm = max(2 * self.add, self.swap) * people if self.context.grouped else self.swap
        return rows * root_up(norm)


def root_up(square: Fraction) -> Fraction:
    """A rational just above the square root."""
    scaled = math.ceil(square * 10**24)
    root = math.isqrt(scaled)
    return Fraction(root if root * root == scaled else root + 1, 10**12)


@dataclass(frozen=True)
class Price:
    """What one group's mechanism may spend, and the relation it must hold for."""

    epsilon: Fraction
    delta: Fraction
    relation: Relation


def per_group(epsilon: Fraction, delta: Fraction, context: Context, *, groups: int | None = None) -> Price:
    r"""The price of the mechanism that runs once in each group.

    Theorem. With g groups per person, running it at (epsilon/g, delta/g) for add_remove costs (epsilon, delta) in all; for replace, run
    the add_remove mechanism at e = epsilon/(2 g) and delta/(g (1 + e^e)). Ungrouped, the mechanism's own relation and the whole price.
    Proof. Add_remove: g mechanisms change, the others see the same rows. Replace: a removal and an addition, at most g groups each; two
    steps in one group cost (2 e, (1 + e^e) delta') by group privacy, two steps in different groups no more. QED
    """
    relation = context.unit.relation
    if not context.grouped:
        return Price(epsilon, delta, relation)
    people = context.groups_per_person if groups is None else groups
    if relation is not Relation.REPLACE:
        return Price(epsilon / people, delta / people, relation)
    each = min(epsilon / (2 * people), Fraction(LARGEST)) if delta else epsilon / (2 * people)
    return Price(each, round_down(delta / (people * (1 + exp_up(each))), 40) if delta else delta, Relation.ADD_REMOVE)
