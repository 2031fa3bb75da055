"""Order statistics around a rank, exact at every width."""

import math
from fractions import Fraction

import numpy as np
import pytest

from sordino.summaries.request import rank_window


@pytest.mark.parametrize("n", [0, 1, 2, 7])
@pytest.mark.parametrize("q", [Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(1)])
@pytest.mark.parametrize("radius", [1, 2, 30])
def test_a_window_holds_the_ranks_it_names(n, q, radius):
    x = np.sort(np.random.default_rng(n).integers(1, 9, n))
    window = rank_window(x, q, radius, 0, 10)
    assert window.n == n
    for i, value in enumerate(window.values.tolist()):
        rank = window.first + i
        assert value == (0 if rank < 1 else 10 if rank > n else x[rank - 1])
    last = window.first + len(window.values) - 1
    assert window.first <= max(0, math.floor(q * n - radius) + 1)
    assert last >= min(n + 1, math.ceil(q * n + radius))


def test_values_beyond_the_doubles_stay_exact():
    odd = [2**53 + 1, 2**53 + 3, 2**60 + 1]
    for radius in (1, 2, 50):
        window = rank_window(np.array(odd), Fraction(1, 2), radius, 0, 2**61)
        assert window.values.dtype == np.int64
        assert set(window.values.tolist()) <= {0, 2**61, *odd}
