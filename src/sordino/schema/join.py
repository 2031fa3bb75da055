"""Public tables beside a private one: every private row meets at most one public row, so a join adds nobody and no rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from sordino.schema.column import Column

__all__ = ["Join", "Public"]


@dataclass(frozen=True, eq=False)
class Public:
    """A table anybody may read, held in memory: one row per value of its unique columns. Numbers and dates are text of their type."""

    name: str
    columns: Mapping[str, Column]
    unique: tuple[str, ...]
    rows: Mapping[str, Sequence[int | str | None]] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Join:
    """A public table matched by equality on all its unique columns.

    `name` tells two joins of one table apart; its columns are then called name.column. `on` pairs the name of a column at hand with a
    unique column. With `outer` rows without a match stay and have nulls there, otherwise they drop out.

    Theorem. The joined table has at most one row for each row before, whatever the private table holds; a person's rows and the unit's
    column are the same, so every bound on a person's contribution stays.
    Proof. Values of the unique columns occur once, because an engine groups the public rows by them first; equality on all of them meets
    at most one. QED
    """

    name: str
    table: Public
    on: tuple[tuple[str, str], ...]
    outer: bool = False

    @property
    def columns(self) -> dict[str, Column]:
        """The public columns as a question names them. A row without a match has null there, whatever stands in for null in the table."""
        named = {f"{self.name}.{name}": column for name, column in self.table.columns.items()}
        return {name: replace(column, name=name, nulls="drop") for name, column in named.items()}

    def own(self, name: str) -> str:
        """What the public table calls one of these columns."""
        return name.removeprefix(f"{self.name}.")
