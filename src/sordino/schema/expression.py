"""The algebra of expressions: what a derived column may be made of, as plain values. An engine renders it; no analyst text reaches one.

The algebra of filters: what a WHERE may say, as plain values. An engine renders it; no analyst text ever reaches one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sordino.schema.column import Column

__all__ = [
    "CALLS",
    "PARTS",
    "And",
    "Arithmetic",
    "Between",
    "Call",
    "Case",
    "Cast",
    "Compare",
    "Constant",
    "DatePart",
    "Expression",
    "In",
    "IsNull",
    "Leaf",
    "Like",
    "Literal",
    "Name",
    "Not",
    "Or",
    "Predicate",
    "Truth",
    "conditions",
    "leaves",
    "names",
    "parts",
    "reads",
]


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
