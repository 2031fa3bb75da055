"""Derived columns as SQL, one operation at a time: each layer of the statement computes from names of the layers below.

So a statement is as long as the expressions are, however often a value is used, and equal parts are computed once. Every operation is
total: its operands are clamped, so nothing overflows, and a division by zero is null.

Filters as SQL: our own tree in, quoted literals out. No text of an analyst is ever part of a statement except inside quotes.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from string import ascii_lowercase, ascii_uppercase
from typing import Any

from sordino.engines.array import text_of
from sordino.engines.value_text import FINE, date_text, decimal_text, grid_of, id_of, joined, moment_text, quoted, real
from sordino.errors import QueryError
from sordino.schema.column import Column
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
    parts,
    reads,
)
from sordino.schema.extent import EXACT, LEAST_POWER, LOG_GRID, TINY, Extent, changes, power_step
from sordino.schema.interval import derive, extent, most_characters

__all__ = ["Layers", "Typed", "names", "rendered"]

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


Value = tuple[str, Extent]  # SQL over names of lower layers, and what it is
FIRST_DAY, SUNDAY = "DATE '1970-01-01'", "DATE '1970-01-04'"
SQL = {"cat": "VARCHAR", "date": "DATE", "timestamp": "TIMESTAMP", "float": "DOUBLE"}


@dataclass
class Layers:
    """`base` are the typed values of declared columns, `lengths` of the texts of a view. Ask for aliases, then lay the rows under them."""

    base: Mapping[str, tuple[Column, str]]
    lengths: Mapping[str, int] = field(default_factory=dict)
    made: dict[Expression, tuple[str, int]] = field(default_factory=dict)
    levels: list[list[str]] = field(default_factory=list)

    def value(self, column: Column) -> str:
        """The typed value of a column: BIGINT (int, bool, and a derived decimal in steps), DECIMAL, DOUBLE, DATE, TIMESTAMP or VARCHAR."""
        return self.base[column.name][1] if column.expression is None else self._alias(column.expression)

    def of(self, name: Name) -> tuple[Column, str]:
        """What a name in a condition means."""
        if name.expression is not None:
            return derive(name.expression), self._alias(name.expression)
        if name.column not in self.base:
            raise QueryError("SRD-201", f"column {name.column!r} is not declared.", "Filter by a declared column.")
        return self.base[name.column]

    def over(self, rows: str) -> str:
        """The rows with every alias asked for so far."""
        for number, level in enumerate(self.levels):
            rows = f"SELECT *, {', '.join(level)} FROM ({rows}) AS layer{number}"
        return rows

    def _alias(self, expression: Expression) -> str:
        if isinstance(expression, Constant):
            return _constant(expression.value, extent(expression))
        if expression not in self.made:
            for part in parts(expression):
                self._alias(part)
            level = 1 + max((self.made[part][1] for part in parts(expression) if part in self.made), default=-1)
            self.levels += [[] for _ in range(level + 1 - len(self.levels))]
            text = self._text(expression)
            self.made[expression] = f"e{len(self.made)}", level
            self.levels[level].append(f"{text} AS {self.made[expression][0]}")
        return self.made[expression][0]

    def _operand(self, expression: Expression) -> Value:
        return self._alias(expression), extent(expression)

    def _text(self, expression: Expression) -> str:
        found = extent(expression)
        match expression:
            case Leaf(column):
                return _clamped(column, found, self.base[column.name][1])
            case Arithmetic(op, left, right):
                return _arithmetic(op, self._operand(left), self._operand(right))
            case Call("coalesce" | "least" | "greatest" as word, items):
                values = [_as(self._operand(item), found.type, found.scale) for item in items]
                return f"{word}({', '.join(values)})"
            case Call("abs", (item,)):
                return f"abs({self._alias(item)})"
            case Call("sqrt", (item,)):
                return f"sqrt({_as(self._operand(item), 'float', 0)})"
            case Call("lower" | "upper" as word, (item,)):
                small, large = quoted(ascii_lowercase), quoted(ascii_uppercase)
                return f"translate({self._alias(item)}, {f'{large}, {small}' if word == 'lower' else f'{small}, {large}'})"
            case Call("digits", (item, Constant(width))):
                digits = f"CAST({self._alias(item)} AS VARCHAR)"
                return f"right({quoted('0' * width)} || {digits}, {width})" if width else digits
            case Call("right", (item, Constant(length))):
                return f"right({self._alias(item)}, {length})"
            case Call("trim" | "ltrim" | "rtrim" as word, (item,)):
                return f"{word}({self._alias(item)}, ' ')"
            case Call("concat", items):
                return joined([(_as(self._operand(item), "cat", 0), most_characters(item, self.lengths)) for item in items])
            case Call("move", (item, Constant(count), Constant(step))):
                return _later(self._operand(item), count, step)
            case Call("zone", (item, Constant(name))):
                return _local(*self._operand(item), name)
            case Call("exp", (item,)):
                step = power_step(extent(item))
                raised = f"exp(greatest({real(LEAST_POWER)}, {_as(self._operand(item), 'float', 0)}))"
                value = f"floor({raised} * {real(1 / step)} + 5e-1) * {real(step)}"
                return f"CASE WHEN {self._alias(item)} IS NOT NULL THEN {value} END"  # greatest skips nulls
            case Call("substr", (item, Constant(start), Constant(length))):
                return f"substr({self._alias(item)}, {start}, {length})"
            case Call("length", (item,)):
                return f"CAST(length({self._alias(item)}) AS BIGINT)"
            case Call("trunc", (item, Constant(unit))):
                return f"TRY_CAST(date_trunc({quoted(unit)}, {self._alias(item)}) AS DATE)"
            case Call("ln", (item,)):
                return f"floor(ln({_as(self._operand(item), 'float', 0)}) * {real(LOG_GRID)} + 5e-1) / {real(LOG_GRID)}"
            case Call(word, (item,), digits):
                return _rounded(word, self._operand(item), digits)
            case DatePart(word, item):
                return _part(word, self._operand(item))
            case Cast(item):
                return _cast(self._operand(item), found)
            case Truth(predicate):
                said = rendered(predicate, self.of)
                return f"CASE WHEN {said} THEN 1 WHEN NOT ({said}) THEN 0 END"
            case Case(branches, otherwise):
                whens = [f"WHEN {rendered(p, self.of)} THEN {_as(self._operand(v), found.type, found.scale)}" for p, v in branches]
                last = "NULL" if otherwise is None else _as(self._operand(otherwise), found.type, found.scale)
                return f"CASE {' '.join(whens)} ELSE {last} END"
        raise QueryError("SRD-209", "an engine does not compute this expression.", "Ask for another one.")


def _constant(value: Any, found: Extent) -> str:
    if value is None:
        return "NULL"
    if found.type in EXACT:
        return f"CAST({found.low} AS BIGINT)"
    if found.type == "float":
        return real(found.low)
    if isinstance(value, dt.datetime):
        return moment_text(value)
    return date_text(value) if isinstance(value, dt.date) else quoted(str(value))


def _clamped(column: Column, found: Extent, value: str) -> str:
    """What of a column enters an expression: exact numbers in steps, everything ordered inside its bounds."""
    if column.type in ("cat", "bool"):
        return value
    if found.type in EXACT:
        return f"{grid_of(column, value)} + ({found.low})"
    first, last = (_constant(end, found) if found.type != "float" else real(end) for end in (found.low, found.high))
    return f"CASE WHEN {value} IS NOT NULL THEN greatest({first}, least({last}, {value})) END"


def _as(operand: Value, kind: str, scale: int) -> str:
    """A value as another type it can become: finer steps, or a double."""
    text, found = operand
    if found.type == "null":
        return f"CAST(NULL AS {SQL.get(kind, 'BIGINT')})"
    if kind == "float" and found.exact:
        return f"CAST({text} AS DOUBLE) / {real(10.0**found.scale)}" if found.scale else f"CAST({text} AS DOUBLE)"
    return f"{text} * {10 ** (scale - found.scale)}" if found.exact and scale > found.scale else text


def _flushed(operand: Value) -> str:
    """Doubles too small to be multiplied or divided safely are zero."""
    text, found = _as(operand, "float", 0), operand[1]
    low, high = found.doubles()
    if found.exact or low >= TINY or high <= -TINY:
        return f"({text})"
    return f"(CASE WHEN abs({text}) < {real(TINY)} THEN {real(0.0)} ELSE {text} END)"


def _arithmetic(op: str, left: Value, right: Value) -> str:
    if left[1].type == right[1].type == "date":
        return f"({left[0]} - {FIRST_DAY}) - ({right[0]} - {FIRST_DAY})"
    if op == "/":
        divisor = _flushed(right)
        return f"CASE WHEN {divisor} <> {real(0.0)} THEN {_flushed(left)} / {divisor} END"
    if op == "*":
        return f"{left[0]} * {right[0]}" if left[1].exact and right[1].exact else f"{_flushed(left)} * {_flushed(right)}"
    kind, scale = ("int", max(left[1].scale, right[1].scale)) if left[1].exact and right[1].exact else ("float", 0)
    return f"({_as(left, kind, scale)}) {op} ({_as(right, kind, scale)})"


def _rounded(word: str, operand: Value, digits: int) -> str:
    text, found = operand
    if found.type == "float":
        if word != "round":
            return f"CAST({word}({text}) AS BIGINT)"
        return _half_away(f"{text} * {real(10.0**digits)}" if digits else text)
    if found.scale <= digits:
        return text
    return _divided(text, found, 10 ** (found.scale - digits), word)


def _half_away(x: str) -> str:
    size = f"abs({x})"
    whole = f"floor({size}) + CASE WHEN {size} - floor({size}) >= 0.5e0 THEN 1e0 ELSE 0e0 END"
    return f"CASE WHEN {x} < 0 THEN -1 ELSE 1 END * CAST({whole} AS BIGINT)"


def _half_even(x: str) -> str:
    rest = f"{x} - floor({x})"
    odd = f"floor({x}) / 2e0 <> floor(floor({x}) / 2e0)"
    return f"CAST(floor({x}) + CASE WHEN {rest} > 0.5e0 OR ({rest} = 0.5e0 AND {odd}) THEN 1e0 ELSE 0e0 END AS BIGINT)"


def _divided(text: str, found: Extent, unit: int, word: str) -> str:
    """Whole steps over a power of ten: what is divided is never negative, because databases disagree about the rest."""
    if word == "round":
        return f"CASE WHEN {text} < 0 THEN -1 ELSE 1 END * ((abs({text}) + {unit // 2}) // {unit})"
    lowest = found.low // unit
    lifted = f"{text} - ({lowest * unit})" + (f" + {unit - 1}" if word == "ceil" else "")
    return f"({lifted}) // {unit} + ({lowest})"


def _later(operand: Value, count: int, step: str) -> str:
    text, found = operand
    made = f"{text} {'-' if count < 0 else '+'} INTERVAL '{abs(count)} {step}s'"
    return f"TRY_CAST({made} AS DATE)" if found.type == "date" else made


def _local(text: str, found: Extent, name: str) -> str:
    """What a clock shows: so many seconds more, by stretches of time that are known beforehand."""
    (_, first), *rest = changes(name, found.low, found.high) or ()
    whens = "".join(
        f" WHEN {text} >= {moment_text(start)} THEN {_later((text, found), ahead, 'second')}" for start, ahead in reversed(rest)
    )
    return f"CASE{whens} WHEN {text} IS NOT NULL THEN {_later((text, found), first, 'second')} END"


def _part(word: str, operand: Value) -> str:
    text, found = operand
    if word in ("dow", "isodow"):
        day = text if found.type == "date" else f"TRY_CAST({text} AS DATE)"
        since = f"((({day} - {SUNDAY}) % 7) + 7) % 7"
        return since if word == "dow" else f"((({since}) + 6) % 7) + 1"
    return f"CAST(floor(EXTRACT({word.upper()} FROM {text})) AS BIGINT)"  # some databases count parts of a second


def _cast(operand: Value, to: Extent) -> str:
    text, found = operand
    if found.type == to.type and found.scale == to.scale:
        return text
    if to.type in ("date", "timestamp"):
        return f"TRY_CAST({text} AS {SQL[to.type]})"
    if to.type == "bool":
        return f"CASE WHEN {text} <> 0 THEN 1 WHEN {text} = 0 THEN 0 END"
    if to.type == "float":
        return _as(operand, "float", 0)
    if found.type == "float":
        return _half_even(text) if to.type == "int" else _half_away(f"{text} * {real(10.0**to.scale)}" if to.scale else text)
    if to.scale >= found.scale:
        return _as(operand, to.type, to.scale)
    return _divided(text, found, 10 ** (found.scale - to.scale), "round")
