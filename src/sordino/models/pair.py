"""Slopes of random pairs of rows: what Theil and Sen's estimator asks of a table."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from hashlib import shake_256

import numpy as np
from numpy.typing import NDArray

from sordino.summaries.request import Request, Window
from sordino.summaries.window import rank_window

__all__ = ["FARTHEST", "STEP", "LeftOver", "Pairs", "left_over", "slopes"]

STEP = 2**20  # slopes and left-overs are whole multiples of 1/STEP
FARTHEST = 4 * STEP  # a line that stays inside the box of the bounds has slope 1 at most
HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Pairs(Request[Window]):
    r"""Ask for the middle slopes (y_i - y_j)/(x_i - x_j) of neighbours in this many random rings of all rows; the answer is a Window.

    Theorem. A row that joins takes one slope out of each ring and puts two in; a row that is replaced changes two.
    Proof. Couple uniform rings: a uniform ring of n + 1 rows is one of n rows with the new row put into a gap chosen uniformly. The slope
    across that gap gives way to two. A lonely row has no slope, and two rows have theirs twice. A slope without a direction,
    x_i = x_j, is 0, so every neighbour counts. QED
    So #{slopes < s} less half of all slopes moves by at most 3/2 per ring when a row joins or leaves, while n slopes are there to outweigh
    it; a matching of the rows has n/2 slopes and moves by 1. The rings come from the release's secret salt.
    """

    rings: int
    radius: int


@dataclass(frozen=True)
class LeftOver(Request[Window]):
    """Ask for the middle values of y - slope x, slope a drawn multiple of 1/STEP; the answer is a Window."""

    slope: int
    radius: int


def slopes(x: NDArray[np.float64], y: NDArray[np.float64], request: Pairs, salt: int) -> Window:
    n = len(x)
    found = []
    for turn in range(request.rings if n > 1 else 0):
        keys = np.frombuffer(shake_256(f"{salt}:{turn}".encode()).digest(8 * n), np.uint64)
        order = np.argsort(keys, kind="stable")
        after = np.roll(order, 1)
        run, rise = x[order] - x[after], y[order] - y[after]
        steep = np.where(run == 0, 0.0, rise / np.where(run == 0, 1.0, run))
        found.append(np.floor(np.clip(steep * STEP, -FARTHEST, FARTHEST)))
    values = np.sort(np.concatenate([np.empty(0), *found]).astype(np.int64))
    return rank_window(values, HALF, request.radius, -FARTHEST, FARTHEST)


def left_over(x: NDArray[np.float64], y: NDArray[np.float64], request: LeftOver) -> Window:
    """y and x are whole coordinates, and so is slope x / STEP up to rounding."""
    values = np.sort(np.floor(np.clip(y - request.slope * (x / STEP), -FARTHEST, FARTHEST)).astype(np.int64))
    return rank_window(values, HALF, request.radius, -FARTHEST, FARTHEST)
