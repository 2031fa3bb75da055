"""A derived column: the type, the bounds and the keys of an expression follow from those of the columns in it, and so does its name.

Functions of text: what each makes of a constant, how long the result can be, and which values it can have.

Only ASCII letters have another case and only plain spaces are trimmed, because databases disagree about the others.
"""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any, NoReturn

from sordino.errors import QueryError
from sordino.schema.column import Column, as_day, as_number, shown
from sordino.schema.expression import Arithmetic, Call, Case, Cast, Constant, DatePart, Expression, Leaf, Truth, leaves
from sordino.schema.extent import (
    HUGE,
    Extent,
    Refuse,
    arithmetic,
    cast,
    hull,
    logarithm,
    moved,
    number,
    part,
    power,
    root,
    rounded,
    sized,
    start_of,
    truncated,
    zoned,
)
from sordino.schema.spelling import phrase

__all__ = [
    "LENGTHS", "MOST_VALUES", "TEXTS", "days", "derive", "extent", "further", "longest", "most_characters", "rebound", "text_part",
    "text_values", "values",
]  # fmt: skip

TEXTS = ("digits", "lower", "upper", "substr", "right", "trim", "ltrim", "rtrim", "concat")
LENGTHS = 10_000  # characters of a text that may be declared, and that is put together: engines cut what is longer
INTEGER_DIGITS = 20  # of a whole number
Values = Callable[[Expression], tuple[Any, ...] | None]


def text_part(word: str, value: Any, given: list[Any]) -> str:
    """One of `TEXTS` but concat of a constant, as every engine has it."""
    text = str(value)
    match word:
        case "digits":
            return text.zfill(given[0])
        case "substr":
            return text[given[0] - 1 : given[0] - 1 + given[1]]
        case "right":
            return text[-given[0] :]
        case "trim":
            return text.strip(" ")
        case "ltrim":
            return text.lstrip(" ")
        case "rtrim":
            return text.rstrip(" ")
    return "".join((letter.lower() if word == "lower" else letter.upper()) if letter.isascii() else letter for letter in text)


def text_values(call: Call, values: Values, most: int) -> tuple[Any, ...] | None:
    """Every text a call can make, where the public can list those it is made of. Anything put together with null is null."""
    if call.word == "concat":
        found = [values(item) for item in call.items]
        if any(item is None for item in found) or prod(len(item or ()) for item in found) > most:
            return None
        put = ("".join(map(str, parts))[:LENGTHS] if None not in parts else None for parts in product(*(item or () for item in found)))
        return tuple(dict.fromkeys(put))
    item, *rest = call.items
    keys, given = values(item), [part.value for part in rest if isinstance(part, Constant)]
    return None if keys is None else tuple(dict.fromkeys(None if key is None else text_part(call.word, key, given) for key in keys))


def longest(item: Expression, values: Values) -> int:
    """The most characters a text can have, as far as its declaration says."""
    keys = values(item)
    if keys is not None:
        return max([1, *(len(str(key)) for key in keys if key is not None)])
    match item:
        case Leaf(column):
            return column.max_length
        case Call("concat", items):
            return min(LENGTHS, sum(longest(part, values) for part in items))
        case Call("digits", _):
            return INTEGER_DIGITS
        case Call("substr" | "right", (inner, *_, Constant(length))):
            return max(1, min(longest(inner, values), int(length)))
        case Call(word, (inner, *_)) if word in TEXTS:
            return longest(inner, values)
    return LENGTHS


def most_characters(item: Expression, known: Mapping[str, int]) -> int:
    """The most characters a text of any row can have, whatever keys are declared: what work with it costs. `known` are texts of a view."""
    match item:
        case Leaf(column):
            return known.get(column.name, column.max_length)
        case Constant(value):
            return 0 if value is None else len(str(value))
        case Call("concat", items):
            return min(LENGTHS, sum(most_characters(part, known) for part in items))
        case Call("coalesce", items):
            return max(most_characters(part, known) for part in items)
        case Call("digits", _):
            return INTEGER_DIGITS
        case Call("substr" | "right", (inner, *_, Constant(length))):
            return min(most_characters(inner, known), int(length))
        case Call(word, (inner, *_)) if word in TEXTS:
            return most_characters(inner, known)
        case Case(branches, otherwise):
            return max(most_characters(part, known) for part in (*(value for _, value in branches), otherwise or Constant(None)))
    return LENGTHS


WIDE = 2**61  # exact values stay below it, so that a sum of two, or one lifted above zero, still fits 63 bits
DIGITS = 18
SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul}
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
    for leaf in leaves(expression):
        if leaf.reach is not None and extent(further(expression)) != found:
            raise QueryError("SRD-202", f"{shown(phrase(expression))} has no public bounds.", leaf.hint, column=column.name)
    return replace(column, bounds=_bounds(found), keys=values(expression), scale=found.scale, expression=expression)


def further(expression: Expression) -> Expression:
    """The same expression where a person may have twice as many rows: bounds that differ are no bounds."""
    match expression:
        case Leaf(column) if column.reach is not None:
            return Leaf(replace(column, bounds=column.reach[1]))
        case Arithmetic(op, left, right):
            return Arithmetic(op, further(left), further(right))
        case Call(word, items, digits):
            return Call(word, tuple(map(further, items)), digits)
        case DatePart(word, item):
            return DatePart(word, further(item))
        case Cast(item, kind, scale):
            return Cast(further(item), kind, scale)
        case Case(branches, otherwise):
            return Case(tuple((p, further(value)) for p, value in branches), None if otherwise is None else further(otherwise))
    return expression


def _bounds(found: Extent) -> tuple[Any, Any] | None:
    """Two different ends in the column's unit: where there is one value only, zero, the next one or the day beside it is the other."""
    if found.type in ("cat", "bool"):
        return None
    low, high = found.low, found.high
    if low == high:
        if found.type in ("date", "timestamp"):
            day = dt.timedelta(days=1)
            low, high = (low, high + day) if low.toordinal() == 1 else (low - day, high)  # no day can be named before the first one
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
        case Call(word) if word in TEXTS:
            return text_values(expression, values, MOST_VALUES)
        case Call("move", (_, _, Constant("day" | "month"))) if (found_days := extent(expression)).type == "date":
            return days((found_days.low, found_days.high))
        case Call("trunc", (_, Constant(unit))):
            found_days = extent(expression)
            return days((found_days.low, found_days.high), unit)
        case Call("coalesce", items):
            found = [values(item) for item in items]
            if all(item is not None for item in found):
                return tuple(dict.fromkeys(value for item in found for value in item or () if value is not None))
    kind = extent(expression)
    if kind.type == "bool":
        return (False, True)
    if kind.type == "int" and isinstance(expression, Arithmetic) and (listed := _steps(expression)) is not None:
        return listed
    if kind.type == "int" and kind.high - kind.low < MOST_VALUES:
        return tuple(range(kind.low, kind.high + 1))
    return None


def _steps(expression: Arithmetic) -> tuple[Any, ...] | None:
    """The values of FLOOR(x / 10) * 10: those of a list, each with the same whole constant; whole arithmetic is exact."""
    sides = expression.left, expression.right
    listed = [values(side) for side in sides]
    if not any(isinstance(side, Constant) for side in sides) or None in listed or expression.op not in SIGNS:
        return None
    left, right = listed
    found = [None if None in (a, b) else SIGNS[expression.op](a, b) for a in left or () for b in right or ()]
    whole = all(value is None or (isinstance(value, int) and not isinstance(value, bool)) for value in found)
    return tuple(dict.fromkeys(found)) if whole else None


def days(bounds: tuple[Any, Any] | None, unit: str = "day") -> tuple[Any, ...] | None:
    """Every day, or first day of a week, month, quarter or year, between two bounds; None if there are too many to list."""
    if bounds is None or (first := as_day(bounds[0])) is None or (last := as_day(bounds[1])) is None:
        return None
    found: list[dt.date] = []
    step = dt.timedelta(days={"day": 1, "week": 7, "month": 31, "quarter": 92}.get(unit, 366))
    at: dt.date | None = start_of(unit, first)
    while at is not None and at <= last and len(found) <= MOST_VALUES:
        found.append(at)
        at = start_of(unit, at + step) if dt.date.max - at >= step else None  # no day can be named after the last one
    return tuple(found) if len(found) <= MOST_VALUES else None


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
        case Call("sqrt", (item,)):
            found = root(number(extent(item), refuse), refuse)
        case Call("digits", (item, Constant(width))):
            whole = extent(item)
            if whole.type != "int" or whole.low < 0 or (width and whole.high >= 10**width):
                refuse("SRD-203", "writes something as text that is no whole number of so many digits.", "Use a whole number from 0 on.")
            found = Extent("cat")
        case Call(word, items) if word in TEXTS or word == "length":
            if any(extent(item).type not in ("cat", "null") for item in (items if word == "concat" else items[:1])):
                fix = "Use columns of text; numbers beside text are a second column: GROUP BY both."
                refuse("SRD-203", "takes something for text that is none.", fix)
            found = Extent("int", 0, longest(items[0], values)) if word == "length" else Extent("cat")
        case Call("move", (item, Constant(count), Constant(step))):
            found = moved(extent(item), count, step, refuse)
        case Call("zone", (item, Constant(name))):
            found = zoned(extent(item), name, refuse)
        case Call("exp", (item,)):
            found = power(number(extent(item), refuse), refuse)
        case Call("trunc", (item, Constant(unit))):
            found = truncated(unit, extent(item), refuse)
        case Call("ln", (item,)):
            found = logarithm(number(extent(item), refuse), refuse)
        case Call(word, (item,), digits):
            found = rounded(word, number(extent(item), refuse), digits)
        case DatePart(word, item):
            found = part(word, extent(item), refuse)
        case Cast(item, kind, scale):
            found = cast(extent(item), kind, scale, refuse)
        case Truth():
            found = Extent("bool", 0, 1)
        case Case(branches, otherwise):
            branched = [value for _, value in branches] + ([] if otherwise is None else [otherwise])
            found = hull([extent(value) for value in branched], refuse)
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
