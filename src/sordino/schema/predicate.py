"""The algebra of filters: what a WHERE may say, as plain values. An engine renders it; no analyst text ever reaches one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sordino.schema.expression import Expression

__all__ = ["And", "Between", "Compare", "In", "IsNull", "Like", "Literal", "Name", "Not", "Or", "Predicate", "names"]


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
