"""Four ways to fit noise to data, and the worst case they try to beat, side by side on one data set. NOT PRIVATE: for data you own.

Many noisy descents from one start: how far the noise of every step carries them from the path without any. NOT PRIVATE.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sordino.errors import QueryError
from sordino.lab.report import as_html, as_json, matrix, say
from sordino.mechanisms import NoisyDescent
from sordino.mechanisms.laplace import Laplace
from sordino.mechanisms.propose_test_release import ProposeTestRelease
from sordino.mechanisms.stability import Stability
from sordino.noise import draw
from sordino.pictures import Picture, bars, lines
from sordino.privacy.number import as_delta, as_epsilon, as_positive
from sordino.session.owned import owned
from sordino.statistics.custom import Custom
from sordino.statistics.evaluation import Evaluation, called, plain
from sordino.statistics.smooth_fit import SmoothFit, smoothness
from sordino.summaries import Held, Near, Refused
from sordino.summaries.moment import FINE

__all__ = ["Approach", "ApproachComparison", "Fan", "compare", "descent"]

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Approach:
    """One way to release the statistic: its errors over many releases, how often it refused, and what one release costs."""

    name: str
    typical: float  # median absolute error of the answers given
    rmse: float
    refused: float
    epsilon: float
    delta: float


@dataclass(frozen=True, repr=False)
class ApproachComparison:
    """The approaches of the lecture notes on one data set: local noise is left out, because it is not private at all."""

    statistic: str
    value: float
    rows: int
    repeats: int
    proposed: float
    approaches: tuple[Approach, ...]

    def __repr__(self) -> str:
        head = f"{self.statistic} = {self.value:.6g} of {self.rows:,} rows, {self.repeats:,} releases each; NOT PRIVATE"
        lines = [head, f"{'':30}{'typical error':>14}{'rmse':>11}{'refused':>9}{'epsilon':>8}{'delta':>7}"]
        for one in self.approaches:
            lines.append(f"{one.name:30}{one.typical:>14.4g}{one.rmse:>11.4g}{one.refused:>8.1%}{one.epsilon:>8.3g}{one.delta:>7.1g}")
        return say([*lines, f"proposed bound: {self.proposed:.4g}"])

    def plot(self) -> Picture:
        shown = [one for one in self.approaches if math.isfinite(one.typical)]
        names, errors = [one.name for one in shown], [one.typical for one in shown]
        return bars(names, errors, title=f"Typical error of {self.statistic}", x="median absolute error")

    def to_json(self) -> str:
        return as_json(self)

    def _repr_html_(self) -> str:
        return as_html(self)


def compare(
    statistic: Custom, x: ArrayLike, *, epsilon: Any = 1, delta: Any = "1e-6", propose: Any = None, repeats: int = 1_000
) -> ApproachComparison:
    """NOT PRIVATE: release a statistic of data you own by every approach of the notes, many times over, and compare.

    Global sensitivity with Laplace noise; smooth sensitivity; propose-test-release; privately bounding the local sensitivity; stability.
    Without `propose` the bound is the best one with hindsight: the least that passes the test 99 times in 100 on these data.
    """
    if not isinstance(statistic, Custom) or statistic.rungs is None:
        what = f"{getattr(statistic, '__name__', statistic)!r} is not a statistic with a ladder."
        raise QueryError("SRD-105", what, "Make it with @sd.statistic(bounds=...) and @statistic.sensitivity_at.")
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise QueryError("SRD-103", f"repeats is {repeats!r}.", "Give a whole number of at least 1.")
    price, failure = as_epsilon(epsilon), as_delta(delta)
    rows = statistic.prepared(x)
    made = Evaluation(statistic)
    truth = float(made.range[0] + made.value(rows) * made.step)
    bound = _proposal(made, rows, price, failure) if propose is None else as_positive(propose, "propose")
    beta = smoothness("published", price, None, 0.0)
    fits = {
        "smooth sensitivity": SmoothFit("smooth", price, Fraction(0)),
        "propose-test-release": SmoothFit("ptr", price, failure, propose=made.bound(bound)),
        "privately bounded sensitivity": SmoothFit("published", price, failure, beta),
    }
    located = made.located(rows)
    worst = statistic.global_sensitivity or made.range[1] - made.range[0]
    laplace = Laplace(price, worst)
    steps = math.floor(Fraction(truth) / laplace.step + Fraction(1, 2))

    def fitted(fit: SmoothFit) -> Callable[[], float]:
        def once() -> float:
            drawn = fit.release(located, draw)
            return math.nan if isinstance(drawn, Refused) else float(made.range[0] + drawn.value * made.step)

        return once

    stable = Stability(price, failure)
    near = Near(made.distance(rows, most=stable.least_distance * 4), plain(called(statistic.function, rows)))

    def exactly() -> float:
        drawn = stable.release(Held(near), draw)
        return math.nan if isinstance(drawn, Refused) else truth

    def everywhere() -> float:
        low, high = made.range
        return float(min(max(Fraction(laplace.release(Held(steps), draw)), low), high))

    found = [_judged("global sensitivity", everywhere, truth, repeats, (price, Fraction(0)))]
    found += [_judged(name, fitted(fit), truth, repeats, (price, fit.spent)) for name, fit in fits.items()]
    found.append(_judged("stability", exactly, truth, repeats, (price, failure)))
    return ApproachComparison(statistic.__name__, truth, len(rows), repeats, float(bound), tuple(found))


def _judged(name: str, release: Callable[[], float], truth: float, repeats: int, price: tuple[Fraction, Fraction]) -> Approach:
    errors = np.array([release() for _ in range(repeats)]) - truth
    given = errors[np.isfinite(errors)]
    typical, rmse = (float(np.median(np.abs(given))), float(np.sqrt((given**2).mean()))) if given.size else (math.nan, math.nan)
    return Approach(name, typical, rmse, 1 - given.size / repeats, float(price[0]), float(price[1]))


def _proposal(made: Evaluation, rows: Floats, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The least bound whose test passes 99 times in 100 on these rows."""
    passing, _ = ProposeTestRelease(epsilon, delta, Fraction(1)).chances()
    needed = int(np.argmax(passing >= 0.99))
    return max(int(made.ladder(rows).rungs(needed + 1)[needed]), 1) * made.step


INSIDE = (0.05, 0.5, 0.95)


@dataclass(frozen=True, repr=False)
class Fan:
    """Coordinates by step: `calm` without noise, and of all paths the 5%, 50% and 95% quantiles. The number of steps is public."""

    steps: int
    calm: tuple[tuple[float, ...], ...]  # by step, then by coordinate
    quantiles: tuple[tuple[tuple[float, ...], ...], ...]  # low, middle, high: each by step, then by coordinate
    repeats: int

    def spread(self, coordinate: int = 0) -> list[float]:
        """How wide nine in ten paths lie apart after every step."""
        low, _, high = ([row[coordinate] for row in path] for path in self.quantiles)
        return [b - a for a, b in zip(low, high, strict=True)]

    def __repr__(self) -> str:
        return say(
            [
                f"descent: {self.repeats:,} noisy paths of {self.steps:,} steps, {len(self.calm[0])} coordinates",
                f"  without noise it ends at {', '.join(f'{value:.4g}' for value in self.calm[-1])}",
                f"  nine in ten paths end within {self.spread()[-1]:.3g} of each other in the first coordinate",
            ]
        )

    def plot(self, coordinate: int = 0) -> Picture:
        """The fan of one coordinate over the steps."""
        if not 0 <= coordinate < len(self.calm[0]):
            raise QueryError("SRD-103", f"coordinate is {coordinate!r}.", f"Give one from 0 to {len(self.calm[0]) - 1}.")
        at = list(range(len(self.calm)))
        series = {"without noise": (at, [row[coordinate] for row in self.calm])}
        for share, path in zip(INSIDE, self.quantiles, strict=True):
            series[f"{share:.0%} of paths below"] = (at, [row[coordinate] for row in path])
        return lines(series, title=f"Noisy descent, {self.steps} steps fixed beforehand", x="step", y=f"coordinate {coordinate}")

    def to_json(self) -> str:
        return as_json(self, spread=self.spread())

    def _repr_html_(self) -> str:
        return as_html(self)


def descent(mechanism: NoisyDescent, data: Any, *, repeats: int = 60) -> Fan:
    """NOT PRIVATE: run a noisy descent many times on rows you own, once without noise. Rows are in [-1, 1], the target last.

    The constant is the first coordinate and stands in no column.
    """
    if not isinstance(mechanism, NoisyDescent):
        raise QueryError("SRD-103", f"{type(mechanism).__name__} does not descend.", "Give a NoisyDescent.")
    if isinstance(repeats, bool) or not isinstance(repeats, int) or not 2 <= repeats <= 100_000:
        raise QueryError("SRD-103", f"repeats is {repeats!r}.", "Give a whole number from 2 to 100,000.")
    rows = matrix(data, "the rows")
    if rows.shape[1] != mechanism.dimension:
        what = f"{rows.shape[1]} columns do not fit dimension {mechanism.dimension}."
        raise QueryError("SRD-105", what, "Give dimension - 1 features and the target.")
    answer = owned(mechanism, rows)
    calm = _path(mechanism, answer, lambda law: np.asarray(law.location))
    paths = np.array([_path(mechanism, answer, draw) for _ in range(repeats)])
    found = np.quantile(paths, INSIDE, axis=0)
    return Fan(mechanism.steps, _tuples(calm), tuple(_tuples(path) for path in found), repeats)


def _path(mechanism: NoisyDescent, answer: Any, outcome: Any) -> Floats:
    """Where the descent stood before every step, and where it ended: the places it asks at are public."""
    seen: list[list[float]] = []

    def ask(request: Any) -> Any:
        if hasattr(request, "theta"):
            seen.append([part / FINE for part in request.theta])
        return answer(request)

    end = mechanism.release(ask, outcome)
    return np.array([*seen, list(end)])


def _tuples(path: Floats) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(map(float, row)) for row in path)
