"""A joint law of many columns as a tree of small tables: which tables, in which order, and every marginal of it.

The joint law is a product of factors, each about a few columns. Its graph is made chordal by eliminating, again and again, the column
whose new clique has the fewest cells; the cliques, joined along their largest overlaps, are the tree.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Clique", "JunctionTree", "TreeLaw", "cells_with", "triangulated"]

Clique = tuple[int, ...]  # columns by number, ascending
Floats = NDArray[np.float64]
PARTS = 2**32 - 1


def triangulated(sizes: Sequence[int], cliques: Iterable[Clique]) -> list[Clique]:
    """The maximal cliques of a chordal graph that holds every given clique; every column is in one of them."""
    near = [0] * len(sizes)
    for clique in cliques:
        mask = sum(1 << v for v in clique)
        for v in clique:
            near[v] |= mask
    return [tuple(_members(mask)) for mask in _eliminated(sizes, near)]


def _members(mask: int) -> list[int]:
    out = []
    while mask:
        low = mask & -mask
        out.append(low.bit_length() - 1)
        mask ^= low
    return out


def _eliminated(sizes: Sequence[int], near: list[int]) -> list[int]:
    near, logs = list(near), [math.log(size) for size in sizes]
    left, found = (1 << len(sizes)) - 1, list[int]()
    weight = [sum(logs[u] for u in _members(near[v] | 1 << v)) for v in range(len(sizes))]
    while left:
        v = min(_members(left), key=lambda u: (weight[u], u))
        around = (near[v] & left) | 1 << v
        if not any(around & ~clique == 0 for clique in found):
            found.append(around)
        left &= ~(1 << v)
        for u in _members(around & left):
            grown = near[u] | around
            near[u] = grown
            weight[u] = sum(logs[w] for w in _members((grown & left) | 1 << u))
    return found


def cells_with(sizes: Sequence[int], cliques: Iterable[Clique], more: Clique) -> int:
    """The cells of the tree that would hold one clique more."""
    return sum(math.prod(sizes[v] for v in clique) for clique in triangulated(sizes, [*cliques, more]))


@dataclass(frozen=True)
class JunctionTree:
    """Cliques in an order in which each comes after its parent; `shared` are the columns it has in common with it."""

    sizes: tuple[int, ...]
    cliques: tuple[Clique, ...]
    parents: tuple[int, ...]  # -1 for the first
    shared: tuple[Clique, ...]

    @classmethod
    def of(cls, sizes: Sequence[int], cliques: Iterable[Clique]) -> JunctionTree:
        """The tree over a chordal graph of these cliques: a maximum spanning tree of their overlaps (Prim)."""
        found = triangulated(sizes, cliques)
        order, parents = [0], [-1]
        best = {i: (len(set(found[i]) & set(found[0])), 0) for i in range(1, len(found))}
        while best:
            i = max(best, key=lambda i: (best[i][0], -i))
            _, parent = best.pop(i)
            parents.append(parent)
            order.append(i)
            for j in best:
                overlap = len(set(found[j]) & set(found[i]))
                if overlap > best[j][0]:
                    best[j] = (overlap, len(order) - 1)
        kept = tuple(found[i] for i in order)
        shared = tuple(tuple(sorted(set(c) & set(kept[p]))) if p >= 0 else () for c, p in zip(kept, parents, strict=True))
        return cls(tuple(sizes), kept, tuple(parents), shared)

    @cached_property
    def axes(self) -> tuple[tuple[Clique, Clique], ...]:
        """Of each clique the columns shared with its parent, and its own."""
        return tuple((s, tuple(v for v in c if v not in s)) for c, s in zip(self.cliques, self.shared, strict=True))

    @property
    def cells(self) -> int:
        return sum(math.prod(self.shape(clique)) for clique in self.cliques)

    def shape(self, columns: Iterable[int]) -> tuple[int, ...]:
        return tuple(self.sizes[v] for v in columns)

    @cached_property
    def _homes(self) -> dict[Clique, int | None]:
        return {}

    def home(self, clique: Clique) -> int | None:
        """The smallest clique of the tree that holds these columns, if one does."""
        if clique not in self._homes:
            wanted = set(clique)
            holds = [i for i, c in enumerate(self.cliques) if wanted <= set(c)]
            self._homes[clique] = min(holds, key=lambda i: math.prod(self.shape(self.cliques[i])), default=None)
        return self._homes[clique]

    def cells_with(self, more: Clique) -> int:
        r"""Enough cells to hold one clique more: its columns are added to every clique of the smallest subtree that holds them.

        Theorem. The result is a tree of cliques for the larger graph. Proof. A column's cliques stay connected, as the subtree is, and
        the subtree meets each of the columns; some clique of it holds all of them. QED
        Eliminating anew may need fewer cells and takes longer: `cells_with` of this module.
        """
        wanted, total = set(more), self.cells
        for i in self.subtree(wanted):
            own = math.prod(self.shape(self.cliques[i]))
            total += own * (math.prod(self.sizes[v] for v in wanted if v not in self.cliques[i]) - 1)
        return total

    def subtree(self, wanted: set[int]) -> set[int]:
        """The cliques on the ways between those nearest to the root that hold the wanted columns."""
        paths = []
        for first in (self._first[v] for v in wanted):
            path = [first]
            while self.parents[path[-1]] >= 0:
                path.append(self.parents[path[-1]])
            paths.append(path)
        common = set.intersection(*map(set, paths))
        return {i for path in paths for i in path if i not in common} | {max(common)}

    @cached_property
    def _first(self) -> dict[int, int]:
        out: dict[int, int] = {}
        for i, clique in enumerate(self.cliques):
            for v in clique:
                out.setdefault(v, i)
        return out

    def law(self, factors: Mapping[Clique, Floats]) -> TreeLaw:
        r"""The normalised product of exp(factor), factors lying in cliques of the tree.

        Theorem. Going from the leaves to the root, sum out each clique's own columns and hand the result to its parent; what each clique
        divides by its sum is the law of its own columns given the shared ones, and the joint law is the product of these.
        Proof. A column that leaves with a clique is in no clique nearer to the root (the cliques that hold a column are connected), so
        the sum over it may be taken there; the normaliser of the root is that of the whole. QED
        Sums are taken in logarithms about their largest term, so that nothing underflows; a row of impossible cells stays impossible.
        """
        tables: list[Floats] = []
        tables.extend(np.zeros(self.shape((*s, *r))) for s, r in self.axes)
        for clique, theta in factors.items():
            home = self.home(clique)
            assert home is not None, "a factor outside the tree"
            tables[home] += _spread(theta, clique, (*self.axes[home][0], *self.axes[home][1]))
        given: list[Floats] = [np.empty(0)] * len(tables)
        for i in range(len(tables) - 1, -1, -1):
            s, r = self.axes[i]
            table = tables[i].reshape(math.prod(self.shape(s)), -1)
            top = np.maximum(table.max(axis=1, keepdims=True), -1e300)  # finite, where every cell is impossible
            weight = np.exp(table - top)
            total = weight.sum(axis=1, keepdims=True)
            with np.errstate(divide="ignore"):
                message = np.log(total) + top
            weight /= np.maximum(total, 1e-300)
            given[i] = weight.reshape(self.shape((*s, *r)))
            if self.parents[i] >= 0:
                up = self.parents[i]
                tables[up] += _spread(message.reshape(self.shape(s)), s, (*self.axes[up][0], *self.axes[up][1]))
        return TreeLaw(self, tuple(given))


def _spread(table: Floats, own: Clique, axes: Clique) -> Floats:
    """A table about some columns, shaped to be added to one about more of them, in another order."""
    order = sorted(range(len(own)), key=lambda i: axes.index(own[i]))
    shape = iter(table.transpose(order).shape)
    return table.transpose(order).reshape([next(shape) if v in own else 1 for v in axes])


@dataclass(frozen=True, eq=False)
class TreeLaw:
    """A joint law: of every clique the law of its own columns given those it shares with its parent."""

    tree: JunctionTree
    given: tuple[Floats, ...]
    _known: dict[Clique, Floats] = field(default_factory=dict, repr=False)

    def to_record(self) -> dict[str, Any]:
        """The law in whole parts of 2^32, compressed: what a seal keeps, and what rows are sampled from."""
        tables = b"".join(np.round(table.ravel() * PARTS).astype("<u4").tobytes() for table in self.given)
        tree = self.tree
        shape = {"sizes": list(tree.sizes), "cliques": [list(c) for c in tree.cliques], "parents": list(tree.parents)}
        return {**shape, "law": zlib.compress(tables, 6)}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> TreeLaw:
        cliques = tuple(tuple(c) for c in record["cliques"])
        parents = tuple(record["parents"])
        shared = tuple(tuple(sorted(set(c) & set(cliques[p]))) if p >= 0 else () for c, p in zip(cliques, parents, strict=True))
        tree = JunctionTree(tuple(record["sizes"]), cliques, parents, shared)
        flat = np.frombuffer(zlib.decompress(record["law"]), "<u4").astype(np.float64) / PARTS
        given, at = [], 0
        for s, r in tree.axes:
            shape = tree.shape((*s, *r))
            given.append(flat[at : at + math.prod(shape)].reshape(shape))
            at += math.prod(shape)
        return cls(tree, tuple(given))

    @cached_property
    def joint(self) -> tuple[Floats, ...]:
        """The law of every clique, with its columns in the order shared, own."""
        out: list[Floats] = []
        for i, ((s, _), parent) in enumerate(zip(self.tree.axes, self.tree.parents, strict=True)):
            if parent < 0:
                out.append(self.given[i])
                continue
            above = _summed(out[parent], (*self.tree.axes[parent][0], *self.tree.axes[parent][1]), s)
            out.append(self.given[i] * above.reshape(above.shape + (1,) * (self.given[i].ndim - above.ndim)))
        return tuple(out)

    def marginal(self, clique: Clique) -> Floats:
        """The law of any few columns, ascending. What no clique of the tree holds is carried along the smallest subtree that does."""
        if clique not in self._known:
            home = self.tree.home(clique)
            if home is not None:
                self._known[clique] = _summed(self.joint[home], (*self.tree.axes[home][0], *self.tree.axes[home][1]), clique)
            else:
                self._known[clique] = self._carried(clique)
        return self._known[clique]

    def _carried(self, asked: Clique) -> Floats:
        """From the leaves of the subtree towards its top, keeping the asked columns and those shared with the parent."""
        steps = self.tree.subtree(set(asked))
        top = min(steps)
        held: dict[int, list[tuple[Clique, Floats]]] = {i: [] for i in steps}
        for i in sorted(steps, reverse=True):
            s, r = self.tree.axes[i]
            table = self.joint[i] if i == top else self.given[i]
            factors: list[tuple[Clique, Floats]] = [((*s, *r), table), *held[i]]
            present = {v for axes, _ in factors for v in axes}
            keep = tuple(sorted(v for v in present if v in asked or (i != top and v in s)))
            product = _contracted(factors, keep)
            if i == top:
                return _summed(product, keep, asked)
            held[self.tree.parents[i]].append((keep, product))
        raise AssertionError("a subtree without a top")


def _contracted(factors: list[tuple[Clique, Floats]], keep: Clique) -> Floats:
    letters = {v: n for n, v in enumerate(sorted({v for axes, _ in factors for v in axes}))}
    operands: list[object] = []
    for axes, table in factors:
        operands += [table, [letters[v] for v in axes]]
    return np.asarray(np.einsum(*operands, [letters[v] for v in keep], optimize=len(factors) > 2))  # type: ignore[call-overload]


def _summed(table: Floats, axes: Clique, wanted: Clique) -> Floats:
    """A table summed down to some of its columns, in the wanted order."""
    less = table.sum(axis=tuple(i for i, v in enumerate(axes) if v not in wanted))
    left = [v for v in axes if v in wanted]
    return np.asarray(less.transpose([left.index(v) for v in wanted]))
