"""One spelling for filters that say the same thing, so that asking again is free however the filter is written.

Negations move to the leaves, BETWEEN becomes two comparisons, equality a list of one; AND and OR are flat, sorted, free of repeats. Every
step keeps the three-valued meaning: NOT (x < 3) and x >= 3 are both null when x is. Equal forms always mean the same; unequal ones may.
"""

from __future__ import annotations

import datetime as dt
import json
from fractions import Fraction
from typing import Any

from sordino.schema.expression import And, Between, Compare, In, IsNull, Like, Literal, Name, Not, Or, Predicate

__all__ = ["MIRRORED", "NEGATED", "canonical", "constant", "encode"]

MIRRORED = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
NEGATED = {"=": "<>", "<>": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
Form = list[Any]

encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode


def canonical(predicate: Predicate) -> list[Any]:
    """A filter's normal form, JSON-ready."""
    return _form(predicate, True)


def constant(value: Any) -> list[Any]:
    """A constant with its kind, JSON-ready: numbers as exact fractions in text, moments in UTC."""
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
