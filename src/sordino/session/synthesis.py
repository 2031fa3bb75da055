"""A made-up table from releases one already has: the fit of a shared table, at no further price."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.session.encoding import columns
from sordino.session.release import Release
from sordino.share.cells import nearest_law
from sordino.share.fitting import DrawnMarginal, fitted, merged
from sordino.share.junction_tree import Clique, JunctionTree, TreeLaw
from sordino.share.sampling import sampled
from sordino.summaries import Refused

__all__ = ["synthesize"]

MOST = 10_000_000
CELLS = 2_000_000  # of the model
STEPS = 1_000
SEED = 0
Z = NormalDist().inv_cdf(0.975)
Cell = tuple[Any, ...]


def synthesize(*counts: Release, rows: int | None = None) -> dict[str, list[Any]]:
    """Rows of nobody that agree with released counts and histograms; a dict of columns, ready for any frame.

    All of them are used, in any order: the law of most entropy whose groups are in the proportions the releases say, each weighed by its
    own noise, is fitted and rows are sampled from it. What no release shows together is as independent as the others allow.

    Theorem. The table is as private as the releases together, and misses the proportions of the fitted law by less than one row in every
    group of a clique, given the columns it shares with the one before.
    Proof. It is a function of released values alone: the remainders of rounding are dealt out by a public seed. See `sampled`. QED
    """
    if not counts:
        raise QueryError("SRD-208", "there is nothing to make a table from.", "Give at least one grouped count, as release() returned it.")
    tallies = [_tally(release) for release in counts]
    total = round(max(sum(cells.values()) for _, cells, _ in tallies)) if rows is None else rows
    if isinstance(total, bool) or not isinstance(total, int) or not 0 <= total <= MOST:
        raise QueryError("SRD-103", f"rows is {rows!r}.", f"Give a whole number of at most {MOST:,}, or leave it out.")
    names = list(dict.fromkeys(name for own, _, _ in tallies for name in own))
    values: dict[str, dict[Any, int]] = {name: {} for name in names}
    for own, cells, _ in tallies:
        for cell in cells:
            for name, value in zip(own, cell, strict=True):
                values[name].setdefault(value, len(values[name]))
    law = _law(tallies, names, values)
    codes = sampled(law, total, SEED) if total else np.zeros((0, len(names)), np.int64)
    known = {name: list(found) for name, found in values.items()}
    return {name: [known[name][code] for code in codes[:, i].tolist()] for i, name in enumerate(names)}


Tally = tuple[tuple[str, ...], dict[Cell, float], float]


def _law(tallies: Sequence[Tally], names: list[str], values: dict[str, dict[Any, int]]) -> TreeLaw:
    """The fitted law. Releases of the same columns are averaged; each counts in proportions, as filters and keys leave rows out."""
    sizes = tuple(len(values[name]) for name in names)
    whole = max(*(sum(cells.values()) for _, cells, _ in tallies), 1.0)
    measured = []
    for own, cells, sigma in tallies:
        clique: Clique = tuple(sorted(names.index(name) for name in own))
        table = np.zeros([sizes[i] for i in clique])
        place = [own.index(names[i]) for i in clique]
        for cell, count in cells.items():
            table[tuple(values[own[p]][cell[p]] for p in place)] = count
        scale = whole / max(sum(cells.values()), 1.0)
        measured.append(DrawnMarginal(clique, table * scale, np.array((sigma * scale) ** 2)))
    together = merged(measured)
    for one in together:  # what noise made negative is empty
        one.values[...] = nearest_law(one.values.ravel()).reshape(one.values.shape) * whole
    tree = JunctionTree.of(sizes, [one.columns for one in together])
    if tree.cells > CELLS:
        what = f"these counts together need a model of {tree.cells:,} cells."
        raise QueryError("SRD-208", what, f"Give counts that share fewer columns, for at most {CELLS:,}.")
    if len(together) == 1 and len(tree.cliques) == 1:
        flat = together[0].values / whole
        return TreeLaw(tree, (flat.reshape(tree.shape(tree.cliques[0])),))
    return fitted(tree, together, whole, STEPS).law


def _tally(release: Release) -> Tally:
    """The columns, the count of every group and the standard deviation of its noise; of a count by group or a histogram."""
    name = release.names[0] if len(release.names) == 1 else ""
    shape = release.shapes.get(name, {})
    table = columns(release) if name else {}
    if "cells" in shape and _question(release, name).get("statistic") == "histogram":
        binned = _question(release, name)["column"]
        keys = {(binned if key == shape["cells"] else key): cells for key, cells in table.items() if key in (*release.keys, shape["cells"])}
        count = shape["count"]
    else:
        keys, count = dict(release.keys), name
    found = table.get(count, [])
    if not keys or not found or not all(isinstance(value, int | float | Refused) for value in found):
        fix = "Give what group_by(...).count().release(...) or histogram(...).release(...) returned."
        raise QueryError("SRD-105", "this release is not a count by group.", fix)
    sizes = [0.0 if isinstance(value, Refused) else float(value) for value in found]
    ends = zip(table.get(f"{count}_low", []), table.get(f"{count}_high", []), strict=False)
    halves = [(high - low) / 2 for low, high in ends if low is not None and high is not None]
    sigma = max(float(np.median(halves)), 0.5) / Z if halves else 1.0
    groups = zip(*keys.values(), strict=True)
    cells = dict(zip(groups, sizes, strict=True))
    return tuple(keys), {cell: max(size, 0.0) if math.isfinite(size) else 0.0 for cell, size in cells.items()}, sigma


def _question(release: Release, name: str) -> dict[str, Any]:
    said = release.card.get("question", {}).get("statistics", {})
    found: dict[str, Any] = said.get(name) or next(iter(said.values()), {}) if isinstance(said, dict) else {}
    return found
