"""Attacks on a shared table: the ceiling of all of them, two that try to reach it, and why closeness to real rows proves nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sordino.errors import QueryError
from sordino.lab.report import as_json, say
from sordino.lab.tracing import Trace
from sordino.share.schedule import FINE

__all__ = ["Ceiling", "Closeness", "closest_record", "density_ratio", "shadow", "share_ceiling"]

Codes = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Ceiling:
    """How well anybody could tell from the drawn counts whether one person is in the table, who knows everybody else."""

    mu: float
    measured: int

    @property
    def auc(self) -> float:
        return NormalDist().cdf(self.mu / math.sqrt(2))

    def __repr__(self) -> str:
        best = f"AUC {self.auc:.3f} at best from {self.measured} measured marginals and the report (guessing: 0.500)"
        return say([f"membership: {best}", f"  the likelihood ratio is normal with mu {self.mu:.3f}; choices are not counted"])

    def to_json(self) -> str:
        return as_json(self, auc=self.auc)


def share_ceiling(shared: Any) -> Ceiling:
    r"""The likelihood-ratio attack on the drawn numbers of a shared table, in closed form.

    Theorem. For a person with one row whose every neighbour is known, the log-likelihood ratio of the drawn counts is N(+-mu^2/2, mu^2)
    with mu^2 = sum 1/sigma_i^2 over the marginals and at most K/sigma_e^2 for K reported distances; no test on them, and so none on the
    table, which follows from them, has a larger AUC than Phi(mu/sqrt 2).
    Proof. Neyman and Pearson: the ratio of two Gaussians shifted by one in one cell of each marginal; a distance moves by at most one. QED
    """
    record = shared.record
    scales, parts = record["scales"], record["parts"]
    columns, chosen, reported = len(record["first"]), len(record["chosen"]), len(record["distances"])
    squares = columns * (parts / scales["first"]) ** 2 + chosen * (parts / scales["measured"]) ** 2
    squares += reported * (parts * FINE / scales["report"]) ** 2 if reported else 0.0
    return Ceiling(math.sqrt(squares), columns + chosen)


def density_ratio(made: ArrayLike, members: ArrayLike, strangers: ArrayLike, reference: ArrayLike) -> Trace:
    """Is a row denser in the shared table than among people of its kind? The mean log ratio over all pairs of columns, of codes.

    `members` were in the private table, `strangers` and `reference` are others of the same population. (Breugel and others 2023.)
    """
    tables = [np.asarray(rows, np.int64) for rows in (made, members, strangers, reference)]
    if any(rows.ndim != 2 or rows.shape[1] != tables[0].shape[1] or not len(rows) for rows in tables):
        raise QueryError("SRD-103", "the tables do not have the same columns.", "Give four matrices of codes with the same columns.")
    sizes = np.max([rows.max(axis=0) for rows in tables], axis=0) + 1
    score = [np.zeros(len(tables[1])), np.zeros(len(tables[2]))]
    for i, j in combinations(range(tables[0].shape[1]), 2):
        cells = [rows[:, i] * sizes[j] + rows[:, j] for rows in tables]
        here, there = ((np.bincount(cells[k], minlength=sizes[i] * sizes[j]) + 1) / (len(cells[k]) + 1) for k in (0, 3))
        ratio = np.log(here) - np.log(there)
        score[0] += ratio[cells[1]]
        score[1] += ratio[cells[2]]
    return Trace(tables[0].shape[1], tuple(score[0].tolist()), tuple(score[1].tolist()))


def shadow(make: Callable[[Codes], ArrayLike], rows: ArrayLike, outlier: ArrayLike, *, tables: int = 100) -> Trace:
    """Shared tables made with and without a planted outlier, told apart by how many of their rows look like it, pair by pair.

    `make(rows)` makes one shared table of codes from private codes. Scores of tables with the outlier are the members'.
    """
    if isinstance(tables, bool) or not isinstance(tables, int) or tables < 2:
        raise QueryError("SRD-103", f"tables is {tables!r}.", "Give at least 2 shadow tables of each kind.")
    private, one = np.asarray(rows, np.int64), np.asarray(outlier, np.int64)
    pairs = list(combinations(range(len(one)), 2))

    def score(held: Codes) -> float:
        made = np.asarray(make(held), np.int64)
        same = made == one
        return float(sum((same[:, i] & same[:, j]).sum() for i, j in pairs))

    inside = [score(np.concatenate([private, one[None]])) for _ in range(tables)]
    outside = [score(private) for _ in range(tables)]
    return Trace(len(pairs), tuple(inside), tuple(outside))


@dataclass(frozen=True, repr=False)
class Closeness:
    """Distances to the closest real row, of a made-up table and of fresh real rows: what people print as evidence, and it is none."""

    made: float
    fresh: float
    exposed: bool

    @property
    def passes(self) -> bool:
        """What the usual reading would say: made-up rows are no closer to the private ones than strangers are."""
        return self.made >= self.fresh

    def __repr__(self) -> str:
        reading = "passes" if self.passes else "fails"
        truth = "and holds a private row as it was" if self.exposed else "and holds no copy of the outlier"
        return say(
            [f"distance to the closest record: median {self.made:.3g}, of strangers {self.fresh:.3g}: the table {reading}", f"  {truth}"]
        )

    def to_json(self) -> str:
        return as_json(self, passes=self.passes)


def closest_record(made: ArrayLike, private: ArrayLike, strangers: ArrayLike, outlier: ArrayLike) -> Closeness:
    """The median number of differing columns to the closest private row, of made-up rows and of strangers; and is the outlier there?

    A table whose rows are all shuffled but for one outlier that stays as it is passes, and exposes the outlier. So no claim rests on it.
    """
    table, real, others, one = (np.asarray(rows, np.int64) for rows in (made, private, strangers, outlier))

    def closest(rows: Codes) -> float:
        return float(np.median([(row != real).sum(axis=1).min() for row in rows[:500]]))

    return Closeness(closest(table), closest(others), bool((table == one).all(axis=1).any()))
