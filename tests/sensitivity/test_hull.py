import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.sensitivity.ladder import Ladder
from sordino.sensitivity.order import Order
from sordino.sensitivity.rank_ladder import best_pair, upper_hull, window_ladder


def by_definition(upper, up, lower, down):
    return max((up[a] * down[b] * (upper[a] - lower[b]) for a in range(len(upper)) for b in range(len(lower))), default=0.0)


def shapes(rng, kind, size):
    if kind == "ties":
        return rng.integers(0, 3, size).astype(float)
    if kind == "heavy":
        return np.exp(rng.normal(0, 8, size))
    if kind == "flat":
        return np.zeros(size)
    return rng.random(size)


@pytest.mark.parametrize("kind", ["ties", "heavy", "flat", "even"])
@pytest.mark.parametrize("beta", [1e-4, 0.01, 0.3, 5.0, 800.0])
def test_the_hull_finds_the_best_pair_of_random_sequences(kind, beta):
    rng = np.random.default_rng(11)
    for size in (1, 2, 3, 10, 60):
        for _ in range(4):
            upper = np.cumsum(shapes(rng, kind, size))
            lower = -np.cumsum(shapes(rng, kind, size + 1))
            up, down = np.exp(-beta * np.arange(size)), np.exp(-beta * np.arange(size + 1))
            assert best_pair(upper, up, lower, down) == pytest.approx(by_definition(upper, up, lower, down), rel=1e-13)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 40), min_size=1, max_size=30), st.lists(st.integers(0, 40), min_size=1, max_size=30), st.floats(0.001, 3))
def test_the_hull_agrees_with_the_definition(rises, drops, beta):
    upper, lower = np.cumsum(rises), -np.cumsum(drops)
    up, down = np.exp(-beta * np.arange(len(upper))), np.exp(-beta * np.arange(len(lower)))
    assert best_pair(upper, up, lower, down) == pytest.approx(by_definition(upper, up, lower, down), rel=1e-13)


def test_the_vertices_are_a_convex_chain_that_keeps_both_ends():
    rng = np.random.default_rng(3)
    x, y = np.sort(rng.random(400)), np.sort(rng.random(400))[::-1]
    corner = upper_hull(x, y)
    assert corner[0] == 0
    assert corner[-1] == 399
    slopes = np.diff(y[corner]) / np.diff(x[corner])
    assert (np.diff(slopes) < 0).all()


@pytest.mark.parametrize("rows", [1, 2, 3, 5])
@pytest.mark.parametrize("beta", [0.02, 0.3, 2.0])
def test_the_quick_smooth_bound_of_a_rank_is_the_maximum_over_its_rungs(rows, beta):
    rng = np.random.default_rng(7)
    for n in (1, 2, 7, 40, 300):
        x = np.round(np.exp(rng.normal(0, 2, n)), 1)
        ladder = window_ladder(Order.of(x, (0, 1000)), (n + 1) // 2, (n + 1) // 2, rows)
        slow = Ladder(ladder.block, ladder.top, ladder.depth)
        for window in (None, 1, 3, 20):
            assert ladder.smooth(beta, window) == pytest.approx(slow.smooth(beta, window), rel=1e-12)


def test_the_quick_smooth_bound_of_a_trimmed_sum_is_the_maximum_over_its_rungs():
    rng = np.random.default_rng(8)
    for n, trim in ((1, 0), (5, 2), (50, 10), (300, 0)):
        ladder = window_ladder(Order.of(rng.normal(0, 1, n), (-50, 50)), trim + 1, n - trim)
        slow = Ladder(ladder.block, ladder.top, ladder.depth)
        for beta in (0.02, 0.3, 2.0):
            assert ladder.smooth(beta) == pytest.approx(slow.smooth(beta), rel=1e-12)
