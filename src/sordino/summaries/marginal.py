"""Counts of rows by the cells of a few columns at once: many such tables in one question, each as large as its cells, not as its rows."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sordino.summaries.request import Hidden, Request

__all__ = ["CellAxis", "Crossed", "Marginals", "person_unit"]

MOST_ROWS = 16  # of one person, whose rows are counted in parts of a common multiple of 1 to this


def person_unit(rows: int) -> int:
    """The least common multiple of 1 .. rows: into so many equal parts a person is divided, whatever number of rows they have."""
    return math.lcm(*range(1, rows + 1))


@dataclass(frozen=True)
class CellAxis:
    """How a number column of the frame becomes a cell: the place of its grid integer among `edges`, or the integer itself without them.

    With edges the place is i for edges[i] <= x < edges[i+1], the last closed on the right. A null has the place after the last. `cells`
    says which cell each place belongs to, so that places may share one.
    """

    column: str
    edges: tuple[int, ...] | None
    cells: tuple[int, ...]

    @property
    def size(self) -> int:
        return max(self.cells) + 1


@dataclass(frozen=True)
class Marginals(Request["Crossed"]):
    """Ask how many rows are in each combination of cells of several axes, for several sets of axes (by number) at once.

    With `parts` = 1 rows are counted. Otherwise each person counts once: with k rows, each of them as parts/k, which must be whole.
    """

    axes: tuple[CellAxis, ...]
    sets: tuple[tuple[int, ...], ...]
    parts: int = 1

    def shape(self, chosen: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(self.axes[i].size for i in chosen)


@dataclass(frozen=True, repr=False)
class Crossed(Hidden):
    """One array of whole numbers per set, its axes in the order of the set."""

    tables: tuple[NDArray[np.int64], ...]
