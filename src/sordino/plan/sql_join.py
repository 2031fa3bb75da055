"""Joins as they are written: their kinds and conditions, and one order.

One order for three and more tables of people that are joined both ways alike: the same join is one question however it is written.

Theorem. Inner joins of tables on equalities, with further conditions, keep the rows in which all equalities and conditions hold; the order
of the tables, and which of several equal columns an equality names, change nothing.
Proof. The joined rows are those of the product that fulfil the conjunction, and equality is transitive where it is true. QED
Each table is joined on every column that a class of equal ones has in common with the tables before it, by the first of these; whatever
else is said goes into WHERE.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp

from sordino.plan.literal import bare, chain
from sordino.plan.refusal import allow, refuse
from sordino.schema.view import PrivateTable

__all__ = ["alias_of", "column_at", "in_order", "join_kind", "listed_join", "said_of"]

People = Callable[[exp.Expr], PrivateTable | None]
Place = tuple[str, str]  # a column of an alias
Ordered = tuple[exp.Expr, list[exp.Expr], list[exp.Expr]]


def in_order(first: exp.Expr, joins: list[exp.Expr], parts: list[exp.Expr], people: People, public: Callable[[exp.Expr], bool]) -> Ordered:
    """FROM, joins and what WHERE says, in the one order; as they are where a join is of another kind or leaves a table unsaid."""
    as_said = first, joins, parts
    mine = [join for join in joins if not public(join.this)]
    tables = {str(node.alias_or_name): node for node in (first, *(join.this for join in mine))}
    known = {alias: people(node) for alias, node in tables.items()}
    names = [table.name for table in known.values() if table is not None]
    if len(mine) < 2 or len(names) < len(mine) + 1 or len(set(names)) < len(names) or any(not _inner(join) for join in mine):
        return as_said
    said = [bare(part) for join in mine if join.args.get("on") is not None for part in chain(bare(join.args["on"]), exp.And)]
    for place, join in enumerate(mine):
        said += _using(join, {alias: known[alias] for alias in list(known)[: place + 1]})
    equal: list[set[Place]] = []
    rest: list[exp.Expr] = []
    for place, part in enumerate([*said, *parts]):
        pair = _pair(part, known)
        if pair is not None:
            _merge(equal, pair)
        elif place < len(said) and any(column.args.get("table") is None for column in part.find_all(exp.Column)):
            return as_said
        else:
            rest.append(part)
    found = _arranged(known, equal)
    if found is None:
        return as_said
    made = []
    for alias, conditions in found[1:]:
        join = next(join for join in mine if str(join.this.alias_or_name) == alias) if alias != str(first.alias_or_name) else mine[0]
        turned = join.copy()
        turned.set("this", tables[alias].copy())
        for word in ("kind", "using"):
            turned.set(word, None)
        turned.set("on", exp.and_(*conditions) if len(conditions) > 1 else conditions[0])
        made.append(turned)
    beside = [join for join in joins if public(join.this)]
    return tables[found[0][0]], [*made, *beside], rest


def _inner(join: exp.Expr) -> bool:
    plain = not join.args.get("side") and not join.args.get("method")
    return plain and str(join.args.get("kind") or "").upper() in ("", "INNER", "CROSS")


def _using(join: exp.Expr, before: dict[str, PrivateTable | None]) -> list[exp.Expr]:
    """USING (column) as an equality with the first table that has it."""
    made: list[exp.Expr] = []
    for item in join.args.get("using") or ():
        name = str(item.this)
        homes = [alias for alias, table in before.items() if table is not None and (name in table.columns or name == table.person)]
        made += [exp.EQ(this=_column_of(homes[0], name), expression=_column_of(str(join.this.alias_or_name), name))] if homes else []
    return made


def _pair(node: exp.Expr, known: dict[str, PrivateTable | None]) -> set[Place] | None:
    """Two columns of two of the tables that are equal."""
    sides = [bare(side) for side in (node.this, node.expression)] if type(node) is exp.EQ else []
    if len(sides) != 2 or any(type(side) is not exp.Column or side.args.get("table") is None for side in sides):
        return None
    places = [(str(side.args["table"].this), str(side.name)) for side in sides]
    return set(places) if len({alias for alias, _ in places}) == 2 and all(alias in known for alias, _ in places) else None


def _merge(equal: list[set[Place]], pair: set[Place]) -> None:
    touched = [group for group in equal if group & pair]
    for group in touched:
        equal.remove(group)
    equal.append(pair.union(*touched))


def _arranged(known: dict[str, PrivateTable | None], equal: list[set[Place]]) -> list[tuple[str, list[exp.Expr]]] | None:
    """The tables with many rows of a person first, then by name, each next to one it is equated with."""

    def wish(alias: str) -> tuple[bool, str]:
        table = known[alias]
        return table is not None and table.single, "" if table is None else table.name

    left = sorted(known, key=wish)
    found: list[tuple[str, list[exp.Expr]]] = [(left.pop(0), [])]
    while left:
        for alias in left:
            conditions = _conditions(alias, [done for done, _ in found], equal)
            if conditions:
                found.append((alias, conditions))
                left.remove(alias)
                break
        else:
            return None
    return found


def _conditions(alias: str, done: list[str], equal: list[set[Place]]) -> list[exp.Expr]:
    made: list[exp.Expr] = []
    for group in equal:
        for _, own in sorted(place for place in group if place[0] == alias):
            before = min(((done.index(other), name) for other, name in group if other in done), default=None)
            if before is not None:
                made.append(exp.EQ(this=_column_of(done[before[0]], before[1]), expression=_column_of(alias, own)))
    return sorted(made, key=str)


def _column_of(alias: str, name: str) -> exp.Column:
    return exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(alias, quoted=True))


def join_kind(node: exp.Expr) -> str:
    """Which rows a join keeps: inner, left, semi or anti."""
    side, kind = str(node.args.get("side") or "").upper(), str(node.args.get("kind") or "").upper()
    allow(node, "this", "side", "kind", "on", "using", "method")
    if side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER", "SEMI", "ANTI") or node.args.get("method"):
        words = " ".join(filter(None, (str(node.args.get("method") or ""), side, kind)))
        swap = " Start FROM the other table and LEFT JOIN this one." if side == "RIGHT" else ""
        refuse(f"a {words} JOIN", f"Use JOIN or LEFT JOIN ... ON.{swap}")
    return kind.lower() if kind in ("SEMI", "ANTI") else "left" if side else "inner"


def said_of(node: exp.Expr, alias: str, own: str) -> exp.Expr:
    """A condition on one table whose names say under which alias it is here."""
    made = node.copy()
    for column in [made, *made.find_all(exp.Column)]:
        if type(column) is exp.Column and alias_of(column) in (None, alias):
            column.set("table", exp.to_identifier(own, quoted=True))
    return made


def column_at(item: exp.Expr, home: str) -> exp.Column:
    return exp.column(item.copy(), table=exp.to_identifier(home, quoted=True) if home else None)


def listed_join(join: exp.Expr, parts: list[exp.Expr]) -> tuple[exp.Expr, list[exp.Expr]]:
    """FROM a, b WHERE a.x = b.x: the equalities between the new table and those before it are its condition."""
    alias = join.this.alias_or_name

    def meets(part: exp.Expr) -> bool:
        sides = [bare(side) for side in (part.this, part.expression)] if type(part) is exp.EQ else []
        return len(sides) == 2 and all(type(side) is exp.Column for side in sides) and sum(alias_of(side) == alias for side in sides) == 1

    joining = [part for part in parts if meets(part)]
    made = join.copy()
    made.set("kind", None)
    if joining:
        made.set("on", exp.and_(*joining) if len(joining) > 1 else joining[0].copy())
    return made, [part for part in parts if not meets(part)]


def alias_of(node: exp.Expr) -> str | None:
    owner = node.args.get("table")
    return None if owner is None else str(owner.this)
