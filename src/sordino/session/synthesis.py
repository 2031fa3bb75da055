"""A made-up table to share: rows in the proportions of released counts. Post-processing, so it costs nothing more."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any

from sordino.errors import QueryError
from sordino.session.release import Release
from sordino.summaries import Refused

__all__ = ["synthesize"]

MOST = 10_000_000
Cell = tuple[Any, ...]


def synthesize(*counts: Release, rows: int | None = None) -> dict[str, list[Any]]:
    """Rows of nobody whose groups are as large as released counts say; a dict of columns, ready for any frame.

    The first release spreads the rows over its groups in proportion to their counts; what noise made negative is empty. Every further
    one brings new columns: each group found so far is divided among them in proportion to the counts of that release in the same group
    of the columns they share (over all of it, where they share none or that group is empty). What a count does not show together, the
    table does not hold together.

    Theorem. The table is as private as the releases together, and its first groups miss their proportions by less than one row.
    Proof. It is a function of released values alone, with no draw of its own. Shares are rounded by largest remainder, which moves each
    by less than one. QED
    """
    if not counts:
        raise QueryError("SRD-208", "there is nothing to make a table from.", "Give at least one grouped count, as release() returned it.")
    tallies = [_tally(release) for release in counts]
    names, cells = tallies[0]
    total = round(sum(cells.values())) if rows is None else rows
    if isinstance(total, bool) or not isinstance(total, int) or not 0 <= total <= MOST:
        raise QueryError("SRD-103", f"rows is {rows!r}.", f"Give a whole number of at most {MOST:,}, or leave it out.")
    made = _apportioned(cells, total)
    for further, weights in tallies[1:]:
        names, made = _divided(names, made, further, weights)
    columns: dict[str, list[Any]] = {name: [] for name in names}
    for cell, size in made.items():
        for name, value in zip(names, cell, strict=True):
            columns[name].extend(repeat(value, size))
    return columns


def _tally(release: Release) -> tuple[tuple[str, ...], dict[Cell, float]]:
    """The key columns and the count of every group, none below zero."""
    values = release.answers[release.names[0]] if len(release.names) == 1 else []
    if not release.grouped or not all(isinstance(value, int | float | Refused) for value in values) or not values:
        raise QueryError("SRD-105", "this release is not a count by group.", "Give what group_by(...).count().release(...) returned.")
    groups = zip(*release.keys.values(), strict=True)
    sizes = (0.0 if isinstance(value, Refused) else max(0.0, float(value)) for value in values)
    return tuple(release.keys), dict(zip(groups, sizes, strict=True))


def _apportioned(weights: dict[Cell, float], total: int) -> dict[Cell, int]:
    """Whole shares of a total, by largest remainder; ties go to the earlier group. Nothing is shared where nothing weighs."""
    whole = sum(weights.values())
    if not whole or not total:
        return {}
    exact = {cell: total * weight / whole for cell, weight in weights.items()}
    shares = {cell: int(share) for cell, share in exact.items()}
    by_rest = sorted(exact, key=lambda cell: shares[cell] - exact[cell])
    for cell in by_rest[: total - sum(shares.values())]:
        shares[cell] += 1
    return {cell: share for cell, share in shares.items() if share}


def _divided(
    names: tuple[str, ...], made: dict[Cell, int], further: tuple[str, ...], weights: dict[Cell, float]
) -> tuple[tuple[str, ...], dict[Cell, int]]:
    """Every group of the table so far, divided by the columns that are new."""
    shared = [name for name in further if name in names]
    new = [name for name in further if name not in names]
    everywhere: dict[Cell, float] = {}
    given: dict[Cell, dict[Cell, float]] = {}
    for cell, weight in weights.items():
        place, rest = _picked(further, cell, shared), _picked(further, cell, new)
        given.setdefault(place, {})[rest] = weight
        everywhere[rest] = everywhere.get(rest, 0.0) + weight
    out: dict[Cell, int] = {}
    for cell, size in made.items():
        local = given.get(_picked(names, cell, shared), {})
        for rest, share in _apportioned(local if sum(local.values()) else everywhere, size).items():
            out[(*cell, *rest)] = share
    return (*names, *new), out


def _picked(names: Sequence[str], cell: Cell, wanted: Sequence[str]) -> Cell:
    return tuple(cell[names.index(name)] for name in wanted)
