"""The middle of a sorted column is what its definition says, whatever the number of rows kept."""

from __future__ import annotations

import numpy as np
import pytest

from sordino.summaries.totals import exact_sum, middle


@pytest.mark.parametrize("kept", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 7])
def test_ranks_beyond_the_column_count_as_the_bounds(kept, n):
    x, width = [2 * i + 1 for i in range(n)], 99
    first = (n - kept) // 2 + 1

    def rank(i):
        return 0 if i < 1 else width if i > n else x[i - 1]

    found = middle(np.array(x, np.int64), kept, 3, width)
    assert found.total == sum(rank(i) for i in range(first, first + kept))
    assert found.lower.tolist() == [rank(i) for i in range(first - 3, first + 4)]
    assert found.upper.tolist() == [rank(i) for i in range(first + kept - 4, first + kept + 3)]
    assert (found.kept, found.radius, found.n) == (kept, 3, n)
    assert repr(found) == "Middle(private)"


def test_sums_beyond_64_bits_are_exact():
    x = np.full(1000, 2**61 + 12345, np.int64)
    assert exact_sum(x) == 1000 * (2**61 + 12345)
    assert middle(x, 900, 1, 2**62).total == 900 * (2**61 + 12345)
