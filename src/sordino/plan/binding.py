"""From a question to what engines and statistics need: the frame of rows, and the public facts."""

from __future__ import annotations

from dataclasses import replace

from sordino.errors import QueryError
from sordino.plan.query import Query
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.schema.interval import fit_predicate
from sordino.schema.value import shown
from sordino.statistics.port import Context, Counted

__all__ = ["context", "frame"]


def frame(query: Query, unit: PrivacyUnit, *, fold_ids: bool = False, counted: Counted | None = None) -> Frame:
    """The rows one release of this question looks at; with `counted`, those of a statistic that counts the values or bins of a column."""
    if not query.statistics:
        raise QueryError("SRD-208", "no statistic was asked.", "Ask at least one, such as count().")
    columns, where = query.narrowed, query.where
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
    )


def context(query: Query, unit: PrivacyUnit, *, size: int | None = None, rows: int | None = None) -> Context:
    """The public facts a statistic may use."""
    if size is not None and (isinstance(size, bool) or not isinstance(size, int) or size < 1):
        raise QueryError("SRD-204", f"size is {shown(size)}.", "Give the public number of units as a whole number of at least 1.")
    columns = query.narrowed
    grouped = bool(query.by)
    keys = Frame(unit, by=tuple(columns[name] for name in query.by)).public_groups
    drops = any(columns[name].nulls == "drop" for name in query.read)
    return Context(
        unit=unit,
        columns=columns,
        grouped=grouped,
        filtered=query.where is not None or grouped or unit.column is not None or drops or bool(query.joins),
        size=size,
        keys=keys,
        rows=rows,
        propose=query.propose,
        otherwise=query.otherwise,
    )


def _unit_column(query: Query, unit: PrivacyUnit) -> Column | None:
    if unit.column is None:
        return None
    column = query.columns.get(unit.column)
    if column is None or column.type != "id":
        what = f"the privacy unit {shown(unit.column)} is not an id column of table {shown(query.table)}."
        raise QueryError("SRD-201", what, 'Declare it as "id", and as nothing else.', column=unit.column)
    return column
