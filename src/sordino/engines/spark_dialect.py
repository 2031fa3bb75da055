"""How Spark says the relational text. TRY_CAST exists but reads more than a number ('5d'), and a sum of BIGINT overflows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sordino.engines.dialect import BLANK, FALSE, INFINITE, MOMENT, NUMBER, TRUE, Say, is_day

__all__ = ["Spark"]

Type = exp.DataType.Type
LIMB = 21  # bits: three limbs hold 63, and the sum of a limb over 2^42 rows fits a BIGINT
HIGH_WORD = 2**60
CLOSE_ZONE, HOUR_ZONE = "^(.{16,}[+-][0-9]{2})([0-9]{2})$", "^(.{16,}[+-][0-9]{2})$"


@dataclass(frozen=True)
class Spark:
    """Spark 4, in a session whose settings are pinned: ANSI arithmetic, UTC, names compared exactly."""

    name: str = "spark"

    def text(self, value: str) -> str:
        return f"CAST(X'{value.encode().hex()}' AS STRING)"

    def cast(self, stored: str, to: exp.DataType, x: str) -> str:
        kind = to.this
        if kind in exp.DataType.TEXT_TYPES:
            return f"CAST({x} AS STRING)"
        if stored == "text":
            return self._parsed(kind, x)
        if kind in (Type.TIMESTAMP, Type.TIMESTAMPTZ):
            return f"TRY_CAST({x} AS TIMESTAMP)"
        if stored == "decimal" and kind == Type.BOOLEAN:
            return "CAST(NULL AS BOOLEAN)"
        return f"TRY_CAST({x} AS {to.sql(dialect=self.name)})"

    def _parsed(self, kind: Any, x: str) -> str:
        if kind == Type.DECIMAL:
            return f"(CASE WHEN {self._looks(x, NUMBER)} THEN TRY_CAST({x} AS DECIMAL(38, 18)) END)"
        if kind == Type.DOUBLE:
            return f"(CASE WHEN {self._looks(x, f'({NUMBER}|{INFINITE})')} THEN TRY_CAST({x} AS DOUBLE) END)"
        if kind == Type.BOOLEAN:
            return f"(CASE WHEN lower({x}) IN ({TRUE}) THEN TRUE WHEN lower({x}) IN ({FALSE}) THEN FALSE END)"
        if kind == Type.TIMESTAMPTZ:
            # a zone must have minutes, with a colon
            colon = f"regexp_replace({x}, {self.text(CLOSE_ZONE)}, {self.text('$1:$2')})"
            zoned = f"regexp_replace({colon}, {self.text(HOUR_ZONE)}, {self.text('$1:00')})"
            known = f"{self._looks(x, MOMENT, blank='')} AND substr({x}, 1, 4) > '0000'"
            return f"(CASE WHEN {known} THEN TRY_CAST({zoned} AS TIMESTAMP) END)"
        return "NULL"

    def _looks(self, x: str, pattern: str, blank: str = BLANK) -> str:
        whole = rf"\A{blank}{pattern}{blank}\z"
        return f"{x} RLIKE {self.text(whole)}"

    def special(self, node: exp.Expr, say: Say) -> str | None:
        if isinstance(node, exp.RegexpReplace):
            return f"regexp_replace({say(node.this)}, {say(node.expression)}, '')"
        if isinstance(node, exp.IsNan):
            return f"isnan({say(node.this)})"
        if isinstance(node, exp.Like):
            pattern = node.expression
            if len(re.findall("%+", str(pattern.this))) > 1:
                return f"{say(node.this)} RLIKE {self.text(_steady(str(pattern.this)))}"
            doubled = exp.Literal.string(str(pattern.this).replace("\\", "\\\\"))  # the escape character cannot be switched off
            return f"({say(node.this)} LIKE {say(doubled)})"
        if isinstance(node, exp.Cast):
            return self._converted(node, say)
        if isinstance(node, exp.Sub) and is_day(node.expression):
            return f"CAST(datediff({say(node.this)}, {say(node.expression)}) AS BIGINT)"
        if isinstance(node, exp.Mul) and (number := _fractional(node.this)):
            # exact digits: a difference of two DECIMAL(38, 18) would drop two of them
            return (
                f"CAST(pmod({say(number)}, CAST(1 AS DECIMAL(1, 0))) AS DECIMAL(18, 18)) * CAST({node.expression.sql()} AS DECIMAL(19, 0))"
            )
        if isinstance(node, exp.Extract) and node.name.upper() == "SECOND":
            return f"second({say(node.expression)})"
        if isinstance(node, exp.Window) and isinstance(node.this, exp.RowNumber) and not node.args.get("order"):
            return f"row_number() OVER (PARTITION BY {', '.join(parts := list(map(say, node.args['partition_by'])))} ORDER BY {parts[0]})"
        if isinstance(node, exp.Sum):
            return _total(say(node.this))
        if isinstance(node, exp.Anonymous) and node.name.upper() == "EPOCH_US":
            return f"unix_micros({say(node.expressions[0])})"
        if _is_hash(node):
            inner = node.expressions[0]  # one round is enough here: every part is mixed with the hash of those before it
            return say(inner) if len(node.expressions) == 1 and _is_hash(inner) else f"xxhash64({', '.join(map(say, node.expressions))})"
        return None

    def _converted(self, node: exp.Cast, say: Say) -> str | None:
        if node.to.is_type(Type.INT128):
            return _huge(say(node.this.this if isinstance(node.this, exp.Floor) else node.this))
        if node.to.is_type(Type.UBIGINT) and isinstance(node.this, exp.Literal):
            value = int(node.this.this)
            return f"CAST({value - 2**64 if value >= 2**63 else value} AS BIGINT)"  # the same 64 bits
        if node.to.is_type(Type.UINT):
            return f"CAST({say(node.this)} AS BIGINT)"
        if node.to.is_type(Type.TIMESTAMP, Type.TIMESTAMPTZ):
            return f"CAST({say(node.this)} AS TIMESTAMP)"
        return None


def _is_hash(node: exp.Expr) -> bool:
    return isinstance(node, exp.Anonymous) and node.name.upper() == "HASH"


def _fractional(node: exp.Expr) -> exp.Expr | None:
    """The decimal x of x - floor(x); None for anything else."""
    inner = node.unnest()
    if not isinstance(inner, exp.Sub) or not isinstance(inner.expression, exp.Floor) or inner.this != inner.expression.this:
        return None
    decimal = any(cast.to.is_type(Type.DECIMAL) for cast in inner.this.find_all(exp.Cast))
    return inner.this if decimal else None


def _total(x: str) -> str:
    """The exact sum of a BIGINT in three limbs: a sum of DECIMAL would allocate for every row. Beyond 2^42 rows it raises, never wraps."""
    x, mask, twice = f"CAST({x} AS BIGINT)", (1 << LIMB) - 1, 2 * LIMB  # a sum of sums is a DECIMAL
    parts = [(f"shiftright({x}, {twice})", 1 << twice), (f"(shiftright({x}, {LIMB}) & {mask})", 1 << LIMB), (f"({x} & {mask})", 1)]
    return "(" + " + ".join(f"CAST(SUM({part}) AS DECIMAL(38, 0)) * CAST({unit} AS DECIMAL(14, 0))" for part, unit in parts) + ")"


def _huge(x: str) -> str:
    """The floor of a large double as an exact DECIMAL, in two words: a direct cast goes through the shortest text."""
    high = f"floor({x} / CAST({HIGH_WORD} AS DOUBLE))"
    low = f"floor({x} - CAST({high} AS DOUBLE) * CAST({HIGH_WORD} AS DOUBLE))"
    return f"(CAST({high} AS DECIMAL(19, 0)) * CAST({HIGH_WORD} AS DECIMAL(19, 0)) + CAST({low} AS DECIMAL(19, 0)))"


def _steady(pattern: str) -> str:
    """A LIKE pattern as a regular expression that never goes back: each part is taken where it first fits, which leaves most to the rest.

    Spark's own translation tries every place of every part again for every place of the one before.
    """
    first, *middle, last = (re.sub(r"[^\w\s]", r"\\\g<0>", part, flags=re.ASCII).replace("_", ".") for part in re.split("%+", pattern))
    return rf"(?s)\A{first}{''.join(f'(?>.*?{part})' for part in middle)}.*{last}\z"
