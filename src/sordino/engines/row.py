"""The rows under a release: typed values of the source's columns, public tables beside them, derived columns on top."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sordino.engines.filter import names
from sordino.engines.layer import Layers
from sordino.engines.scan import Scan
from sordino.engines.value import Field, typed
from sordino.errors import QueryError
from sordino.schema.column import Column
from sordino.schema.expression import reads
from sordino.schema.frame import Frame, Join

__all__ = ["Rows", "held", "mentioned", "used"]


def mentioned(frame: Frame) -> list[str]:
    """The declared columns that filters, expressions and joins name; a group or number column that is plain is not among them."""
    found = [name for predicate in (frame.where, *frame.counted) for name in names(predicate)]
    found += [name for column in (*frame.by, *frame.columns) if column.expression is not None for name in reads(column.expression)]
    return [*found, *(name for join in frame.joins for name, _ in join.on)]


def used(frame: Frame, declared: Mapping[str, Column]) -> tuple[Column, ...]:
    """Every column of the source a frame reads, each once."""
    plain = [column for column in (*frame.by, *frame.columns) if column.expression is None]
    found = {column.name: column for column in (*filter(None, [frame.unit_column]), *plain)}
    beside = {name for join in frame.joins for name in join.columns}
    for name in mentioned(frame):
        if name not in declared and name not in found and name not in beside:
            raise QueryError("SRD-201", f"column {name!r} is not declared.", "Filter by a declared column.")
        if name not in beside:
            found.setdefault(name, declared.get(name) or found[name])
    return tuple(column for name, column in found.items() if name not in beside)


def _picked(frame: Frame, join: Join) -> list[str]:
    """The public columns of a join that anything looks at."""
    wanted = {*mentioned(frame), *(column.name for column in (*frame.by, *frame.columns))}
    return [name for name in join.columns if name in wanted]


def held(frame: Frame) -> dict[str, dict[str, list[int | str | None]]]:
    """The public tables an engine must hold, by name, as columns of whole numbers or text."""
    tables = {}
    for number, join in enumerate(frame.joins):
        own = dict.fromkeys([*(key for _, key in join.on), *map(join.own, _picked(frame, join))])
        tables[f"public{number}"] = {f"p{list(join.table.columns).index(name)}": list(join.table.rows[name]) for name in own}
    return tables


@dataclass(frozen=True)
class Rows:
    """One row per row of the source, with a name for every typed value."""

    frame: Frame
    declared: Mapping[str, Column]
    scan: Scan

    def base(self) -> dict[str, tuple[Column, str]]:
        """The alias of every declared column, joined ones included."""
        own = {column.name: column for column in (*self.frame.by, *self.frame.columns)}
        columns = [own.get(column.name, column) for column in used(self.frame, self.declared)]
        found = {column.name: (column, f"t{i}") for i, column in enumerate(columns)}
        for number, join in enumerate(self.frame.joins):
            found |= {name: (join.columns[name], f"j{number}_{i}") for i, name in enumerate(_picked(self.frame, join))}
        return found

    def text(self, layers: Layers, unit: str | None) -> str:
        """The statement: typed values and the unit's id, then the joins, then the layers."""
        plain = {column.name for column in (*self.frame.by, *self.frame.columns)} | set(mentioned(self.frame))
        columns = [layers.base[column.name] for column in used(self.frame, self.declared) if column.name in plain]
        reads = [f"{typed(column, self.scan.fields[column.name])} AS {alias}" for column, alias in columns]
        rows = f"SELECT {', '.join([*reads, *([unit] if unit else [])]) or '1 AS one'} FROM {self.scan.text}"
        for number, join in enumerate(self.frame.joins):
            rows = self._joined(rows, number, join, layers.base)
        return layers.over(rows)

    def _joined(self, rows: str, number: int, join: Join, base: Mapping[str, tuple[Column, str]]) -> str:
        """Each row with the one public row of its key. The public rows are grouped by the typed key, so that none can match twice."""
        places = {name: Field(f"p{i}", "integer" if column.type in ("int", "bool") else "text")
                  for i, (name, column) in enumerate(join.table.columns.items())}  # fmt: skip
        picked = _picked(self.frame, join)
        keys = [f"{typed(join.table.columns[key], places[key])} AS x{i}" for i, (_, key) in enumerate(join.on)]
        values = [f"{typed(join.table.columns[join.own(name)], places[join.own(name)])} AS v{i}" for i, name in enumerate(picked)]
        read = f"SELECT {', '.join([*keys, *values])} FROM public{number} AS listed"
        group = ", ".join(f"x{i}" for i in range(len(keys)))
        once = f"SELECT {', '.join([group, *(f'min(v{i}) AS v{i}' for i in range(len(values)))])} FROM ({read}) AS known GROUP BY {group}"
        same = " AND ".join(f"own.{base[name][1]} = beside.x{i}" for i, (name, _) in enumerate(join.on))
        shown = ", ".join(["own.*", *(f"beside.v{i} AS {base[name][1]}" for i, name in enumerate(picked))])
        return f"SELECT {shown} FROM ({rows}) AS own {'LEFT JOIN' if join.outer else 'JOIN'} ({once}) AS beside ON {same}"
