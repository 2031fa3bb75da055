"""One relational text, three databases: it is written as DuckDB reads it, and said again as Spark or PostgreSQL mean it.

Grammar is the small part, and sqlglot's. What a dialect must say itself is what happens to a value: a cast that fails is null and never an
error, a backslash in a pattern is a backslash, a date minus a date is a number of days. A function nobody has taught a dialect is refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import sqlglot
from sqlglot import exp

from sordino.errors import QueryError

__all__ = ["BLANK", "FALSE", "INFINITE", "MOMENT", "NUMBER", "TRUE", "Dialect", "Say", "Stored", "is_day", "plain", "render"]

Say = Callable[[exp.Expr], str]
Stored = Mapping[str, Mapping[str, str]]

# What counts as a number, a moment and a flag when it arrives as text. Everything else is null.
BLANK = r"[ \t\n\x0B\f\r]*"
NUMBER = r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?"
INFINITE = r"[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?"
MOMENT = (
    r"[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9](\.[0-9]+)?)?(Z|[+-](0[0-9]|1[0-5])(:?[0-5][0-9])?)?)?"
)
TRUE, FALSE = "'true', 't', 'yes', 'y', '1'", "'false', 'f', 'no', 'n', '0'"
PLAIN = re.compile(r"[A-Za-z0-9 .:_+-]*", re.ASCII)
BARE = (exp.DataTypeParam, exp.Limit, exp.Substring, exp.BitwiseRightShift, exp.BitwiseLeftShift)
COMMON = (
    exp.Abs, exp.And, exp.BitLength, exp.Case, exp.Cast, exp.Ceil, exp.Coalesce, exp.Count, exp.DenseRank, exp.Exists, exp.Exp,
    exp.Extract, exp.Floor, exp.Greatest, exp.If, exp.Least, exp.Length, exp.Lower, exp.Max, exp.MD5, exp.Min, exp.Or, exp.Rank,
    exp.RowNumber, exp.Sqrt, exp.Substring, exp.Sum, exp.Trim,
)  # fmt: skip


class Dialect(Protocol):
    """What one database says in its own way."""

    @property
    def name(self) -> str:
        """As sqlglot knows it."""

    def text(self, value: str) -> str:
        """Any text as a constant, by its bytes: nothing an analyst wrote is part of a statement, not even inside quotes."""

    def cast(self, stored: str, to: exp.DataType, x: str) -> str:
        """x as another type, null where it has no such value; `stored` is what x is: text, decimal, or another name for a tame type."""

    def special(self, node: exp.Expr, say: Say) -> str | None:
        """How it says a construct that differs; None where it says it as everybody does."""


@dataclass(frozen=True)
class Said:
    """A statement on its way into a dialect. `tables` are relations to be spelled out."""

    dialect: Dialect
    tables: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, node: exp.Expr) -> str:
        said: str = node.transform(self._rule).sql(dialect=self.dialect.name)
        return said

    def _rule(self, node: Any) -> Any:
        raw = self._raw(node)
        return node if raw is None else exp.Var(this=raw)

    def _raw(self, node: exp.Expr) -> str | None:
        if isinstance(node, exp.Literal):
            return self._literal(node)
        if isinstance(node, exp.Table) and node.name in self.tables:
            return f"{self.tables[node.name]} AS {node.alias or node.name}"
        if isinstance(node, exp.TryCast):
            stored, inner = self._kind(node.this)
            return self.dialect.cast(stored, node.to, self(inner))
        if isinstance(node, exp.Cast) and self._kind(node.this)[0] == "bool":
            return self.dialect.cast("bool", node.to, self(node.this))
        special = self.dialect.special(node, self)
        if special is None and isinstance(node, exp.Func) and not isinstance(node, COMMON):
            what = f"{self.dialect.name} has not been taught {node.sql(dialect='duckdb')[:60]}."
            raise QueryError("SRD-106", what, 'Ask another way, or use engine="duckdb".')
        return special

    def _literal(self, node: exp.Literal) -> str | None:
        value = str(node.this)
        if node.is_string:
            return None if PLAIN.fullmatch(value) else self.dialect.text(value)
        if "e" in value.lower():
            return plain(f"CAST('{value}' AS DOUBLE)", self.dialect)
        # a BIGINT like every other integer: the product of two small constants must not be computed in 32 bits
        small = value.isdigit() and int(value) < 2**63 and not isinstance(node.parent, BARE) and node.arg_key != "expressions"
        return f"CAST({value} AS BIGINT)" if small else None

    def _kind(self, node: exp.Expr) -> tuple[str, exp.Expr]:
        """What an operand is, and the operand without detours: an exact number need not become text to become a number."""
        while isinstance(node, exp.Paren):
            node = node.this
        if isinstance(node, exp.Column):
            return node.meta.get("stored", "typed"), node
        if isinstance(node, exp.TryCast) and node.to.is_type(*exp.DataType.TEXT_TYPES):
            stored, inner = self._kind(node.this)
            return (stored, inner) if stored in ("decimal", "integer") else ("text", node)
        return "bool" if isinstance(node, exp.TryCast) and node.to.is_type("boolean") else "typed", node


def is_day(node: exp.Expr) -> bool:
    """Whether this is a calendar day, so that what is subtracted from it are days."""
    return isinstance(node, exp.Cast) and bool(node.to.is_type("date"))


def plain(statement: str, dialect: Dialect) -> str:
    """A harmless piece of text in the dialect's grammar."""
    said: str = sqlglot.parse_one(statement, read="duckdb").sql(dialect=dialect.name)
    return said


def render(statement: str, dialect: Dialect, stored: Stored | None = None, tables: Mapping[str, str] | None = None) -> str:
    """A statement of the relational text as this dialect says it. `stored` are the kinds of the columns of scanned tables, by table."""
    tree = sqlglot.parse_one(statement, read="duckdb")
    for column in tree.find_all(exp.Column):
        source = column.parent_select and column.parent_select.args.get("from_")
        kind = (stored or {}).get(source.this.name, {}).get(column.name) if source else None
        if kind is not None:
            column.meta["stored"] = kind
    return Said(dialect, tables or {})(tree)
