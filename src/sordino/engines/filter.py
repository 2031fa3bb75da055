"""Filters as SQL: our own tree in, quoted literals out. No text of an analyst is ever part of a statement except inside quotes."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from sordino.engines.array import text_of
from sordino.engines.value import FINE, date_text, decimal_text, id_of, moment_text, quoted, real
from sordino.errors import QueryError
from sordino.schema.column import Column
from sordino.schema.expression import And, Between, Compare, In, IsNull, Like, Literal, Name, Not, Or, Predicate, Truth, reads

__all__ = ["Typed", "names", "rendered"]

Typed = Callable[[Name], tuple[Column, str]]  # what a name means: its column and the typed value
MIRROR = {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
FAMILY = {
    **dict.fromkeys(("int", "float", "decimal", "bool"), "number"),
    **dict.fromkeys(("date", "timestamp"), "time"),
    **dict.fromkeys(("cat", "id"), "text"),
}


def names(predicate: Predicate | None) -> tuple[str, ...]:
    """The declared columns a filter reads, each once, in the order it mentions them."""
    return () if predicate is None else tuple(dict.fromkeys(reads(Truth(predicate))))


def rendered(predicate: Predicate, typed: Typed) -> str:
    """The filter over typed values; three-valued, as SQL is."""
    match predicate:
        case Compare(op, left, right):
            return _compare(op, left, right, typed)
        case Between(item, low, high):
            return f"({_compare('>=', item, low, typed)} AND {_compare('<=', item, high, typed)})"
        case In(item, values):
            equal = [_compare("=", item, value, typed) for value in values]
            return f"({' OR '.join(equal)})" if equal else "FALSE"
        case Like(item, pattern):
            column, value = typed(item)
            if FAMILY.get(column.type) != "text":
                raise _unfit(column, "LIKE")
            return f"{value} LIKE {quoted(text_of(pattern) or '')}"
        case IsNull(item):
            return f"{typed(item)[1]} IS NULL"
        case Not(part):
            return f"(NOT {rendered(part, typed)})"
        case And(parts):
            return f"({' AND '.join(rendered(part, typed) for part in parts)})" if parts else "TRUE"
        case Or(parts):
            return f"({' OR '.join(rendered(part, typed) for part in parts)})" if parts else "FALSE"


def _unfit(column: Column, what: str) -> QueryError:
    said = f"{what} does not fit column {column.name!r} of type {column.type}."
    return QueryError("SRD-206", said, "Compare it with a value of its own type.")


def _compare(op: str, left: Name | Literal, right: Name | Literal, typed: Typed) -> str:
    if op not in MIRROR:
        raise QueryError("SRD-206", f"{op!r} is not a comparison.", "Use = <> < <= > >=.")
    if isinstance(left, Literal):
        if isinstance(right, Literal):
            return _decided(op, left.value, right.value)
        return _against(MIRROR[op], *typed(right), left.value)
    if isinstance(right, Literal):
        return _against(op, *typed(left), right.value)
    (one, first), (two, second) = typed(left), typed(right)
    if FAMILY.get(one.type) != FAMILY.get(two.type):
        raise _unfit(one, f"column {two.name!r}")
    if any(column.expression is not None and column.type == "decimal" for column in (one, two)):  # steps of different sizes
        raise _unfit(one, f"column {two.name!r}")
    if one.type != two.type and FAMILY[one.type] == "time":  # implicit casts may raise on far dates
        first, second = f"TRY_CAST({first} AS TIMESTAMP)", f"TRY_CAST({second} AS TIMESTAMP)"
    return f"{first} {op} {second}"


def _decided(op: str, left: Any, right: Any) -> str:
    if left is None or right is None:
        return "NULL"
    try:
        truth = {"=": left == right, "<>": left != right}.get(op)
        if truth is None:
            truth = {"<": left < right, "<=": left <= right, ">": left > right, ">=": left >= right}[op]
    except TypeError:
        raise QueryError("SRD-206", "two constants of different types are compared.", "Compare a column with a constant.") from None
    return "TRUE" if truth else "FALSE"


def _against(op: str, column: Column, value: str, constant: Any) -> str:
    """A typed value compared with a constant, exactly: a constant between two representable values moves to the one that decides alike."""
    if constant is None:
        return "CAST(NULL AS BOOLEAN)"
    if column.type in ("cat", "id"):
        if not isinstance(constant, str):
            raise _unfit(column, repr(constant))
        said = text_of(constant) or ""
        return f"{value} {op} {quoted(id_of(said) if column.type == 'id' else said)}"
    if column.type == "date":
        if isinstance(constant, dt.datetime):
            return f"TRY_CAST({value} AS TIMESTAMP) {op} {moment_text(constant)}"
        if not isinstance(constant, dt.date):
            raise _unfit(column, repr(constant))
        return f"{value} {op} {date_text(constant)}"
    if column.type == "timestamp":
        if not isinstance(constant, dt.date):
            raise _unfit(column, repr(constant))
        moment = constant if isinstance(constant, dt.datetime) else dt.datetime(constant.year, constant.month, constant.day)
        return f"{value} {op} {moment_text(moment)}"
    if not isinstance(constant, (int, float, Fraction)) or (isinstance(constant, float) and math.isnan(constant)):
        raise _unfit(column, repr(constant))
    if column.type == "float":
        return f"{value} {op} {real(constant)}"
    if column.type == "decimal" and column.expression is not None:  # computed in whole steps
        return _exactly(op, value, Fraction(constant) * 10**column.scale, 1)
    return _exactly(op, value, constant, 10**FINE if column.type == "decimal" else 1)


def _exactly(op: str, value: str, constant: float | Fraction, scale: int) -> str:
    most = 10**20 - 1  # where exact values saturate
    number = Fraction(max(-most, min(most, constant))) * scale
    below = Fraction(math.floor(number), scale)
    if below * scale != number:
        if op in ("=", "<>"):
            return f"CASE WHEN {value} IS NOT NULL THEN {'FALSE' if op == '=' else 'TRUE'} END"
        op = "<=" if op in ("<", "<=") else ">"
    return f"{value} {op} {below.numerator if scale == 1 else f'''CAST('{decimal_text(below)}' AS DECIMAL(38,{FINE}))'''}"
