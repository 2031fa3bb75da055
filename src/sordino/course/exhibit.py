"""Robust estimators on show: influence, leverage, plug-in noise, efficiency. Simulated or public data only. NOT PRIVATE."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sordino.course.textbook import estimator
from sordino.course.textbook.verdict import as_count
from sordino.errors import QueryError
from sordino.lab.report import as_html, as_json, say
from sordino.mechanisms import BoostedRegression
from sordino.noise import draw
from sordino.pictures import Picture, lines
from sordino.sensitivity.influence import huber, least_squares, location
from sordino.summaries.array_table import ArrayTable, quantised
from sordino.summaries.moment import ONE

__all__ = ["Exhibit", "efficiency", "influence", "leverage", "plug_in", "plug_in_tables"]

Floats = NDArray[np.float64]
TUNED = 1.345  # 95% efficient at the normal law
HEIGHTS = (1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6)
NEAR = 0.1  # so small a clip that Huber's estimate is the median for all one can see


@dataclass(frozen=True, repr=False)
class Exhibit:
    """Curves over one axis, and a few numbers worth reading."""

    title: str
    axes: tuple[str, str]
    points: tuple[float, ...]
    series: Mapping[str, tuple[float, ...]]
    facts: Mapping[str, float]
    log: tuple[bool, bool] = (False, False)

    def __repr__(self) -> str:
        wide = max(len(name) for name in (self.axes[0], *self.series)) + 2
        shown = sorted({round(i * (len(self.points) - 1) / 5) for i in range(6)})
        body = [f"  {name:{wide}}" + "".join(f"{values[i]:>9.3g}" for i in shown) for name, values in self._rows().items()]
        return say([self.title, *body, *(f"  {name}: {value:.4g}" for name, value in self.facts.items())])

    def _rows(self) -> dict[str, tuple[float, ...]]:
        return {self.axes[0]: self.points, **self.series}

    def plot(self) -> Picture:
        series = {name: (self.points, values) for name, values in self.series.items()}
        return lines(series, title=self.title, x=self.axes[0], y=self.axes[1], log_x=self.log[0], log_y=self.log[1])

    def to_json(self) -> str:
        return as_json(self)

    def _repr_html_(self) -> str:
        return as_html(self)


def influence(sample: ArrayLike | None = None, *, points: Sequence[float] | None = None, share: float = 0.01) -> Exhibit:
    """What a row at each point does to the mean, to Huber's estimate and to (nearly) the median of a public sample; by default normal rows.

    Closed influence functions, and for Huber's estimate what a fixed share of bad rows really does: they agree as the share falls.
    """
    rows = np.random.default_rng(4).normal(0, 1, 8_001) if sample is None else np.asarray(sample, float)
    places = tuple(np.linspace(-6, 6, 61).tolist() if points is None else [float(v) for v in points])
    fits = {"mean": location(rows, least_squares), "Huber": location(rows, huber(TUNED)), "median": location(rows, huber(NEAR))}
    series = {name: tuple(fit.influence(np.ones((len(places), 1)), places)[:, 0].tolist()) for name, fit in fits.items()}
    series[f"Huber, {share:g} bad"] = tuple(float(fits["Huber"].fixed_scale([1.0], place, share)[0]) for place in places)
    facts = {f"gross error sensitivity, {name}": fit.gross_error_sensitivity(1.0) for name, fit in fits.items()}
    return Exhibit("Influence functions", ("value of a row", "influence"), places, series, facts)


def leverage(rows: int = 1_000, *, heights: Sequence[float] = HEIGHTS) -> Exhibit:
    """How far one row (1, -h) moves the slope of points near y = x, |x| small: least squares by any amount, a median of slopes hardly."""
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 3:
        raise QueryError("SRD-103", f"rows is {rows!r}.", "Give at least 3 rows.")
    rng = np.random.default_rng(5)
    x = rng.normal(0, 0.01, rows)
    y = x + rng.normal(0, 0.001, rows)
    moved: dict[str, list[float]] = {"least squares": [], "median of slopes": []}
    for height in heights:
        more = np.append(x, 1.0), np.append(y, -height)
        for name, slope in (("least squares", _slope), ("median of slopes", _middle)):
            moved[name].append(abs(slope(*more) - slope(x, y)))
    facts = {"slope without the row": _slope(x, y), "slope with it at h = 1": _slope(np.append(x, 1.0), np.append(y, -1.0))}
    series = {name: tuple(values) for name, values in moved.items()}
    return Exhibit("One leverage point", ("height h of the row", "change of the slope"), tuple(heights), series, facts, (True, True))


def _slope(x: Floats, y: Floats) -> float:
    away = x - x.mean()
    return float(away @ y / (away @ away))


def _middle(x: Floats, y: Floats) -> float:
    """The median slope of neighbours in a fixed random ring of the rows."""
    order = np.random.default_rng(6).permutation(len(x))
    run, rise = np.diff(x[order], append=x[order[0]]), np.diff(y[order], append=y[order[0]])
    return float(np.median(rise[run != 0] / run[run != 0]))


def plug_in_tables(n: int = 101, reach: float = 100.0) -> tuple[Floats, Floats]:
    """The neighbours that break noise by a table's own gross error sensitivity: half at -H, half at H, and one row that moves to H."""
    as_count(n, "n", 3)
    half = (n - 1) // 2
    ends = [-reach] * half + [reach] * half
    return np.array([*ends, 0.0]), np.array([*ends, reach])


def plug_in(*, sizes: Sequence[int] = (11, 101, 1_001, 10_001, 100_001), epsilon: Any = 1, delta: Any = 1e-6) -> Exhibit:
    """The delta that this pair of tables forces on the plug-in noise of note 004, by number of rows: it tends to 1, not to the claim."""
    judged = [estimator.plug_in(epsilon, delta, n) for n in sizes]
    series = {"claimed": tuple(found.says for found in judged), "true": tuple(found.holds for found in judged)}
    title, facts = "Noise by the gross error sensitivity of the table", {"largest true delta": max(series["true"])}
    return Exhibit(title, ("rows", "delta"), tuple(map(float, sizes)), series, facts, (True, True))


def efficiency(*, sizes: Sequence[int] = (250, 1_000, 4_000, 16_000), epsilon: Any = 1, repeats: int = 100, width: float = 20.0) -> Exhibit:
    """n times the mean squared error of the private Huber location of normal rows, against V = E psi^2/(E psi')^2.

    Noise adds a variance of order 1/(n epsilon)^2, so n MSE tends to V: for large n privacy is free. Bounds are -width/2 to width/2.
    """
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 2:
        raise QueryError("SRD-103", f"repeats is {repeats!r}.", "Give at least 2 repeats.")
    mechanism = BoostedRegression(epsilon, Fraction(1, 10**6), 1, clip=Fraction(27, 20))
    rng, private, public = np.random.default_rng(7), [], []
    for n in sizes:
        found = np.array([_located(rng.normal(0, 1, n), mechanism, width) for _ in range(repeats)])
        private.append(n * float(np.mean(found[:, 0] ** 2)))
        public.append(n * float(np.mean(found[:, 1] ** 2)))
    c = float(mechanism.clip)
    inside = math.erf(c / math.sqrt(2))
    score = inside - 2 * c * math.exp(-c * c / 2) / math.sqrt(2 * math.pi) + c * c * (1 - inside)
    limit = score / inside**2
    series = {"private": tuple(private), "not private": tuple(public), "V": (limit,) * len(sizes)}
    facts = {"V": limit, "n MSE at the largest n": private[-1]}
    axes = "rows", "n times mean squared error"
    return Exhibit("The price of privacy fades", axes, tuple(map(float, sizes)), series, facts, (True, True))


def _located(rows: Floats, mechanism: BoostedRegression, width: float) -> tuple[float, float]:
    """The private and the plain Huber location of one table."""
    cells = quantised(rows, -width / 2, width / 2)
    table = np.column_stack([np.full(len(cells), float(ONE)), cells])
    line = mechanism.release(ArrayTable(coordinates=(table,)).ask, draw)
    return line.theta[0] * width / 2, float(location(rows, huber(float(mechanism.clip))).theta[0])
