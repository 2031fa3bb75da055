"""Grid points in runs of equal rank: the values that occur, and the gaps between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sordino.mechanisms.measure import Measure
from sordino.summaries import Window

__all__ = ["RankCells", "rank_cells"]

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class RankCells:
    """The points first..last of each cell, in rising order; how many rows lie below it and up to it; the mass of its points."""

    first: Integers
    last: Integers
    below: Integers
    upto: Integers
    mass: Integers


def rank_cells(windows: Sequence[Window], measure: Measure) -> RankCells:
    """Every cell the windows know: the points between two neighbouring windows that do not touch belong to none.

    A value that fills the edge of a window counts as far as the window sees it, or, where it reaches into the next window, as far as
    that one does.
    """
    n = windows[0].n
    ranks = np.concatenate([window.first + np.arange(len(window.values)) for window in windows])
    values, place = np.unique(np.concatenate([window.values for window in windows]), return_inverse=True)
    below, upto = np.full(len(values), n, np.int64), np.zeros(len(values), np.int64)
    np.minimum.at(below, place, np.clip(ranks - 1, 0, n))
    np.maximum.at(upto, place, np.clip(ranks, 0, n))
    touch = upto[:-1] == below[1:]
    first = np.insert(values[1:], np.arange(len(values) - 1), values[:-1] + 1)  # a gap, then the value after it
    last = np.insert(values[1:], np.arange(len(values) - 1), np.where(touch, values[1:] - 1, values[:-1]))
    cells = [np.concatenate([values[:1], first]), np.concatenate([values[:1], last])]
    ends = [np.concatenate([end[:1], np.insert(end[1:], np.arange(len(values) - 1), upto[:-1])]) for end in (below, upto)]
    held = cells[1] >= cells[0]
    first, last, below, upto = (part[held] for part in (*cells, *ends))
    return RankCells(first, last, below, upto, measure.total(last) - measure.total(first - 1))
