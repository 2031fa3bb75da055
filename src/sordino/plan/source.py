"""FROM: tables of the catalogue, subqueries, joins with public tables and with tables of the same people. All of it is one table again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from sqlglot import exp

from sordino.errors import QueryError
from sordino.plan.condition import read_predicate
from sordino.plan.literal import bare, chain
from sordino.plan.per_person import is_per_person, read_per_person
from sordino.plan.person_join import as_existence, correlated, is_existence, join_people
from sordino.plan.refusal import SHAPE, allow, refuse, refuse_part
from sordino.plan.sql_expression import Catalogue, Expressions, Scope
from sordino.plan.sql_join import alias_of, column_at, in_order, join_kind, listed_join, said_of
from sordino.schema.column import Column, nearest, shown
from sordino.schema.expression import And
from sordino.schema.frame import Join, Public
from sordino.schema.spelling import spell
from sordino.schema.view import PrivateTable

__all__ = ["Sources"]

ONCE = "Aggregate once, in the outermost SELECT: nobody knows how far one person moves an inner aggregate."
CUT = "Leave it out: which rows a subquery keeps may depend on their values only."


@dataclass(frozen=True)
class Sources:
    """A catalogue and the subqueries named so far."""

    catalogue: Catalogue
    named: Mapping[str, Scope] = field(default_factory=dict)

    def with_named(self, clause: exp.Expr | None) -> Sources:
        """These and the subqueries of a WITH, each of which may use those before it."""
        here = self
        if clause is not None:
            allow(clause, "expressions")
            for item in clause.expressions:
                allow(item, "this", "alias")
                here = replace(here, named={**here.named, _alias(item.args["alias"]): here.inner(item.this)})
        return here

    def scope(self, select: exp.Expr) -> Scope:
        """The FROM and the joins of a SELECT, and its WHERE."""
        found, parts = self._tables(select)
        for said_part in parts:
            part = as_existence(said_part) or said_part
            if (listed := self._listed_rows(found, part)) is not None:
                found = listed
                continue
            if is_existence(part) and found.table in self.catalogue.people:
                found = correlated(found, part, self.catalogue, lambda inner: self._tables(inner)[0], self._computed)
                continue
            said = read_predicate(part, Expressions(found))
            found = replace(found, where=(*found.where, *(said.parts if isinstance(said, And) else (said,))))
        return found

    def _listed_rows(self, found: Scope, part: exp.Expr) -> Scope | None:
        """column IN (SELECT its unique column FROM a public table WHERE ...): a join with these public rows."""
        query = part.args.get("query") if type(part) is exp.In else None
        select = None if query is None else bare(query.this if type(query) is exp.Subquery else query)
        table = None if select is None or select.args.get("from_") is None else select.args["from_"].this
        name = str(table.this.this) if type(table) is exp.Table and type(table.this) is exp.Identifier else ""
        if select is None or table is None or name in self.named or name not in self.catalogue.public or len(select.expressions) != 1:
            return None
        allow(select, "expressions", "from_", "where", "distinct")
        item, own = bare(select.expressions[0]), _free_alias(name, found)
        if type(item) is not exp.Column:
            return None
        on = exp.EQ(this=part.this.copy(), expression=column_at(item.this, own))
        made = self._with_public(found, exp.Join(this=exp.Table(this=exp.to_identifier(name)), on=on), name, own)
        where = select.args.get("where")
        said = [] if where is None else [said_of(where.this, str(table.alias_or_name), own)]
        made = replace(made, where=(*made.where, *(read_predicate(node, Expressions(made)) for node in said)))
        return replace(made, relations={alias: columns for alias, columns in made.relations.items() if alias != own})

    def _computed(self, select: exp.Expr) -> Scope | None:
        return self.inner(select) if is_per_person(select) else None

    def _tables(self, select: exp.Expr) -> tuple[Scope, list[exp.Expr]]:
        """FROM and joins, and what WHERE says beside the equalities that join a list of tables."""
        clause = select.args.get("from_")
        if clause is None:
            raise QueryError("SRD-208", "the statement has no FROM.", f"Name a table: {', '.join(map(spell, self.catalogue.private))}.")
        where = select.args.get("where")
        parts = [] if where is None else [bare(part) for part in chain(bare(where.this), exp.And)]
        first, joins = self._in_order(clause.this, list(select.args.get("joins") or ()))
        first, joins, parts = in_order(first, joins, parts, self._people, self._public)
        found = self._relation(first)
        for said in joins:
            join = said
            plain = not join.args.get("on") and not join.args.get("using") and not join.args.get("side") and not join.args.get("method")
            if plain and str(join.args.get("kind") or "").upper() in ("", "CROSS"):
                join, parts = listed_join(join, parts)
            found, rest = self._joined(found, join)
            parts += rest
        return found, parts

    def _in_order(self, first: exp.Expr, joins: list[exp.Expr]) -> tuple[exp.Expr, list[exp.Expr]]:
        """Two tables of people that are joined both ways alike, in one order: the same question is then paid for once."""
        people = [join for join in joins if self._people(join.this) is not None]
        here, there = self._people(first), self._people(people[0].this) if people else None
        if len(people) != 1 or here is None or there is None or people[0].args.get("side") or here == there:
            return first, joins
        if str(people[0].args.get("kind") or "").upper() not in ("", "INNER", "CROSS") or joins[0] is not people[0]:
            return first, joins
        if min(here, there, key=lambda table: (table.single, table.name)) is here:
            return first, joins
        turned = people[0].copy()
        turned.set("this", first.copy())
        return people[0].this, [turned, *joins[1:]]

    def _people(self, node: exp.Expr) -> PrivateTable | None:
        """The table of people that a node names; a subquery names none."""
        name = str(node.this.this) if type(node) is exp.Table and type(node.this) is exp.Identifier else ""
        return None if name in self.named else self.catalogue.people.get(name)

    def _public(self, node: exp.Expr) -> bool:
        name = str(node.this.this) if type(node) is exp.Table and type(node.this) is exp.Identifier else ""
        return name not in self.named and name in self.catalogue.public

    def inner(self, select: exp.Expr) -> Scope:
        """A subquery of filters and projections, or of what is computed inside each person: the columns it shows."""
        select = first_of_each(bare(select))
        if type(select) is not exp.Select:
            refuse_part(select)
        for clause in ("limit", "order"):
            if select.args.get(clause) is not None:
                refuse(f"{clause.upper()} inside a subquery", CUT)
        allow(select, "expressions", "from_", "joins", "where", "with_", "group", "having", "qualify", "distinct")
        found = self.with_named(select.args.get("with_")).scope(select)
        if is_per_person(select):
            if found.table not in self.catalogue.people:
                refuse("an aggregate inside a subquery", ONCE)
            return read_per_person(select, found, self.catalogue)
        shown_columns: dict[str, Column] = {}
        for item in select.expressions:
            for name, column in self._projected(found, item):
                if name in shown_columns:
                    raise QueryError("SRD-208", f"a subquery has two columns {shown(name)}.", "Give each a name of its own: x AS y.")
                shown_columns[name] = column
        return replace(found, relations={"": shown_columns})

    def _projected(self, found: Scope, item: exp.Expr) -> list[tuple[str, Column]]:
        if type(item) is exp.Star or (type(item) is exp.Column and type(item.this) is exp.Star):
            allow(item, "this", "table")
            owner = item.args.get("table")
            homes = found.relations if owner is None else {str(owner.this): found.relations.get(str(owner.this), {})}
            return [(name, column) for columns in homes.values() for name, column in columns.items() if column.type != "never"]
        name, node = (str(item.alias), bare(item.this)) if type(item) is exp.Alias else ("", bare(item))
        if type(node) is exp.Column:
            column = found.find(node)  # a person's id may pass through, to be counted
            column = column if column.type == "id" else found.readable(node)
            return [(name or str(node.this.this), column)]
        if not name:
            raise QueryError("SRD-208", "a subquery computes something without a name.", "Name it: income / 12 AS monthly.")
        return [(name, Expressions(found, found.condition).column(node))]

    def _relation(self, node: exp.Expr) -> Scope:
        if type(node) is exp.Subquery:
            allow(node, "this", "alias")
            made = self.inner(node.this)
            alias = _alias(node.args["alias"]) if node.args.get("alias") is not None else ""
            return replace(made, relations={alias: made.relations[""]})
        name, alias = _table(node)
        if name in self.named:
            made = self.named[name]
            return replace(made, relations={alias: made.relations[""]})
        if name in self.catalogue.public:
            private = ", ".join(map(spell, self.catalogue.private))
            refuse(f"FROM the public table {shown(name)}", f"Start FROM a private table, {private}, and JOIN this one.")
        if name not in self.catalogue.private:
            known = nearest(name, [*self.named, *self.catalogue.private], "tables")
            raise QueryError("SRD-201", f"there is no table {shown(name)}.", known, table=name)
        columns, owned = self.catalogue.private[name], self.catalogue.people.get(name)
        if owned is None:
            return Scope(name, columns, {alias: columns})
        visible = {**owned.columns, **({owned.person: self.catalogue.owner} if owned.person is not None else {})}
        homes = {column: (name, column) for column in owned.columns}
        return Scope(name, columns, {alias: visible}, view=None if owned.person == self.catalogue.unit else owned, homes=homes)

    def _joined(self, found: Scope, node: exp.Expr) -> tuple[Scope, list[exp.Expr]]:
        """One more table beside each row: rows of the same person, or a public row. What is left of the condition comes back."""
        inner = type(node.this) is exp.Subquery
        name, alias = ("", "") if inner else _table(node.this)
        if inner or name in self.named or name in self.catalogue.private:
            return self._with_people(found, node)
        return self._with_public(found, node, name, alias), []

    def _with_people(self, found: Scope, node: exp.Expr) -> tuple[Scope, list[exp.Expr]]:
        right = self._relation(node.this)
        if found.table not in self.catalogue.people or right.table not in self.catalogue.people:
            what = "a self-join" if right.table == found.table else "a join of two private tables"
            refuse(what, "A person's rows would multiply. Join public tables only, or say whose the rows are: unit= or person=.")
        kind = join_kind(node)
        (alias,) = right.relations
        if not alias or alias in found.relations:
            raise QueryError("SRD-208", f"two tables are called {shown(alias)}.", "Name one of them: visits AS another.")
        conditions: list[exp.Expr] = []
        for item in node.args.get("using") or ():
            homes = [home for home, columns in found.relations.items() if str(item.this) in columns] or [""]
            conditions.append(exp.EQ(this=column_at(item, homes[0]), expression=column_at(item, alias)))
        if node.args.get("on") is not None:
            conditions += [bare(part) for part in chain(bare(node.args["on"]), exp.And)]
        return join_people(found, right, kind, conditions, self.catalogue)

    def _with_public(self, found: Scope, node: exp.Expr, name: str, alias: str) -> Scope:
        """One more public table beside each row, on equality of all its unique columns."""
        if name not in self.catalogue.public:
            raise QueryError("SRD-201", f"there is no public table {shown(name)}.", nearest(name, self.catalogue.public, "public tables"))
        kind = join_kind(node)
        if kind in ("semi", "anti"):
            refuse(f"a {kind.upper()} JOIN with a public table", "JOIN it, and say the rest in WHERE.")
        if alias in found.relations:
            raise QueryError("SRD-208", f"two tables are called {shown(alias)}.", f"Name one of them: {spell(name)} AS another.")
        public = self.catalogue.public[name]
        pairs = self._pairs(found, alias, public, node)
        join = Join(_free(name, public, found), public, pairs, kind == "left")
        visible = {own: join.columns[f"{join.name}.{own}"] for own in public.columns}
        plain, relations = {**found.plain, **join.columns}, {**found.relations, alias: visible}
        return replace(found, plain=plain, relations=relations, joins=(*found.joins, join))

    def _pairs(self, found: Scope, alias: str, public: Public, node: exp.Expr) -> tuple[tuple[str, str], ...]:
        """Which column at hand equals which unique column."""
        unique = " AND ".join(f"... = {spell(alias)}.{spell(column)}" for column in public.unique)
        fix = f"Join on its unique columns and nothing else: ON {unique}. Other conditions go into WHERE."
        equals: list[tuple[exp.Expr, exp.Expr]] = []
        if node.args.get("using"):
            equals = [(exp.column(item.copy()), exp.column(item.copy(), table=alias)) for item in node.args["using"]]
        elif node.args.get("on") is not None:
            for part in chain(bare(node.args["on"]), exp.And):
                if type(bare(part)) is not exp.EQ:
                    refuse("a join on something other than equal columns", fix)
                equals.append((bare(bare(part).this), bare(bare(part).expression)))
        pairs: dict[str, str] = {}
        for left, right in equals:
            here, there = (right, left) if alias_of(left) == alias else (left, right)
            own = str(there.this.this) if alias_of(there) == alias and type(there) is exp.Column else ""
            if own not in public.unique or own in pairs:
                refuse(f"a join that may match several rows of {shown(public.name)}", fix)
            column = found.readable(here)
            if column.expression is not None or column.type != public.columns[own].type or column.type == "float":
                what = f"{shown(column.name)} ({column.type}) cannot be matched with {shown(own)} ({public.columns[own].type})."
                raise QueryError("SRD-203", what, "Join declared columns of one type; floats are never equal by accident.")
            pairs[own] = column.name
        if set(pairs) != set(public.unique):
            refuse(f"a join that may match several rows of {shown(public.name)}", fix)
        return tuple((pairs[own], own) for own in public.unique)


def first_of_each(select: exp.Expr) -> exp.Expr:
    """SELECT DISTINCT ON (person) ... ORDER BY person, day: the first row of each by what else is ordered by."""
    clause = select.args.get("distinct")
    on = None if not isinstance(clause, exp.Expr) else clause.args.get("on")
    if on is None:
        return select
    by = list(on.expressions) if type(on) is exp.Tuple else [bare(on)]
    order = select.args.get("order")
    rest = [item.copy() for item in ([] if order is None else order.expressions) if bare(item.this) not in by]
    over = exp.Window(this=exp.RowNumber(), partition_by=[item.copy() for item in by], over="OVER")
    if rest:
        over.set("order", exp.Order(expressions=rest))
    made = select.copy()
    for word in ("distinct", "order"):
        made.set(word, None)
    made.set("qualify", exp.Qualify(this=exp.EQ(this=over, expression=exp.Literal.number(1))))
    return made


def _free_alias(name: str, found: Scope) -> str:
    free = f"{name} of a list"
    while free in found.relations:
        free += "'"
    return free


def _table(node: exp.Expr) -> tuple[str, str]:
    """The name of a table and its alias; files, functions and other databases are no tables."""
    if type(node) is not exp.Table or type(node.this) is not exp.Identifier:
        refuse("something that is no table of the catalogue", "Join or name tables of this dataset. " + SHAPE)
    allow(node, "this", "alias")
    name = str(node.this.this)
    return name, _alias(node.args["alias"]) if node.args.get("alias") is not None else name


def _alias(node: exp.Expr) -> str:
    if type(node) is not exp.TableAlias or type(node.this) is not exp.Identifier or node.args.get("columns"):
        refuse("column names after the name of a subquery", "Name columns inside it: SELECT x AS y.")
    return str(node.this.this)


def _free(name: str, public: Public, found: Scope) -> str:
    """A name for this join under which none of its columns clashes with another."""
    free, number = name, 1
    while any(f"{free}.{column}" in found.plain for column in public.columns):
        number += 1
        free = f"{name} {number}"
    return free
