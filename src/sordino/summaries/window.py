"""Order statistics around a rank, from a sorted array: the reference every engine must equal."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sordino.summaries.request import Window

__all__ = ["rank_window"]


def rank_window(x: NDArray[np.int64], q: Fraction, radius: int, low: int, high: int) -> Window:
    """The values of ranks floor(q n - radius)+1 .. ceil(q n + radius) of a sorted array; low before rank 1 and high after rank n.

    Ranks more than one beyond either end repeat the bound and are left out: they carry no information.
    """
    n = len(x)
    first = max(math.floor(q * n - radius) + 1, 0)
    last = min(math.ceil(q * n + radius), n + 1)
    inside = x[max(first, 1) - 1 : min(last, n)]
    before, after = np.full(int(first < 1), low, np.int64), np.full(int(last > n), high, np.int64)
    return Window(np.concatenate([before, inside.astype(np.int64, copy=False), after]), first, n)
