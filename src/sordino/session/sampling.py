"""The error of an answer as an estimate of a population: that of the noise and that of sampling, from released numbers alone.

Made-up rows of one column that answer as an engine would, and the population they are drawn from: both from released numbers alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.noise import draw
from sordino.privacy.families import GaussianLaw
from sordino.schema.column import Grid
from sordino.statistics import iqr, quantiles, std
from sordino.statistics.column_mean import Mean
from sordino.statistics.column_quantile import Quantile, Quantiles
from sordino.statistics.port import grid_of
from sordino.statistics.regression import Regression
from sordino.statistics.row_count import Count
from sordino.summaries.array_table import ArrayColumn, ArrayTable
from sordino.summaries.totals import Item

if TYPE_CHECKING:
    from sordino.session.release import Release

__all__ = ["Population", "sample", "simulated", "total"]

Floats = NDArray[np.float64]
Steps = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Population:
    """A law whose quantiles are a polygon in normal scores: through two of them it is normal, through more it bends where they do."""

    scores: tuple[float, ...]
    values: tuple[float, ...]

    @classmethod
    def through(cls, levels: Sequence[float], values: Sequence[float]) -> Population:
        from scipy.special import ndtri

        return cls(tuple(float(ndtri(level)) for level in levels), tuple(float(value) for value in values))

    def at(self, scores: Floats) -> Floats:
        """The values at normal scores, straight on beyond the first and the last known one."""
        known, values = np.array(self.scores), np.array(self.values)
        rise = np.diff(values) / np.diff(known)
        piece = np.clip(np.searchsorted(known, scores) - 1, 0, len(rise) - 1)
        return np.asarray(values[piece] + rise[piece] * (scores - known[piece]))

    def even(self, rows: int) -> Floats:
        """That many rows, one in the middle of each of as many equally likely stretches."""
        from scipy.special import ndtri

        return self.at(ndtri((np.arange(rows) + 0.5) / rows))


def sample(column: str, grid: Grid, x: Floats) -> ArrayTable:
    """One column without groups."""
    low, high = float(grid.low * grid.step), float(grid.high * grid.step)
    whole = np.floor(np.clip(x, low, high) / float(grid.step)).astype(np.int64) - grid.low
    rows = ArrayColumn.of(grid.width, [np.clip(whole, 0, grid.width)])
    return ArrayTable(columns={column: rows}, counts={Item("rows"): [len(x)], Item("units"): [len(x)]})


TRUTH = Fraction(10**6)  # at this price an answer is that of the rows
REPEATS, SAMPLES = 200, 100  # simulated answers about one table, and simulated samples
FEW, MANY = 1_000, 20_000  # rows of a simulated sample; rows the noise is simulated on
FINE = 2**30
NORMAL = 1.349  # quartile distance of a normal law, in standard deviations
QUARTILES = (0.25, 0.5, 0.75)


def total(release: Release, level: float) -> tuple[Any, Any]:
    """The answer less all but the (1 - level)/2 extreme errors on either side; see `simulated` for what that covers."""
    asked = None if release.query is None else release.query.asked.statistics.get(release.names[0])
    if isinstance(asked, Regression) and asked.method == "objective":
        raise QueryError(
            "SRD-105", "this regression is a point without an interval.", "Ask without method= for coefficients with intervals."
        )
    if isinstance(asked, Regression) and len(release.names) == 1 and not release.grouped and asked.loss != "huber":
        found: tuple[Any, Any] = release.query.interval(release, level, population=True)
        return found
    errors, (least, most) = release.errors
    tail = (1 - level) / 2
    safe = max(tail - 1.645 * math.sqrt(tail * (1 - tail) / REPEATS), tail / 8)  # a quantile of that many draws errs by as much
    value = np.array(release.value, float)
    low, high = (np.clip(value - np.quantile(errors, end, axis=0), least, most) for end in (1 - safe, safe))
    return (tuple(low.tolist()), tuple(high.tolist())) if value.ndim else (float(low[0]), float(high[0]))


def simulated(release: Release) -> tuple[Floats, tuple[float, float]]:
    r"""Errors of an answer against what its rows are a sample of, and the public ends of the answer: a parametric bootstrap.

    Everything is simulated on a population that released numbers describe, so it is post-processing and costs nothing.

    Theorem. If the rows are independent draws from a population, and neither the noise nor the error of sampling depends much on its
    shape beyond what was released, the intervals of `total` cover its value with at least their level.
    Proof. The answer is the population's value plus an error of sampling plus noise, which are independent. Noise: simulated answers
    about one even table of that population. Sampling: nearly normal, with the standard deviation of simulated samples, raised to where
    the true one lies with 95% confidence, and shrunk by the root of the number of rows. QED
    A count is about the number expected where rows come independently of each other: a Poisson law.
    """
    query, name = release.query, release.names[0]
    asked = None if query is None else query.asked.statistics.get(name)
    if asked is None or not asked.sampled or len(release.names) != 1 or release.grouped or release.refused:
        what = "this release has no total interval."
        raise QueryError("SRD-105", what, "Ask a table for one count, mean, centre, quantile or regression, without groups.")
    if query.unit.max_rows > 1:
        what = "rows of one person are not independent, so the error of sampling is unknown."
        raise QueryError("SRD-105", what, 'Ask for interval(kind="noise").')
    plan = query.settle(release.cost.exact.epsilon, release.cost.exact.delta)
    if isinstance(asked, Count):
        return _counted(plan.steps[name], max(float(release.value), 1.0)), (0.0, math.inf)
    rows, population = _rows(release), _population(release, asked)
    exact, grid = _noiseless(query, asked), grid_of(plan.context, asked.column)

    def answers(step: Any, x: Floats) -> Floats:
        return np.array(step.release(sample(asked.column, grid, x).ask, draw, None)[0].value, float)

    even, few = population.even(min(rows, MANY)), min(rows, FEW)
    truth = answers(exact, even)
    noise = np.array([answers(plan.steps[name], even) for _ in range(REPEATS)]) - truth
    sampled = np.array([answers(exact, population.at(z)) for z in _scores(SAMPLES * few).reshape(SAMPLES, few)]) - truth
    spread = sampled.std(axis=0) * (1 + 1.645 / math.sqrt(2 * SAMPLES)) * math.sqrt(few / rows)
    errors = np.repeat(noise.reshape(REPEATS, -1), REPEATS, axis=0) + np.multiply.outer(_scores(REPEATS**2), np.ravel(spread))
    return errors, (float(grid.low * grid.step), float(grid.high * grid.step))


def _scores(number: int) -> Floats:
    """Standard normal numbers."""
    return np.asarray(draw(GaussianLaw().at(np.zeros(number, np.int64), Fraction(FINE))), float) / FINE


def _noiseless(query: Any, asked: Any) -> Any:
    """The same statistic at a price at which it is that of the rows; a mean between bounds needs no limits of its own."""
    if isinstance(asked, Mean) and asked.method != "trimmed" and not asked.unbounded:
        asked = Mean(asked.column, "clamped")
    return query.alone(**{asked.label: asked}).by_mechanism(None).settle(TRUTH).steps[asked.label]


def _counted(step: Any, rows: float) -> Floats:
    """Errors of a noisy count of Poisson many rows against the number expected."""
    from scipy.special import ndtr
    from scipy.stats import poisson

    noise = np.asarray(step.noise.around(np.zeros(REPEATS, object), draw), float)
    return np.asarray(poisson.ppf(ndtr(_scores(REPEATS**2)), rows) - rows + np.repeat(noise, REPEATS))[:, None]


def _rows(release: Release) -> int:
    """How many rows the answer is about: the declared size, a recorded count, or what the two drawn halves add up to."""
    from sordino.session.recorded import public_rows

    known = public_rows(release.query)
    drawn = release.raw.get(release.names[0]) or [()]
    if known is None and len(drawn[0]) in (2, 4):
        known = drawn[0][0] + drawn[0][1]
    if known is None or known < 2:
        raise QueryError("SRD-105", "the number of these rows is unknown.", "Declare size=, or release a count of the same rows first.")
    return round(known)


def _population(release: Release, asked: Any) -> Population:
    """What released numbers say about the population: several quantiles of it, or a spread around this very answer."""
    query, column = release.query, asked.column

    def recorded(statistic: Any) -> list[Release]:
        return [found for found in query.alone(**{statistic.label: statistic}).by_mechanism(None).recorded() if not found.refused]

    if isinstance(asked, Quantiles) and len(asked.levels) > 1:
        return _rising([float(q) for q in asked.levels], release.value)
    spreads = [found.high for found in recorded(std(column)) if found.high is not None]  # the far end: no smaller than it is
    quartiles = recorded(quantiles(column, QUARTILES, interval=False))
    if quartiles and not (isinstance(asked, Mean) and spreads):
        return _rising(QUARTILES, quartiles[-1].value)
    spreads += [found.value / NORMAL for found in recorded(iqr(column)) if found.value > 0]
    if not spreads:
        what = "nothing is known about the spread of these rows."
        fix = f"Release std({column!r}) or quantiles({column!r}, {list(QUARTILES)}) of the same rows first: the error of sampling follows."
        raise QueryError("SRD-105", what, fix)
    level = float(asked.q) if isinstance(asked, Quantile) else float(asked.levels[0]) if isinstance(asked, Quantiles) else 0.5
    scale = min(spreads)
    centre = float(np.ravel(release.value)[0]) - NormalDist().inv_cdf(level) * scale
    return Population((0.0, 1.0), (centre, centre + scale))


def _rising(levels: Any, values: Any) -> Population:
    """Quantiles that coincide are moved apart by a hair: a polygon needs a direction."""
    apart = np.maximum.accumulate(np.array(values, float))
    return Population.through(levels, (apart + 1e-9 * (np.abs(apart).max() + 1) * np.arange(len(apart))).tolist())
