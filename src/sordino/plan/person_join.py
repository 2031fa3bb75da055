"""Joins of tables of people: allowed where every row that comes together has one owner, refused with the rewrite elsewhere.

A number about a person in WHERE: (SELECT COUNT(*) FROM visits v WHERE v.patient_id = p.patient_id) >= 2, said with EXISTS.

Theorem. For the groups of inner rows by the key k, `f(rows with k = x) op c` is true exactly if x is in the subquery of the k whose group
fulfils `f op c`; and where f of no rows fulfils it (a COUNT of 0), exactly if x is not in the subquery of the k whose group does not.
Proof. An x with rows is a group. Without rows a COUNT is 0, and every other aggregate is null, for which no comparison is true. QED
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NoReturn

from sqlglot import exp

from sordino.errors import QueryError
from sordino.plan.condition import OPERATORS, read_predicate
from sordino.plan.literal import bare, chain, constant_of
from sordino.plan.refusal import allow, refuse
from sordino.plan.sql_expression import Catalogue, Expressions, Scope
from sordino.schema.column import Column, shown
from sordino.schema.expression import MIRRORED
from sordino.schema.spelling import spell
from sordino.schema.view import Chosen, PersonJoin, PrivateTable, View

__all__ = ["as_existence", "correlated", "is_existence", "join_people", "names_owner", "settled", "viewed"]

KEYS = ("int", "decimal", "bool", "date", "timestamp", "cat", "id")
TWO = "two people would meet in one row, and nobody could leave without changing the other's"


def viewed(scope: Scope, catalogue: Catalogue) -> View:
    """The view a scope's plain columns are those of, without its filter and its public tables."""
    return scope.view if scope.view is not None else catalogue.people[scope.table]


def settled(scope: Scope, catalogue: Catalogue) -> View:
    """A scope as a view of its own: the visible columns under their visible names."""
    (visible,) = scope.relations.values()
    columns = {name: column for name, column in visible.items() if column.type != "never" and column is not catalogue.owner}
    view = viewed(scope, catalogue)
    plain = all(column.expression is None and column.name == name for name, column in columns.items())
    if plain and scope.condition is None and not scope.joins and set(columns) == set(view.columns):
        return view
    return Chosen(view, tuple(columns.items()), scope.condition, scope.joins)


def join_people(found: Scope, right: Scope, kind: str, conditions: list[exp.Expr], catalogue: Catalogue) -> tuple[Scope, list[exp.Expr]]:
    """Rows of `right` beside those of `found` with the same owner; what of the conditions is left for WHERE comes back."""
    (alias,) = right.relations
    met = _Met(found, right, alias, catalogue)
    parts = [_part(node, met) for node in conditions]
    if not any(part.owner for part in parts):
        _refuse_strangers(found, right, alias, catalogue)
    pairs = [part.pair for part in parts if part.pair is not None]
    inside = [part.node for part in parts if part.side == "right"]
    rest = [part.node for part in parts if part.side == "both"]
    if rest and kind == "left":
        fix = "Compare it inside a subquery on the right, with equal columns here; or JOIN and put the condition into WHERE."
        refuse("a LEFT JOIN on a comparison of both tables", fix)
    right = _filtered(right, inside)
    view, below = settled(right, catalogue), viewed(found, catalogue)
    name = _free(view.name if isinstance(view, PrivateTable) else alias, view, found)
    joined = PersonJoin(below, view, kind, _named(pairs, below, right), name, catalogue.join_rows)
    if kind in ("semi", "anti"):
        return replace(found, view=joined), rest
    beside = {name_of: column for name_of, column in joined.columns.items() if name_of not in below.columns}
    visible = {own: beside[f"{name}.{own}"] for own in view.columns}
    (old,) = right.relations.values()
    visible |= {own: catalogue.owner for own, column in old.items() if column is catalogue.owner}
    homes = {f"{name}.{own}": home for own, column in old.items() if (home := right.homes.get(column.name)) is not None}
    plain, relations = {**found.plain, **beside}, {**found.relations, alias: visible}
    return replace(found, plain=plain, relations=relations, view=joined, homes={**found.homes, **homes}), rest


@dataclass(frozen=True)
class _Met:
    left: Scope
    right: Scope
    alias: str
    catalogue: Catalogue

    def side(self, node: exp.Expr) -> str:
        """Whose columns an expression reads; a name of both belongs to the right where it stands in a subquery of its own."""
        sides = {("right" if self._is_right(column) else "left") for column in node.find_all(exp.Column)}
        return sides.pop() if len(sides) == 1 else "both" if sides else "right"

    def _is_right(self, column: exp.Column) -> bool:
        owner = column.args.get("table")
        if owner is not None:
            return str(owner.this) == self.alias
        name = str(column.this.this)
        mine = any(name in columns for columns in self.left.relations.values())
        theirs = any(name in columns for columns in self.right.relations.values())
        if mine and theirs and not _same_owner(self, name):
            homes = [*(alias for alias, columns in self.left.relations.items() if name in columns), self.alias]
            fix = f"Write {' or '.join(f'{spell(home)}.{spell(name)}' for home in homes)}."
            raise QueryError("SRD-201", f"column {shown(name)} is in several tables.", fix, column=name)
        return theirs and not mine


def _same_owner(met: _Met, name: str) -> bool:
    found = [columns[name] for scope in (met.left, met.right) for columns in scope.relations.values() if name in columns]
    return all(column is met.catalogue.owner for column in found)


@dataclass(frozen=True)
class _Condition:
    node: exp.Expr
    side: str
    owner: bool = False
    pair: tuple[Column, Column] | None = None


def _part(node: exp.Expr, met: _Met) -> _Condition:
    node = bare(node)
    side = met.side(node)
    if type(node) is exp.EQ:
        sides = [bare(node.this), bare(node.expression)]
        if all(type(item) is exp.Column for item in sides):
            places = [met.side(item) for item in sides]
            if set(places) == {"left", "right"}:
                here, there = sides if places[0] == "left" else sides[::-1]
                return _equal(node, met.left.find(here), met.right.find(there), met)
    return _Condition(node, side)


def _equal(node: exp.Expr, here: Column, there: Column, met: _Met) -> _Condition:
    owner = met.catalogue.owner
    if here is owner and there is owner:
        return _Condition(node, "none", owner=True)
    if owner in (here, there) or here.type != there.type or here.type not in KEYS:
        what = f"{shown(here.name)} ({here.type}) cannot be matched with {shown(there.name)} ({there.type})."
        raise QueryError("SRD-203", what, "Join on columns of one type; floats are never equal by accident.")
    path = _on_path(met.left.homes.get(here.name), met.right.homes.get(there.name), met.catalogue)
    return _Condition(node, "none", owner=path, pair=(here, there))


def _on_path(here: tuple[str, str] | None, there: tuple[str, str] | None, catalogue: Catalogue) -> bool:
    """Whether equality of these columns is equality of owners, by a declared unique key: the key of a path, or that of a table itself."""
    if here is None or there is None:
        return False
    keys = [_key(catalogue.people[table], column) for table, column in (here, there)]
    return keys[0] is not None and keys[0] == keys[1]


def _key(table: PrivateTable, column: str) -> tuple[str, str] | None:
    """The table whose unique key a column holds."""
    if table.via is not None and table.on == column:
        return table.via.name, column
    return (table.name, column) if table.unique == (column,) else None


def names_owner(scope: Scope, column: Column, catalogue: Catalogue) -> bool:
    """Whether a value of this column belongs to one person: a declared unique key, or the column that leads to one."""
    home = scope.homes.get(column.name)
    return home is not None and _key(catalogue.people[home[0]], home[1]) is not None


def _named(pairs: list[tuple[Column, Column]], below: View, right: Scope) -> tuple[tuple[str, str], ...]:
    """Pairs by the names both views give them; what is computed cannot be matched."""
    (visible,) = right.relations.values()
    named = {id(column): name for name, column in visible.items()}
    for here, _ in pairs:
        if here.expression is not None or here.name not in below.columns:
            refuse("a join on something computed or on a public column", "Compute it in a subquery, and join on its column.")
    return tuple((here.name, named[id(there)]) for here, there in pairs)


def _filtered(right: Scope, nodes: list[exp.Expr]) -> Scope:
    said = tuple(read_predicate(node, Expressions(right)) for node in nodes)
    return replace(right, where=(*right.where, *said))


def _refuse_strangers(found: Scope, right: Scope, alias: str, catalogue: Catalogue) -> NoReturn:
    def owner(scope: Scope) -> str | None:
        known = ((home, name) for home, columns in scope.relations.items() for name, column in columns.items() if column is catalogue.owner)
        return next((f"{spell(home)}.{spell(name)}" if home else spell(name) for home, name in known), None)

    left, there = owner(found), owner(right)
    if left is None or there is None:
        fix = "Show the person's id in both, or join on the declared unique key of the table that leads to the person."
    else:
        fix = f"Add it to the condition: ON {left} = {there}. Anything else that is equal may stay beside it."
    refuse(f"a join of private tables that does not say that the person is the same: {TWO}", fix)


def _free(alias: str, view: View, found: Scope) -> str:
    free, number = alias, 1
    while any(f"{free}.{column}" in found.plain for column in view.columns):
        number += 1
        free = f"{alias} {number}"
    return free


def is_existence(node: exp.Expr) -> bool:
    """Whether this condition asks for rows of another table: EXISTS, NOT EXISTS, IN (SELECT ...) or NOT IN (SELECT ...)."""
    node = bare(node)
    inner = bare(node.this) if type(node) is exp.Not else node
    return type(inner) is exp.Exists or (type(inner) is exp.In and inner.args.get("query") is not None)


Read = Callable[[exp.Expr], Scope]


def correlated(found: Scope, node: exp.Expr, catalogue: Catalogue, read: Read, whole: Callable[[exp.Expr], Scope | None]) -> Scope:
    """The rows of a scope for which there is, or is not, a row of the same person elsewhere.

    `read` reads FROM and joins of a SELECT, `whole` a SELECT that computes something inside each person, if it does.
    """
    node = bare(node)
    inner = bare(node.this) if type(node) is exp.Not else node
    kind = "anti" if inner is not node else "semi"
    if type(inner) is exp.In:
        query = inner.args["query"]
        select = bare(query.this if type(query) is exp.Subquery else query)
        if type(bare(inner.this)) is not exp.Column or found.find(bare(inner.this)) is not catalogue.owner:
            fix = "JOIN a public table and put its condition into WHERE; or write EXISTS (SELECT 1 FROM ... with the same person)."
            refuse("IN (SELECT ...) of something else than the person", fix)
        computed = whole(select)
        if computed is not None:
            one = _one(computed)
            if catalogue.owner not in one.relations[""].values():
                refuse("IN (SELECT ...) that does not select the person", "Select the person's id, and nothing else.")
            return replace(found, view=PersonJoin(viewed(found, catalogue), settled(one, catalogue), kind))
        (item,) = select.expressions if len(select.expressions) == 1 else (exp.Null(),)
        there = read(select)
        if type(bare(item)) is not exp.Column or there.find(bare(item)) is not catalogue.owner:
            refuse("IN (SELECT ...) that does not select the person", "Select the person's id, and nothing else.")
        conditions = list(_where(select))
        allow(select, "expressions", "from_", "joins", "where", "distinct")
        return replace(found, view=PersonJoin(viewed(found, catalogue), settled(_one(_filtered(there, conditions)), catalogue), kind))
    select = bare(inner.this.this if type(inner.this) is exp.Subquery else inner.this)
    allow(select, "expressions", "from_", "joins", "where", "limit")
    there = read(select)
    parts = list(_where(select))
    if len(there.relations) > 1:
        there, parts = _merged(there, parts)
    (alias,) = there.relations
    shadowed = {name for columns in there.relations.values() for name in columns}
    conditions = [_qualified(part, alias, shadowed) for part in parts]
    made, rest = join_people(found, there, kind, conditions, catalogue)
    if rest:
        refuse("EXISTS with a comparison of both tables", "Compare equal columns only, or JOIN and count people: COUNT(DISTINCT ...).")
    return made


def _one(scope: Scope) -> Scope:
    """All visible columns in one relation: only the owner matters."""
    return replace(scope, relations={"": {name: column for columns in scope.relations.values() for name, column in columns.items()}})


def _merged(scope: Scope, nodes: list[exp.Expr]) -> tuple[Scope, list[exp.Expr]]:
    """Several tables of a subquery as one, and conditions that name their columns there."""
    whole = " and ".join(scope.relations)
    merged = {f"{alias}.{name}": column for alias, columns in scope.relations.items() for name, column in columns.items()}
    made = []
    for node in nodes:
        copy = node.copy()
        for column in [copy, *copy.find_all(exp.Column)]:
            if type(column) is not exp.Column or type(column.this) is not exp.Identifier:
                continue
            home, name = column.args.get("table"), str(column.this.this)
            homes = [str(home.this)] if home is not None else [alias for alias, columns in scope.relations.items() if name in columns]
            if len(homes) > 1 and len({id(scope.relations[home][name]) for home in homes}) > 1:
                fix = f"Write {' or '.join(f'{spell(alias)}.{spell(name)}' for alias in homes)}."
                raise QueryError("SRD-201", f"column {shown(name)} is in several tables.", fix, column=name)
            if homes and homes[0] in scope.relations:
                column.set("this", exp.to_identifier(f"{homes[0]}.{name}", quoted=True))
                column.set("table", exp.to_identifier(whole, quoted=True))
        made.append(copy)
    return replace(scope, relations={whole: merged}), made


def _where(select: exp.Expr) -> Iterator[exp.Expr]:
    clause = select.args.get("where")
    if clause is not None:
        yield from chain(bare(clause.this), exp.And)


def _qualified(node: exp.Expr, alias: str, names: set[str]) -> exp.Expr:
    """Names without a table belong to the subquery they stand in, if it has them."""
    copy = node.copy()
    for column in copy.find_all(exp.Column):
        if column.args.get("table") is None and type(column.this) is exp.Identifier and str(column.this.this) in names:
            column.set("table", exp.to_identifier(alias, quoted=True))
    return copy


HOLDS = {"=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
SIGNS = {sign: kind for kind, sign in OPERATORS.items()}
NAME = "the same person"


def as_existence(part: exp.Expr) -> exp.Expr | None:
    """The same condition as EXISTS or NOT EXISTS; None where it compares no total of rows that equal a column outside."""
    part = bare(part)
    if type(part) not in OPERATORS:
        return None
    sides, sign = [bare(part.this), bare(part.expression)], OPERATORS[type(part)]
    if isinstance(sides[1], exp.Query):
        sides, sign = sides[::-1], MIRRORED[sign]
    select, value = sides[0].this if type(sides[0]) is exp.Subquery else sides[0], constant_of(sides[1])
    if type(select) is not exp.Select or not isinstance(value, Fraction) or len(select.expressions) != 1:
        return None
    total = bare(select.expressions[0].this if type(select.expressions[0]) is exp.Alias else select.expressions[0])
    where, clause = select.args.get("where"), select.args.get("from_")
    if (
        not isinstance(total, exp.AggFunc)
        or where is None
        or clause is None
        or any(select.args.get(w) for w in ("group", "having", "limit"))
    ):
        return None
    inside = {str(node.alias_or_name) for node in (clause.this, *(join.this for join in select.args.get("joins") or ()))}
    parts = [bare(item) for item in chain(bare(where.this), exp.And)]
    found = [(item, pair) for item in parts if (pair := _meeting(item, inside)) is not None]
    if len(found) != 1:
        return None
    met, (own, outer) = found[0]
    rest = [item.copy() for item in parts if item is not met]
    empty = type(total) is exp.Count and HOLDS[sign](0, value)
    kept: exp.Expr = SIGNS[sign](this=total.copy(), expression=sides[1].copy())
    groups = select.copy()
    groups.set("expressions", [own.copy()])
    groups.set("where", exp.Where(this=exp.and_(*rest)) if rest else None)
    groups.set("group", exp.Group(expressions=[own.copy()]))
    groups.set("having", exp.Having(this=exp.Not(this=exp.Paren(this=kept)) if empty else kept))
    same = exp.EQ(this=exp.column(own.this.copy(), table=exp.to_identifier(NAME, quoted=True)), expression=outer.copy())
    alias = exp.TableAlias(this=exp.to_identifier(NAME, quoted=True))
    query = exp.Select(expressions=[exp.Literal.number(1)], where=exp.Where(this=same))
    query.set("from_", exp.From(this=exp.Subquery(this=groups, alias=alias)))
    made = exp.Exists(this=query)
    return exp.Not(this=made) if empty else made


def _meeting(node: exp.Expr, inside: set[str]) -> tuple[exp.Expr, exp.Expr] | None:
    """The column of the subquery and the one outside that an equality names; a name without a table is the subquery's own."""
    sides = [bare(side) for side in (node.this, node.expression)] if type(node) is exp.EQ else []
    if len(sides) != 2 or any(type(side) is not exp.Column or type(side.this) is not exp.Identifier for side in sides):
        return None
    homes = [side.args.get("table") is None or str(side.args["table"].this) in inside for side in sides]
    if homes == [True, False]:
        return sides[0], sides[1]
    return (sides[1], sides[0]) if homes == [False, True] else None
