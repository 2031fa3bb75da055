"""Every marginal of a tree of tables is that of the whole joint law, written out."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from sordino.share.junction_tree import JunctionTree, TreeLaw, cells_with, triangulated

SIZES = (2, 3, 2, 2, 3, 2)


def brute(factors, sizes=SIZES):
    log = np.zeros(sizes)
    for clique, theta in factors.items():
        log = log + theta.reshape([sizes[i] if i in clique else 1 for i in range(len(sizes))])
    weight = np.exp(log - log.max())
    return weight / weight.sum()


def drawn(cliques, seed, sizes=SIZES, spread=2.0):
    rng = np.random.default_rng(seed)
    return {c: rng.normal(0, spread, [sizes[i] for i in c]) for c in cliques}


GRAPHS = [
    [(0,), (1,), (2,), (3,), (4,), (5,)],
    [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)],
    [(0, 1), (1, 2), (2, 3), (0, 3), (4, 5)],
    [(0, 1, 2), (2, 3), (3, 4), (0, 4), (5,)],
    [(0, 5), (1, 5), (2, 5), (3, 5), (4, 5)],
    [(0, 1), (2, 3), (1, 4), (3, 4), (0, 2, 5)],
]


@pytest.mark.parametrize("cliques", GRAPHS)
def test_every_marginal_is_that_of_the_joint_law(cliques):
    for seed in range(2):
        factors = drawn(cliques, seed)
        law = JunctionTree.of(SIZES, cliques).law(factors)
        joint = brute(factors)
        for k in range(1, 7):
            for wanted in combinations(range(6), k):
                truth = joint.sum(axis=tuple(i for i in range(6) if i not in wanted))
                assert np.abs(law.marginal(wanted) - truth).max() < 1e-12


def test_far_factors_neither_overflow_nor_underflow():
    cliques = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]
    law = JunctionTree.of(SIZES, cliques).law(drawn(cliques, 1, spread=2_000))
    assert all(
        np.isfinite(law.marginal((i, j))).all() and law.marginal((i, j)).sum() == pytest.approx(1) for i, j in combinations(range(6), 2)
    )


def test_a_forbidden_cell_has_no_mass_anywhere():
    never = np.zeros((2, 3))
    never[1, 2] = -np.inf
    law = JunctionTree.of(SIZES, [(0, 1), (1, 2)]).law({(0, 1): never, (1, 2): drawn([(1, 2)], 3)[1, 2]})
    assert law.marginal((0, 1))[1, 2] == 0
    assert law.marginal((0, 1, 4))[1, 2].sum() == 0
    assert law.marginal((0, 1)).sum() == pytest.approx(1)


def test_the_graph_is_chordal_and_its_cells_are_counted():
    square = [(0, 1), (1, 2), (2, 3), (0, 3)]
    found = triangulated((2,) * 4, square)
    assert sorted(map(len, found)) == [3, 3]
    assert cells_with((2,) * 4, square[:3], (0, 3)) == 16
    assert JunctionTree.of((2,) * 4, square).cells == 16


def test_a_bound_on_the_cells_of_a_larger_tree_is_that_of_a_tree():
    for cliques in GRAPHS:
        tree = JunctionTree.of(SIZES, cliques)
        for more in (c for k in (2, 3) for c in combinations(range(6), k) if tree.home(c) is None):
            way = tree.subtree(set(more))
            grown = [tuple(sorted({*c, *more})) if i in way else c for i, c in enumerate(tree.cliques)]
            assert sum(np.prod([SIZES[v] for v in c]) for c in grown) == tree.cells_with(more)
            assert any(set(more) <= set(c) for c in grown)
            for v in range(6):  # the cliques that hold a column hang together
                holds = {i for i, c in enumerate(grown) if v in c}
                assert sum(tree.parents[i] not in holds for i in holds) == 1


def test_a_law_survives_its_record():
    cliques = GRAPHS[3]
    law = JunctionTree.of(SIZES, cliques).law(drawn(cliques, 2))
    again = TreeLaw.from_record(law.to_record())
    assert np.abs(again.marginal((0, 3, 5)) - law.marginal((0, 3, 5))).max() < 1e-8
    assert TreeLaw.from_record(again.to_record()).to_record() == again.to_record(), "a second time nothing is rounded"
