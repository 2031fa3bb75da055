"""A formula such as "cost ~ age + C(sex)": names, C(name) for public keys, plus signs, and nothing else. Nothing is ever evaluated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sordino.errors import QueryError
from sordino.schema.column import Column
from sordino.schema.nearest import nearest
from sordino.schema.predicate import Compare, In, Literal, Name, Predicate
from sordino.schema.value import shown

__all__ = ["Formula", "Part", "parse"]

LONGEST = 10_000
PART = re.compile(r"\s*(?:C\(\s*(?:`([^`]+)`|(\w+))\s*\)|`([^`]+)`|(\w+))\s*")
FIX = 'Write "target ~ a + b + C(c)": columns joined by +, C(...) around a column of public keys, `...` around an unusual name.'


@dataclass(frozen=True)
class Part:
    """One coefficient: of a number column, or of one key of a column against its first key."""

    name: str
    column: str
    key: Any = None
    predicate: Predicate | None = None


@dataclass(frozen=True)
class Formula:
    """The target, the coefficients in order, and the conditions a row must meet to count: its keys are among the public ones."""

    text: str
    target: Part
    parts: tuple[Part, ...]
    required: tuple[Predicate, ...]


def parse(text: Any, columns: Mapping[str, Column], *, binary: bool = False) -> Formula:
    """Read a formula about these declared columns; a binary target is a bool."""
    if not isinstance(text, str) or len(text) > LONGEST or text.count("~") != 1:
        raise QueryError("SRD-208", f"{shown(text)} is not a formula.", FIX)
    left, right = text.split("~")
    (target,) = _parts(left, columns, 1)
    found = [part for piece in _split(right) for part in _parts(piece, columns)]
    if target.key is not None or not found:
        raise QueryError("SRD-208", f"{shown(text)} is not a formula.", FIX)
    names = [part.name for part in found]
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None or target.name in names:
        raise QueryError("SRD-208", f"the formula names {shown(twice or target.name)} twice.", "Name every column once.")
    if binary:
        if columns[target.column].type != "bool":
            raise QueryError("SRD-203", f"column {shown(target.column)} is no bool.", 'Declare it as "bool" for loss="logistic".')
        target = Part(target.name, target.column, True, Compare("=", Name(target.column), Literal(True)))
    listed = [_known(columns[part.column]) for part in (*found, target) if part.predicate is not None]
    return Formula(" ".join(text.split()), target, tuple(found), tuple(dict.fromkeys(listed)))


def _split(text: str) -> list[str]:
    """At plus signs that are not inside a quoted name."""
    pieces, quoted, start = [], False, 0
    for place, letter in enumerate(text):
        quoted ^= letter == "`"
        if letter == "+" and not quoted:
            pieces.append(text[start:place])
            start = place + 1
    return [*pieces, text[start:]]


def _parts(piece: str, columns: Mapping[str, Column], most: int | None = None) -> list[Part]:
    match = PART.fullmatch(piece)
    if match is None:
        raise QueryError("SRD-208", f"{shown(piece.strip())} has no place in a formula.", FIX)
    group, name = match[1] or match[2], match[3] or match[4]
    column = columns.get(group or name)
    if column is None or column.type in ("id", "never"):
        known = [item for item, held in columns.items() if held.type not in ("id", "never")]
        raise QueryError("SRD-201", f"there is no column {shown(group or name)}.", nearest(group or name, known, "columns"))
    if group is None:
        if column.type in ("date", "timestamp"):
            raise QueryError("SRD-203", f"column {shown(name)} is of type {column.type}.", "Use a number, or C(...) of public keys.")
        grid = column.grid()  # refuses text, and numbers without public bounds
        if grid.width < 1:
            raise QueryError("SRD-202", f"the bounds of {shown(name)} leave one value.", "Declare low < high.")
        return [Part(name, name)]
    keys = [key for key in column.keys or () if key is not None]
    if len(keys) < 2 or most is not None:
        raise QueryError("SRD-203", f"C({group}) needs at least two public keys.", f"Declare keys={{{shown(group)}: [...]}}.")
    return [Part(f"{group}={key}", group, key, Compare("=", Name(group), Literal(key))) for key in keys[1:]]


def _known(column: Column) -> Predicate:
    """The column holds one of its public keys, so a row without one drops out instead of counting as the first."""
    keys = (False, True) if column.type == "bool" and column.keys is None else column.keys
    return In(Name(column.name), tuple(Literal(key) for key in keys or () if key is not None))
