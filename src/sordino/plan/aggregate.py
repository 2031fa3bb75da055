"""Aggregates become statistics: the ones every table knows, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from sordino import statistics
from sordino.errors import QueryError
from sordino.plan.literal import bare, constant_of
from sordino.plan.refusal import COUNTED, allow, refuse, refuse_part
from sordino.plan.row_key import under_condition
from sordino.plan.sql_expression import Expressions
from sordino.schema.column import Column, shown
from sordino.schema.spelling import spell
from sordino.schema.view import PersonJoin, View, once
from sordino.statistics.port import Statistic
from sordino.statistics.registry import Registered
from sordino.statistics.row_count import Present, PresentUnits

__all__ = ["Aggregates"]


def registered_as(node: exp.Expr) -> Registered | None:
    """The statistic whose file names this function; counts and quantiles have forms of their own."""
    names = [str(node.this)] if isinstance(node, exp.Anonymous | exp.AnonymousAggFunc) else getattr(node, "sql_names", list)()
    wanted = {name.upper() for name in names}
    return next((one for one in statistics.catalog().values() if wanted.intersection(one.sql)), None)


def _addable(found: Registered, column: Column | None) -> None:
    if found.adds and column is not None and column.type in ("date", "timestamp"):
        what = f"{shown(column.name)} is of type {column.type} and cannot be added."
        raise QueryError("SRD-203", what, "Ask for MEDIAN, QUANTILE_CONT, MIN or MAX, or subtract another date from it.")


@dataclass(frozen=True)
class Aggregates:
    """Reads aggregates over what `expressions` reads; `unit` is the column that identifies people. New columns are left in `columns`."""

    expressions: Expressions
    unit: str | None
    columns: dict[str, Column]
    view: View | None = None  # whose rows are counted, where they are people's

    def has(self, node: exp.Expr) -> bool:
        """Whether there is an aggregate in this expression at all."""
        return node.find(exp.AggFunc, exp.Window, exp.WithinGroup, exp.Filter) is not None

    def whole(self, node: exp.Expr) -> bool:
        """Whether this is one aggregate, and not arithmetic on aggregates."""
        return isinstance(bare(node), exp.AggFunc | exp.Window | exp.WithinGroup | exp.Filter)

    def statistic(self, node: exp.Expr) -> Statistic:
        """The statistic this aggregate asks for, or an error that says how to ask for it."""
        node = bare(node)
        kind = type(node)
        if kind is exp.Count:
            return self._count(node)
        if kind is exp.PercentileCont:
            allow(node, "this", "expression")
            if node.args.get("expression") is None:
                refuse("PERCENTILE_CONT without a column", "Write PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x).")
            return self._quantile(node.this, node.expression)
        if kind is exp.WithinGroup:
            return self._within(node)
        found = registered_as(node)
        if found is None:
            if isinstance(node, exp.AggFunc | exp.Window | exp.Filter):
                refuse_part(node)
            refuse("arithmetic on aggregates", "Release the aggregates and compute with the answers: that costs nothing more.")
        return self._named(node, found)

    def _named(self, node: exp.Expr, found: Registered) -> Statistic:
        """A function by its name: as many columns as its statistic needs; one that this grammar does not know may have constants, too."""
        if type(node) is exp.AnonymousAggFunc:
            allow(node, "this", "expressions")
            parts, constants = node.expressions, [constant_of(part) for part in node.expressions]
            if not parts or constants[0] is not None or any(isinstance(constant, str) for constant in constants):
                refuse(f"{str(node.this).upper()} of {'nothing' if not parts else 'a constant'}", "Name a column, without single quotes.")
            columns = [None if constant is not None else self._column(part) for part, constant in zip(parts, constants, strict=True)]
            _addable(found, columns[0])
            return found.make(*(c if x is None else x.name for x, c in zip(columns, constants, strict=True)))  # type: ignore[no-any-return]
        allow(node, *(("this",) if len(found.needed) == 1 else ("this", "expression")))
        if node.args.get("this") is None:
            refuse(f"{type(node).__name__.upper()} of nothing", "Name a column.")
        given = [part for word in ("this", "expression")[: len(found.needed)] if (part := node.args.get(word)) is not None]
        if len(given) < len(found.needed):
            refuse(f"{type(node).__name__.upper()} of one column", "Name two columns.")
        columns = [self._column(part) for part in given]
        _addable(found, columns[0] if columns else None)
        return found.make(*(column.name for column in columns if column is not None))  # type: ignore[no-any-return]

    def _column(self, node: exp.Expr) -> Column:
        node = bare(node)
        if type(node) is exp.Distinct:
            refuse("DISTINCT inside an aggregate", COUNTED)
        if type(node) is exp.Order:
            refuse("ORDER BY inside an aggregate", "Leave it out: the order of rows does not matter.")
        if node.find(exp.AggFunc) is not None:
            refuse("an aggregate of an aggregate", "Aggregate once.")
        column = self.expressions.column(node)
        self.columns[column.name] = column
        return column

    def _count(self, node: exp.Expr) -> Statistic:
        allow(node, "this", "big_int")
        inner = node.args.get("this")
        if inner is None or type(inner) is exp.Star or constant_of(inner) is not None:
            return statistics.count()
        if type(inner) is exp.Distinct:
            return self._different(inner)
        named = bare(inner)
        if type(named) is exp.Column and self.expressions.scope.find(named).type == "id":  # the key of a row
            column = self.expressions.known(named)
            self.columns[column.name] = column
            return Present(column.name)
        column = self._column(inner)
        return Present(column.name, column.expression)

    def _different(self, node: exp.Expr) -> Statistic:
        """People, by the column that identifies them; or the different values of another column, so many of each person."""
        allow(node, "expressions")
        if len(node.expressions) != 1:
            refuse("COUNT(DISTINCT ...) of several columns", "Count one column, or GROUP BY them and COUNT(*).")
        item = bare(node.expressions[0])
        test, item = under_condition(item)
        named = self.expressions.scope.find(item) if type(item) is exp.Column else None
        if named is None or named.type != "id":
            return statistics.count_distinct(self._column(bare(node.expressions[0])).name)
        if named.name == self.unit:
            test = self._matched(item, test)
            return statistics.count_units() if test is None else self._present(test, PresentUnits)
        known = self.expressions.scope.known(item)
        if self.view is None or not once(self.view, known.name):
            what = f"COUNT(DISTINCT {spell(str(item.name))}) of rows among which a key may come several times"
            refuse(
                what,
                f"Count where it comes once: COUNT(*) FROM (SELECT DISTINCT {spell(str(item.name))} FROM ...), or one GROUP BY at a time.",
            )
        if test is not None:
            there = exp.Not(this=exp.Is(this=item.copy(), expression=exp.Null()))
            return self._present(exp.and_(test.copy(), there), Present)
        self.columns[known.name] = known
        return Present(known.name)

    def _present(self, test: exp.Expr, kind: type[Present | PresentUnits]) -> Statistic:
        """The rows or the people that fulfil a condition."""
        column = self._column(exp.Case(ifs=[exp.If(this=test.copy(), true=exp.Literal.number(1))]))
        return kind(column.name, column.expression)

    def _matched(self, item: exp.Expr, test: exp.Expr | None) -> exp.Expr | None:
        """The person's id of a table that is joined to the left is null where that table has no row: another column of it tells."""
        owner = item.args.get("table")
        if owner is None:
            return test
        columns = self.expressions.scope.relations[str(owner.this)]
        if not _beside(self.view, {column.name for column in columns.values()}):
            return test
        key = next((name for name, column in columns.items() if column.name in self.expressions.scope.homes and column.type == "id"), None)
        if key is None:
            fix = f"Write COUNT(DISTINCT CASE WHEN a column of {owner} IS NOT NULL THEN {item.sql()} END), or JOIN instead of LEFT JOIN."
            if test is None:
                refuse("COUNT(DISTINCT the person) of a table that is joined to the left", fix)
            return test
        there = exp.Not(this=exp.Is(this=exp.column(exp.to_identifier(key, quoted=True), owner.copy()), expression=exp.Null()))
        return there if test is None else exp.and_(test.copy(), there)

    def _quantile(self, item: exp.Expr, level: exp.Expr, falling: bool = False) -> Statistic:
        q = constant_of(level)
        if not isinstance(q, Fraction):
            refuse("a quantile at something other than a number", "Write QUANTILE_CONT(x, 0.9).")
        return statistics.quantile(self._column(item).name, 1 - q if falling else q)

    def _within(self, node: exp.Expr) -> Statistic:
        """PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x), and MODE() likewise."""
        allow(node, "this", "expression")
        made, order = node.this, node.args["expression"]
        if type(order) is not exp.Order or len(order.expressions) != 1 or type(made) not in (exp.PercentileCont, exp.Mode):
            refuse("WITHIN GROUP of another kind", "Write PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x).")
        (item,) = order.expressions
        if type(made) is exp.Mode:
            if made.args.get("this") is not None:
                refuse("MODE of two columns", "Write MODE(x).")
            return statistics.mode(self._column(item.this).name)
        if made.args.get("expression") is not None:
            raise QueryError("SRD-209", "PERCENTILE_CONT names two columns.", "Write PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x).")
        return self._quantile(item.this, made.this, bool(item.args.get("desc")))


def _beside(view: View | None, names: set[str]) -> bool:
    """Whether columns come from the right of a LEFT JOIN."""
    while isinstance(view, PersonJoin):
        if view.kind == "left" and any(f"{view.name}.{name}" in names for name in view.right.columns):
            return True
        view = view.left
    return False
