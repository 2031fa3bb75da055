"""Reading summaries: totals lined up with the groups that will be answered, and tallies of a counted column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.statistics.port import Groups
from sordino.summaries import Ask, Tally
from sordino.summaries.totals import GroupTotals, Item, Totals

__all__ = ["Whole", "line_up", "read_cells", "read_totals", "tally"]

Whole = NDArray[np.object_]


def read_totals(ask: Ask, items: tuple[Item, ...], groups: Groups) -> list[Whole]:
    """For each item one exact Python integer per group, in the order of `groups`; a group the engine did not meet has totals of 0."""
    return line_up(ask(Totals(items)), items, groups)


def line_up(answer: GroupTotals, items: tuple[Item, ...], groups: Groups) -> list[Whole]:
    """Totals an engine gave, in the order of `groups`."""
    columns = [np.array([int(v) for v in answer.values[item]], object) for item in items]
    if groups is None or answer.keys == groups:
        return columns
    place = {key: i for i, key in enumerate(answer.keys)}
    where = [place.get(key, -1) for key in groups]
    return [np.array([column[i] if i >= 0 else 0 for i in where], object) for column in columns]


def read_cells(ask: Ask, item: Item, groups: Groups) -> list[dict[Any, int]]:
    """The item of every value of a counted column, one dict per group of the query."""
    answer: GroupTotals = ask(Totals((item,)))
    found: dict[tuple[Any, ...], dict[Any, int]] = {group: {} for group in groups or ((),)}
    for key, value in zip(answer.keys, answer.values[item], strict=True):
        if key[:-1] in found:
            found[key[:-1]][key[-1]] = int(value)
    return list(found.values())


def tally(cells: dict[Any, int]) -> Tally:
    """Cells that occur, as a mechanism wants them: in canonical byte order, so that the order of rows cannot show."""
    from sordino.sensitivity.distance import canonical

    def order(key: Any) -> list[Any]:
        return [canonical(part) for part in key] if isinstance(key, tuple) else [canonical(key)]

    keys = tuple(sorted((key for key, count in cells.items() if count > 0), key=order))
    return Tally(keys, np.array([cells[key] for key in keys], np.int64))
