"""The tables of bench/share.py as codes, and what is measured on every table that was made from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
TARGETS = {"randhie": ("mdvis", 2), "fair": ("affairs", 1), "anes96": ("vote", 1), "generated": ("c0", 1)}
MOST = 10  # codes of a column


@dataclass(frozen=True, eq=False)
class Coded:
    """A table in codes, the 80% of its rows that are shared, and the 20% that judge."""

    name: str
    columns: tuple[str, ...]
    codes: Array

    @property
    def sizes(self) -> tuple[int, ...]:
        return tuple((self.codes.max(axis=0) + 1).tolist())

    @cached_property
    def _order(self) -> Array:
        return np.random.default_rng(0).permutation(len(self.codes))

    @property
    def train(self) -> Array:
        return self.codes[self._order[: int(0.8 * len(self.codes))]]

    @property
    def test(self) -> Array:
        return self.codes[self._order[int(0.8 * len(self.codes)) :]]

    @property
    def target(self) -> tuple[int, int]:
        """The place of the column to predict, and the least code that counts as yes."""
        name, least = TARGETS[self.name]
        return (self.columns.index(name) if name in self.columns else 0), least

    def figures(self, made: Array) -> dict[str, float | None]:
        """How far a made table is off, and what a model trained on it is worth."""
        apart: dict[str, float | None] = {f"tv{k}": variation(self.train, made, self.sizes, k) for k in (1, 2, 3)}
        return apart | {"auc": auc(made, self.test, *self.target)}


def tables() -> dict[str, Coded]:
    from statsmodels.datasets import anes96, fair, randhie

    found = {name: data.load_pandas().data for name, data in (("randhie", randhie), ("fair", fair), ("anes96", anes96))}
    known = {**{name: {c: frame[c].to_numpy(float) for c in frame} for name, frame in found.items()}, "generated": generated()}
    return {name: coded(name, columns) for name, columns in known.items()}


def coded(name: str, columns: dict[str, Array], most: int = MOST) -> Coded:
    """Every column as codes: its values, or intervals that hold similar numbers of rows."""
    out = []
    for values in columns.values():
        found = np.unique(values)
        if len(found) > most:
            edges = np.unique(np.quantile(values, np.linspace(0, 1, most + 1)[1:-1]))
            out.append(np.unique(np.searchsorted(edges, values, side="right"), return_inverse=True)[1])
        else:
            out.append(np.searchsorted(found, values))
    return Coded(name, tuple(columns), np.column_stack(out).astype(np.int64))


def generated(rows: int = 40_000, columns: int = 14, seed: int = 1) -> dict[str, Array]:
    """Columns of 2 to 12 values with three hidden causes and a few triples that no pair shows."""
    rng = np.random.default_rng(seed)
    causes = rng.normal(size=(rows, 3))
    out: dict[str, Array] = {}
    for i in range(columns):
        size = int(rng.integers(2, 13))
        mixed = causes @ rng.normal(0, 1, 3) + rng.normal(0, 0.7, rows)
        out[f"c{i}"] = np.minimum((size * (mixed.argsort().argsort() / rows) ** rng.uniform(0.7, 1.6)).astype(int), size - 1)
    out["c0"] = ((out["c1"] + out["c2"] + (rng.random(rows) < 0.1)) % 2).astype(int)
    return out


def marginal(codes: Array, clique: tuple[int, ...], sizes: tuple[int, ...]) -> Array:
    shape = [sizes[i] for i in clique]
    flat = np.ravel_multi_index([codes[:, i] for i in clique], shape)
    return np.bincount(flat, minlength=int(np.prod(shape))) / max(len(codes), 1)


def variation(one: Array, other: Array, sizes: tuple[int, ...], size: int) -> float:
    cliques = combinations(range(len(sizes)), size)
    return float(np.mean([np.abs(marginal(one, c, sizes) - marginal(other, c, sizes)).sum() / 2 for c in cliques]))


def auc(train: Array, test: Array, place: int, least: int) -> float | None:
    """Gradient boosting trained on one table and judged by another."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score

    x, x_test = (np.delete(rows, place, axis=1) for rows in (train, test))
    y, y_test = ((rows[:, place] >= least).astype(int) for rows in (train, test))
    if len(set(y)) < 2 or len(set(y_test)) < 2:
        return None
    return float(roc_auc_score(y_test, HistGradientBoostingClassifier(random_state=0).fit(x, y).predict_proba(x_test)[:, 1]))


def covered(shared: Any, train: Array, level: int) -> float:
    """How often the report's bars hold the true total variation of the file, over all sets of so many columns."""
    cells = [np.array(joined.cells) for joined in shared._joined]
    sizes = tuple(joined.size for joined in shared._joined)
    real = np.column_stack([cells[i][train[:, i]] for i in range(train.shape[1])])
    hits = []
    for names, bar in shared.errors.items():
        clique = tuple(shared.columns.index(name) for name in names)
        if len(clique) == level:
            truth = np.abs(marginal(real, clique, sizes) - marginal(shared.codes, clique, sizes)).sum() / 2
            hits.append(bar.low <= truth <= bar.high)
    return float(np.mean(hits)) if hits else float("nan")
