"""Values, conditions and expressions by the book: fractions until something is divided, Python's own doubles from there on.

The engines say all of this in SQL. Here it is said once more, in plain Python and one row at a time, for `reference_engine`.
"""

from __future__ import annotations

import datetime as dt
import math
import operator
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from sordino.schema.column import Column, as_day, as_moment
from sordino.schema.expression import (
    And,
    Arithmetic,
    Between,
    Call,
    Case,
    Cast,
    Compare,
    Constant,
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
from sordino.schema.extent import power_step
from sordino.schema.interval import LENGTHS, extent

__all__ = ["EPOCH", "Lookup", "evaluate", "exact", "kind", "steps", "text", "truth", "typed"]

Lookup = Callable[..., tuple[Column, Any]]  # of a column's name, or of a derived one's name and expression: the column and its value
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
WORDS = {"true": 1, "t": 1, "yes": 1, "y": 1, "1": 1, "false": 0, "f": 0, "no": 0, "n": 0, "0": 0}
COMPUTED = ("lower", "upper", "substr", "right", "trim", "ltrim", "rtrim", "trunc", "sqrt", "length", "move", "zone", "digits")
LARGEST = 9 * 10**18  # from here on a float is written as a float
SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def kind(expression: Expression) -> str:
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
        case Call("digits" | "lower" | "upper" | "substr" | "right" | "trim" | "ltrim" | "rtrim" | "concat"):
            return "cat"
        case Call("move" | "zone", (item, *_)):
            return kind(item)
        case Call("trunc"):
            return "date"
        case Call("sqrt" | "exp"):
            return "float"
        case Call("floor" | "ceil" | "length"):
            return "int"
        case Call("round", (item,), digits):
            return "decimal" if digits and kind(item) != "int" else "int"
        case Call(_, items):
            return wider([kind(item) for item in items])
        case DatePart():
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


def evaluate(expression: Expression, value: Lookup) -> Any:
    """The value on one row: an int or a Fraction, a float, a day, a moment, text, 0 or 1; None for null. `value` looks columns up."""

    def of(part: Expression) -> Any:
        found = evaluate(part, value)
        return float(found) if found is not None and kind(expression) == "float" else found

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
        case Call("concat", items):
            texts = [evaluate(item, value) for item in items]
            return None if None in texts else "".join(texts)[:LENGTHS]
        case Call("exp", (item,)):
            found = evaluate(item, value)
            return None if found is None else raised(float(found), power_step(extent(item)))
        case Call(word, (item, *rest)) if word in COMPUTED:
            found = evaluate(item, value)
            return None if found is None else computed(word, found, [part.value for part in rest if isinstance(part, Constant)])
        case Call(word, (item,), digits):
            found = evaluate(item, value)
            return None if found is None else rounded(word, found, digits)
        case DatePart(word, item):
            found = evaluate(item, value)
            return None if found is None else dated(word, found)
        case Cast(item, to, scale):
            found = evaluate(item, value)
            return None if found is None else cast(found, kind(item), to, scale)
        case Truth(predicate):
            found = truth(predicate, value)
            return None if found is None else int(found)
        case Case(branches, otherwise):
            chosen = next((part for condition, part in branches if truth(condition, value) is True), otherwise)
            return None if chosen is None else of(chosen)
    raise TypeError(expression)


def clamped(column: Column, found: Any) -> Any:
    if found is None or column.type in ("cat", "bool"):
        return found
    assert column.bounds is not None
    low, high = column.bounds
    if column.type == "date":
        return max(as_day(low), min(as_day(high), found))
    if column.type == "timestamp":
        first, last = (moment.replace(microsecond=0) for bound in (low, high) if (moment := as_moment(bound)) is not None)
        return max(first, min(last, found))
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


def further(x: Any, count: int, step: str) -> Any:
    """A day or moment moved, month by month: whoever would be on a day that does not exist is on the last one."""
    if step != "month":
        return x + (dt.timedelta(days=count) if step == "day" else dt.timedelta(seconds=count))
    months = 12 * x.year + x.month - 1 + count
    for day in range(x.day, 27, -1):
        try:
            return x.replace(year=months // 12, month=months % 12 + 1, day=day)
        except ValueError:
            continue
    return x.replace(year=months // 12, month=months % 12 + 1)


def raised(x: float, step: float) -> float:
    return math.floor(math.exp(max(-300.0, x)) / step + 0.5) * step


def computed(word: str, x: Any, given: list[Any]) -> Any:
    """Functions of text, days and roots, from their definitions."""
    if word == "sqrt":
        return math.sqrt(x)
    if word == "length":
        return len(x)
    if word == "trunc":
        day = x.date() if isinstance(x, dt.datetime) else x
        if given[0] == "week":
            return day - dt.timedelta(days=day.isoweekday() - 1)
        first = {"year": 1, "quarter": (day.month - 1) // 3 * 3 + 1}.get(given[0], day.month)
        return day if given[0] == "day" else dt.date(day.year, first, 1)
    if word == "substr":
        return x[given[0] - 1 :][: given[1]]
    if word == "right":
        return x[max(0, len(x) - given[0]) :]
    if word in ("trim", "ltrim", "rtrim"):
        return x.strip(" ") if word == "trim" else x.lstrip(" ") if word == "ltrim" else x.rstrip(" ")
    if word == "digits":
        return "0" * (given[0] - len(str(x))) + str(x)
    if word == "zone":
        return x.astimezone(ZoneInfo(given[0])).replace(tzinfo=dt.UTC)
    if word == "move":
        return further(x, *given)
    pairs = zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz", strict=True)
    table = {ord(large): small for large, small in pairs} if word == "lower" else {ord(small): large for large, small in pairs}
    return x.translate(table)


def rounded(word: str, x: Any, digits: int) -> Any:
    if word == "abs":
        return abs(x)
    if word != "round":
        return math.floor(x) if word == "floor" else math.ceil(x)
    scaled = Fraction(x * 10.0**digits) if isinstance(x, float) else Fraction(x) * 10**digits
    return Fraction(away(scaled), 10**digits)


def dated(word: str, x: Any) -> Any:
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


def text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode()
    if isinstance(value, float | Decimal) and math.isfinite(value) and value == int(value) and -LARGEST < value < LARGEST:
        return str(int(value))
    if isinstance(value, Decimal):
        return str(value).rstrip("0")
    return str(value).lower() if isinstance(value, bool) else str(value)


def exact(value: Any) -> Fraction | float | None:
    if isinstance(value, (bool, int)):
        return Fraction(int(value))
    if isinstance(value, bytes):
        value = value.decode()
    if isinstance(value, float):
        value = str(value)
    word = str(value).strip().lower()
    if word in ("inf", "infinity", "+inf", "-inf", "-infinity"):
        return -math.inf if word.startswith("-") else math.inf
    return Fraction(word) if NUMBER.fullmatch(word) else None


def within(number: Fraction | float, most: int) -> Fraction:
    return Fraction(most) if number > most else Fraction(-most) if number < -most else Fraction(number)


def typed(column: Column, value: Any) -> Any:
    """The value in the column's type: an int, a Fraction, a float, a date, a UTC datetime or text; None for null."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    if column.type in ("cat", "id"):
        return text(value)
    if column.type in ("date", "timestamp"):
        try:
            moment = dt.datetime.fromisoformat(str(value).strip())
        except ValueError:
            return None
        moment = moment.astimezone(dt.UTC) if moment.tzinfo else moment.replace(tzinfo=dt.UTC)
        return moment.date() if column.type == "date" else moment
    if column.type == "bool" and isinstance(value, str) and value.strip().lower() in WORDS:
        return WORDS[value.strip().lower()]
    number = exact(value)
    if number is None:
        return None
    if column.type == "float":
        if isinstance(value, float):
            return float(value)
        return float(number) if -(10**300) < number < 10**300 else math.copysign(math.inf, number)
    number = within(number, 10**20 - 1)
    if column.type == "decimal":
        return number
    whole: int = math.floor(within(number, 9 * 10**18))
    return whole if column.type == "int" else int(whole > 0)


def steps(column: Column, value: Any) -> int | None:
    if value is None:
        return None
    grid = column.grid()
    found: int
    if column.type == "date":
        found = (value - EPOCH.date()).days
    elif column.type == "timestamp":
        found = (value - EPOCH) // dt.timedelta(seconds=1)
    elif column.type == "float":
        low, high = (float(Fraction(str(bound))) for bound in column.bounds or ())
        found = math.floor(max(low, min(high, value)) / float(grid.step))
    else:
        found = math.floor(value / grid.step)
    return max(0, min(grid.width, found - grid.low))


def truth(predicate: Predicate, value: Lookup) -> bool | None:
    """Three-valued logic: True, False, or None for unknown."""
    match predicate:
        case Compare(op, left, right):
            return compare(op, side(left, right, value), side(right, left, value))
        case Between(item, low, high):
            return truth(And((Compare(">=", item, low), Compare("<=", item, high))), value)
        case In(item, values):
            return truth(Or(tuple(Compare("=", item, v) for v in values)), value)
        case Like(item, pattern):
            found: Any = value(item.column, item.expression)[1]
            shape = "".join(".*" if c == "%" else "." if c == "_" else re.escape(c) for c in pattern)
            return None if found is None else re.fullmatch(shape, found, re.DOTALL) is not None
        case IsNull(item):
            return value(item.column, item.expression)[1] is None
        case Not(part):
            found = truth(part, value)
            return None if found is None else not found
        case And(parts):
            each = [truth(part, value) for part in parts]
            return False if False in each else None if None in each else True
        case Or(parts):
            each = [truth(part, value) for part in parts]
            return True if True in each else None if None in each else False
    raise TypeError(predicate)


def side(item: Name | Literal, other: Name | Literal, value: Lookup) -> Any:
    if isinstance(item, Name):
        return value(item.column, item.expression)[1]
    column = value(other.column, other.expression)[0] if isinstance(other, Name) else None
    return float(item.value) if column is not None and column.type == "float" and item.value is not None else item.value


def compare(op: str, left: Any, right: Any) -> bool | None:
    if left is None or right is None:
        return None
    if isinstance(left, dt.datetime) != isinstance(right, dt.datetime) and isinstance(left, dt.date):
        left, right = (d if isinstance(d, dt.datetime) else dt.datetime(d.year, d.month, d.day, tzinfo=dt.UTC) for d in (left, right))
    return SIGNS[op](left, right)
