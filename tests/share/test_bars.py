"""Bars of a report: nearly all of them hold together, for one set and for tens of thousands."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np
import pytest

from sordino.share.bars import LEVEL, ROWS, half_width, noise_width


def together(reach: float, sets: int) -> float:
    """How often more than a twentieth of so many bars miss, simulated."""
    miss = 2 * (1 - NormalDist().cdf(reach))
    return float((np.random.default_rng(sets).binomial(sets, miss, 200_000) > sets // 20).mean())


@pytest.mark.parametrize("sets", [1, 19, 20, 120, 455, 1_770, 4_060, 34_220])
def test_with_95_percent_at_least_95_percent_of_the_bars_hold(sets):
    assert together(noise_width(sets), sets) <= LEVEL - ROWS + 0.002
    assert noise_width(sets) >= NormalDist().inv_cdf(1 - (LEVEL - ROWS) / 2) - 1e-9, "each alone, too"


@pytest.mark.parametrize("sets", [10, 120, 455])
def test_bars_that_hold_alone_do_not_hold_together(sets):
    assert together(NormalDist().inv_cdf(1 - LEVEL / 2), sets) > 0.1


def test_the_number_of_rows_widens_them():
    known, drawn = half_width(3.0, 0.0, 1_000, 120), half_width(3.0, 2.0, 1_000, 120)
    assert known == pytest.approx(noise_width(120) * 3 / 2_000)
    assert drawn - known == pytest.approx(NormalDist().inv_cdf(1 - ROWS / 2) * 2 / 2_000)
    assert math.isfinite(drawn)
