"""From an analyst's text to the algebra of filters: a whitelist walk over a SQL tree. What is not listed here is refused.

Nothing of the text survives but names of declared columns and constants of their types, so no engine ever sees what an analyst wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import SqlglotError

from sordino.errors import QueryError
from sordino.plan.condition import read_predicate
from sordino.plan.refusal import DEPTH, LENGTH, check_tokens, refuse_node
from sordino.plan.tree import bare, only
from sordino.schema.column import Column
from sordino.schema.expression import Predicate
from sordino.schema.normal import canonical
from sordino.schema.spelling import describe, spell
from sordino.schema.value import is_text, nearest, shown

__all__ = ["canonical", "describe", "parse_predicate", "predicate_of"]


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

    def difference(self, left: Column, right: Column) -> Column:
        raise QueryError("SRD-206", "the filter compares a derived column with another one.", "Compare it with a constant.")
