"""The rows one release looks at: filter, groups, columns and the privacy unit, all public facts.

Public tables beside a private one: every private row meets at most one public row, so a join adds nobody and no rows.

What stands for the bounds of a number column that has none: so wide that they say nothing, so public that they leak nothing.

What a filter says about a column's range: a filter on a bounded column narrows its bounds, and with them the noise. Through expressions
the same holds: their columns are narrowed, and interval arithmetic does the rest.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import NUMBERS, Column, as_day, as_moment, as_number
from sordino.schema.expression import (
    MIRRORED,
    NEGATED,
    And,
    Arithmetic,
    Between,
    Call,
    Case,
    Cast,
    Compare,
    DatePart,
    Expression,
    In,
    IsNull,
    Leaf,
    Like,
    Literal,
    Name,
    Not,
    Or,
    Predicate,
    Truth,
)
from sordino.schema.interval import MOST_VALUES, rebound

if TYPE_CHECKING:
    from sordino.schema.view import View

__all__ = [
    "HORIZON", "Frame", "Join", "Public", "fit", "fit_column", "fit_predicate", "narrow", "reached", "spelled", "unbounded",
]  # fmt: skip


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

    def declared(self, columns: Mapping[str, Column]) -> Mapping[str, Column]:
        """The declared columns of the rows under it: those of its source, or of its view with the owner."""
        if self.view is None:
            return columns
        owner = {} if self.unit_column is None else {self.unit_column.name: self.unit_column}
        return {**self.view.columns, **owner}


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


Span = tuple[Any, Any]  # None is an open end
OPEN: Span = (None, None)


def narrow(predicate: Predicate | None, column: Column) -> tuple[Any, Any] | None:
    """The column's bounds, narrowed by a filter that every kept row fulfils.

    Theorem. If every kept row has its raw value in [a, b], then clamping to [clamp(a), clamp(b)] changes no kept row's clamped value.
    Proof. The clamp to [L, U] is monotone, so a kept value lies between clamp(a) and clamp(b) after it, where the narrower clamp is the
    identity. A row whose value is null fulfils no comparison and is not kept, unless the filter asks for nulls, which opens the span. QED
    An empty or single-point range keeps the declared bounds: a filter may contradict them and must still be answered.
    """
    if column.bounds is None or predicate is None or column.type not in NUMBERS or column.type == "bool":
        return column.bounds
    low, high = column.bounds
    start, stop = _span(predicate, column.name, True)
    floor, ceiling = _comparable(column, low), _comparable(column, high)
    if start is not None and start > floor:
        low = start
    if stop is not None and stop < ceiling:
        high = stop
    if column.type == "float" and float(_comparable(column, high)) <= float(_comparable(column, low)):
        return column.bounds
    return (low, high) if _comparable(column, low) < _comparable(column, high) else column.bounds


def fit_column(column: Column, where: Predicate | None) -> Column:
    """The column with the bounds it has among the rows a filter keeps; whole numbers that were listed as keys are narrowed with it."""
    if column.expression is None:
        return replace(column, bounds=narrow(where, column))
    column = rebound(column, fit(column.expression, where))
    low, high = bounds = narrow(where, column) or (None, None)
    if column.type != "int" or column.keys is None or bounds == column.bounds:
        return replace(column, bounds=column.bounds and bounds)
    return replace(column, bounds=bounds, keys=tuple(key for key in column.keys if key is not None and low <= key <= high) or column.keys)


def fit(expression: Expression, where: Predicate | None) -> Expression:
    """The same expression over narrowed columns; inside a CASE a branch is also narrowed by its own condition.

    Theorem. It has the same value on every row the filter keeps.
    Proof. On a kept row every narrowed clamp is the declared one (`narrow`), and so is a branch's, if its condition is true on that row;
    the value of another branch is not looked at. QED
    """
    match expression:
        case Leaf(column) if column.reach is not None:
            near, far = (narrow(where, replace(column, bounds=ends)) for ends in column.reach)
            return Leaf(replace(column, bounds=narrow(where, column), reach=(near, far)))
        case Leaf(column):
            return Leaf(replace(column, bounds=narrow(where, column)))
        case Arithmetic(op, left, right):
            return Arithmetic(op, fit(left, where), fit(right, where))
        case Call(word, items, digits):
            return Call(word, tuple(fit(item, where) for item in items), digits)
        case DatePart(word, item):
            return DatePart(word, fit(item, where))
        case Cast(item, kind, scale):
            return Cast(fit(item, where), kind, scale)
        case Truth(predicate):
            return Truth(fit_predicate(predicate, where))
        case Case(branches, otherwise):
            kept = [(p, fit(value, p if where is None else And((where, p)))) for p, value in branches]
            last = None if otherwise is None else fit(otherwise, where)
            return Case(tuple((fit_predicate(p, where), value) for p, value in kept), last)
    return expression


def reached(column: Column, where: Predicate | None) -> Column:
    """A total of a person whose missing bounds a filter sets: WHERE n <= 20 of a count, which is at least one."""
    if column.reach is None or column.bounds is not None:
        return column
    near, far = (narrow(where, replace(column, bounds=ends)) for ends in column.reach)
    return column if near != far else replace(column, bounds=near, reach=None)


def fit_predicate(predicate: Predicate, where: Predicate | None) -> Predicate:
    """A condition about the rows a filter keeps; also the filter itself, because a row that another part of it drops is dropped anyway."""
    match predicate:
        case Not(part):
            return Not(fit_predicate(part, where))
        case And(parts) | Or(parts):
            return type(predicate)(tuple(fit_predicate(part, where) for part in parts))
        case Compare(op, left, right):
            return Compare(op, _fit_side(left, where), _fit_side(right, where))
        case Between(item) | In(item) | Like(item) | IsNull(item):
            return replace(predicate, item=_fit_name(item, where))


def _fit_name(name: Name, where: Predicate | None) -> Name:
    return name if name.expression is None else Name(name.column, fit(name.expression, where))


def _fit_side(side: Name | Literal, where: Predicate | None) -> Name | Literal:
    return _fit_name(side, where) if isinstance(side, Name) else side


def _comparable(column: Column, bound: Any) -> Any:
    if column.type == "date":
        return as_day(bound)
    return as_moment(bound) if column.type == "timestamp" else as_number(bound)


def _span(predicate: Predicate, name: str, holds: bool) -> Span:
    match predicate:
        case Not(part):
            return _span(part, name, not holds)
        case And(parts) | Or(parts):
            spans = [_span(part, name, holds) for part in parts]
            if isinstance(predicate, And) == holds:
                return _end(max, [a for a, _ in spans if a is not None]), _end(min, [b for _, b in spans if b is not None])
            starts, stops = [a for a, _ in spans], [b for _, b in spans]
            return None if None in starts else _end(min, starts), None if None in stops else _end(max, stops)
        case Between(Name(column), Literal(low), Literal(high)) if column == name and holds:
            return low, high
        case In(Name(column), values) if column == name and holds and values:
            return min(literal.value for literal in values), max(literal.value for literal in values)
        case Compare(op, Name(column), Literal(value)) if column == name:
            return _half(op if holds else NEGATED[op], value)
        case Compare(op, Literal(value), Name(column)) if column == name:
            return _half(MIRRORED[op if holds else NEGATED[op]], value)
    return OPEN


def _half(op: str, value: Any) -> Span:
    if isinstance(value, int) and op in ("<", ">"):  # a whole constant belongs to an int column
        op, value = ("<=", value - 1) if op == "<" else (">=", value + 1)
    if op == "=":
        return value, value
    if op in ("<", "<="):
        return None, value
    return (value, None) if op in (">", ">=") else OPEN


def _end(choose: Any, ends: list[Any]) -> Any:
    return choose(ends) if ends else None
