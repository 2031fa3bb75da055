"""The law of most entropy that agrees with noisy marginals as well as their noise deserves. Free: it follows drawn numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sordino.share.junction_tree import Clique, JunctionTree, TreeLaw

__all__ = ["DrawnMarginal", "MarginalFit", "fitted", "merged", "rows_of", "shrunk"]

Floats = NDArray[np.float64]
GROW, SHRINK = 1.5, 0.5
LEAST_STEP = 1e-300
LEAST_FREE = 3  # dimensions from which on shrinking always helps
TINY = 1e-300


@dataclass(frozen=True, eq=False)
class DrawnMarginal:
    """A marginal with independent noise; `variance` is that of every cell, in rows squared, one number where it is the same in all."""

    columns: Clique
    values: Floats
    variance: Floats


@dataclass(frozen=True, eq=False)
class MarginalFit:
    """A law, how many rows it stands for, and the factors and step a later fit starts from."""

    law: TreeLaw
    rows: float
    factors: dict[Clique, Floats]
    step: float
    loss: float


def merged(measured: Iterable[DrawnMarginal]) -> list[DrawnMarginal]:
    """Marginals of the same columns as one, by inverse variance."""
    together: dict[Clique, list[DrawnMarginal]] = {}
    for one in measured:
        together.setdefault(one.columns, []).append(one)
    out = []
    for columns, group in together.items():
        weight = np.asarray(sum(1 / one.variance for one in group))
        mean = np.asarray(sum(one.values / one.variance for one in group)) / weight
        out.append(DrawnMarginal(columns, mean, 1 / weight))
    return out


def rows_of(measured: Iterable[DrawnMarginal]) -> float:
    """The number of rows all totals together say, by inverse variance; at least one."""
    found = [(float(one.values.sum()), 1 / float(np.broadcast_to(one.variance, one.values.shape).sum())) for one in measured]
    weight = sum(w for _, w in found)
    return max(1.0, sum(total * w for total, w in found) / weight)


def shrunk(measured: list[DrawnMarginal], rows: float) -> list[DrawnMarginal]:
    r"""Marginals of several columns whose association is drawn towards independence by as much as their noise deserves.

    The difference to the product of the measured columns has a part that adds up over columns, which stays, and an association of k
    dimensions, which is multiplied by max(0, 1 - (k - 2) variance/|association|^2).
    Theorem. For k >= 3 the expected squared error is less than without, whatever the truth.
    Proof. Differences that add up and associations are orthogonal, so the noise of the two parts is independent, and that of the columns'
    own counts is independent of both. Given these the association is a normal vector in k dimensions around its truth: James and Stein
    1961, and Baranchik 1964 for the positive part. QED
    """
    alone = {one.columns[0]: np.maximum(one.values, 0.0) for one in measured if len(one.columns) == 1}
    out = []
    for one in measured:
        shape = one.values.shape
        free = one.values.size - 1 - sum(size - 1 for size in shape)
        if len(shape) == 1 or free < LEAST_FREE or any(i not in alone for i in one.columns):
            out.append(one)
            continue
        product = np.ones(())
        for i in one.columns:
            product = np.multiply.outer(product, alone[i] / max(float(alone[i].sum()), 1.0))
        apart = one.values - rows * product
        adding = sum(apart.mean(tuple(a for a in range(len(shape)) if a != axis), keepdims=True) for axis in range(len(shape)))
        adding = adding - (len(shape) - 1) * apart.mean()
        together = apart - adding
        length = max(float((together**2).sum()), TINY)
        kept = max(0.0, 1 - (free - 2) * float(np.max(one.variance)) / length)
        out.append(DrawnMarginal(one.columns, rows * product + adding + kept * together, one.variance))
    return out


def fitted(
    tree: JunctionTree, measured: list[DrawnMarginal], rows: float, steps: int, start: MarginalFit | None = None, *,
    fixed: Mapping[Clique, Floats] | None = None,
) -> MarginalFit:  # fmt: skip
    r"""Minimise sum |mu_C - y_C|^2 / (2 variance) over marginals mu of laws on the tree, times `rows`, by mirror descent.

    Theorem. With factors theta and mu = rows times the marginals of p_theta, the step theta_C <- theta_C - eta dL/dmu_C is mirror descent
    with negative entropy; from theta = 0 it tends to the law of most entropy among the minimisers.
    Proof. The mirror map of negative entropy on the marginal polytope takes natural parameters to marginals; adding multiples of
    marginal indicators keeps p in the exponential family of the measured cliques, which holds the entropy maximiser. QED
    `fixed` are factors that stay: minus infinity where a rule forbids a cell.
    """
    fixed = fixed or {}
    own = {one.columns: np.zeros(tree.shape(one.columns)) for one in measured}
    if start is not None:
        own |= {columns: theta for columns, theta in start.factors.items() if columns in own}
    step = start.step if start is not None else 2.0 * min(float(np.min(one.variance)) for one in measured) / rows

    def at(theta: dict[Clique, Floats]) -> tuple[TreeLaw, dict[Clique, Floats], float]:
        both = dict(theta)
        for columns, rule in fixed.items():
            both[columns] = both[columns] + rule if columns in both else rule
        law = tree.law(both)
        mu = {one.columns: rows * law.marginal(one.columns) for one in measured}
        return law, mu, sum(float(((mu[one.columns] - one.values) ** 2 / (2 * one.variance)).sum()) for one in measured)

    law, mu, loss = at(own)
    for _ in range(steps):
        slope = {one.columns: (mu[one.columns] - one.values) / one.variance for one in measured}
        while step > LEAST_STEP:
            trial = {columns: theta - step * slope[columns] for columns, theta in own.items()}
            next_law, next_mu, next_loss = at(trial)
            gain = sum(float((slope[c] * (mu[c] - next_mu[c])).sum()) for c in slope)
            if loss - next_loss >= 0.5 * gain:
                break
            step *= SHRINK
        else:
            break
        own, law, mu, loss = trial, next_law, next_mu, next_loss
        step *= GROW
    return MarginalFit(law, rows, own, step, loss)
