"""A fit agrees with marginals as far as their noise says, and a sampled table with the fit up to a row."""

from __future__ import annotations

import numpy as np
import pytest
from tests.share.small import table

from sordino.share.fitting import DrawnMarginal, fitted, merged, rows_of, shrunk
from sordino.share.junction_tree import JunctionTree
from sordino.share.sampling import chances, sampled

CODES = table(2_000, 5)
CHAIN = [(0, 1), (1, 2), (2, 3), (3, 4)]


def counts(clique, codes=CODES):
    out = np.zeros([2] * len(clique))
    np.add.at(out, tuple(codes[:, i] for i in clique), 1)
    return out


def measured(cliques, sigma=1e-3):
    return [DrawnMarginal(c, counts(c), np.array(sigma**2)) for c in cliques]


def test_exact_marginals_of_a_tree_are_reproduced():
    fit = fitted(JunctionTree.of((2,) * 5, CHAIN), measured(CHAIN), 2_000, 2_000)
    for clique in CHAIN:
        assert np.abs(2_000 * fit.law.marginal(clique) - counts(clique)).max() < 0.5


def test_what_was_not_measured_together_is_conditionally_independent():
    fit = fitted(JunctionTree.of((2,) * 5, CHAIN[:2]), measured(CHAIN[:2]), 2_000, 2_000)
    joint = fit.law.marginal((0, 1, 2))
    given = joint / joint.sum(axis=(0, 2), keepdims=True)
    for one in (0, 1):
        assert np.abs(given[:, one] - np.outer(given[:, one].sum(1), given[:, one].sum(0))).max() < 1e-6


def test_measurements_of_the_same_columns_are_weighed_by_their_noise():
    (one,) = merged([DrawnMarginal((0,), np.array([10.0, 0.0]), np.array(1.0)), DrawnMarginal((0,), np.array([40.0, 0.0]), np.array(4.0))])
    assert one.values[0] == pytest.approx(16)
    assert float(np.broadcast_to(one.variance, 2)[0]) == pytest.approx(0.8)
    assert rows_of([one]) == pytest.approx(16)
    assert rows_of([DrawnMarginal((0,), np.array([-30.0, 0.0]), np.array(1.0))]) == 1


def test_a_sampled_table_has_its_cells_to_a_row_and_the_same_seed_gives_the_same():
    fit = fitted(JunctionTree.of((2,) * 5, CHAIN), measured(CHAIN), 2_000, 500)
    made = sampled(fit.law, 2_000, 7)
    for clique in CHAIN[:1]:
        assert np.abs(counts(clique, made) - 2_000 * fit.law.marginal(clique)).max() <= 1
    for clique in CHAIN:
        assert np.abs(counts(clique, made) - 2_000 * fit.law.marginal(clique)).max() <= 3
    assert np.array_equal(made, sampled(fit.law, 2_000, 7))
    assert not np.array_equal(made, sampled(fit.law, 2_000, 8))
    assert not np.array_equal(next(chances(7, 5)), next(chances(8, 5)))


def test_minorities_are_not_rounded_away():
    rare = np.array([[0.09, 0.001], [0.809, 0.1]])
    law = fitted(JunctionTree.of((2, 2), [(0, 1)]), [DrawnMarginal((0, 1), 300 * rare, np.array(1e-6))], 300, 300).law
    found = np.mean([counts((0, 1), sampled(law, 300, seed))[0, 1] for seed in range(200)])
    assert 0.15 < found < 0.45, "0.3 rows on average, not none"


def test_associations_are_shrunk_by_no_more_than_their_noise_deserves():
    rng = np.random.default_rng(3)
    rows, law = 10_000.0, rng.dirichlet(np.ones(30)).reshape(5, 6)
    for truth in (rows * law, rows * np.outer(law.sum(1), law.sum(0))):
        raw, mended = 0.0, 0.0
        for _ in range(60):
            drawn = [DrawnMarginal((0,), truth.sum(1) + rng.normal(0, 60, 5), np.array(3600.0))]
            drawn += [DrawnMarginal((1,), truth.sum(0) + rng.normal(0, 60, 6), np.array(3600.0))]
            drawn += [DrawnMarginal((0, 1), truth + rng.normal(0, 120, truth.shape), np.array(120.0**2))]
            after = shrunk(drawn, rows)
            assert after[:2] == drawn[:2], "columns alone stay as they were drawn"
            raw += float(((drawn[2].values - truth) ** 2).sum())
            mended += float(((after[2].values - truth) ** 2).sum())
            assert np.allclose(after[2].values.sum(1), drawn[2].values.sum(1))
            assert np.allclose(after[2].values.sum(0), drawn[2].values.sum(0))
        assert mended < raw
    quiet = DrawnMarginal((0, 1), truth, np.array(1e-12))
    assert np.allclose(shrunk([*drawn[:2], quiet], rows)[2].values, truth), "what has no noise stays"
