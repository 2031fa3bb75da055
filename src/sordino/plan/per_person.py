"""Subqueries that compute inside one person: GROUP BY the person, DISTINCT with the person, windows partitioned by the person.

Their rows belong to one person each, so the outer SELECT asks about a private table like any other. What is computed is public in its
bounds only: those that follow from the columns, or those that LEAST and GREATEST set.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from sqlglot import exp

from sordino.errors import QueryError
from sordino.plan.condition import read_predicate
from sordino.plan.literal import bare, constant_of
from sordino.plan.person_join import names_owner, viewed
from sordino.plan.person_total import MANY, total_of, unlimited
from sordino.plan.refusal import allow, refuse
from sordino.plan.sql_expression import Catalogue, Expressions, Scope
from sordino.schema.column import Column, shown
from sordino.schema.spelling import spell
from sordino.schema.view import Chosen, PersonTotal, PersonTotals, PersonWindow, PersonWindows, View

__all__ = ["is_per_person", "read_per_person"]

AGGREGATES: dict[type[exp.Expr], str] = {
    exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max", exp.LogicalOr: "max", exp.LogicalAnd: "min", exp.AnyValue: "min",
}  # fmt: skip
ORDERED: dict[type[exp.Expr], str] = {exp.RowNumber: "row_number", exp.Rank: "rank", exp.DenseRank: "dense_rank"}
FUNCTIONS = "Use COUNT, SUM, AVG, MIN, MAX, or ROW_NUMBER, RANK, LAG, LEAD OVER (PARTITION BY the person ...)."


def is_per_person(select: exp.Expr) -> bool:
    """Whether a subquery groups, drops repeats, or looks at several rows at once."""
    said = [*select.expressions, *(select.args[word] for word in ("having", "qualify") if select.args.get(word) is not None)]
    clauses = any(select.args.get(word) for word in ("group", "having", "qualify", "distinct"))
    return clauses or any(item.find(exp.AggFunc, exp.Window, exp.Filter, exp.CountIf) is not None for item in said)


def read_per_person(select: exp.Expr, found: Scope, catalogue: Catalogue) -> Scope:
    """The rows such a subquery has, as a view of its own under the names it shows."""
    reader = _Reader(select, found, catalogue)
    windows = any(item.find(exp.Window) is not None for item in reader.said)
    if windows and (select.args.get("group") or select.args.get("distinct")):
        refuse("a window over groups", "Group in one subquery, and look at its rows in another.")
    near, far = (reader.windowed(many) if windows else reader.grouped(many) for many in (MANY, 2 * MANY))
    limited = unlimited(near.columns, far.columns)
    view = replace(near, declared=tuple(limited.values()))
    visible = dict.fromkeys(reader.owners, catalogue.owner) | view.columns
    homes = {name: found.homes[c.name] for name, c in view.shown if c.type == "id" and c.expression is None and c.name in found.homes}
    return Scope(found.table, view.columns, {"": visible}, view=view, homes=homes)


@dataclass
class _Reader:
    select: exp.Expr
    found: Scope
    catalogue: Catalogue
    computed: list[tuple[exp.Expr, str]] = field(default_factory=list)  # what is grouped by and is no column, by the name it has

    @property
    def said(self) -> list[exp.Expr]:
        return [*self.select.expressions, *(self.select.args[w].this for w in ("having", "qualify") if self.select.args.get(w) is not None)]

    @property
    def owners(self) -> list[str]:
        """The names under which the person's id is shown."""
        names = []
        for item in self._items():
            node = bare(item.this if type(item) is exp.Alias else item)
            if type(node) is exp.Column and type(node.this) is not exp.Star and self.found.find(node) is self.catalogue.owner:
                names.append(str(item.alias) if type(item) is exp.Alias else str(node.this.this))
        return names

    def _items(self) -> list[exp.Expr]:
        """What is selected, with * spelled out."""
        items: list[exp.Expr] = []
        for item in self.select.expressions:
            if type(item) is exp.Star or (type(item) is exp.Column and type(item.this) is exp.Star):
                allow(item, "this", "table")
                only = str(item.args["table"].this) if item.args.get("table") is not None else None
                for home, columns in self.found.relations.items():
                    if only in (None, home):
                        shown_names = [name for name, column in columns.items() if column.type not in ("never",)]
                        items += [exp.column(exp.to_identifier(n, quoted=True), exp.to_identifier(home, quoted=True) if home else None)
                                  for n in shown_names]  # fmt: skip
            else:
                items.append(item)
        return items

    def _expressions(self) -> Expressions:
        return Expressions(self.found, self.found.condition)

    def _below(self, columns: dict[str, Column]) -> View:
        """The rows that are computed with: filtered, with these columns."""
        view = viewed(self.found, self.catalogue)
        return Chosen(view, tuple(columns.items()), self.found.condition, self.found.joins)

    def grouped(self, many: int) -> Chosen:
        by = self._by()
        below: dict[str, Column] = dict(by)
        made: dict[str, PersonTotal] = {}

        def swap(node: exp.Expr) -> exp.Expr:
            if (made_of := next((name for known, name in self.computed if known == bare(node)), None)) is not None:
                return exp.column(exp.to_identifier(made_of, quoted=True))
            if isinstance(node, exp.AggFunc | exp.Filter | exp.CountIf):
                return exp.column(exp.to_identifier(self._total(node, below, made, many), quoted=True))
            if type(node) is exp.Column:
                column = self.found.find(node)
                if column is self.catalogue.owner:
                    return node
                name = next((name for name, known in by.items() if known == column), None)
                if name is None:
                    fix = "Add it to GROUP BY, or aggregate it: MAX(...)."
                    raise QueryError("SRD-209", f"{shown(column.name)} is neither grouped nor aggregated.", fix, column=column.name)
                return exp.column(exp.to_identifier(name, quoted=True))
            return node

        items = self._swapped(swap)
        having = self.select.args.get("having")
        kept = None if having is None else _replaced(having.this, swap)
        rows = PersonTotals(self._below(below), tuple(by), tuple(made.values()))
        return self._shown(rows, items, kept)

    def _swapped(self, swap: Any) -> list[tuple[str, exp.Expr]]:
        items = []
        for item in self._items():
            name, node = (str(item.alias), bare(item.this)) if type(item) is exp.Alias else ("", bare(item))
            if type(node) is exp.Column:
                if self.found.find(node) is self.catalogue.owner:
                    continue
                name = name or str(node.this.this)
            if not name:
                raise QueryError("SRD-208", "a subquery computes something without a name.", "Name it: COUNT(*) AS n.")
            items.append((name, _replaced(node, swap)))
        return items

    def _shown(self, rows: View, items: list[tuple[str, exp.Expr]], kept: exp.Expr | None) -> Chosen:
        columns = rows.columns
        homes = {name: self.found.homes[name] for name in columns if name in self.found.homes}
        scope = Scope(self.found.table, columns, {"": columns}, view=rows, homes=homes)
        where = None if kept is None else read_predicate(kept, Expressions(scope))
        shown_columns: dict[str, Column] = {}
        for name, node in items:
            if name in shown_columns:
                raise QueryError("SRD-208", f"a subquery has two columns {shown(name)}.", "Give each a name of its own: x AS y.")
            named = scope.find(node) if type(node) is exp.Column else None
            shown_columns[name] = named if named is not None and named.type == "id" else Expressions(scope, where).column(node)
        return Chosen(rows, tuple(shown_columns.items()), where)

    def _by(self) -> dict[str, Column]:
        """What is grouped by beside the person, by a name each."""
        clause = self.select.args.get("group")
        if clause is None and not self.select.args.get("distinct"):
            what = "an aggregate over all people inside a subquery"
            refuse(what, f"GROUP BY the person in it, {spell(self.catalogue.unit or '')}: one row for each. Aggregate over people outside.")
        items = self._items()
        if clause is None:
            nodes = [bare(item.this if type(item) is exp.Alias else item) for item in items]
        else:
            allow(clause, "expressions")
            nodes = [self._placed(bare(node), items) for node in clause.expressions]
        found: dict[str, Column] = {}
        owned = False
        for node in nodes:
            if type(node) is exp.Column and self.found.find(node) is self.catalogue.owner:
                owned = True
                continue
            column = self._expressions().known(node)
            owned = owned or names_owner(self.found, column, self.catalogue)
            found[column.name] = column
            if column.expression is not None:
                self.computed.append((node, column.name))
        if not owned:
            fix = f"GROUP BY {spell(self.catalogue.unit or '')} too: then every row belongs to one person. Aggregate over people outside."
            refuse("groups of several people inside a subquery", fix)
        return found

    def _placed(self, node: exp.Expr, items: list[exp.Expr]) -> exp.Expr:
        place = constant_of(node)
        if isinstance(place, Fraction) and place.denominator == 1 and 1 <= place <= len(items):
            item = items[int(place) - 1]
            return bare(item.this if type(item) is exp.Alias else item)
        if type(node) is exp.Column and node.args.get("table") is None:
            known = any(str(node.this.this) in columns for columns in self.found.relations.values())
            named = next((item for item in items if type(item) is exp.Alias and item.alias == node.name), None)
            return bare(named.this) if named is not None and not known else node
        return node

    def _total(self, node: exp.Expr, below: dict[str, Column], made: dict[str, PersonTotal], many: int) -> str:
        """The name of the total this aggregate asks for."""
        node, test = _unfiltered(node)
        kind = type(node)
        inner = bare(node.this) if node.args.get("this") is not None else None
        if kind is exp.CountIf:
            kind, test, inner = exp.Count, inner if test is None else exp.and_(test, inner), exp.Star()
        word, argument = self._word(kind, inner)
        if test is not None:
            argument = exp.Case(ifs=[exp.If(this=test.copy(), true=exp.Literal.number(1) if argument is None else argument.copy())])
            word = "count" if word == "rows" else word
        reads = self._expressions().known if word in ("count", "distinct") else self._expressions().column
        column = None if argument is None else reads(argument)
        name = f"{word}({'*' if column is None else column.name})"
        if column is not None:
            below[column.name] = column
        made[name] = total_of(word, None if column is None else column, name, many)
        return name

    def _word(self, kind: type[exp.Expr], inner: exp.Expr | None) -> tuple[str, exp.Expr | None]:
        if kind is exp.Count:
            if inner is None or type(inner) is exp.Star or constant_of(inner) is not None:
                return "rows", None
            if type(inner) is exp.Distinct:
                if len(inner.expressions) != 1:
                    refuse("COUNT(DISTINCT ...) of several columns", "Count one column.")
                return "distinct", bare(inner.expressions[0])
            if type(inner) is exp.Column and self.found.find(inner) is self.catalogue.owner:
                return "rows", None
            return "count", inner
        if kind not in AGGREGATES or inner is None or type(inner) is exp.Distinct:
            refuse("an aggregate inside a person that is outside the subset", FUNCTIONS)
        return AGGREGATES[kind], inner

    def windowed(self, many: int) -> Chosen:
        below: dict[str, Column] = {}
        made: dict[str, PersonWindow] = {}
        for item in self._items():  # whatever is shown decides about a row's place among equals
            node = bare(item.this if type(item) is exp.Alias else item)
            for column in node.find_all(exp.Column):
                found = self.found.find(column)
                if found is not self.catalogue.owner and found.type != "id":
                    below[found.name] = found if found.expression is None else self._expressions().column(column)

        def swap(node: exp.Expr) -> exp.Expr:
            if type(node) is exp.Window:
                return exp.column(exp.to_identifier(self._window(node, below, made, many), quoted=True))
            if isinstance(node, exp.AggFunc):
                refuse("an aggregate beside a window", "Aggregate in a subquery inside, or write SUM(...) OVER (PARTITION BY the person).")
            if type(node) is exp.Column:
                column = self.found.find(node)
                if column is self.catalogue.owner:
                    return node
                below[column.name] = column
                return exp.column(exp.to_identifier(column.name, quoted=True))
            return node

        items = self._swapped(swap)
        qualify = self.select.args.get("qualify")
        kept = None if qualify is None else _replaced(qualify.this, swap)
        return self._shown(PersonWindows(self._below(below), tuple(made.values())), items, kept)

    def _window(self, node: exp.Expr, below: dict[str, Column], made: dict[str, PersonWindow], many: int) -> str:
        allow(node, "this", "partition_by", "order", "spec", "over")
        within: list[str] = []
        owned = False
        for part in node.args.get("partition_by") or ():
            parted = self._sorted(part, below)
            owned = owned or names_owner(self.found, parted, self.catalogue)
            owned, within = owned or parted is self.catalogue.owner, [*within, *([] if parted is self.catalogue.owner else [parted.name])]
        if not owned:
            refuse(
                "a window that reaches over people", f"PARTITION BY {spell(self.catalogue.unit or '')}: then it stays inside one person."
            )
        order = []
        clause = node.args.get("order")
        for part in () if clause is None else clause.expressions:
            allow(part, "this", "desc", "nulls_first")
            sorted_by = self._sorted(part.this, below)
            if sorted_by is not self.catalogue.owner:
                order.append((sorted_by.name, bool(part.args.get("desc"))))
        word, column, step = self._function(node.this, below)
        facts: dict[str, Any] = {"within": tuple(within), "order": tuple(order), "step": step}
        facts |= {"whole": not order, "each": _each(node.args.get("spec"), bool(order))}
        name = f"{word}({'*' if column is None else column.name}) over {len(made)}"
        if word in ("row_number", "rank", "dense_rank", "lag", "lead"):
            facts |= {"whole": False, "each": False}
        result = self._result(word, column, name, many)
        same = next((known for known, item in made.items() if item == PersonWindow(word, item.column, item.result, **facts)
                     and item.column == (None if column is None else column.name)), None)  # fmt: skip
        if same is not None:
            return same
        made[name] = PersonWindow(word, None if column is None else column.name, result, **facts)
        return name

    def _result(self, word: str, column: Column | None, name: str, many: int) -> Column:
        if column is None:
            return Column(name, "int", (1, many))
        if word in ("lag", "lead"):
            return replace(column, name=name, expression=None, nulls="drop")
        return total_of(word, column, name, many).result

    def _function(self, node: exp.Expr, below: dict[str, Column]) -> tuple[str, Column | None, int]:
        kind = type(node)
        if kind in ORDERED:
            return ORDERED[kind], None, 1
        if kind in (exp.Lag, exp.Lead):
            allow(node, "this", "offset")
            step = Fraction(1) if node.args.get("offset") is None else constant_of(node.args["offset"])
            if not isinstance(step, Fraction) or step.denominator != 1 or not 1 <= step <= 1000:
                refuse("LAG by an unusual number of rows", "Write LAG(x) or LAG(x, 2).")
            return ("lag" if kind is exp.Lag else "lead"), self._column(node.this, below), int(step)
        if not isinstance(node, exp.Count | exp.Sum | exp.Min | exp.Max):
            refuse("a window function outside the subset", FUNCTIONS)
        word, argument = self._word(kind, bare(node.this) if node.args.get("this") is not None else None)
        if word == "distinct":
            refuse("COUNT(DISTINCT ...) over a window", "GROUP BY the person in a subquery.")
        return word, None if argument is None else self._column(argument, below), 1

    def _sorted(self, node: exp.Expr, below: dict[str, Column]) -> Column:
        """What rows are parted or ordered by: also the key of a row, which tells them apart and is not shown."""
        if (
            type(bare(node)) is not exp.Column
            or self.found.find(bare(node)).type != "id"
            or self.found.find(bare(node)) is self.catalogue.owner
        ):
            return self._column(node, below)
        column = self.found.known(bare(node))
        below[column.name] = column
        return column

    def _column(self, node: exp.Expr, below: dict[str, Column]) -> Column:
        node = bare(node)
        if type(node) is exp.Column:
            found = self.found.find(node)
            if found is self.catalogue.owner:
                return found
        column = self._expressions().column(node)
        below[column.name] = column
        return replace(column, expression=None)


def _each(spec: exp.Expr | None, ordered: bool) -> bool:
    """Whether a frame counts row by row; anything but all rows up to this one is refused."""
    if spec is None or not ordered:
        return False
    start, end = str(spec.args.get("start") or "").upper(), str(spec.args.get("end") or "CURRENT ROW").upper()
    kind = str(spec.args.get("kind") or "").upper()
    if start != "UNBOUNDED" or end != "CURRENT ROW" or kind not in ("ROWS", "RANGE"):
        refuse("a frame of another kind", "Write ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW, or leave the frame out.")
    return kind == "ROWS"


def _unfiltered(node: exp.Expr) -> tuple[exp.Expr, exp.Expr | None]:
    if type(node) is not exp.Filter:
        return node, None
    return node.this, node.expression.this


def _replaced(node: exp.Expr, swap: Callable[[exp.Expr], exp.Expr]) -> exp.Expr:
    """The tree with what `swap` puts in the place of its parts, from the top: what was put in is not looked at again."""
    made = swap(node)
    if made is not node:
        return made
    copy = node.copy()
    for key, value in list(copy.args.items()):
        if isinstance(value, exp.Expr):
            copy.set(key, _replaced(value, swap))
        elif isinstance(value, list):
            copy.set(key, [_replaced(item, swap) if isinstance(item, exp.Expr) else item for item in value])
    return copy
