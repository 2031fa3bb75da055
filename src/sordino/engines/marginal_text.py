"""Counts by the cells of several columns as one statement: GROUPING SETS over cell numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.engines.text import Text
from sordino.engines.value_text import bin_text
from sordino.summaries.marginal import Axis, Marginals

__all__ = ["SETS", "crossed", "marginal_text"]

SETS = 64  # grouping sets of one statement


def _place(text: Text, axis: Axis) -> str:
    """Where a row stands among the axis' edges; null where it has no value."""
    q = text.column(axis.column)
    return q if axis.edges is None else bin_text(q, axis.edges)


def _cell(place: str, axis: Axis) -> str:
    """The cell of a place, never null. The place is a name: written out, it would be computed once for every branch.

    Where values are listed, null has a place of its own and is no null any more: it goes by the same way as all that is in no branch.
    """
    *cells, null = axis.cells
    if axis.cells == tuple(range(len(axis.cells))):
        return f"COALESCE({place}, {null})"
    whens = " ".join(f"WHEN {i} THEN {cell}" for i, cell in enumerate(cells))
    return f"CASE {place} {whens} ELSE {null} END"


def marginal_text(text: Text, table: str, request: Marginals) -> str:
    """One row per set and cell that occurs: a cell number per axis of the set, null for the others, and how much is there."""
    used = sorted({i for chosen in request.sets for i in chosen})
    places = [f"{_place(text, request.axes[i])} AS p{i}" for i in used]
    cells = [f"{_cell(f'p{i}', request.axes[i])} AS c{i}" for i in used]
    amount = "count(*)"
    if request.parts > 1 and text.frame.unit_column is not None:
        places.append(f"{request.parts} // count(*) OVER (PARTITION BY u) AS w")
        cells.append("w")
        amount = "CAST(sum(w) AS BIGINT)"
    elif request.parts > 1:
        amount = f"{request.parts} * count(*)"
    names = ", ".join(f"c{i}" for i in used)
    sets = ", ".join(f"({', '.join(f'c{i}' for i in chosen)})" for chosen in request.sets)
    placed = f"SELECT {', '.join(places)} FROM {table} AS bounded"
    coded = f"SELECT {', '.join(cells)} FROM ({placed}) AS placed"
    return f"SELECT {names}, {amount} AS amount FROM ({coded}) AS coded GROUP BY GROUPING SETS ({sets})"


def crossed(found: dict[str, Any], request: Marginals) -> tuple[NDArray[np.int64], ...]:
    """The arrays of a statement's rows."""
    used = sorted({i for chosen in request.sets for i in chosen})
    amount = np.ma.getdata(found["amount"]).astype(np.int64)
    cells = {i: np.ma.getdata(np.ma.filled(np.ma.asarray(found[f"c{i}"]).astype(np.float64), -1)) for i in used}
    cells = {i: np.where(np.isnan(values), -1, values).astype(np.int64) for i, values in cells.items()}
    marks = np.zeros(len(amount), object if len(used) > 62 else np.int64)
    for bit, i in enumerate(used):
        marks += np.where(cells[i] >= 0, 1 << bit, 0)
    place = {i: bit for bit, i in enumerate(used)}
    out = []
    for chosen in request.sets:
        table = np.zeros(request.shape(chosen), np.int64)
        here = np.flatnonzero(marks == sum(1 << place[i] for i in chosen))
        if len(here):
            table[tuple(cells[i][here] for i in chosen)] = amount[here]
        out.append(table)
    return tuple(out)
