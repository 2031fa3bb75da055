"""The algebra of expressions: what a derived column may be made of, as plain values. An engine renders it; no analyst text reaches one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sordino.schema.predicate import Predicate, names

if TYPE_CHECKING:
    from sordino.schema.column import Column

__all__ = [
    "CALLS", "PARTS", "Arithmetic", "Call", "Case", "Cast", "Constant", "Expression", "Leaf", "Part", "Truth",
    "conditions", "leaves", "parts", "reads",
]  # fmt: skip

CALLS = ("abs", "floor", "ceil", "round", "least", "greatest", "coalesce", "ln")
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
    """One of `CALLS`; `digits` belong to round. As in SQL, least and greatest skip nulls."""

    word: str
    items: tuple[Expression, ...]
    digits: int = 0


@dataclass(frozen=True)
class Part:
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


Expression = Leaf | Constant | Arithmetic | Call | Part | Cast | Truth | Case


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
        case Part(_, item) | Cast(item):
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
