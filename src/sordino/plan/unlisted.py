"""Values a condition compares with that are no declared key of their column: most are slips of the pen, and an answer would be paid for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from sordino.schema.column import Column
from sordino.schema.expression import And, Compare, Expression, In, Literal, Name, Not, Or, Predicate, conditions, names, parts
from sordino.schema.spelling import spell
from sordino.schema.value import nearest, shown
from sordino.schema.view import Chosen, PersonJoin, PersonTotals, PersonWindows, View

if TYPE_CHECKING:
    from sordino.plan.query_plan import QueryPlan

__all__ = ["unlisted"]


def unlisted(asked: QueryPlan) -> list[str]:
    """One sentence for each such value, in the order they are compared. Declarations only; no data are read."""
    made = [column.expression for name in (*asked.by, *asked.read) if (column := asked.columns[name]).expression is not None]
    counted = [item for statistic in asked.statistics.values() for item in statistic.predicates]
    found = [*_said([asked.where, *counted], made, asked.columns), *_inside(asked.view)]
    return list(dict.fromkeys(found))


def _inside(view: View | None) -> Iterator[str]:
    match view:
        case PersonJoin():
            yield from (*_inside(view.left), *_inside(view.right))
        case Chosen():
            beside = {name: column for join in view.joins for name, column in join.columns.items()}
            made = [column.expression for _, column in view.shown if column.expression is not None]
            yield from _said([view.where], made, {**view.rows.columns, **beside})
            yield from _inside(view.rows)
        case PersonTotals() | PersonWindows():
            yield from _inside(view.rows)


def _said(predicates: Sequence[Predicate | None], made: Sequence[Expression | None], columns: Mapping[str, Column]) -> Iterator[str]:
    for predicate in predicates:
        if predicate is not None:
            yield from _compared(predicate, columns)
            yield from _said([], [name.expression for name in names(predicate)], columns)
    for expression in made:
        if expression is not None:
            yield from _said(list(conditions(expression)), list(parts(expression)), columns)


def _compared(predicate: Predicate, columns: Mapping[str, Column]) -> Iterator[str]:
    match predicate:
        case Not(part):
            yield from _compared(part, columns)
        case And(items) | Or(items):
            for part in items:
                yield from _compared(part, columns)
        case Compare("=" | "<>", Name(name, None), Literal(value)) | Compare("=" | "<>", Literal(value), Name(name, None)):
            yield from _sentence(name, value, columns)
        case In(Name(name, None), values):
            for literal in values:
                yield from _sentence(name, literal.value, columns)


def _sentence(name: str, value: object, columns: Mapping[str, Column]) -> Iterator[str]:
    column = columns.get(name)
    if column is None or column.keys is None or column.type not in ("cat", "int") or value is None or value in column.keys:
        return
    hint = nearest(value, [str(key) for key in column.keys if key is not None], "keys")
    yield f"the condition compares {spell(name)} with {shown(value)}, which is none of its declared keys. {hint}"
