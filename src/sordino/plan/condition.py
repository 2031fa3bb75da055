"""Conditions: a whitelist walk over a SQL tree into the algebra of filters, whatever the operands mean to the reader who asks.

From an analyst's text to the algebra of filters: a whitelist walk over a SQL tree. What is not listed here is refused.

Nothing of the text survives but names of declared columns and constants of their types, so no engine ever sees what an analyst wrote.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor
from typing import Protocol

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from sordino.errors import QueryError
from sordino.plan.literal import Constant, bare, chain, constant_of, convert, only
from sordino.plan.refusal import DEPTH, LENGTH, check_tokens, refuse_node
from sordino.schema.column import Column, is_text, nearest, shown
from sordino.schema.expression import MIRRORED, And, Between, Compare, In, IsNull, Like, Literal, Name, Not, Or, Predicate, canonical
from sordino.schema.spelling import describe, spell

__all__ = ["ConditionReader", "canonical", "describe", "named", "parse_predicate", "predicate_of", "read_predicate"]

OPERATORS: dict[type[exp.Expr], str] = {exp.EQ: "=", exp.NEQ: "<>", exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">="}
FAMILY = {"int": "number", "float": "number", "decimal": "number", "date": "time", "timestamp": "time"}


class ConditionReader(Protocol):
    """What the operands of a condition mean: plain columns in a filter, expressions in a statement."""

    def column(self, node: exp.Expr) -> Column: ...
    def known(self, node: exp.Expr) -> Column: ...
    def difference(self, left: Column, right: Column) -> Column: ...


def read_predicate(tree: exp.Expr, reader: ConditionReader) -> Predicate:
    """The condition a SQL tree says about whatever its operands mean to this reader."""
    return _Walk(reader).predicate(tree)


def named(column: Column) -> Name:
    return Name(column.name, column.expression)


@dataclass(frozen=True)
class _Walk:
    reader: ConditionReader

    def predicate(self, node: exp.Expr) -> Predicate:
        node = bare(node)
        kind = type(node)
        if kind in (exp.And, exp.Or):
            join = And if kind is exp.And else Or
            parts = [self.predicate(part) for part in chain(node, kind)]
            return join(tuple(item for part in parts for item in (part.parts if isinstance(part, join) else (part,))))
        if kind is exp.Column:
            column = self.column(node)
            if column.type != "bool":
                fix = f"Compare it, for example {spell(column.name)} IS NOT NULL."
                raise QueryError("SRD-203", f"column {shown(column.name)} is not a bool and cannot stand alone.", fix)
            return Compare("=", named(column), Literal(True))
        rule: Callable[[exp.Expr], Predicate] | None = self._compare if kind in OPERATORS else self._rules().get(kind)
        if rule is None:
            refuse_node(node)
        return rule(node)

    def _rules(self) -> dict[type[exp.Expr], Callable[[exp.Expr], Predicate]]:
        return {exp.Not: self._not, exp.Between: self._between, exp.In: self._in, exp.Like: self._like, exp.Is: self._is}

    def column(self, node: exp.Expr) -> Column:
        return self.reader.column(node)

    def _compare(self, node: exp.Expr) -> Predicate:
        only(node, "this", "expression")
        op, left, right = OPERATORS[type(node)], bare(node.this), bare(node.expression)
        if exp.Null in (type(left), type(right)):
            raise QueryError("SRD-206", "comparing with NULL is never true.", "Write IS NULL or IS NOT NULL.")
        value, other = constant_of(right), constant_of(left)
        if value is not None and other is not None:
            raise QueryError("SRD-206", "the filter compares two constants.", "Leave that condition out, or compare a column.")
        if other is not None:
            left, op, value = right, MIRRORED[op], other
        column = self.column(left)
        if value is not None:
            op, literal = self._ordered(op, column, value)
            return Compare(op, named(column), literal)
        mate = self.column(right)
        family = {FAMILY.get(side.type, side.type) for side in (column, mate)}
        if len(family) > 1 or (family == {"time"} and op in ("=", "<>") and column.type != mate.type):
            what = f"columns {shown(column.name)} ({column.type}) and {shown(mate.name)} ({mate.type}) cannot be compared."
            raise QueryError("SRD-203", what, "Compare columns of one type.")
        if FAMILY.get(column.type) == "number" and (column.expression is not None or mate.expression is not None):
            column = self.reader.difference(column, mate)
            op, literal = self._ordered(op, column, Fraction(0))
            return Compare(op, named(column), literal)
        _check_order(op, column)
        return Compare(op, named(column), named(mate))

    def _ordered(self, op: str, column: Column, value: Constant) -> tuple[str, Literal]:
        """The comparison with a constant of the column's type: an int above 2.5 is at least 3."""
        _check_order(op, column)
        if column.type == "int" and isinstance(value, Fraction) and value.denominator != 1 and op not in ("=", "<>"):
            op, value = ("<=", Fraction(floor(value))) if op in ("<", "<=") else (">=", Fraction(ceil(value)))
        return op, convert(value, column)

    def _not(self, node: exp.Expr) -> Predicate:
        only(node, "this")
        part = self.predicate(node.this)
        return part.part if isinstance(part, Not) else Not(part)

    def _between(self, node: exp.Expr) -> Predicate:
        only(node, "this", "low", "high")
        column, low, high = self.column(node.this), _constant(node.args["low"]), _constant(node.args["high"])
        first, last = self._ordered(">=", column, low)[1], self._ordered("<=", column, high)[1]
        return Between(named(column), first, last)

    def _in(self, node: exp.Expr) -> Predicate:
        only(node, "this", "expressions")
        column, values = self.column(node.this), [_constant(item) for item in node.expressions]
        if not values:
            raise QueryError("SRD-206", "IN has an empty list.", "List at least one constant.")
        return In(named(column), tuple(dict.fromkeys(convert(value, column) for value in values)))

    def _like(self, node: exp.Expr) -> Predicate:
        only(node, "this", "expression", "negate")
        column, pattern = self.column(node.this), constant_of(node.expression)
        if column.type != "cat" or not isinstance(pattern, str):
            raise QueryError("SRD-203", "LIKE compares text with a pattern in single quotes.", "Write, for example, name LIKE 'A%'.")
        like = Like(named(column), pattern)
        return Not(like) if node.args.get("negate") else like

    def _is(self, node: exp.Expr) -> Predicate:
        only(node, "this", "expression")
        if type(node.expression) is not exp.Null:
            raise QueryError("SRD-206", "IS is followed by something other than NULL.", "Write IS NULL, IS NOT NULL, = TRUE or = FALSE.")
        return IsNull(named(self.reader.known(node.this)))


def _constant(node: exp.Expr) -> Constant:
    value = constant_of(node)
    if value is None:
        if type(bare(node)) is exp.Null:
            raise QueryError("SRD-206", "comparing with NULL is never true.", "Write IS NULL or IS NOT NULL.")
        if type(bare(node)) is exp.Column:
            what = "BETWEEN and IN are followed by constants, not by a column."
            raise QueryError("SRD-206", what, "Write x >= a AND x <= b, or x = a OR x = b; text goes in single quotes.")
        refuse_node(bare(node))
    return value


def _check_order(op: str, column: Column) -> None:
    if op not in ("=", "<>") and column.type in ("cat", "bool"):
        what = f"column {shown(column.name)} is of type {column.type}, which has no order."
        raise QueryError("SRD-203", what, "Use =, <>, IN or IS NULL (and LIKE on text).")


def parse_predicate(text: str, columns: Mapping[str, Column], *, table: str | None = None) -> Predicate:
    """The filter a text says, over readable columns of a table. Hostile text is refused in milliseconds, with nothing read."""
    if not isinstance(text, str) or not text.strip():
        raise QueryError("SRD-206", f"the filter is {shown(text)}.", "Write a condition such as \"age >= 18 AND sex = 'f'\".")
    if len(text) > LENGTH:
        raise QueryError("SRD-206", f"the filter has {len(text):,} characters.", f"Write at most {LENGTH:,}.")
    if not is_text(text):
        raise QueryError("SRD-206", "the filter contains a character that is not text.", "Remove NUL characters and lone surrogates.")
    dialect = Dialect.get_or_raise("duckdb")
    try:
        tokens = dialect.tokenize(text)
        check_tokens(tokens)
        trees = dialect.parser().parse_into(exp.Condition, tokens, text)
        if len(trees) != 1 or trees[0] is None:
            raise QueryError("SRD-206", "the filter is more than one condition.", "Write one condition.")
        return predicate_of(trees[0], columns, table=table)
    except RecursionError:
        raise QueryError("SRD-206", "the filter is nested too deeply.", f"Nest at most {DEPTH} levels.") from None
    except SqlglotError as error:
        where = (getattr(error, "errors", None) or [{}])[0]
        place = f" near line {where['line']}, column {where['col']}" if where.get("line") else ""
        fix = "Text goes in single quotes, odd column names in double quotes; use AND, OR, NOT, = <> < <= > >=, BETWEEN, IN, LIKE, IS NULL."
        raise QueryError("SRD-206", f"the filter cannot be read{place}.", fix) from None


def predicate_of(tree: exp.Expr, columns: Mapping[str, Column], *, table: str | None = None) -> Predicate:
    """The filter a SQL tree says, for trees that are part of a larger statement."""
    return read_predicate(tree, _Names(columns, table))


@dataclass(frozen=True)
class _Names:
    """Operands that are names of columns, and nothing else."""

    columns: Mapping[str, Column]
    table: str | None

    def column(self, node: exp.Expr) -> Column:
        """A declared, readable column; never another table's."""
        node = bare(node)
        if type(node) is not exp.Column or type(node.this) is not exp.Identifier:
            refuse_node(node)
        only(node, "this", "table")
        name, owner = str(node.this.this), node.args.get("table")
        if owner is not None and (self.table is None or owner.this != self.table):
            fix = f"Name a column of this table: {spell(name)}."
            raise QueryError("SRD-206", f"the filter names a column of {shown(str(owner.this))}.", fix)
        column = self.columns.get(name)
        if column is None:
            quotes = " Text goes in single quotes." if node.this.args.get("quoted") else ""
            readable = [item for item, known in self.columns.items() if known.type not in ("id", "never")]
            raise QueryError("SRD-201", f"there is no column {shown(name)}.", nearest(name, readable, "columns") + quotes, column=name)
        if column.type in ("id", "never"):
            why = "identifies people" if column.type == "id" else "is never accessible"
            raise QueryError("SRD-203", f"column {shown(name)} {why}.", "Filter on another column.", column=name)
        return column

    def known(self, node: exp.Expr) -> Column:
        return self.column(node)

    def difference(self, left: Column, right: Column) -> Column:
        raise QueryError("SRD-206", "the filter compares a derived column with another one.", "Compare it with a constant.")
