"""What makes two questions the same question. Asking the same question again is free, so this list decides who pays.

From a question to what engines and statistics need: the frame of rows, and the public facts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from hashlib import sha256
from typing import Any

from sordino.errors import QueryError
from sordino.plan.query_plan import QueryPlan
from sordino.privacy.relation import DRAWN, PrivacyUnit
from sordino.schema.column import Column, is_text, shown
from sordino.schema.expression import canonical, constant, encode, leaves, names, reads
from sordino.schema.frame import Frame, fit_predicate
from sordino.schema.spelling import phrase
from sordino.statistics.column_mean import Mean
from sordino.statistics.port import Context, Counted, Statistic

__all__ = ["FORMAT", "context", "frame", "question", "question_format_1", "recall_key"]


def frame(query: QueryPlan, unit: PrivacyUnit, *, fold_ids: bool = False, counted: Counted | None = None) -> Frame:
    """The rows one release of this question looks at; with `counted`, those of a statistic that counts the values or bins of a column."""
    if not query.statistics:
        raise QueryError("SRD-208", "no statistic was asked.", "Ask at least one, such as count().")
    columns, where, unit = query.narrowed, query.where, query.unit_of(unit)
    by = [columns[name] for name in query.by]
    if counted is not None:
        column = columns[query.column(counted.column).name]
        keys = tuple(range(len(counted.edges) - 1)) if counted.edges is not None else counted.keys
        by.append(column if keys is None else replace(column, keys=keys))
    return Frame(
        unit=unit,
        unit_column=_unit_column(query, unit),
        fold_ids=fold_ids,
        where=None if where is None else fit_predicate(where, where),
        by=tuple(by),
        columns=tuple(columns[name] for name in query.read),
        counted=tuple(fit_predicate(item, where) for statistic in query.statistics.values() for item in statistic.predicates),
        edges=None if counted is None else counted.edges,
        joins=query.joins,
        view=query.view,
    )


def context(query: QueryPlan, unit: PrivacyUnit, *, size: int | None = None, rows: int | None = None) -> Context:
    """The public facts a statistic may use."""
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
        raise QueryError("SRD-204", f"size is {shown(size)}.", "Give the public number of units as a whole number of at least 1.")
    columns, unit = query.narrowed, query.unit_of(unit)
    grouped = bool(query.by)
    drops = any(columns[name].nulls == "drop" for name in query.read)
    return Context(
        unit=unit,
        columns=columns,
        grouped=grouped,
        filtered=query.where is not None or grouped or unit.column is not None or drops or bool(query.joins),
        size=size,
        keys=query.public_groups,
        rows=rows,
        propose=query.propose,
        otherwise=query.otherwise,
    )


def _unit_column(query: QueryPlan, unit: PrivacyUnit) -> Column | None:
    if unit.column is None:
        return None
    column = query.columns.get(unit.column)
    if column is None or column.type != "id":
        what = f"the privacy unit {shown(unit.column)} is not an id column of table {shown(query.table)}."
        raise QueryError("SRD-201", what, 'Declare it as "id", and as nothing else.', column=unit.column)
    return column


FORMAT = 2
LENGTH = 256  # of a text in format 2, whatever the default becomes


def question(query: QueryPlan, unit: PrivacyUnit, *, fold_ids: bool = False) -> dict[str, Any]:
    """The question, JSON-ready, with nothing of its price: no epsilon, delta or planner's choice, and a mechanism only if one was named.

    Nor with anything of how it is shown: the statistics are a sorted list without labels, in which equal ones stand once. `text` are
    the lengths of the text columns it reads, where they are not the usual one: that belongs to the format, as its keys are for ever.
    """
    unit = query.unit_of(unit)
    asked = question_format_1(query, unit, fold_ids=fold_ids)
    distinct = {encode(said): said for said in asked["statistics"].values()}
    limits: dict[str, Any] = {"max_rows": unit.max_rows, "max_rows_per_group": unit.rows_per_group}
    limits |= {"limit": DRAWN} if query.narrowing.rows == DRAWN else {}  # not yet a question that has an answer
    lengths = {name: query.narrowed[name].max_length for name in asked["columns"] if query.narrowed[name].type == "cat"}
    texts = {name: length for name, length in lengths.items() if length != LENGTH}
    return {**asked, **limits, "statistics": [distinct[text] for text in sorted(distinct)], "text": texts}


def question_format_1(query: QueryPlan, unit: PrivacyUnit, *, fold_ids: bool = False) -> dict[str, Any]:
    """The question as format 1 wrote it. Frozen: this is how answers recorded under that format are found, for ever.

    Labels were part of it, and `max_rows` was the limit on the rows of a person in each group.
    """
    unit = query.unit_of(unit)
    rows, columns = frame(query, unit, fold_ids=fold_ids), query.narrowed
    said = [name for item in (query.where, *rows.counted) if item is not None for name in names(item)]
    filtered = {name.column for name in said}
    public = context(query, unit)
    cells = {wish.column for item in query.statistics.values() if (wish := item.counted(public)) is not None}
    grouped, read = {*query.by, *cells}, {*query.read}
    made = [name.expression for name in said if name.expression is not None]
    made += [item for name in grouped | read if (item := query.columns[name].expression) is not None]
    inside = {name for item in made for name in reads(item)}
    clamped = {column.name for item in made for column in leaves(item) if column.number}
    asked: dict[str, Any] = {
        "table": query.table,
        "where": None if query.where is None else canonical(query.where),
        "by": list(query.by),
        "statistics": {_label_1(label, statistic): statistic.question() for label, statistic in query.statistics.items()},
        "columns": {
            name: _facts(columns[name], number=name in read | clamped, group=name in grouped)
            for name in sorted(filtered | grouped | read | inside)
        },
        "unit": unit.column,
        "fold_ids": fold_ids,
        "relation": unit.relation.value,
        "max_rows": unit.rows_per_group,
        "max_groups": unit.max_groups,
    }
    if query.joins:
        asked["joins"] = [{"name": j.name, "table": j.table.name, "on": [*map(list, j.on)], "outer": j.outer} for j in query.joins]
    if query.view is not None:
        asked["view"] = query.view.said()
    if query.mechanism is not None:
        asked["mechanism"] = query.mechanism
    if query.propose is not None:
        asked["propose"], asked["otherwise"] = str(query.propose), query.otherwise
    return asked


def _label_1(label: str, statistic: Statistic) -> str:
    """The mean of moved values was called a mean then."""
    own = isinstance(statistic, Mean) and statistic.moved and label == statistic.label
    return f"mean({statistic.columns[0]})" if own else label


def recall_key(dataset: str, version: str, asked: Mapping[str, Any], *, format: int = FORMAT) -> bytes:
    """SHA-256 of format, dataset, declared version and question, as one canonical JSON list."""
    for word, value in (("dataset", dataset), ("version", version)):
        if not is_text(value) or not value:
            raise QueryError("SRD-204", f"the {word} is {shown(value)}.", f"Give the {word} as text.")
    return sha256(encode([format, dataset, version, dict(asked)]).encode("ascii")).digest()


def _facts(column: Column, *, number: bool, group: bool) -> dict[str, Any]:
    """The declared facts an answer depends on: bounds matter to numbers, keys to groups, the type to every use."""
    facts: dict[str, Any] = {"type": column.type, "nulls": constant(column.nulls)}
    if column.expression is not None:
        facts["expression"] = phrase(column.expression)
    if column.type == "decimal":
        facts["scale"] = column.scale
    if number and (column.bounds is not None or column.reach is None):
        grid = column.grid()
        facts["bounds"] = None if column.bounds is None else [constant(bound) for bound in column.bounds]
        facts["grid"] = [str(grid.step), grid.low, grid.high]
    if group:
        facts["keys"] = None if column.keys is None else [constant(key) for key in column.keys]
    return facts
