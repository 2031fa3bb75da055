"""One consistent set of numbers out of counts that overlap: post-processing, at no price."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError, builds
from sordino.session.card import Card
from sordino.session.improvement import drawn_noise
from sordino.statistics.linear_noise import sum_radius
from sordino.statistics.port import LEVEL

if TYPE_CHECKING:
    from sordino.session.release import Release

__all__ = ["reconcile"]

Floats = NDArray[np.float64]
MOST_CELLS = 4_000  # of the table that all groupings together make
MOST_NUMBERS = 4_000


@dataclass(frozen=True)
class _Counts:
    """One release of counts: its groups, its numbers, and the law of their noise."""

    release: Release
    scale: float
    gaussian: bool

    @property
    def by(self) -> tuple[str, ...]:
        return tuple(self.release.keys)

    @property
    def groups(self) -> list[tuple[Any, ...]]:
        return list(zip(*self.release.keys.values(), strict=True)) if self.release.keys else [()]

    @property
    def deviation(self) -> float:
        return self.scale * (1 if self.gaussian else math.sqrt(2))


@builds
def reconcile(*releases: Release, level: float = LEVEL) -> list[Release]:
    r"""One consistent set of numbers out of overlapping counts of the same rows, as releases in the same order; free.

    Theorem. Let the counts be y = A x + noise for the cells x of all their groups together. The weighted least squares of y, A x^, is the
    linear unbiased estimate of least variance, and each of its numbers is a public weighted sum of the drawn ones.
    Proof. Gauss and Markov; A x^ = P y for the projection P onto the columns of A in the metric of the noise's variances. QED
    The intervals are those of that weighted sum of public noises. It assumes that every row has one of the listed keys, and that limits
    per person cut no rows: otherwise the counts are not about the same rows. Nothing is made non-negative.
    """
    held = [_read(release) for release in releases]
    if len(held) < 2:
        fix = "Give at least two counts of the same rows, such as by a, and by a and b."
        raise QueryError("SRD-103", "there is nothing to reconcile.", fix)
    _same_rows(releases)
    names = list(dict.fromkeys(name for item in held for name in item.by))
    keys = {name: _keys(held, name) for name in names}
    cells = math.prod(len(listed) for listed in keys.values())
    numbers = sum(len(item.groups) for item in held)
    if cells > MOST_CELLS or numbers > MOST_NUMBERS:
        what = f"these counts make {cells:,} cells and {numbers:,} numbers."
        raise QueryError("SRD-207", what, f"Reconcile at most {MOST_CELLS:,} cells and {MOST_NUMBERS:,} numbers at a time.")
    design = np.vstack([_design(item, names, keys) for item in held])
    deviations = np.concatenate([np.full(len(item.groups), item.deviation) for item in held])
    drawn = np.concatenate([np.array(item.release.answers[item.release.names[0]], float) for item in held])
    left, sizes, _ = np.linalg.svd(design / deviations[:, None], full_matrices=False)
    left = left[:, sizes > sizes.max() * 1e-9]
    projection = (left @ left.T) * deviations[:, None] / deviations[None, :]
    value = projection @ drawn
    laplace = np.concatenate([np.full(len(item.groups), 0.0 if item.gaussian else item.scale) for item in held])
    normal = np.concatenate([np.full(len(item.groups), item.scale if item.gaussian else 0.0) for item in held])
    far = np.array([sum_radius(row * laplace, float(np.linalg.norm(row * normal)), level) for row in projection])
    out, start = [], 0
    for item in held:
        stop = start + len(item.groups)
        out.append(_shown(item.release, value[start:stop], far[start:stop], releases, level))
        start = stop
    return out


def _read(release: Any) -> _Counts:
    query = getattr(release, "query", None)
    query = query if hasattr(query, "asked") else None
    kind = None if query is None else [item.question()["statistic"] for item in query.asked.statistics.values()]
    noise = drawn_noise(query, release) if query is not None and kind in (["count"], ["count_units"]) else None
    if noise is None:
        what = "only counts of rows by public keys are reconciled, each asked alone."
        raise QueryError("SRD-105", what, "Release table.count() and table.group_by(...).count() and give those.")
    return _Counts(release, noise.scale, noise.gaussian)


def _same_rows(releases: Sequence[Release]) -> None:
    """Counts of other tables, of other rows, or of people beside rows, say nothing about each other."""
    said = [{key: release.card["question"][key] for key in ("table", "where", "unit")} for release in releases]
    kinds = [{said["statistic"] for said in release.card["question"]["statistics"].values()} for release in releases]
    names = [(release.card.get("dataset"), release.card.get("version")) for release in releases]
    if any(other != said[0] for other in said) or any(kind != kinds[0] for kind in kinds) or len(set(names)) > 1:
        raise QueryError("SRD-105", "these answers are about different rows.", "Reconcile counts of one table under one condition.")


def _keys(held: Sequence[_Counts], name: str) -> list[Any]:
    listed = [list(dict.fromkeys(item.release.keys[name])) for item in held if name in item.by]
    if any(other != listed[0] for other in listed):
        raise QueryError("SRD-105", f"the keys of {name!r} differ.", "Reconcile answers with the same public keys.")
    return listed[0]


def _design(item: _Counts, names: Sequence[str], keys: dict[str, list[Any]]) -> Floats:
    """Which cells each number counts: a product over the columns of a choice, or of everything."""
    rows = np.ones((len(item.groups), 1))
    for name in names:
        if name in item.by:
            place = item.by.index(name)
            part = np.array([[float(group[place] == key) for key in keys[name]] for group in item.groups])
        else:
            part = np.ones((len(item.groups), len(keys[name])))
        rows = (rows[:, :, None] * part[:, None, :]).reshape(len(rows), -1)
    return rows


def _shown(release: Release, value: Floats, far: Floats, all_of_them: Sequence[Release], level: float) -> Release:
    name = release.names[0]
    answers = {name: value.tolist(), f"{name}_low": (value - far).tolist(), f"{name}_high": (value + far).tolist()}
    card = Card(release.card)
    done = f"made consistent with {', '.join(other.id for other in all_of_them if other is not release)} by weighted least squares"
    card["post-processing"] = [*card.get("post-processing", []), done]
    return replace(release, answers=answers, card=card, raw={}, sealed=None, level=level)
