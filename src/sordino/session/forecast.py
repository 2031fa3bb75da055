"""What the error of an answer will be, from public facts: in closed form, in ranks, or simulated on a public twin."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sordino.errors import SordinoError
from sordino.statistics import Step
from sordino.statistics.port import LEVEL

if TYPE_CHECKING:
    from sordino.session.query import Query
    from sordino.session.settled import Settled
    from sordino.session.twin import Twin

__all__ = ["REPEATS", "Forecast", "Outlook", "outlook", "span_of"]

REPEATS, FEW = 1_500, 300  # at once, and one after another: errors of quantiles have heavy tails
GUESSES = 100  # made-up rows deserve no more
ENDS = 4  # drawn ends are as far apart every time, nearly: this many times fewer say enough
TRUTH = Fraction(10**6)  # at this price an answer on the twin is its exact one


@dataclass(frozen=True)
class Forecast:
    """One statistic's predicted error at one price.

    `half_width` holds with 95% in the statistic's unit, or is what half of a drawn interval will be with 95%; `rmse` is the root mean
    squared error of the noise, `ranks` the rows within which a quantile's rank is met, or how many ranks out its ends are aimed.
    `source` says how it is known: "closed form" (the worst table of that many rows where it depends on the table), "twin" (simulated
    on the public twin), "codebook" (on made-up rows: a guess), or "" when nothing can be said.
    """

    name: str
    mechanism: str
    bar: str
    half_width: float | None = None
    rmse: float | None = None
    ranks: float | None = None
    source: str = ""
    span: float | None = None
    covers: str = ""  # what the answer is about, where that is not plainly the statistic of these rows

    @property
    def hopeless(self) -> bool:
        """Whether the predicted error exceeds half the public range of the answer: then noise says more than data."""
        return self.half_width is not None and self.span is not None and self.half_width > self.span / 2


def span_of(query: Query, name: str, plan: Settled) -> float | None:
    """The public length of the range an average or quantile lies in; None for totals and keys."""
    asked = query.asked.statistics[name]
    kind = asked.question().get("statistic")
    if kind not in ("mean", "means", "quantile", "quantiles", "iqr", "std", "min", "max"):
        return None
    grids = [plan.context.columns[column].grid() for column in asked.columns]
    return max(grid.length(grid.width) for grid in grids)


@dataclass(frozen=True, eq=False)
class Outlook:
    """What the public knows about a question while its error is predicted: how many rows, and rows that stand in for them."""

    query: Query
    rows: int | None
    twin: Twin | None = None

    @cached_property
    def truths(self) -> dict[str, Any]:
        """The exact answers on the twin, by answers at an absurd price; None where the twin cannot answer."""
        return {name: self._truth(name) for name in self.query.labels.drawn.statistics}

    def _truth(self, name: str) -> Any:
        try:
            return None if self.twin is None else self.twin.values(self.query.by_mechanism(None).pointed.settle(TRUTH), name, 1)[0]
        except SordinoError:
            return None

    def forecast(self, name: str, plan: Settled) -> Forecast:
        """The predicted error of one statistic of a plan: in closed form where there is one, otherwise on the twin."""
        step: Step | None = plan.steps.get(name)
        if step is None:  # counted together with its private keys
            keys: Any = plan.plan.keys
            return Forecast(name, plan.mechanism, "exact", keys.width(), keys.rmse(), source="closed form")
        ranks = step.rank_width()
        known = Forecast(name, step.name, step.bar, ranks=ranks, span=span_of(self.query, name, plan), covers=step.covers)
        width, rmse = step.width(self.rows), step.rmse(self.rows)
        if width is not None and (step.bar != "published" or self.twin is None or self.truths[name] is None):
            return replace(known, half_width=float(width), rmse=rmse, source="closed form")
        if self.twin is None or self.truths[name] is None:
            return known
        many = (GUESSES, GUESSES) if self.twin.guess else (REPEATS, FEW)
        drawn = step.bar == "drawn"
        many = (many[0] // ENDS, many[1] // ENDS) if drawn else many
        values, halves = self.twin.ends(plan, name, *many) if drawn else (self.twin.values(plan, name, *many), None)
        if values.shape[-1] != len(self.truths[name]):
            return known
        worst = [errors[np.isfinite(errors)] for errors in np.abs(values - self.truths[name]).T]
        if not any(len(errors) for errors in worst):
            return known
        spread = worst if halves is None else [half[np.isfinite(half)] for half in halves.T]  # what the ends will be, not the error
        width = float(max(np.quantile(errors, _safe(len(errors))) for errors in spread if len(errors)))
        rmse = float(max(math.sqrt((errors**2).mean()) for errors in worst if len(errors)))
        return replace(known, half_width=width, rmse=rmse, source="codebook" if self.twin.guess else "twin")


def _safe(draws: int) -> float:
    """The share of simulated errors under which LEVEL of all errors lie, with 95% confidence: a promise must survive its own simulation."""
    return min(1.0, LEVEL + 1.645 * math.sqrt(LEVEL * (1 - LEVEL) / draws))


def outlook(query: Query, *, guess: bool = True) -> Outlook:
    """The outlook from public facts: the declared twin, or where none is declared, and a guess will do, made-up rows."""
    from sordino.session.price import public_rows

    rows = public_rows(query)
    return Outlook(query, rows, query.table.twin_rows or (query.table.guess_rows(rows) if guess else None))
