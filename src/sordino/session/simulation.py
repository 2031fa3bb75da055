r"""Intervals of formulas of released numbers, by simulation from the public laws of their noise. No data, no price.

An answer is T = theta + X: the number the bounded rows have, and noise X of a public law. The interval of f(theta_1, ..., theta_k) is
made of percentiles of f(T_1 - X_1', ..., T_k - X_k') for fresh draws X' of these laws, one for each answer however often the formula
names it.

Theorem. If {theta : f(theta) <= c} is a half-space for every c, as for sums, differences and ratios whose divisor cannot be zero, the
interval covers f(theta) with its level, up to the error of percentiles of so many draws.
Proof. f(T - X') <= f(theta) says a . (T - X' - theta) <= 0 for the normal a of the half-space at c = f(theta), that is a . X <= a . X'.
Its chance over X' is the distribution function of the law of a . X at a . X, which is uniform over X (at least as spread, where it has
atoms, because both ends are taken outwards). QED
For other smooth formulas it holds to first order in the noise. A formula whose divisor, argument of a logarithm or of a root changes its
sign or vanishes in some of the draws has no such interval, and gets that of interval arithmetic, which says nothing there.
The percentiles are order statistics two standard errors farther out, so that the draws' own error is on the safe side.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sordino.plan.formula import Formula, inputs, windows
from sordino.plan.formula_array import NoNumber, array_value, divisors
from sordino.plan.over_columns import column_array
from sordino.session.noise_weight import NoiseWeight, step_noise

if TYPE_CHECKING:
    from sordino.session.release import Release

__all__ = ["DRAWS", "simulated_ends"]

DRAWS = 10_000
SEED = b"intervals of formulas: "  # public: the same release has the same intervals everywhere
FARTHEST = 0.995  # levels beyond it would rest on a handful of draws
MOST_ROWS, MOST_WINDOW_ROWS, AT_ONCE = 3_000, 300, 64
Floats = NDArray[np.float64]
Laws = dict[str, tuple[str, NoiseWeight]]  # by answer: which draw it is, and of which law


def simulated_ends(release: Release, formula: Formula, kept: list[int]) -> list[tuple[Any, Any] | None] | None:
    """The intervals of a formula in every row, at the release's level; None where the laws of its inputs are not known."""
    used, most = [name for name in inputs(formula) if name in release.names], MOST_WINDOW_ROWS if windows(formula) else MOST_ROWS
    rows = len(next(iter(release.answers.values()), []))
    if not used or not kept or release.level > FARTHEST or len(kept) > most:
        return None
    laws = {name: law for name in used if (law := _law(release, name)) is not None}
    if len(laws) < len(used) or not all(_number(release.answers[name][row]) for name in used for row in kept):
        return None
    try:
        found = _ends(formula, release, kept, laws)
    except NoNumber:
        return None
    ends: list[tuple[Any, Any] | None] = [None] * rows
    for row, pair in zip(kept, found, strict=True):
        ends[row] = pair
    return ends


def _ends(formula: Formula, release: Release, kept: list[int], laws: Laws) -> list[tuple[Any, Any] | None]:
    looks, rows = bool(windows(formula)), len(kept)
    size = rows if looks else AT_ONCE
    keys = {name: [values[row] for row in kept] for name, values in release.keys.items()}
    plain = {name: column_array(cells) for name, cells in keys.items() if looks or all(_number(cell) or cell is None for cell in cells)}
    drawn = {name: column_array([release.answers[name][row] for row in kept]) for name in laws}
    noise = {key: law.draws(SEED + key.encode(), (rows if looks else 1, DRAWS)) for key, law in dict(laws.values()).items()}
    divided = divisors(formula)
    found: list[tuple[Any, Any] | None] = []
    for start in range(0, rows, size):
        here = slice(start, start + size)
        cells = {name: array[here] for name, array in plain.items()}
        cells |= {name: array[here] - noise[laws[name][0]] for name, array in drawn.items()}
        made = np.broadcast_to(array_value(formula, cells), (min(size, rows - start), DRAWS))
        sure = np.asarray(~np.isnan(made).any(axis=1))
        for item in divided:
            below = np.broadcast_to(array_value(item, cells), made.shape)
            sure = sure & ((below > 0).all(axis=1) | (below < 0).all(axis=1))
        low, high = _percentiles(made, release.level)
        found += [(a, b) if sure[place] else None for place, (a, b) in enumerate(zip(low.tolist(), high.tolist(), strict=True))]
    return found


def _percentiles(made: Floats, level: float) -> tuple[Floats, Floats]:
    out = DRAWS * (1 - level) / 2
    place = max(0, math.floor(out - 2 * math.sqrt(out)))
    ordered = np.partition(made, (place, DRAWS - 1 - place), axis=1)
    return ordered[:, place], ordered[:, DRAWS - 1 - place]


def _law(release: Release, name: str) -> tuple[str, NoiseWeight] | None:
    """Which draw an answer is, and its law; None where it is not a number plus noise, or was drawn otherwise than now."""
    query = release.query
    if query is None or name not in query.labels.canonical or any(query.asked.columns[by].keys is None for by in query.asked.by):
        return None  # which groups there are was drawn with private keys, and their counts with it
    low, high = (release.answers.get(name + end, [None]) for end in ("_low", "_high"))
    for step in query.steps_of(release, name):
        law = step_noise(step)
        if law is not None and all(_number(a) and _number(b) for a, b in zip(low, high, strict=True)):
            far = step.width(None, release.level)
            if all(law.spans(b - a, far) for a, b in zip(low, high, strict=True)):
                return query.labels.canonical[name], law
    return None


def _number(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool) and math.isfinite(x)
