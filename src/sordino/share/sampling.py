"""Rows of nobody in the proportions of a law: cells get whole shares, and only remainders are left to chance. Public randomness."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.random import Generator, Philox  # post-processing: the seed is published and shares nothing with the noise
from numpy.typing import NDArray

from sordino.share.junction_tree import TreeLaw

__all__ = ["chances", "sampled"]

Codes = NDArray[np.int64]


def sampled(law: TreeLaw, rows: int, seed: int) -> Codes:
    r"""So many rows of codes, one column per column of the law; the same for the same seed.

    Theorem. Given the shared columns, the number of rows in each cell of a clique differs by less than one from its share.
    Proof. Inside each parent cell every cell gets the floor of its share, and what is left is given to different cells: those a
    systematic draw through the remainders meets, of which none is met twice, as a remainder is below one. QED
    """
    rng = Generator(Philox([seed, 0]))
    tree = law.tree
    out = np.zeros((rows, len(tree.sizes)), np.int64)
    for (s, r), given in zip(tree.axes, law.given, strict=True):
        own = math.prod(tree.shape(r))
        table = given.reshape(-1, own)
        parent = np.ravel_multi_index([out[:, v] for v in s], tree.shape(s)) if s else np.zeros(rows, np.int64)
        order = np.argsort(rng.random(rows))  # rows of one parent cell in random order
        order = order[np.argsort(parent[order], kind="stable")]
        counts = np.bincount(parent, minlength=len(table))
        cell = np.concatenate([_apportioned(table[i], int(counts[i]), rng) for i in np.flatnonzero(counts)] or [np.zeros(0, np.int64)])
        places = np.unravel_index(cell, tree.shape(r))
        for v, codes in zip(r, places, strict=True):
            out[order, v] = codes
    return out[np.argsort(rng.random(rows))]


def chances(seed: int, rows: int) -> Iterator[NDArray[np.float64]]:
    """Numbers between 0 and 1 for every row, column after column, from the same seed and apart from the sampling."""
    rng = Generator(Philox([seed, 1]))
    while True:
        yield rng.random(rows)


def _apportioned(law: NDArray[np.float64], rows: int, rng: Generator) -> Codes:
    total = law.sum()
    share = (law / total if total > 0 else np.full(len(law), 1 / len(law))) * rows
    whole = np.floor(share + 1e-9).astype(np.int64)  # a share that is whole but for its last bits
    left = rows - int(whole.sum())
    if left > 0:
        rest = np.cumsum(np.maximum(share - whole, 0.0))
        points = (np.arange(left) + rng.random()) * (rest[-1] / left)
        met = np.minimum(np.searchsorted(rest, points, side="right"), len(law) - 1)
        np.add.at(whole, met, 1)
    return np.repeat(np.arange(len(law)), whole)
