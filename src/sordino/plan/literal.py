"""Constants in a filter: exact, and of the type of the column they are compared with.

Walking a SQL tree without trusting it.
"""

from __future__ import annotations

import calendar
import datetime as dt
from fractions import Fraction
from typing import Any, NoReturn

from sqlglot import exp

from sordino.errors import QueryError
from sordino.plan.refusal import refuse_node
from sordino.schema.column import Column, as_day, as_moment, as_number, is_text, shown
from sordino.schema.expression import Literal

__all__ = ["MOMENTS", "Constant", "bare", "chain", "constant_of", "convert", "only"]


def bare(node: exp.Expr) -> exp.Expr:
    """What parentheses enclose."""
    while type(node) is exp.Paren:
        node = node.this
    return node


def chain(node: exp.Expr, kind: type[exp.Expr]) -> list[exp.Expr]:
    """The parts of a AND b AND c, however many: the tree leans left and may be thousands deep."""
    parts, stack = [], [node]
    while stack:
        item = stack.pop()
        if type(item) is kind:
            only(item, "this", "expression")
            stack += [item.args["expression"], item.this]
        else:
            parts.append(item)
    return parts


def only(node: exp.Expr, *allowed: str) -> None:
    """Refuse a node that carries anything we would silently ignore: an escape character, a subquery, a hint."""
    if any(value not in (None, False, []) and key not in allowed for key, value in node.args.items()):
        refuse_node(node)


Constant = int | Fraction | bool | str | dt.date | dt.datetime
MOMENTS = (exp.DataType.Type.TIMESTAMP, exp.DataType.Type.TIMESTAMPNTZ, exp.DataType.Type.TIMESTAMPTZ)
LONGEST_NUMBER = 60


def constant_of(node: exp.Expr) -> Constant | None:
    """The constant this node writes, or None if it is something else. A number is a Fraction, whatever its column."""
    node = bare(node)
    if type(node) is exp.Neg:
        inner = bare(node.this)
        number = constant_of(inner) if type(inner) is exp.Literal and not inner.is_string else None
        return -number if isinstance(number, Fraction) else None
    if type(node) is exp.Boolean:
        return bool(node.this)
    if type(node) is exp.Literal:
        return str(node.this) if node.is_string else _number(str(node.this))
    if type(node) in (exp.Add, exp.Sub) and type(bare(node.expression)) is exp.Interval:
        return _moved(constant_of(node.this), bare(node.expression), -1 if type(node) is exp.Sub else 1)
    if type(node) is exp.Cast and type(node.this) is exp.Literal and node.this.is_string and set(_given(node)) <= {"this", "to"}:
        return _dated(str(node.this.this), node.to.this)
    return None


def _moved(start: Constant | None, interval: exp.Expr, sign: int) -> Constant | None:
    """A constant day or moment, so many days, weeks, months or years further."""
    number = as_number(str(interval.this.this)) if type(interval.this) is exp.Literal else None
    unit = str(interval.args.get("unit") or "").upper().rstrip("S")
    if not isinstance(start, dt.date) or number is None or number.denominator != 1 or abs(number) > 10_000:
        return None
    count = sign * int(number)
    try:
        if unit in ("DAY", "WEEK"):
            return start + dt.timedelta(days=count * (7 if unit == "WEEK" else 1))
        if unit in ("HOUR", "MINUTE", "SECOND") and isinstance(start, dt.datetime):
            return start + dt.timedelta(seconds=count * {"HOUR": 3600, "MINUTE": 60}.get(unit, 1))
        if unit in ("MONTH", "QUARTER", "YEAR"):
            months = start.year * 12 + start.month - 1 + count * {"MONTH": 1, "QUARTER": 3}.get(unit, 12)
            year, month = divmod(months, 12)
            last = calendar.monthrange(year, month + 1)[1]
            return start.replace(year=year, month=month + 1, day=min(start.day, last))
    except (ValueError, OverflowError):
        return None
    return None


def convert(value: Constant, column: Column) -> Literal:
    """The constant as the column's own type, or an error that says how to write it."""
    name, kind = shown(column.name), column.type
    if kind == "bool":
        return Literal(value) if isinstance(value, bool) else _mismatch(f"column {name} is a bool", "TRUE or FALSE", value)
    if kind == "cat":
        if not isinstance(value, str):
            _mismatch(f"column {name} is text", "text in single quotes", value)
        return Literal(value)
    if kind == "date":
        day = None if isinstance(value, bool | Fraction) else as_day(value)
        return Literal(day) if day is not None else _mismatch(f"column {name} is a date", "'YYYY-MM-DD'", value)
    if kind == "timestamp":
        moment = None if isinstance(value, bool | Fraction) else as_moment(value)
        return Literal(moment) if moment is not None else _mismatch(f"column {name} is a timestamp", "'YYYY-MM-DD HH:MM:SS' in UTC", value)
    if not isinstance(value, Fraction):
        _mismatch(f"column {name} is a number ({kind})", "a number without quotes", value)
    if kind == "int":
        if value.denominator != 1:
            what = f"column {name} holds whole numbers and is never equal to {shown(float(value))}."
            raise QueryError("SRD-206", what, "Compare it with a whole number.")
        if abs(value) >= 2**62:
            raise QueryError("SRD-206", f"column {name} holds no number of that size.", "Compare it with a number inside its bounds.")
        return Literal(int(value))
    if kind == "decimal" and abs(value) >= 10**38:
        raise QueryError("SRD-206", f"column {name} holds no number of that size.", "Compare it with a number inside its bounds.")
    return Literal(value)


def _number(text: str) -> Fraction:
    number = as_number(text) if len(text) <= LONGEST_NUMBER else None
    if number is None:
        fix = f"Write a decimal of at most {LONGEST_NUMBER} characters and 1e300 in size."
        raise QueryError("SRD-206", f"the filter contains the number {shown(text)}.", fix)
    return number


def _dated(text: str, kind: Any) -> Constant | None:
    if not is_text(text):
        return None
    value: Constant | None
    if kind == exp.DataType.Type.DATE:
        value, form = as_day(text), "DATE 'YYYY-MM-DD'"
    elif kind in MOMENTS:
        value, form = as_moment(text), "TIMESTAMP 'YYYY-MM-DD HH:MM:SS'"
    else:
        return None
    if value is None:
        raise QueryError("SRD-206", f"{shown(text)} is not a date the calendar knows.", f"Write {form}.")
    return value


def _given(node: exp.Expr) -> list[str]:
    return [key for key, value in node.args.items() if value not in (None, False, [])]


def _mismatch(what: str, form: str, value: Constant) -> NoReturn:
    said = str(value) if isinstance(value, Fraction | dt.date) else shown(value)
    raise QueryError("SRD-203", f"{what} and is compared with {said:.80}.", f"Write {form}.")
