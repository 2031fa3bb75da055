"""The algebra of expressions: what a derived column may be made of, as plain values. An engine renders it; no analyst text reaches one.

The algebra of filters: what a WHERE may say, as plain values. An engine renders it; no analyst text ever reaches one.

One spelling for filters that say the same thing, so that asking again is free however the filter is written.

Negations move to the leaves, BETWEEN becomes two comparisons, equality a list of one; AND and OR are flat, sorted, free of repeats. Every
step keeps the three-valued meaning: NOT (x < 3) and x >= 3 are both null when x is. Equal forms always mean the same; unequal ones may.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sordino.schema.column import Column

__all__ = [
    "CALLS", "MIRRORED", "NEGATED", "PARTS", "And", "Arithmetic", "Between", "Call", "Case", "Cast", "Compare", "Constant", "DatePart",
    "Expression", "In", "IsNull", "Leaf", "Like", "Literal", "Name", "Not", "Or", "Predicate", "Truth", "canonical", "conditions",
    "constant", "encode", "leaves", "names", "parts", "reads",
]  # fmt: skip


@dataclass(frozen=True)
class Name:
    """A declared, readable column, or a derived one together with what it is made of."""

    column: str
    expression: Expression | None = None


@dataclass(frozen=True)
class Literal:
    """A constant already converted to the compared column's type: int, Fraction, bool, str, date or datetime (UTC)."""

    value: Any


@dataclass(frozen=True)
class Compare:
    """left op right with op one of = <> < <= > >= ; each side a Name or a Literal."""

    op: str
    left: Name | Literal
    right: Name | Literal


@dataclass(frozen=True)
class Between:
    item: Name
    low: Literal
    high: Literal


@dataclass(frozen=True)
class In:
    item: Name
    values: tuple[Literal, ...]


@dataclass(frozen=True)
class Like:
    """SQL LIKE with % and _ on a text column; no escape character."""

    item: Name
    pattern: str


@dataclass(frozen=True)
class IsNull:
    item: Name


@dataclass(frozen=True)
class Not:
    part: Predicate


@dataclass(frozen=True)
class And:
    parts: tuple[Predicate, ...]


@dataclass(frozen=True)
class Or:
    parts: tuple[Predicate, ...]


Predicate = Compare | Between | In | Like | IsNull | Not | And | Or


def names(predicate: Predicate) -> tuple[Name, ...]:
    """The columns a filter mentions, each once, in the order it mentions them."""
    found: list[Name] = []
    stack: list[Predicate] = [predicate]
    while stack:
        match stack.pop():
            case Not(part):
                stack.append(part)
            case And(parts) | Or(parts):
                stack.extend(reversed(parts))
            case Compare(_, left, right):
                found += [side for side in (left, right) if isinstance(side, Name)]
            case Between(item) | In(item) | Like(item) | IsNull(item):
                found.append(item)
    return tuple(dict.fromkeys(found))


CALLS = (
    "abs", "floor", "ceil", "round", "least", "greatest", "coalesce", "ln", "exp", "sqrt", "lower", "upper", "substr", "right", "trim",
    "ltrim", "rtrim", "concat", "length", "trunc", "move", "zone", "digits",
)  # fmt: skip
PARTS = ("year", "quarter", "month", "day", "dow", "isodow", "hour", "minute", "second")


@dataclass(frozen=True)
class Leaf:
    """A declared column. A number enters an expression clamped to the column's bounds, a decimal cut to its declared digits."""

    column: Column


@dataclass(frozen=True)
class Constant:
    """An int, an exact Fraction, a bool, text, a date, a datetime (UTC), or None for null."""

    value: Any


@dataclass(frozen=True)
class Arithmetic:
    """left op right with op one of + - * / ; exact until something is divided or a float takes part. A division by zero is null."""

    op: str
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Call:
    """One of `CALLS`; `digits` belong to round. As in SQL, least and greatest skip nulls. Letters beyond ASCII have no other case.

    "move" is a day or moment, a number and what is counted (`calendar.STEPS`); "zone" is a moment on the clock of a time zone;
    "digits" is a whole number that is not negative as text, with zeros in front up to a width.
    """

    word: str
    items: tuple[Expression, ...]
    digits: int = 0


@dataclass(frozen=True)
class DatePart:
    """One of `PARTS` of a date or timestamp; dow counts from 0 on Sunday, isodow from 1 on Monday."""

    word: str
    item: Expression


@dataclass(frozen=True)
class Cast:
    """To int, float, decimal (with `scale` digits), bool, date or timestamp. Numbers are rounded as a database rounds them."""

    item: Expression
    type: str
    scale: int = 0


@dataclass(frozen=True)
class Truth:
    """A condition as a value: true, false or null."""

    predicate: Predicate


@dataclass(frozen=True)
class Case:
    """The value of the first branch whose condition is true, otherwise `otherwise`, otherwise null."""

    branches: tuple[tuple[Predicate, Expression], ...]
    otherwise: Expression | None = None


Expression = Leaf | Constant | Arithmetic | Call | DatePart | Cast | Truth | Case


def conditions(expression: Expression) -> tuple[Predicate, ...]:
    """The conditions an expression tests itself."""
    match expression:
        case Truth(predicate):
            return (predicate,)
        case Case(branches):
            return tuple(condition for condition, _ in branches)
    return ()


def parts(expression: Expression) -> Iterator[Expression]:
    """What an expression is made of, one level down; its conditions contribute the expressions they compare."""
    for condition in conditions(expression):
        yield from (name.expression for name in names(condition) if name.expression is not None)
    match expression:
        case Arithmetic(_, left, right):
            yield from (left, right)
        case Call(_, items):
            yield from items
        case DatePart(_, item) | Cast(item):
            yield item
        case Case(branches, otherwise):
            yield from (value for _, value in branches)
            if otherwise is not None:
                yield otherwise


def leaves(expression: Expression) -> Iterator[Column]:
    """Every column that enters an expression clamped; what its conditions compare with constants is compared as it is."""
    if isinstance(expression, Leaf):
        yield expression.column
    for part in parts(expression):
        yield from leaves(part)


def reads(expression: Expression) -> Iterator[str]:
    """The names of all declared columns an expression looks at."""
    if isinstance(expression, Leaf):
        yield expression.column.name
    for condition in conditions(expression):
        yield from (name.column for name in names(condition) if name.expression is None)
    for part in parts(expression):
        yield from reads(part)


MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
NEGATED = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
Form = list[Any]

encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode


def canonical(predicate: Predicate) -> list[Any]:
    """A filter's normal form, JSON-ready."""
    return _form(predicate, True)


def constant(value: Any) -> list[Any]:
    """A constant with its kind, JSON-ready: numbers as exact fractions in text, moments in UTC."""
    if type(value) is int:  # the most common one, of ten thousand keys of a group: the text of the fraction, without the fraction
        return ["number", str(value)]
    if value is None:
        return ["null"]
    if isinstance(value, bool):
        return ["bool", value]
    if isinstance(value, str):
        return ["text", value]
    if isinstance(value, dt.datetime):
        return ["moment", value.replace(tzinfo=value.tzinfo or dt.UTC).astimezone(dt.UTC).isoformat()]
    if isinstance(value, dt.date):
        return ["day", value.isoformat()]
    return ["number", str(Fraction(str(value)) if isinstance(value, float) else Fraction(value))]


def _form(predicate: Predicate, holds: bool) -> Form:
    match predicate:
        case Not(part):
            return _form(part, not holds)
        case And(parts) | Or(parts):
            word = "and" if isinstance(predicate, And) == holds else "or"
            return _joined(word, [_form(part, holds) for part in parts])
        case Between(item, low, high):
            return _form(And((Compare(">=", item, low), Compare("<=", item, high))), holds)
        case In(item, values):
            return _among(item, [literal.value for literal in values], holds)
        case Like(item, pattern):
            if "%" not in pattern and "_" not in pattern:
                return _among(item, [pattern], holds)
            return ["like" if holds else "not like", item.column, pattern]
        case IsNull(item):
            return ["null" if holds else "not null", item.column]
        case Compare(op, left, right):
            return _compared(op if holds else NEGATED[op], left, right)


def _compared(op: str, left: Name | Literal, right: Name | Literal) -> Form:
    if isinstance(right, Name) and (isinstance(left, Literal) or right.column < left.column):
        op, left, right = MIRRORED[op], right, left
    if isinstance(left, Literal):
        return ["constants", op, constant(left.value), constant(right.value) if isinstance(right, Literal) else []]
    if isinstance(right, Name):
        return ["columns", op, left.column, right.column]
    value = right.value
    if op in ("=", "<>"):
        return _among(left, [value], op == "=")
    if isinstance(value, int) and op in ("<", ">"):  # a whole constant belongs to an int column
        op, value = ("<=", value - 1) if op == "<" else (">=", value + 1)
    return [op, left.column, constant(value)]


def _among(item: Name, values: list[Any], holds: bool) -> Form:
    if len(values) == 1 and isinstance(values[0], bool):
        return ["in", item.column, [constant(values[0] == holds)]]
    return ["in" if holds else "not in", item.column, _sorted([constant(value) for value in values])]


def _joined(word: str, forms: list[Form]) -> Form:
    flat = [part for form in forms for part in (form[1] if form[0] == word else [form])]
    lists: dict[str, list[Form]] = {}
    rest: list[Form] = []
    for form in flat:  # x = 1 OR x IN (2, 3) is one list; so is x <> 1 AND x <> 2
        if form[0] == ("in" if word == "or" else "not in"):
            lists.setdefault(form[1], []).extend(form[2])
        else:
            rest.append(form)
    rest += [["in" if word == "or" else "not in", column, _sorted(values)] for column, values in lists.items()]
    parts = _sorted(rest)
    return parts[0] if len(parts) == 1 else [word, parts]


def _sorted(forms: list[Form]) -> list[Form]:
    return [json.loads(text) for text in sorted({encode(form) for form in forms})]
