"""Expressions by the book: fractions until something is divided, Python's own doubles from there on."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction
from typing import Any

from sordino.schema.expression import Arithmetic, Call, Case, Cast, Constant, Leaf, Part, Truth
from sordino.schema.value import as_day, as_moment

NUMBERS = ("int", "decimal", "float")


def kind(expression: Any) -> str:
    """The type SQL gives an expression; "null" for a bare NULL."""
    match expression:
        case Leaf(column):
            return column.type
        case Constant(value):
            names = ((type(None), "null"), (bool, "bool"), (str, "cat"), (dt.datetime, "timestamp"), (dt.date, "date"), (int, "int"))
            return next((name for known, name in names if isinstance(value, known)), "decimal")
        case Arithmetic("/"):
            return "float"
        case Arithmetic(_, left, right):
            return "int" if kind(left) == "date" else wider([kind(left), kind(right)])
        case Call("floor" | "ceil"):
            return "int"
        case Call("round", (item,), digits):
            return "decimal" if digits and kind(item) != "int" else "int"
        case Call(_, items):
            return wider([kind(item) for item in items])
        case Part():
            return "int"
        case Cast(_, to):
            return to
        case Truth():
            return "bool"
        case Case(branches, otherwise):
            return wider([kind(value) for _, value in branches] + ([kind(otherwise)] if otherwise is not None else []))
    raise TypeError(expression)


def wider(kinds: list[str]) -> str:
    known = [kind for kind in kinds if kind != "null"]
    return next((kind for kind in ("float", "decimal") if kind in known), known[0])


def evaluate(expression: Any, value: Any, truth: Any) -> Any:
    """The value on one row: an int or a Fraction, a float, a day, a moment, text, 0 or 1; None for null. `value` looks columns up."""

    def of(part: Any, to: str | None = None) -> Any:
        found = evaluate(part, value, truth)
        return float(found) if found is not None and (to or kind(expression)) == "float" else found

    match expression:
        case Leaf(column):
            return clamped(column, value(column.name)[1])
        case Constant(constant):
            return int(constant) if isinstance(constant, bool) else constant
        case Arithmetic(op, left, right):
            a, b = of(left), of(right)
            return None if a is None or b is None else compute(op, a, b)
        case Call("coalesce", items):
            return next((found for item in items if (found := of(item)) is not None), None)
        case Call("least" | "greatest" as word, items):
            found = [part for item in items if (part := of(item)) is not None]
            return None if not found else min(found) if word == "least" else max(found)
        case Call(word, (item,), digits):
            found = evaluate(item, value, truth)
            return None if found is None else rounded(word, found, digits)
        case Part(word, item):
            found = evaluate(item, value, truth)
            return None if found is None else dated(word, found)
        case Cast(item, to, scale):
            found = evaluate(item, value, truth)
            return None if found is None else cast(found, kind(item), to, scale)
        case Truth(predicate):
            found = truth(predicate, value)
            return None if found is None else int(found)
        case Case(branches, otherwise):
            chosen = next((part for condition, part in branches if truth(condition, value) is True), otherwise)
            return None if chosen is None else of(chosen)
    raise TypeError(expression)


def clamped(column: Any, found: Any) -> Any:
    if found is None or column.type in ("cat", "bool"):
        return found
    low, high = column.bounds
    if column.type == "date":
        return max(as_day(low), min(as_day(high), found))
    if column.type == "timestamp":
        return max(as_moment(low).replace(microsecond=0), min(as_moment(high).replace(microsecond=0), found))
    if column.type == "float":
        return max(float(Fraction(str(low))), min(float(Fraction(str(high))), found))
    step = Fraction(1, 10**column.scale)
    inside = max(Fraction(str(low)), min(Fraction(str(high)), Fraction(found)))
    return math.floor(inside / step) * step


def compute(op: str, a: Any, b: Any) -> Any:
    if isinstance(a, dt.date):
        return (a - b).days
    if isinstance(a, float) and op in "*/":
        a, b = (0.0 if abs(x) < 1e-150 else x for x in (a, b))
    match op:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
    return None if b == 0 else a / b


def away(x: Fraction) -> int:
    return int(math.copysign(math.floor(abs(x) + Fraction(1, 2)), x))


def rounded(word: str, x: Any, digits: int) -> Any:
    if word == "abs":
        return abs(x)
    if word != "round":
        return math.floor(x) if word == "floor" else math.ceil(x)
    scaled = Fraction(x * 10.0**digits) if isinstance(x, float) else Fraction(x) * 10**digits
    return Fraction(away(scaled), 10**digits)


def dated(word: str, x: Any) -> int:
    if word == "quarter":
        return (x.month + 2) // 3
    if word in ("dow", "isodow"):
        return x.isoweekday() % 7 if word == "dow" else x.isoweekday()
    return getattr(x, word)


def cast(x: Any, source: str, to: str, scale: int) -> Any:
    if to == source and to != "decimal":
        return x
    match to:
        case "date":
            return x.date() if isinstance(x, dt.datetime) else x
        case "timestamp":
            return dt.datetime(x.year, x.month, x.day, tzinfo=dt.UTC)
        case "bool":
            return int(x != 0)
        case "float":
            return float(x)
        case "int":
            return round(x) if source == "float" else away(Fraction(x))
    return rounded("round", x, scale)
