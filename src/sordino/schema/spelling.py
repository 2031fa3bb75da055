"""A filter or an expression as people read it on a card; reading it back gives the same one."""

from __future__ import annotations

import datetime as dt
import re
from fractions import Fraction
from typing import Any

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

__all__ = ["RESERVED", "describe", "number_text", "phrase", "spell"]

PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
# words that a SQL reader takes for something else; as column names they need quotes
RESERVED = frozenset({
    "all", "alter", "and", "any", "as", "between", "call", "case", "cast", "check", "connect_by_root", "create", "cross", "current_catalog",
    "current_date", "current_time", "current_timestamp", "current_user", "date", "describe", "distinct", "drop", "else", "end", "escape",
    "except", "execute", "exists", "explain", "false", "fetch", "for", "force", "from", "glob", "grant", "group", "having", "if", "ilike",
    "in", "inner", "insert", "install", "intersect", "interval", "into", "is", "isnull", "join", "lateral", "left", "like", "limit",
    "localtime", "localtimestamp", "map", "natural", "not", "notnull", "null", "offset", "on", "only", "optimize", "or", "order", "outer",
    "partitioned_by", "positional", "prepare", "qualify", "regexp", "rename", "reset", "returning", "revoke", "right", "rlike", "rollback",
    "select", "session_user", "some", "summarize", "table", "tablesample", "then", "time", "timestamp", "to", "true", "uncache", "union",
    "unique", "user", "using", "vacuum", "values", "when", "where", "window", "with", "xor",
})  # fmt: skip
KINDS = {"int": "BIGINT", "float": "DOUBLE", "bool": "BOOLEAN", "date": "DATE", "timestamp": "TIMESTAMP"}


def describe(predicate: Predicate) -> str:
    """The filter in SQL words."""
    match predicate:
        case And(parts) | Or(parts):
            word = " AND " if isinstance(predicate, And) else " OR "
            return word.join(f"({describe(part)})" if isinstance(part, And | Or) else describe(part) for part in parts)
        case Not(IsNull(item)):
            return f"{_name(item)} IS NOT NULL"
        case Not(In(item, values)):
            return f"{_name(item)} NOT IN {_list(values)}"
        case Not(Like(item, pattern)):
            return f"{_name(item)} NOT LIKE {_text(pattern)}"
        case Not(Between(item, low, high)):
            return f"{_name(item)} NOT BETWEEN {_side(low)} AND {_side(high)}"
        case Not(part):
            return f"NOT ({describe(part)})" if isinstance(part, And | Or) else f"NOT {describe(part)}"
        case Compare(op, left, right):
            return f"{_side(left)} {op} {_side(right)}"
        case Between(item, low, high):
            return f"{_name(item)} BETWEEN {_side(low)} AND {_side(high)}"
        case In(item, values):
            return f"{_name(item)} IN {_list(values)}"
        case Like(item, pattern):
            return f"{_name(item)} LIKE {_text(pattern)}"
        case IsNull(item):
            return f"{_name(item)} IS NULL"


def phrase(expression: Expression) -> str:
    """The expression in SQL words."""
    match expression:
        case Leaf(column):
            return spell(column.name)
        case Constant(value):
            return "NULL" if value is None else _constant(value)
        case Arithmetic(op, left, right):
            return f"{_part(left)} {op} {_part(right)}"
        case Call(word, items, digits):
            return f"{word.upper()}({', '.join([*map(phrase, items), *([str(digits)] if digits else [])])})"
        case DatePart(word, item):
            return f"EXTRACT({word.upper()} FROM {phrase(item)})"
        case Cast(item, kind, scale):
            return f"CAST({phrase(item)} AS {KINDS.get(kind) or f'DECIMAL(18,{scale})'})"
        case Truth(predicate):
            return describe(predicate)
        case Case(branches, otherwise):
            whens = " ".join(f"WHEN {describe(condition)} THEN {phrase(value)}" for condition, value in branches)
            return f"CASE {whens}{'' if otherwise is None else f' ELSE {phrase(otherwise)}'} END"


def _part(expression: Expression) -> str:
    """An operand: in parentheses if it has operators of its own."""
    text = phrase(expression)
    return f"({text})" if isinstance(expression, Arithmetic | Truth) else text


def spell(name: str) -> str:
    """A column's name, in double quotes unless it is a plain word."""
    if PLAIN.fullmatch(name) and name.lower() not in RESERVED:
        return name
    return '"' + name.replace('"', '""') + '"'


def number_text(value: int | Fraction) -> str:
    """An exact decimal; every number a filter can say has one."""
    number = Fraction(value)
    if number.denominator == 1:
        digits = str(number.numerator)
        zeros = len(digits) - len(digits.rstrip("0"))
        return digits if zeros < 7 else f"{digits[:-zeros]}e{zeros}"
    places = 0
    while (10**places) % number.denominator and places < 800:
        places += 1
    if (10**places) % number.denominator:
        return f"{number.numerator}/{number.denominator}"
    digits = str(abs(number.numerator * 10**places // number.denominator))
    sign = "-" if number < 0 else ""
    if places > len(digits) + 6:
        return f"{sign}{digits}e-{places}"
    padded = digits.rjust(places + 1, "0")
    return f"{sign}{padded[:-places]}.{padded[-places:]}"


def _side(side: Name | Literal) -> str:
    return _name(side) if isinstance(side, Name) else _constant(side.value)


def _name(item: Name) -> str:
    """A derived column is written as what it is made of."""
    if item.expression is None:
        return spell(item.column)
    return _part(item.expression)


def _constant(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{value.replace(tzinfo=None).isoformat(sep=' ')}'"
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    return number_text(value)


def _list(values: tuple[Literal, ...]) -> str:
    return "(" + ", ".join(_constant(literal.value) for literal in values) + ")"


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"
