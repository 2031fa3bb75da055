"""Numbers computed from released ones: rates, differences, rounding, groups above a threshold. Free, with intervals carried through.

Intervals of formulas of released numbers, by simulation from the public laws of their noise. No data, no price.

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
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError, SordinoError
from sordino.plan.arrangement import NoNumber, array_value, column_array, divisors, over_columns
from sordino.plan.formula import Formula, inputs, parse_formula, span, value, windows
from sordino.schema.column import shown
from sordino.session.card import Card
from sordino.session.noise_weight import NoiseWeight, step_noise
from sordino.statistics import count, count_distinct, count_units
from sordino.statistics import sum as total
from sordino.statistics.row_count import Present, PresentUnits

if TYPE_CHECKING:
    from sordino.session.release import Release

__all__ = ["DRAWS", "again", "derived", "presented", "simulated_ends"]

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
    if len(laws) < len(used) or not all(_finite(release.answers[name][row]) for name in used for row in kept):
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
    plain = {name: column_array(cells) for name, cells in keys.items() if looks or all(_finite(cell) or cell is None for cell in cells)}
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
        if law is not None and all(_finite(a) and _finite(b) for a, b in zip(low, high, strict=True)):
            far = step.width(None, release.level)
            if all(law.spans(b - a, far) for a, b in zip(low, high, strict=True)):
                return query.labels.canonical[name], law
    return None


def _finite(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool) and math.isfinite(x)


ADDED = (
    type(count()),
    type(count_units()),
    type(count_distinct("x")),
    type(total("x")),
    Present,
    PresentUnits,
)  # answers that are a number plus noise


def derived(release: Release, texts: Mapping[str, str]) -> Release:
    """The release with further answers, computed from its own."""
    if not texts:
        raise QueryError("SRD-208", "derive computes nothing.", 'Name what it computes: derive(rate="s / n").')
    taken = {*release.keys, *(name + end for name in release.names for end in ("", "_low", "_high"))}
    formulas: list[tuple[str, Formula | None]] = [(name, None) for name in release.names]
    for name, text in texts.items():
        if {name, f"{name}_low", f"{name}_high"} & taken:
            raise QueryError("SRD-208", f"two columns of the answer would be called {shown(name)}.", "Give the new one another name.")
        formulas.append((name, parse_formula(text, [*release.names, *release.keys])))
    return _computed(release, formulas, texts)


def presented(release: Release) -> Release:
    """A release as the statement that asked for it shows it: its formulas in the place of the aggregates they are made of."""
    arrangement = release.arrangement
    assert arrangement is not None
    texts = {name: arrangement.said.get(name, name) for name, formula in arrangement.formulas if formula is not None}
    made = _computed(release, list(arrangement.formulas), texts)
    return replace(made, arrangement=replace(arrangement, formulas=(), hidden=_hidden(release, made)))


def again(release: Release, level: float) -> Release:
    """The same numbers, computed again from intervals at another level."""
    assert release.base is not None
    said = {text.partition(" = ")[0]: text.partition(" = ")[2] for text in release.card.get("post-processing", [])}
    made = _computed(release.base.at(level), list(release.formulas), said)
    return replace(made, arrangement=release.arrangement)


def _hidden(release: Release, made: Release) -> tuple[str, ...]:
    return tuple(name for name in release.names if name not in made.names)


def _computed(release: Release, formulas: list[tuple[str, Formula | None]], texts: Mapping[str, str]) -> Release:
    rows = len(next(iter(release.answers.values()), []))
    answers: dict[str, list[Any]] = {}
    kept: list[str] = []
    sure: dict[tuple[str, int], list[tuple[Any, Any] | None]] = {}
    simulated: list[str] = []
    open_ended: list[str] = []
    places = list(range(rows)) if release.arrangement is None else release.arrangement.kept({**release.keys, **release.answers}, rows)
    for name, asked in formulas:
        kept.append(name)
        if asked is None:
            answers |= {name + end: release.answers[name + end] for end in ("", "_low", "_high") if name + end in release.answers}
            continue
        used = [item for item in inputs(asked) if item in release.names]
        drawn = simulated_ends(release, asked, places)
        formula, looked = over_columns(asked, {**release.keys, **{item: release.answers[item] for item in used}}, places)
        sure |= {(item, len(used)): _surer(release, item, len(used)) for item in used if (item, len(used)) not in sure}
        cells = {**release.keys, **looked, **{item: release.answers[item] for item in used}}
        answers[name] = [value(formula, {item: column[row] for item, column in cells.items()}) for row in range(rows)]
        fixed = {item: [(cell, cell) for cell in column] for item, column in release.keys.items()}
        moving: dict[str, Any] = {**fixed, **{item: sure[item, len(used)] for item in used}}
        spans = [span(formula, {item: column[row] for item, column in moving.items()}) for row in range(rows)]
        ends = [(drawn and drawn[row]) or spans[row] or (None, None) for row in range(rows)]
        simulated += [name] if drawn and any(drawn) else []
        open_ended += [name] if drawn and divisors(asked) and any(ends[row][0] is None for row in places) else []
        answers |= {f"{name}_low": [low for low, _ in ends], f"{name}_high": [high for _, high in ends]}
    unused = {name + end: release.answers[name + end] for name in release.names for end in ("", "_low", "_high")
              if name not in kept and name + end in release.answers}  # fmt: skip
    made = [name for name, formula in formulas if formula is not None]
    card = Card(release.card)
    card["post-processing"] = [*card.get("post-processing", []), *(f"{name} = {texts.get(name, name)}" for name in made)]
    if open_ended:
        card["without interval"] = {**card.get("without interval", {}), **dict.fromkeys(open_ended, "what it divides by may be zero")}
    if simulated:
        card["simulated"] = {"of": [*card.get("simulated", {}).get("of", []), *simulated], "draws": DRAWS}
    bounded = made and any(end is not None for name in made for end in answers[f"{name}_low"])
    bar = release.bar if len(made) < len(formulas) else "bound" if bounded else "none"
    return replace(release, answers={**answers, **unused}, names=tuple(kept), card=card, bar=bar, base=release, formulas=tuple(formulas))


def _surer(release: Release, name: str, count: int) -> list[tuple[Any, Any] | None]:
    """The intervals of one answer, so sure that those of `count` inputs hold together at the release's level; None where none is known.

    Theorem. Where noise is added whose density is log-concave and symmetric, an interval of half-width w at 1 - a holds at 1 - a / k with
    half-width w (1 + ln k / ln(1 / a)).
    Proof. ln P(|X| > t) is concave in t and 0 at 0, so P(|X| > c w) <= P(|X| > w)^c <= a^c for c >= 1, which is a / k at this c. For
    whole numbers it is 0 at -1, so the half-width is c (w + 1) - 1. QED
    """
    rows = len(release.answers[name])
    ends = [(release.answers.get(name + end) or [None] * rows) for end in ("_low", "_high")]
    known = [(low, high) if _number(low) and _number(high) else None for low, high in zip(*ends, strict=True)]
    if count <= 1 or not any(known):
        return known
    try:
        found = release.at(1 - (1 - release.level) / count).answers
        return [(found[f"{name}_low"][row], found[f"{name}_high"][row]) if known[row] else None for row in range(rows)]
    except SordinoError:
        pass
    statistic = None if release.query is None else release.query.asked.statistics.get(name)
    if not isinstance(statistic, ADDED):
        return [None] * rows
    far = 1 + math.log(count) / -math.log(1 - release.level)
    centres = release.answers[name]
    return [pair and _wider(c, pair, far) for c, pair in zip(centres, known, strict=True)]


def _wider(centre: Any, ends: tuple[Any, Any], far: float) -> tuple[Any, Any]:
    if isinstance(centre, int):
        return centre - math.ceil(far * (centre - ends[0] + 1) - 1), centre + math.ceil(far * (ends[1] - centre + 1) - 1)
    return centre - far * (centre - ends[0]), centre + far * (ends[1] - centre)


def _number(x: Any) -> bool:
    return isinstance(x, int | float) and not isinstance(x, bool)
