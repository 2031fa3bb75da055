"""Questions about a shared table, answered on its rows: with the reported error where the question lies in one reported marginal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.privacy.number import shown

__all__ = ["SharedAnswer", "told"]

UNKNOWN = "no error known: ask the private table"
LARGEST = 3
# parts of a statement, by sqlglot's words, each with its own parts: what is true of a row of these follows from the values of its columns
PLAIN = {
    "select": "expressions from_ where group order", "from": "this", "table": "this alias", "tablealias": "this", "where": "this",
    "group": "expressions all", "order": "expressions", "ordered": "this desc nulls_first", "alias": "this alias",
    "column": "this table", "identifier": "this quoted", "literal": "this is_string", "boolean": "this", "null": "", "star": "",
    "count": "this big_int", "paren": "this", "and": "this expression", "or": "this expression", "not": "this", "neg": "this",
    **dict.fromkeys(("eq", "neq", "lt", "lte", "gt", "gte", "is"), "this expression"), "in": "this expressions", "between": "this low high",
}  # fmt: skip


@dataclass(frozen=True)
class SharedAnswer:
    """What a statement answered on made-up rows. `error` bounds every share of the rows in it, at 95%, or is None: then none is known."""

    columns: dict[str, list[Any]]
    error: float | None
    about: str

    @property
    def value(self) -> Any:
        """The one number of an answer of one row and one column."""
        if len(self.columns) == 1 and len(next(iter(self.columns.values()))) == 1:
            return next(iter(self.columns.values()))[0]
        return None

    def to_dict(self) -> dict[str, list[Any]]:
        return dict(self.columns)

    def __repr__(self) -> str:
        rows = [list(self.columns), *([shown(cell) for cell in row] for row in zip(*self.columns.values(), strict=True))]
        return "\n".join(["  ".join(row) for row in rows[:40]] + [f"({self.about})"])


def told(sql: str, rows: Mapping[str, list[Any]], errors: Mapping[tuple[str, ...], Any], single: set[str], count: int) -> SharedAnswer:
    """Run one SELECT over the made-up rows and say what is known of its error.

    Theorem. If the total variation between two tables over some columns is at most t, the share of rows that any condition on cells of
    these columns picks differs by at most t.
    Proof. Total variation is the largest difference of probabilities over all events. QED
    So counts of rows, in all or by group, over at most three columns of one value per cell have the reported error; nothing else has.
    """
    from sqlglot import exp, parse_one
    from sqlglot.errors import SqlglotError

    try:
        tree = parse_one(sql, read="duckdb")
    except (SqlglotError, TypeError):
        raise QueryError("SRD-206", "this is no SQL statement.", 'Ask such as "SELECT sex, COUNT(*) FROM shared GROUP BY sex".') from None
    if not isinstance(tree, exp.Select) or any(table.name.lower() != "shared" for table in tree.find_all(exp.Table)):
        raise QueryError("SRD-206", "only a SELECT from the shared table is answered.", 'Ask "SELECT ... FROM shared".')
    answer = _run(tree.sql(dialect="duckdb"), rows)
    used = _used(tree, list(rows))
    bar = errors.get(tuple(used)) if used is not None and len(used) <= LARGEST and set(used) <= single else None
    if bar is None:
        return SharedAnswer(answer, None, UNKNOWN)
    about = f"each count is within {bar.high * count:,.0f} of {count:,} rows (share {bar.high:.4f}) of the private table's, at 95%"
    return SharedAnswer(answer, bar.high, about)


def _used(tree: Any, names: list[str]) -> list[str] | None:
    """The columns a statement that only counts rows is about, or None: of anything that is not listed here no error is known."""
    from sqlglot import exp

    known = {name.lower(): name for name in names} | {name: name for name in names}
    tables = {"shared", *(table.alias.lower() for table in tree.find_all(exp.Table) if table.alias)}
    for item in tree.expressions:
        inner = item.unalias()
        same = isinstance(inner, exp.Column) and inner.name.lower() == item.alias.lower()
        if not isinstance(inner, exp.Column | exp.Count) or (item.alias.lower() in known and isinstance(item, exp.Alias) and not same):
            return None
    if not any(isinstance(item.unalias(), exp.Count) for item in tree.expressions):
        return None
    used = set()
    for node in tree.walk():
        if any(value and word not in PLAIN.get(node.key, "").split() for word, value in node.args.items()):
            return None
        if node.key not in PLAIN or (node.key == "count" and not isinstance(node.this, exp.Star)):
            return None
        if isinstance(node, exp.Column):
            if not node.table and node.find_ancestor(exp.Order) and node.name.lower() in {item.alias.lower() for item in tree.expressions}:
                continue
            name = known.get(node.name, known.get(node.name.lower()))
            if name is None or (node.table and node.table.lower() not in tables):
                return None
            used.add(name)
    return sorted(used, key=names.index)


def _run(statement: str, rows: Mapping[str, list[Any]]) -> dict[str, list[Any]]:
    """In a database of its own, which sees nothing but these rows."""
    import duckdb

    connection = duckdb.connect(":memory:")
    try:
        names = list(rows)
        kinds = {name: _kind(values) for name, values in rows.items()}
        quoted = {name: '"' + name.replace('"', '""') + '"' for name in names}
        connection.execute(f"CREATE TABLE shared ({', '.join(f'{quoted[n]} {kinds[n]}' for n in names)})")
        held = {f"c{i}": _array(rows[n], kinds[n]) for i, n in enumerate(names)}
        connection.register("held", held)
        cast = ", ".join(f"CAST(c{i} AS {kinds[n]})" for i, n in enumerate(names))
        connection.execute(f"INSERT INTO shared SELECT {cast} FROM held")
        connection.execute("SET enable_external_access = false")
        found = connection.execute(statement)
        columns = [item[0] for item in found.description or ()]
        cells = found.fetchall()
    except duckdb.Error as error:
        what = f"the shared table cannot answer this: {str(error).splitlines()[0]}"
        raise QueryError("SRD-206", what, f"Its columns are {', '.join(rows)}.") from None
    finally:
        connection.close()
    return {name: [row[i] for row in cells] for i, name in enumerate(columns)}


def _kind(values: list[Any]) -> str:
    import datetime as dt

    first = next((value for value in values if value is not None), "")
    for kind, word in ((bool, "BOOLEAN"), (int, "BIGINT"), (float, "DOUBLE"), (dt.datetime, "TIMESTAMP"), (dt.date, "DATE")):
        if isinstance(first, kind):
            return word
    return "VARCHAR"


def _array(values: list[Any], kind: str) -> Any:
    """Text that any type is cast from; numpy has no column of whole numbers with nulls."""
    return np.array([None if value is None else value if kind == "VARCHAR" else str(value) for value in values], object)
