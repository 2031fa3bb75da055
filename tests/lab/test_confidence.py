"""Clopper-Pearson bounds against the binomial law itself."""

import numpy as np
import pytest
from scipy.stats import binom

from sordino.lab.finding import lower, upper


@pytest.mark.parametrize("n", [1, 7, 400])
@pytest.mark.parametrize("alpha", [0.3, 0.01, 1e-9])
def test_the_tail_at_the_bound_is_exactly_alpha(n, alpha):
    hits = np.arange(n + 1)
    low, high = lower(hits, n, alpha), upper(hits, n, alpha)
    assert np.allclose(binom.sf(hits[1:] - 1, n, low[1:]), alpha, rtol=1e-6)
    assert np.allclose(binom.cdf(hits[:-1], n, high[:-1]), alpha, rtol=1e-6)
    assert low[0] == 0
    assert high[-1] == 1
    assert np.all(low <= hits / n)
    assert np.all(high >= hits / n)


@pytest.mark.parametrize("p", [0.0, 0.001, 0.2, 0.5, 0.97, 1.0])
def test_no_true_probability_is_missed_more_often_than_alpha(p):
    n, alpha = 60, 0.05
    hits = np.arange(n + 1)
    chance = binom.pmf(hits, n, p)
    assert chance[lower(hits, n, alpha) > p].sum() <= alpha
    assert chance[upper(hits, n, alpha) < p].sum() <= alpha


def test_misses_mirror_hits():
    hits = np.arange(31)
    assert np.allclose(upper(hits, 30, 0.01), 1 - lower(30 - hits, 30, 0.01))


def test_counts_trials_and_alphas_broadcast():
    assert lower([[1], [2]], [10, 20, 30], 0.1).shape == (2, 3)
    assert upper(0, 100, [0.1, 0.01]).shape == (2,)
