"""What is known of a total inside one person: its type, and the bounds that follow from the column's."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from sordino.errors import QueryError
from sordino.schema.column import Column, as_number, shown
from sordino.schema.spelling import spell
from sordino.schema.view import PersonTotal

__all__ = ["MANY", "total_of", "unlimited"]

MANY = 2**32  # rows of one person: nobody has more, and bounds that depend on it are none
LARGEST = 2**60
CLAMP = "Say how much of it counts: LEAST({}, 50)."


def unlimited(near: dict[str, Column], far: dict[str, Column]) -> dict[str, Column]:
    """Columns whose bounds follow from how many rows a person could have at most have none: nobody knows that number."""
    found = {}
    for name, column in near.items():
        if column.bounds == far[name].bounds:
            found[name] = column
            continue
        reach = column.bounds, far[name].bounds
        found[name] = replace(column, bounds=None, keys=None, hint=CLAMP.format(spell(name)), reach=reach)
    return found


def total_of(word: str, column: Column | None, name: str, many: int = MANY) -> PersonTotal:
    """A total inside one person, with the type and the bounds that follow from the column's."""
    if column is None or word in ("count", "distinct"):
        listed = None if column is None or column.keys is None or word != "distinct" else len(column.keys)
        least = 1 if column is None else 0
        return PersonTotal(word, None if column is None else column.name, Column(name, "int", (least, many if listed is None else listed)))
    if word in ("min", "max"):
        if column.type in ("id", "never"):
            raise QueryError("SRD-203", f"column {shown(column.name)} identifies people.", "Ask about another column.")
        return PersonTotal(word, column.name, replace(column, name=name, expression=None, nulls="drop"))
    if column.type in ("cat", "id", "never", "date", "timestamp"):
        what = f"{shown(column.name)} is of type {column.type} and cannot be added."
        raise QueryError("SRD-203", what, "Ask for COUNT, MIN or MAX of it.", column=column.name)
    low, high = (0, 1) if column.type == "bool" else column.bounds or (None, None)
    column.grid()  # an error with the fix if it has no bounds
    first, last = (Fraction(as_number(end) or 0) for end in (low, high))
    if word == "avg":
        return PersonTotal(word, column.name, Column(name, "float", (float(first), float(last))))
    most = Fraction(LARGEST, 10**column.scale)
    ends = max(min(first * many, first), -most), min(max(last * many, last), most)
    if column.type == "float":
        return PersonTotal(word, column.name, Column(name, "float", (float(ends[0]), float(ends[1]))))
    whole = column.type in ("int", "bool")
    bounds: tuple[Any, Any] = (int(ends[0]), int(ends[1])) if whole else ends
    return PersonTotal(word, column.name, Column(name, "int" if whole else "decimal", bounds, scale=0 if whole else column.scale))
