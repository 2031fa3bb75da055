"""How PostgreSQL says the relational text. It has no TRY_CAST, so every cast is guarded by what the text looks like."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sordino.engines.database import BLANK, FALSE, INFINITE, MOMENT, NUMBER, TRUE, Say, is_day

__all__ = ["PostgresDialect"]

Type = exp.DataType.Type
LONGEST = 1000  # characters of a number; with an exponent of four digits it is still far inside NUMERIC
LARGEST, LEAST = "1.7976931348623157e308", "2.4703282292062327208e-324"  # doubles end here; beyond, a cast is an error
HIGH_WORD = 2**60


@dataclass(frozen=True)
class PostgresDialect:
    """PostgreSQL 12 or later, in a session whose settings are pinned."""

    name: str = "postgres"

    def text(self, value: str) -> str:
        # no text of this database contains NUL, so what a constant with one says about a row may be anything but an error
        return f"convert_from('\\x{value.replace(chr(0), chr(0xFFFF)).encode().hex()}'::bytea, 'UTF8')"

    def cast(self, stored: str, to: exp.DataType, x: str) -> str:
        kind = to.this
        if kind in exp.DataType.TEXT_TYPES:
            return f"CAST({x} AS TEXT)"
        if stored == "text":
            return self._parsed(kind, x)
        if stored == "bool":
            return f"CAST(CAST({x} AS INTEGER) AS {to.sql(dialect=self.name)})"
        if stored == "decimal":
            return {Type.DECIMAL: _fitting(x), Type.DOUBLE: _double(x, x)}.get(kind, "NULL")
        if kind == Type.DECIMAL:
            return f"CAST({x} AS DECIMAL(38, 18))"
        if kind == Type.DOUBLE:
            return f"CAST({x} AS DOUBLE PRECISION)"
        return f"CAST({x} AS {to.sql(dialect=self.name)})"

    def _parsed(self, kind: Any, x: str) -> str:
        bare = rf"btrim({x}, E' \t\n\x0B\f\r')"
        number = f"{bare}::numeric"
        guard = f"length({x}) <= {LONGEST} AND {x} ~ '^{BLANK}{NUMBER}{BLANK}$'"
        if kind == Type.DECIMAL:
            return f"(CASE WHEN {guard} THEN {_fitting(number)} END)"
        if kind == Type.DOUBLE:
            endless = f"WHEN {x} ~ '^{BLANK}{INFINITE}{BLANK}$' THEN {bare}::double precision"
            return f"(CASE WHEN {guard} THEN {_double(number, bare)} {endless} END)"
        if kind == Type.BOOLEAN:
            return f"(CASE WHEN lower({x}) IN ({TRUE}) THEN TRUE WHEN lower({x}) IN ({FALSE}) THEN FALSE END)"
        if kind == Type.TIMESTAMPTZ:
            # digits beyond microseconds are cut, because PostgreSQL would round them into the next second
            moment = rf"regexp_replace({x}, '(\.[0-9]{{6}})[0-9]+', '\1')::timestamptz"
            return f"(CASE WHEN {x} ~ '^{MOMENT}$' THEN CASE WHEN {_calendar(x)} THEN {moment} END END)"
        return "NULL"

    def special(self, node: exp.Expr, say: Say) -> str | None:
        if isinstance(node, exp.RegexpReplace):
            return f"regexp_replace({say(node.this)}, {say(node.expression)}, '')"
        if isinstance(node, exp.TimestampTrunc | exp.DateTrunc):
            return f"date_trunc('{node.args['unit'].name.lower()}', {say(node.this)})"
        if isinstance(node, exp.Translate):
            return f"translate({say(node.this)}, {say(node.args['from_'])}, {say(node.args['to'])})"
        if isinstance(node, exp.IsNan):
            return f"({say(node.this)} = 'NaN')"
        if isinstance(node, exp.Like):
            return f"({say(node.this)} LIKE {say(node.expression)} ESCAPE '')"
        if isinstance(node, exp.Subquery) and isinstance(node.parent, exp.From | exp.Join):
            # OFFSET 0 keeps the layers apart: merged, a value used twice would be computed twice, in every layer again
            return f"({say(node.this)} OFFSET 0) AS {node.alias}"
        if isinstance(node, exp.BitwiseRightShift):
            return f"({say(node.this)} >> {node.expression.sql()})"  # by an INTEGER, not a BIGINT
        if isinstance(node, exp.Extract) and node.name.upper() == "SECOND":
            return f"floor(EXTRACT(SECOND FROM {say(node.expression)}))"
        if isinstance(node, exp.Div):
            return _quotient(say(node.this), node.expression, say)
        if isinstance(node, exp.IntDiv):
            return f"(({say(node.this)}) / ({say(node.expression)}))"
        if isinstance(node, exp.NullSafeEQ):
            # an equality that can be hashed; IS NOT DISTINCT FROM would compare every row with every key
            left, right = (f"COALESCE('=' || CAST({say(side)} AS TEXT), '')" for side in (node.this, node.expression))
            return f"({left} = {right})"
        if isinstance(node, exp.Sub) and is_day(node.expression):
            return f"CAST({say(node.this)} - {say(node.expression)} AS BIGINT)"
        if isinstance(node, exp.Cast) and node.to.is_type(Type.INT128):
            return _huge(say(node.this.this if isinstance(node.this, exp.Floor) else node.this))
        if isinstance(node, exp.Anonymous) and node.name.upper() == "EPOCH_US":
            return f"CAST(EXTRACT(EPOCH FROM {say(node.expressions[0])}) * 1000000 AS BIGINT)"
        return None


def _fitting(n: str) -> str:
    """A NUMERIC rounded to 18 decimals, null where it has more than 20 digits before them; NaN is above every number."""
    return f"(CASE WHEN abs({n}) < 2e20 THEN CASE WHEN abs(round({n}, 18)) < 1e20 THEN CAST({n} AS DECIMAL(38, 18)) END END)"


def _double(n: str, source: str) -> str:
    """A NUMERIC as a double, where `source` is what becomes it; too large is infinite, too small is zero, NaN is null."""
    large = f"WHEN {n} = 'NaN' THEN NULL WHEN {n} > {LARGEST} THEN 'Infinity' WHEN {n} < -{LARGEST} THEN '-Infinity'"
    return f"(CASE {large} WHEN abs({n}) <= {LEAST} THEN 0 ELSE CAST({source} AS DOUBLE PRECISION) END)"


def _calendar(x: str) -> str:
    """Whether the day of a moment exists."""
    year, month, day = f"CAST(substr({x}, 1, 4) AS INTEGER)", f"substr({x}, 6, 2)", f"substr({x}, 9, 2)"
    leap = f"({year} % 4 = 0 AND ({year} % 100 <> 0 OR {year} % 400 = 0))"
    short = f"CASE WHEN {month} IN ('04', '06', '09', '11') THEN '30' ELSE '31' END"
    last = f"CASE WHEN {month} <> '02' THEN {short} WHEN {leap} THEN '29' ELSE '28' END"
    return f"{year} > 0 AND {day} <= {last}"


def _quotient(x: str, divisor: exp.Expr, say: Say) -> str:
    """A quotient of doubles. One that vanishes is zero, where PostgreSQL would raise: an error that depends on a value."""
    said = f"({x} / {say(divisor)})"
    if not isinstance(divisor, exp.Literal) or float(divisor.this) <= 1:
        return said
    return f"(CASE WHEN abs({x}) <= CAST('{_vanishing(float(divisor.this))!r}' AS DOUBLE PRECISION) THEN 0 ELSE {said} END)"


def _vanishing(divisor: float) -> float:
    """The largest double whose quotient by this one is zero."""
    low, high = 0, struct.unpack("<q", struct.pack("<d", divisor))[0]
    while high - low > 1:  # doubles of one sign are ordered as their bits are
        middle = (low + high) // 2
        if struct.unpack("<d", struct.pack("<q", middle))[0] / divisor == 0.0:
            low = middle
        else:
            high = middle
    found: float = struct.unpack("<d", struct.pack("<q", low))[0]
    return found


def _huge(x: str) -> str:
    """The floor of a large double as an exact NUMERIC, in two words: a direct cast keeps fifteen digits."""
    high = f"floor({x} / {HIGH_WORD}::double precision)"
    low = f"floor({x} - {high} * {HIGH_WORD}::double precision)"
    return f"(CAST(CAST({high} AS BIGINT) AS NUMERIC) * {HIGH_WORD} + CAST(CAST({low} AS BIGINT) AS NUMERIC))"
