"""Tables of people and what is computed inside each of them: views as tables one may ask about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sordino.errors import QueryError
from sordino.plan.person_total import MANY, total_of, unlimited
from sordino.plan.query_plan import QueryPlan
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column, check_bounds, nearest, shown
from sordino.schema.spelling import spell
from sordino.schema.view import Chosen, PersonTotals, PrivateTable, View
from sordino.statistics import Statistic, count, mean
from sordino.statistics import max as largest
from sordino.statistics import min as smallest
from sordino.statistics import sum as total

if TYPE_CHECKING:
    from sordino.session.table import Table

__all__ = ["one_row", "owned_by", "per_person", "view_table"]

WORDS: dict[str, Callable[[str], Statistic]] = {"sum": total, "avg": mean, "min": smallest, "max": largest}
KNOWN = 'Use sd.count(), sd.sum("x"), sd.mean("x"), sd.min("x") or sd.max("x").'


def owned_by(table: Table) -> PrivateTable | None:
    """The table as rows with owners; None where every row is a unit of its own, or where it is a view already."""
    if table.own is not None:
        return table.own
    if table.unit.column is None or table.view is not None:
        return None
    return PrivateTable(table.name, tuple(table.columns.values()), table.unit.column)


def view_table(table: Table, view: View | None) -> Table:
    """The table whose rows are those of a view; at most one row of a person counts where a person has no more."""
    if view is None:
        return table
    unit = one_row(table.unit) if view.single else table.unit
    owner = {unit.column: Column(unit.column, "id")} if unit.column is not None else {}
    return replace(table, view=view, columns={**owner, **view.columns}, unit=unit)


def one_row(unit: PrivacyUnit) -> PrivacyUnit:
    return replace(unit, max_rows=1, max_groups=1, max_rows_per_group=None)


def per_person(table: Table, asked: QueryPlan, made: Mapping[str, Statistic], bounds: Mapping[str, Any] | None) -> Table:
    """One row for each person who has a row, with these totals of their rows, clamped to `bounds`."""
    if table.unit.column is None:
        what = f"in table {shown(table.name)} every row is a unit of its own."
        raise QueryError("SRD-204", what, 'Say whose the rows are: unit="patient_id" when the table is opened.')
    if not made:
        raise QueryError("SRD-208", "per_person computes nothing.", f"Name what it computes: per_person(n=sd.count()). {KNOWN}")
    for name in bounds or {}:
        if name not in made:
            raise QueryError("SRD-208", f"bounds are given for {shown(name)}.", nearest(name, list(made), "names"))
    below = table.view or owned_by(table)
    assert below is not None
    read = {name: asked.number(name) for statistic in made.values() if isinstance(statistic, Statistic) for name in statistic.columns}
    rows = Chosen(below, tuple(read.items()), asked.where, asked.joins)
    near, far = (_totals(rows, made, asked, many) for many in (MANY, 2 * MANY))
    known = unlimited(near.columns, far.columns)
    said = {name: replace(column, hint=_hint(name)) if column.bounds is None else column for name, column in known.items()}
    said |= {name: _clamped(said[name], given) for name, given in (bounds or {}).items()}
    view = Chosen(near, tuple(near.columns.items()), declared=tuple(said.values()))
    return view_table(table, view)


def _totals(rows: Chosen, made: Mapping[str, Statistic], asked: QueryPlan, many: int) -> PersonTotals:
    found = []
    for name, statistic in made.items():
        if statistic == count():
            found.append(total_of("rows", None, name, many))
            continue
        column = next(iter(statistic.columns), None) if isinstance(statistic, Statistic) else None
        word = next((word for word, make in WORDS.items() if column is not None and statistic == make(column)), None)
        if word is None or column is None:
            raise QueryError("SRD-208", f"{shown(name)} is nothing that is computed inside one person: {shown(statistic)}.", KNOWN)
        found.append(total_of(word, asked.number(column), name, many))
    return PersonTotals(rows, (), tuple(found))


def _hint(name: str) -> str:
    return f"Say how much of it counts: per_person(..., bounds={{{shown(name)}: (0, 50)}}), or LEAST({spell(name)}, 50) in SQL."


def _clamped(column: Column, given: Any) -> Column:
    if column.type not in ("int", "float", "decimal", "date", "timestamp"):
        raise QueryError("SRD-204", f"{shown(column.name)} is of type {column.type} and has bounds.", "Leave them out.")
    return replace(column, bounds=check_bounds(column.name, column.type, given, 38, column.scale), hint="")
