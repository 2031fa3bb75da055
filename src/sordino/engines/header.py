"""The header of a source against what its owner declares: all of it public, none of it a row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sordino.engines.value import check_grid
from sordino.errors import QueryError
from sordino.schema.column import Column

__all__ = ["Place", "check_columns"]


@dataclass(frozen=True)
class Place:
    """What the ledger of a source is bound to: its files, whose ledger is marked beside them, or the public name of what it is."""

    paths: tuple[str, ...] = ()


def check_columns(columns: Iterable[Column], names: Sequence[str]) -> None:
    """Every declared column exists, and its grid fits what engines compute with."""
    for column in columns:
        if column.type == "never":
            continue
        if column.name not in names:
            raise QueryError("SRD-201", f"column {column.name!r} is not in the source.", f"Its columns are: {', '.join(names)}.")
        if column.number and column.bounds is not None:
            check_grid(column)
