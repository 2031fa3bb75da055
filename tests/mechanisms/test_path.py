"""Sums in logarithms, and the cells of windows that overlap, touch or leave a hole."""

from fractions import Fraction

import numpy as np
import pytest

from sordino.mechanisms.joint_exponential import rank_cells
from sordino.mechanisms.path import between, chances, prefix
from sordino.mechanisms.quantile_exponential import Measure
from sordino.summaries.request import rank_window


def test_running_and_ranged_sums_are_sums():
    rng = np.random.default_rng(1)
    for size in (1, 2, 7, 64, 1_000):
        x = rng.normal(0, 3, size)
        assert prefix(x) == pytest.approx(np.log(np.cumsum(np.exp(x))), abs=1e-10)
        start, stop = np.sort(rng.integers(0, size + 1, (2, 50)), axis=0)
        direct = [np.log(np.exp(x[a:b]).sum()) if b > a else -np.inf for a, b in zip(start, stop, strict=True)]
        assert between(x, start, stop) == pytest.approx(direct, abs=1e-10)


def test_sums_survive_thousands_of_powers_of_e():
    x = np.concatenate([np.full(500, -3_000.0), np.full(500, 2_000.0)])
    assert prefix(x)[499] == pytest.approx(-3_000 + np.log(500))
    assert between(x, np.array([0, 499]), np.array([500, 501])) == pytest.approx([-3_000 + np.log(500), 2_000])
    weights = chances(np.array([0.0, -1_200.0]))
    assert np.all((weights > 0) & np.isfinite(weights))
    assert np.log(weights[0]) - np.log(weights[1]) == pytest.approx(1_200)


@pytest.mark.parametrize("radius", [1, 3, 40, 400])
def test_cells_are_the_runs_of_equal_rank_of_the_whole_grid(radius):
    rng = np.random.default_rng(2)
    for size in (0, 1, 5, 120):
        x = np.sort(rng.integers(0, 60, size))
        windows = [rank_window(x, q, radius, 0, 63) for q in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10))]
        cells = rank_cells(windows, Measure(0, 63))
        seen = np.zeros(64, bool)
        for first, last, below, upto, mass in zip(cells.first, cells.last, cells.below, cells.upto, cells.mass, strict=True):
            assert mass == last - first + 1
            assert not seen[first : last + 1].any()
            seen[first : last + 1] = True
            for point in (first, last):
                real = np.searchsorted(x, point), np.searchsorted(x, point, "right")
                assert real[0] <= below <= upto <= real[1]  # a value at the edge of a window counts as far as it is seen
                if radius == 400:
                    assert (below, upto) == real
        assert seen.all() or radius < 100
