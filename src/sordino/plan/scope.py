"""What a SELECT may name: the columns of a private table, of public tables beside it, and of the subqueries between."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from sordino.errors import QueryError
from sordino.plan.rewrite import allow, refuse_part
from sordino.schema.column import Column
from sordino.schema.expression import And, Predicate
from sordino.schema.frame import Join, Public
from sordino.schema.spelling import spell
from sordino.schema.value import nearest, shown

__all__ = ["Catalogue", "Scope", "joined"]


@dataclass(frozen=True)
class Catalogue:
    """The tables a statement may name, and the column that identifies people."""

    private: Mapping[str, Mapping[str, Column]]
    public: Mapping[str, Public]
    unit: str | None = None


@dataclass(frozen=True)
class Scope:
    """A FROM clause, flattened onto one private table.

    `plain` are all declared columns underneath, by the name a question gives them; `relations` the visible columns by alias, derived ones
    included; `where` and `joins` what the subqueries on the way have already said.
    """

    table: str
    plain: Mapping[str, Column]
    relations: Mapping[str, Mapping[str, Column]]
    where: tuple[Predicate, ...] = ()
    joins: tuple[Join, ...] = ()

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

    @property
    def condition(self) -> Predicate | None:
        return joined(self.where)


def joined(conditions: tuple[Predicate, ...]) -> Predicate | None:
    """All of several conditions as one, flat."""
    parts = [part for item in conditions for part in (item.parts if isinstance(item, And) else (item,))]
    return None if not parts else parts[0] if len(parts) == 1 else And(tuple(parts))
