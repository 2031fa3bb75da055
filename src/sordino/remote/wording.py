"""Verbs as SQL: what `remote.admissions.where(...).group_by(...).median(...)` says to a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from sordino.errors import QueryError

__all__ = ["Asked", "Words", "quoted"]


def quoted(name: str) -> str:
    """A name as SQL spells it, whatever is in it."""
    return '"' + str(name).replace('"', '""') + '"'


@dataclass(frozen=True)
class Asked:
    """A SELECT in parts."""

    table: str
    shown: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    by: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        groups = [quoted(name) for name in self.by]
        where = f" WHERE {' AND '.join(f'({condition})' for condition in self.conditions)}" if self.conditions else ""
        group = f" GROUP BY {', '.join(groups)}" if groups else ""
        return f"SELECT {', '.join([*groups, *self.shown])} FROM {quoted(self.table)}{where}{group}"


@dataclass(frozen=True)
class Words:
    """The verbs of a table on a server. Each statistic is a question of its own; `agg` asks several at once."""

    asked: Asked
    ask: Callable[[Asked], Any]

    def where(self, condition: str) -> Words:
        return replace(self, asked=replace(self.asked, conditions=(*self.asked.conditions, condition)))

    def group_by(self, *columns: str) -> Words:
        return replace(self, asked=replace(self.asked, by=(*self.asked.by, *columns)))

    def agg(self, **statistics: str) -> Any:
        """Several statistics under names of your choice, each as SQL says it: agg(n="COUNT(*)", mid="MEDIAN(cost)")."""
        if not statistics:
            raise QueryError("SRD-208", "nothing is asked.", 'Name at least one: agg(n="COUNT(*)").')
        return self.ask(replace(self.asked, shown=tuple(f"{text} AS {quoted(name)}" for name, text in statistics.items())))

    def _one(self, text: str) -> Any:
        return self.ask(replace(self.asked, shown=(text,)))

    def count(self) -> Any:
        return self._one("COUNT(*)")

    def sum(self, column: str) -> Any:
        return self._one(f"SUM({quoted(column)})")

    def mean(self, column: str) -> Any:
        return self._one(f"AVG({quoted(column)})")

    def variance(self, column: str) -> Any:
        return self._one(f"VARIANCE({quoted(column)})")

    def std(self, column: str) -> Any:
        return self._one(f"STDDEV({quoted(column)})")

    def median(self, column: str) -> Any:
        return self._one(f"MEDIAN({quoted(column)})")

    def quantile(self, column: str, level: float) -> Any:
        return self._one(f"QUANTILE_CONT({quoted(column)}, {float(level)!r})")

    def min(self, column: str) -> Any:
        return self._one(f"MIN({quoted(column)})")

    def max(self, column: str) -> Any:
        return self._one(f"MAX({quoted(column)})")

    def mode(self, column: str) -> Any:
        return self._one(f"MODE({quoted(column)})")
