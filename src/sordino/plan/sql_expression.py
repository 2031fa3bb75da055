"""From a SQL tree to the algebra of expressions: a whitelist walk. What is not listed here is refused.

What a SELECT may name: the columns of a private table, of public tables beside it, and of the subqueries between.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from sqlglot import exp

from sordino.errors import QueryError
from sordino.plan.condition import OPERATORS, read_predicate
from sordino.plan.literal import MOMENTS, bare, constant_of
from sordino.plan.refusal import allow, refuse, refuse_part
from sordino.plan.sql_function import (
    TEXT_TYPES,
    TEXT_WORDS,
    as_text,
    at_zone,
    dated_text,
    difference,
    is_dated_text,
    moved_by,
    part_of,
    text_call,
    whole_difference,
)
from sordino.schema.column import Column, is_text, nearest, shown
from sordino.schema.expression import (
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Constant,
    DatePart,
    Expression,
    Leaf,
    Predicate,
    Truth,
    parts,
)
from sordino.schema.frame import Join, Public, fit, reached
from sordino.schema.interval import derive, extent
from sordino.schema.spelling import spell
from sordino.schema.view import JOIN_ROWS, PrivateTable, View

__all__ = ["DATED", "DEEPEST", "LARGEST", "Catalogue", "Expressions", "Scope", "joined"]


@dataclass(frozen=True)
class Catalogue:
    """The tables a statement may name, and the column that identifies people. `people` are the private tables that have owners.

    `join_rows` are the rows of a person that each side of a join keeps where it would multiply them.
    """

    private: Mapping[str, Mapping[str, Column]]
    public: Mapping[str, Public]
    unit: str | None = None
    people: Mapping[str, PrivateTable] = field(default_factory=dict)
    join_rows: int = JOIN_ROWS

    @cached_property
    def owner(self) -> Column:
        """The person's id as every view shows it; one object, so that two tables that show it agree."""
        return Column(self.unit or "", "id")


@dataclass(frozen=True)
class Scope:
    """A FROM clause, flattened onto one private table.

    `plain` are all declared columns underneath, by the name a question gives them; `relations` the visible columns by alias, derived ones
    included; `where` and `joins` what the subqueries on the way have already said. With a `view` the rows are those of the view, and
    `homes` says of which column of which table a plain column is.
    """

    table: str
    plain: Mapping[str, Column]
    relations: Mapping[str, Mapping[str, Column]]
    where: tuple[Predicate, ...] = ()
    joins: tuple[Join, ...] = ()
    view: View | None = None
    homes: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def find(self, node: exp.Expr) -> Column:
        """The column this node names, readable or not."""
        if type(node) is not exp.Column or type(node.this) is not exp.Identifier:
            refuse_part(node)
        allow(node, "this", "table")
        name, owner = str(node.this.this), node.args.get("table")
        if owner is None:
            found = {id(columns[name]): columns[name] for columns in self.relations.values() if name in columns}
            if len(found) > 1:
                homes = [alias for alias, columns in self.relations.items() if name in columns]
                fix = f"Write {' or '.join(f'{spell(home)}.{spell(name)}' for home in homes)}."
                raise QueryError("SRD-201", f"column {shown(name)} is in several tables.", fix, column=name)
            known = [item for columns in self.relations.values() for item in columns]
        else:
            alias = str(owner.this)
            if alias not in self.relations:
                raise QueryError("SRD-201", f"there is no table {shown(alias)} here.", nearest(alias, self.relations, "tables"))
            columns = self.relations[alias]
            found, known = {0: columns[name]} if name in columns else {}, list(columns)
        if not found:
            quotes = " Text goes in single quotes." if node.this.args.get("quoted") else ""
            readable = [item for item in known if not self._hidden(item)]
            raise QueryError("SRD-201", f"there is no column {shown(name)}.", nearest(name, readable, "columns") + quotes, column=name)
        return next(iter(found.values()))

    def _hidden(self, name: str) -> bool:
        return any(columns[name].type in ("id", "never") for columns in self.relations.values() if name in columns)

    def readable(self, node: exp.Expr) -> Column:
        """The column this node names, if an analyst may compute with it."""
        column = self.find(node)
        if column.type in ("id", "never"):
            why = "identifies people" if column.type == "id" else "is never accessible"
            fix = "COUNT(DISTINCT ...) counts people." if column.type == "id" else "Ask about another column."
            raise QueryError("SRD-203", f"column {shown(column.name)} {why}.", fix, column=column.name)
        return column

    def known(self, node: exp.Expr) -> Column:
        """The column this node names, if an analyst may ask whether it is there: also the key of a row, but nobody's id."""
        column = self.find(node)
        if column.type != "id" or column.name in self.homes:
            return column if column.type == "id" else self.readable(node)
        fix = "Ask about another column of that table, or write EXISTS or NOT EXISTS (SELECT 1 FROM ... WHERE the person is the same)."
        raise QueryError("SRD-203", f"column {shown(column.name)} identifies people.", fix, column=column.name)

    @property
    def condition(self) -> Predicate | None:
        return joined(self.where)


def joined(conditions: tuple[Predicate, ...]) -> Predicate | None:
    """All of several conditions as one, flat."""
    parts = [part for item in conditions for part in (item.parts if isinstance(item, And) else (item,))]
    return None if not parts else parts[0] if len(parts) == 1 else And(tuple(parts))


TRUNCATED = ("year", "quarter", "month", "week", "day")
LARGEST, DEEPEST = 200, 40  # parts of one expression, and how deep they nest, with everything a subquery brings along
Type = exp.DataType.Type
SIGNS: dict[type[exp.Expr], str] = {exp.Add: "+", exp.Sub: "-", exp.Mul: "*", exp.Div: "/"}
DATED: dict[type[exp.Expr], str] = {
    exp.Year: "year", exp.Quarter: "quarter", exp.Month: "month", exp.Day: "day", exp.DayOfMonth: "day", exp.DayOfWeek: "dow",
    exp.DayOfWeekIso: "isodow", exp.Hour: "hour", exp.Minute: "minute", exp.Second: "second",
}  # fmt: skip
CONDITIONS = (*OPERATORS, exp.And, exp.Or, exp.Not, exp.Between, exp.In, exp.Like, exp.ILike, exp.Is)
WHOLE = {Type.TINYINT: 2**7, Type.SMALLINT: 2**15, Type.INT: 2**31, Type.BIGINT: 2**63}
KINDS = {Type.DOUBLE: "float", Type.FLOAT: "float", Type.BOOLEAN: "bool", Type.DATE: "date", **dict.fromkeys(MOMENTS, "timestamp")}


@dataclass(frozen=True)
class Expressions:
    """Operands that may be computed. `where` narrows the columns they are computed from."""

    scope: Scope
    where: Predicate | None = None

    def column(self, node: exp.Expr) -> Column:
        """The declared or derived column this node means, with its public bounds."""
        node = bare(node)
        if type(node) is exp.Column:
            found = self.scope.readable(node)
            if found.expression is None:
                return reached(found, self.where)
        return self._derived(self.expression(node))

    def known(self, node: exp.Expr) -> Column:
        """The column this node means, where only its being null matters."""
        node = bare(node)
        return self.column(node) if type(node) is not exp.Column or self.scope.find(node).type != "id" else self.scope.known(node)

    def difference(self, left: Column, right: Column) -> Column:
        """left - right, as a comparison of two computed numbers asks for it."""
        return self._derived(_checked(Arithmetic("-", *(Leaf(c) if c.expression is None else c.expression for c in (left, right)))))

    def _derived(self, expression: Expression) -> Column:
        return derive(fit(expression, self.where), self.scope.plain)

    def expression(self, node: exp.Expr, depth: int = 0) -> Expression:
        if depth > DEEPEST:
            raise QueryError("SRD-209", "an expression is nested too deeply.", f"Nest at most {DEEPEST} operations.")
        node = bare(node)
        kind = type(node)
        if kind is exp.Column:
            found = self.scope.readable(node)
            if found.reach is not None and found.bounds is None:
                return Leaf(replace(found, bounds=found.reach[0]))
            return Leaf(found) if found.expression is None else found.expression
        if kind is exp.Null:
            return Constant(None)
        value = constant_of(node)
        if value is not None:
            return Constant(_plain(value))
        if kind in CONDITIONS:
            return Truth(read_predicate(node, self))

        def inner(part: exp.Expr) -> Expression:
            return self.expression(part, depth + 1)

        return _checked(self._made(node, inner))

    def _made(self, node: exp.Expr, inner: Callable[[exp.Expr], Expression]) -> Expression:
        kind = type(node)
        if kind in (exp.Add, exp.Sub) and type(bare(node.expression)) is exp.Interval:
            return moved_by(inner(node.this), bare(node.expression), -1 if kind is exp.Sub else 1)
        if kind in SIGNS:
            allow(node, "this", "expression", "typed", "safe")
            return Arithmetic(SIGNS[kind], inner(node.this), inner(node.expression))
        if kind is exp.Neg:
            return Arithmetic("-", Constant(0), inner(node.this))
        if kind is exp.Case:
            return self._case(node, inner)
        if kind in (exp.Cast, exp.TryCast):
            allow(node, "this", "to", "safe")
            return as_text(inner(node.this)) if node.args["to"].this in TEXT_TYPES else _cast(inner(node.this), node.args["to"])
        if kind in DATED:
            allow(node, "this")
            return DatePart(DATED[kind], inner(node.this))
        if kind is exp.Extract:
            return part_of(node, inner)
        if kind is exp.DateDiff:
            return difference(node, inner)
        if kind is exp.TimestampDiff:
            return whole_difference(str(node.args["unit"].this).upper(), inner(node.this), inner(node.expression))
        if is_dated_text(node):
            return dated_text(node, inner)
        if kind in (exp.Abs, exp.Floor, exp.Ceil):
            allow(node, "this")
            return Call({exp.Abs: "abs", exp.Floor: "floor"}.get(kind, "ceil"), (inner(node.this),))
        if kind in TEXT_WORDS:
            return text_call(node, inner)
        if kind is exp.AtTimeZone:
            return at_zone(inner(node.this), node.args["zone"])
        if kind in (exp.Sqrt, exp.Ln, exp.Exp, exp.Lower, exp.Upper, exp.Length):
            allow(node, "this", "encoding", "binary")
            return Call(kind.__name__.lower(), (inner(node.this),))
        if kind in (exp.Mod, exp.IntDiv):
            return _whole(kind is exp.Mod, inner(node.this), inner(node.expression))
        if kind in (exp.TimestampTrunc, exp.DateTrunc):
            allow(node, "this", "unit", "input_type_preserved")
            unit = str(node.args["unit"].this).lower()
            if unit not in TRUNCATED:
                refuse(f"DATE_TRUNC to {unit}", f"Use {', '.join(TRUNCATED)}.")
            return Call("trunc", (inner(node.this), Constant(unit)))
        if kind is exp.Round:
            allow(node, "this", "decimals")
            return Call("round", (inner(node.this),), _digits(node.args.get("decimals")))
        if kind in (exp.Least, exp.Greatest, exp.Coalesce):
            allow(node, "this", "expressions", "ignore_nulls")
            word = {exp.Least: "least", exp.Greatest: "greatest"}.get(kind, "coalesce")
            return Call(word, tuple(inner(item) for item in (node.this, *node.expressions)))
        if kind is not exp.Nullif:
            refuse_part(node)
        same = exp.EQ(this=node.this.copy(), expression=node.expression.copy())
        return Case(((read_predicate(same, self), Constant(None)),), inner(node.this))

    def _case(self, node: exp.Expr, inner: Callable[[exp.Expr], Expression]) -> Expression:
        allow(node, "this", "ifs", "default")
        branches = []
        for branch in node.args["ifs"]:
            allow(branch, "this", "true")
            tested = branch.this if node.this is None else exp.EQ(this=node.this.copy(), expression=branch.this.copy())
            branches.append((read_predicate(tested, self), inner(branch.args["true"])))
        otherwise = node.args.get("default")
        return Case(tuple(branches), None if otherwise is None else inner(otherwise))


def _whole(rest: bool, item: Expression, divisor: Expression) -> Expression:
    """x % n and x // n of numbers that are not negative: databases disagree about the others."""
    found = extent(item)
    if not isinstance(divisor, Constant) or not isinstance(divisor.value, int) or divisor.value < 1 or found.type != "int":
        refuse("% or // of something other than whole numbers", "Write x % 10 with a whole column and a positive whole number.")
    if found.low < 0:
        refuse("% or // of a number that may be negative", "Write GREATEST(x, 0) % 10, or filter: WHERE x >= 0.")
    whole = Call("floor", (Arithmetic("/", item, divisor),))
    if not rest:
        return whole
    left = Arithmetic("-", item, Arithmetic("*", whole, divisor))
    return Call("greatest", (Constant(0), Call("least", (Constant(divisor.value - 1), left))))


def _plain(value: Any) -> Any:
    if isinstance(value, str) and not is_text(value):
        refuse("text that no database can hold", "Remove NUL characters.")
    return int(value) if isinstance(value, Fraction) and value.denominator == 1 else value


def _digits(node: exp.Expr | None) -> int:
    value = Fraction(0) if node is None else constant_of(node)
    if not isinstance(value, Fraction) or value.denominator != 1 or not 0 <= value <= 18:
        refuse("ROUND to an unusual number of digits", "Round to 0 to 18 digits: ROUND(x, 2).")
    return int(value)


def _cast(item: Expression, to: exp.Expr) -> Expression:
    """A cast inside the range of its type; what cannot be cast without leaving its range is refused, so no cast ever fails."""
    kind, sizes = to.this, [int(str(size.this)) for size in to.args.get("expressions") or [] if str(size.this).isdecimal()]
    if to.args.get("nested") or kind not in (*WHOLE, *KINDS, Type.DECIMAL) or (kind == Type.DECIMAL) != (len(sizes) == 2):
        refuse("a cast outside the subset", "Cast to INTEGER, BIGINT, DOUBLE, DECIMAL(p, s), BOOLEAN, DATE or TIMESTAMP.")
    if KINDS.get(kind) == "date" and extent(item).type == "date":
        return item
    if kind in WHOLE and isinstance(item, Call) and item.word == "digits":  # a whole number written as text
        item = item.items[0]
    digits, scale = sizes if kind == Type.DECIMAL else (0, 0)
    if digits > 18 or scale > digits:
        refuse(f"DECIMAL({digits},{scale})", "Use at most 18 digits: DECIMAL(18, 2).")
    cast = Cast(item, "decimal" if kind == Type.DECIMAL else KINDS.get(kind, "int"), scale)
    found, most = extent(cast), 10**digits if kind == Type.DECIMAL else WHOLE.get(kind)
    if most is not None and not -most < found.low <= found.high < most:
        refuse("a cast to a type that is too small for its values", "Cast to BIGINT or DECIMAL(18, s).")
    return cast


def _checked(expression: Expression) -> Expression:
    """Subqueries are written into the expressions that use them, so a short text could say a very long thing."""
    level, size, depth = [expression], 0, 0
    while level:
        size, depth = size + len(level), depth + 1
        if size > LARGEST or depth > DEEPEST:
            raise QueryError("SRD-209", "an expression is too long.", f"Use at most {LARGEST} operations, nested {DEEPEST} deep.")
        level = [part for item in level for part in parts(item)]
    return expression
