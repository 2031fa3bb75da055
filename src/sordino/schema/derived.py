"""A derived column: the type, the bounds and the keys of an expression follow from those of the columns in it, and so does its name."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection
from dataclasses import replace
from fractions import Fraction
from typing import Any, NoReturn

from sordino.errors import QueryError
from sordino.schema.arithmetic import HUGE
from sordino.schema.column import Column
from sordino.schema.expression import Arithmetic, Call, Case, Cast, Constant, Expression, Leaf, Part, Truth
from sordino.schema.extent import Extent, Refuse, arithmetic, cast, hull, logarithm, number, part, rounded, sized
from sordino.schema.spelling import phrase
from sordino.schema.value import as_number, shown

__all__ = ["MOST_VALUES", "derive", "extent", "rebound", "values"]

WIDE = 2**61  # exact values stay below it, so that a sum of two, or one lifted above zero, still fits 63 bits
DIGITS = 18
MOST_VALUES = 1_000  # whole numbers a range may have and still be a list of public keys


def derive(expression: Expression, taken: Collection[str] = ()) -> Column:
    """The column an expression makes; one that only names a column is that column. The name is the expression in SQL words."""
    if isinstance(expression, Leaf):
        return expression.column
    name = phrase(expression)
    while name in taken:
        name = f"({name})"
    return rebound(Column(name, extent(expression).type, expression=expression), expression)


def rebound(column: Column, expression: Expression) -> Column:
    """The same derived column with the bounds and keys of an expression whose columns have other bounds."""
    found = extent(expression)
    if found.type == "null":
        raise QueryError("SRD-203", "NULL has no type and no bounds.", "Name a column or a value.")
    return replace(column, bounds=_bounds(found), keys=values(expression), scale=found.scale, expression=expression)


def _bounds(found: Extent) -> tuple[Any, Any] | None:
    """Two different ends in the column's unit: where there is one value only, zero (or the next one) is the other."""
    if found.type in ("cat", "bool"):
        return None
    low, high = found.low, found.high
    if low == high:
        if found.type in ("date", "timestamp"):
            low = high - dt.timedelta(days=1)
        else:
            low, high = (min(low, 0), max(high, 0)) if low != 0 else (0, 1)
    return (Fraction(low, 10**found.scale), Fraction(high, 10**found.scale)) if found.type == "decimal" else (low, high)


def values(expression: Expression) -> tuple[Any, ...] | None:
    """Every value an expression can have, where the public can list them: constants, declared keys, truth values, short whole ranges."""
    match expression:
        case Constant(value):
            return (value,)
        case Leaf(column) if column.keys is not None or column.type == "cat":
            return column.keys
        case Case(branches, otherwise):
            found = [values(value) for _, value in branches] + [(None,) if otherwise is None else values(otherwise)]
            if all(item is not None for item in found):
                return tuple(dict.fromkeys(value for item in found for value in item or ()))
        case Call("coalesce", items):
            found = [values(item) for item in items]
            if all(item is not None for item in found):
                return tuple(dict.fromkeys(value for item in found for value in item or () if value is not None))
    kind = extent(expression)
    if kind.type == "bool":
        return (False, True)
    if kind.type == "int" and kind.high - kind.low < MOST_VALUES:
        return tuple(range(kind.low, kind.high + 1))
    return None


def extent(expression: Expression) -> Extent:
    """Bottom up; an expression without a type or without bounds is an error that names the fix."""

    def refuse(code: str, what: str, fix: str) -> NoReturn:
        raise QueryError(code, f"{shown(phrase(expression))} {what}", fix)

    match expression:
        case Leaf(column):
            found = _leaf(column)
        case Constant(value):
            found = _constant(value)
        case Arithmetic(op, left, right):
            found = arithmetic(op, extent(left), extent(right), refuse)
        case Call("coalesce", items):
            found = hull([extent(item) for item in items], refuse)
        case Call("least" | "greatest" as word, items):
            found = _extreme(word, items, refuse)
        case Call("abs", (item,)):
            found = sized(number(extent(item), refuse))
        case Call("ln", (item,)):
            found = logarithm(number(extent(item), refuse), refuse)
        case Call(word, (item,), digits):
            found = rounded(word, number(extent(item), refuse), digits)
        case Part(word, item):
            found = part(word, extent(item), refuse)
        case Cast(item, kind, scale):
            found = cast(extent(item), kind, scale, refuse)
        case Truth():
            found = Extent("bool", 0, 1)
        case Case(branches, otherwise):
            values = [value for _, value in branches] + ([] if otherwise is None else [otherwise])
            found = hull([extent(value) for value in values], refuse)
        case _:
            refuse("SRD-209", "is no expression.", "Use + - * /, CASE, CAST, a part of a date, or one of the listed functions.")
    return _fitting(found, refuse)


def _fitting(found: Extent, refuse: Refuse) -> Extent:
    """What every engine can compute without overflow."""
    if found.exact and (max(abs(found.low), abs(found.high)) >= WIDE or found.scale > DIGITS):
        refuse("SRD-202", "may need more digits than an exact number has.", "Narrow the bounds, or CAST a part of it AS DOUBLE.")
    if found.type == "float" and max(abs(found.low), abs(found.high)) > HUGE:
        refuse("SRD-202", "has no useful bounds: it may exceed 1e150.", "Narrow the bounds, for example with LEAST and GREATEST.")
    return found


def _leaf(column: Column) -> Extent:
    if column.type in ("cat", "id", "never"):
        return Extent("cat")
    grid = column.grid()  # an error with the fix if it has no bounds
    if column.type == "float" and column.bounds is not None:
        low, high = (float(as_number(bound) or 0) for bound in column.bounds)
        return Extent("float", low, high)
    if column.type in ("date", "timestamp"):
        return Extent(column.type, grid.value(0), grid.value(grid.width))
    return Extent(column.type, grid.low, grid.high, column.scale)


def _constant(value: Any) -> Extent:
    if value is None:
        return Extent("null")
    if isinstance(value, bool):
        return Extent("bool", int(value), int(value))
    if isinstance(value, str):
        return Extent("cat")
    if isinstance(value, dt.date):
        return Extent("timestamp" if isinstance(value, dt.datetime) else "date", value, value)
    number = Fraction(value)
    for scale in (0, *range(1, DIGITS + 1)):
        steps = number * 10**scale
        if steps.denominator == 1 and abs(steps) < WIDE:
            return Extent("decimal" if scale else "int", int(steps), int(steps), scale)
    return Extent("float", float(number), float(number))


def _extreme(word: str, items: tuple[Expression, ...], refuse: Refuse) -> Extent:
    """Nulls are skipped, so an end moves inwards only by a constant, which is never null."""
    found = [extent(item) for item in items]
    whole = _fitting(hull(found, refuse), refuse)  # every item becomes the common type before the least is taken
    if whole.type == "cat":
        refuse("SRD-203", "compares text.", "Use numbers or dates.")
    fixed = [e.ends(whole.type, whole.scale)[0] for e, i in zip(found, items, strict=True) if isinstance(i, Constant) and e.type != "null"]
    if word == "least":
        return Extent(whole.type, whole.low, min([whole.high, *fixed]), whole.scale)
    return Extent(whole.type, max([whole.low, *fixed]), whole.high, whole.scale)
