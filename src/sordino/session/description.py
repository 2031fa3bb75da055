"""What people look at first: counts, means, spreads, quartiles and frequencies of every column, as one release at one price."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sordino import statistics
from sordino.errors import QueryError
from sordino.pictures import Picture
from sordino.schema.column import Column
from sordino.session.about import about_release
from sordino.session.release import as_level
from sordino.session.view import _package, shown

if TYPE_CHECKING:
    from sordino.session.preview import Preview
    from sordino.session.query import Query
    from sordino.session.release import Release
    from sordino.statistics import Statistic

__all__ = ["Described", "Describing", "describe"]

QUARTILES = ("0.25", "0.5", "0.75")
MOST_KEYS = 50  # values whose frequencies are worth a look
ENDS = ("_low", "_high")


def _looks(column: Column) -> list[Statistic]:
    """What is asked about one column, by its declared type; nothing where that would take bounds, keys or a delta nobody declared."""
    if column.type == "bool":
        return [statistics.mean(column.name)]
    if column.type == "cat":
        return [statistics.histogram(column.name)] if column.keys is not None and len(column.keys) <= MOST_KEYS else []
    if column.bounds is None:
        return []
    if column.type in ("date", "timestamp"):
        return [statistics.quantiles(column.name, list(QUARTILES))]
    return [statistics.mean(column.name), statistics.std(column.name), statistics.quantiles(column.name, list(QUARTILES))]


def describe(query: Query, columns: Sequence[str] | None = None, level: float | None = None) -> Describing:
    """The question; without names about every column that has something to look at."""
    if query.asked.by:
        raise QueryError("SRD-208", "describe is about all rows, not about groups.", "Leave group_by out, or filter with where.")
    every = {name: column for name, column in query.asked.columns.items() if column.type not in ("id", "never")}
    wanted = list(every) if columns is None else [query.asked.column(name).name for name in columns]
    asked: dict[str, Statistic] = {"count": statistics.count()}
    left = []
    for name in dict.fromkeys(wanted):
        found = _looks(every[name])
        left += [] if found else [name]
        asked |= {statistic.label: statistic for statistic in found}
    if columns is not None and left:
        fix = "Declare its bounds, or list its public keys; or leave it out."
        raise QueryError("SRD-202", f"{left[0]!r} has no public bounds or keys, so there is nothing to describe.", fix, column=left[0])
    return Describing(query.alone(**asked).at_level(level), tuple(left))


@dataclass(frozen=True, eq=False)
class Describing:
    """A description before it is paid. Nothing was read; `left_out` are columns without public bounds or keys."""

    query: Query
    left_out: tuple[str, ...] = ()

    def preview(self, **options: Any) -> Preview:
        """The price list of all of it. Free; never opens the private source."""
        return self.query.preview(**options)

    def explain(self, epsilon: Any, **options: Any) -> Any:
        return self.query.explain(epsilon, **options)

    def release(self, *, level: float | None = None, **price: Any) -> Described:
        """Pay once for everything; see `Query.release` for prices. Every member is recorded under its own question too."""
        wanted = self.query.level if level is None else as_level(level)  # refused before anything is paid
        found = self.query.release(**price)
        return Described(self, found.at(wanted))

    def __repr__(self) -> str:
        left = f"; without {', '.join(self.left_out)}, which have no public bounds or keys" if self.left_out else ""
        return f"Describing({', '.join(self.query.asked.statistics)}{left}; nothing read, nothing spent)"


@dataclass(frozen=True, eq=False)
class Described:
    """A table of what was found: one row for each column and statistic, with its ends. `release` is the release behind it."""

    question: Describing
    release: Release

    @cached_property
    def table(self) -> dict[str, list[Any]]:
        found = self.release
        rows: list[tuple[Any, ...]] = []
        for label, statistic in self.question.query.asked.statistics.items():
            cells = [found.answers.get(label + end, [None])[0] for end in ("", *ENDS)]
            said: Mapping[str, Any] = statistic.question()
            rows += _rows(said, *cells)
        return dict(zip(("column", "statistic", "value", "low", "high"), map(list, zip(*rows, strict=True)), strict=True))

    @property
    def about(self) -> str:
        return about_release(self.release)

    @property
    def cost(self) -> Any:
        return self.release.cost

    @property
    def card(self) -> Any:
        return self.release.card

    def to_dict(self) -> dict[str, list[Any]]:
        return {name: list(cells) for name, cells in self.table.items()}

    def to_plain(self) -> dict[str, Any]:
        """The table and the release behind it as JSON knows them."""
        return {"about": self.about, "level": self.release.level, "columns": self.table, "release": self.release.to_plain()}

    def to_json(self) -> str:
        return json.dumps(self.to_plain(), default=str)

    def to_pandas(self) -> Any:
        frame = _package("pandas").DataFrame(self.table)
        frame.attrs |= {"sordino.about": self.about, "sordino.card": dict(self.card)}
        return frame

    def plot(self) -> Picture:
        return self.release.plot()

    def _cells(self) -> list[list[str]]:
        return [list(self.table), *([shown(cell) for cell in row] for row in zip(*self.table.values(), strict=True))]

    def __repr__(self) -> str:
        rows = self._cells()
        wide = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, wide, strict=True)) for row in rows]
        level = f"low and high at {100 * self.release.level:.6g}%"
        return "\n".join([self.about, *lines, f"({level}; {self.release.cost}{', recalled at no price' if self.release.recalled else ''})"])

    def _repr_html_(self) -> str:
        head, *body = self._cells()
        top = "".join(f"<th scope='col'>{html.escape(cell)}</th>" for cell in head)
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
        about = html.escape(self.about)
        return f"<p class='sordino-about'>{about}</p><table><caption>{html.escape(str(self.cost))}</caption><tr>{top}</tr>{rows}</table>"


def _rows(said: Mapping[str, Any], value: Any, low: Any, high: Any) -> list[tuple[Any, ...]]:
    """One statistic as rows of the table: one for each quantile or frequency."""
    column, kind = said.get("column", ""), said["statistic"]
    if kind == "quantiles":
        names = {"1/4": "quartile 1", "1/2": "median", "3/4": "quartile 3"}
        return [
            (column, names.get(q, f"quantile {q}"), v, a, b)
            for q, v, a, b in zip(said["q"], value, low or [None] * len(value), high or [None] * len(value), strict=True)
        ]
    if isinstance(value, dict):
        return [(column, f"rows with {shown(key)}", v, (low or {}).get(key), (high or {}).get(key)) for key, v in value.items()]
    return [(column, kind, value, low, high)]
