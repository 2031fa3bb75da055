"""What the error of an answer will be, from public facts: in closed form, in ranks, or simulated on a public twin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from sordino.errors import SordinoError
from sordino.statistics import Step
from sordino.statistics.port import LEVEL

if TYPE_CHECKING:
    from sordino.session.query import Query
    from sordino.session.settled import Settled
    from sordino.session.twin import Twin

__all__ = ["REPEATS", "Forecast", "Outlook", "outlook", "span_of"]

REPEATS, FEW = 1_500, 300  # at once, and one after another: errors of quantiles have heavy tails
ENDS = 4  # drawn ends are as far apart every time, nearly: this many times fewer say enough
GUESSES = 40  # made-up rows deserve no more
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
    if not asked.ranged:
        return None
    grids = [plan.context.columns[column].grid() for column in asked.columns]
    return max(grid.length(grid.width) for grid in grids)


@dataclass(frozen=True, eq=False)
class Outlook:
    """What the public knows about a question while its error is predicted: how many rows, and rows that stand in for them."""

    query: Query
    rows: int | None
    twin: Twin | None = None
    level: float = LEVEL  # of the half-widths

    @cached_property
    def truths(self) -> dict[str, Any]:
        """The exact answers on the twin, by answers at an absurd price; None where the twin cannot answer."""
        return {name: self._truth(name) for name in self.query.labels.drawn.statistics}

    def _truth(self, name: str) -> Any:
        """Known for good once it was found: a twin stays as it is."""
        if self.twin is None:
            return None
        place = (self.query.key(), self.query.labels.canonical[name])
        if place not in self.twin.known or self._own:
            query = self.query
            if self.twin.rows is not None and query.table.size is not None and self.twin.rows < query.table.size:
                query = replace(query, table=replace(query.table, size=self.twin.rows))
            rows = self.rows if self.twin.rows is None else self.twin.rows
            try:
                self.twin.known[place] = self.twin.values(query.by_mechanism(None).pointed.settle(TRUTH, rows=rows), name, 1)[0]
            except SordinoError:
                self.twin.known[place] = None
        return self.twin.known[place]

    def forecast(self, name: str, plan: Settled) -> Forecast:
        """The predicted error of one statistic of a plan: in closed form where there is one, otherwise on the twin."""
        step: Step | None = plan.steps.get(name)
        if step is None:  # counted together with its private keys
            keys: Any = plan.plan.keys
            return Forecast(name, plan.mechanism, "exact", keys.width(level=self.level), keys.rmse(), source="closed form")
        ranks = step.rank_width(self.level)
        known = Forecast(name, step.name, step.bar, ranks=ranks, span=span_of(self.query, name, plan), covers=step.covers)
        width, rmse = step.width(self.rows, self.level), step.rmse(self.rows)
        if width is not None and (step.bar != "published" or self.twin is None or self.truths[name] is None):
            return replace(known, half_width=float(width), rmse=rmse, source="closed form")
        if self.twin is None or self.truths[name] is None:
            return known
        found = self._simulated(name, plan)
        if found is None:
            return known
        return replace(known, half_width=found[0], rmse=found[1], source="codebook" if self.twin.guess else "twin")

    def _simulated(self, name: str, plan: Settled) -> tuple[float, float] | None:
        """Half-width and root mean squared error on the twin; remembered, because the twin is public and stays as it is.

        A codebook is smaller than a large table. Both errors fall at least as fast as the number of rows grows, so they are scaled by it;
        what is planned on the codebook is planned for its own number of rows.
        """
        assert self.twin is not None
        place = (self.query.key(), self.query.labels.canonical[name], plan.terms, self.rows, self.level)
        if place not in self.twin.known or not plan.terms or self._own:
            self.twin.known[place] = self._errors(name, plan)
        return cast(tuple[float, float] | None, self.twin.known[place])

    @property
    def _own(self) -> bool:
        """Whether somebody's own statistic is asked, whose claims may still change."""
        return any(statistic.unsettled for statistic in self.query.asked.statistics.values())

    def _scaled(self, plan: Settled) -> tuple[Settled, float]:
        """The plan for a codebook's own number of rows where that is smaller than the table's, and what its errors are multiplied by."""
        few = None if self.twin is None else self.twin.rows
        if few is None or self.rows is None or few >= self.rows or not plan.terms or self._own or plan.by:
            return plan, 1.0
        epsilon, delta, weights, way = plan.terms
        small = replace(self.query, table=replace(self.query.table, size=few))
        return small.settle(epsilon, delta, rows=few, weights=None if weights is None else dict(weights), way=way), few / self.rows

    def drawn(self, name: str, plan: Settled, repeats: int, few: int) -> tuple[NDArray[np.float64], list[str]]:
        """Errors of simulated answers, of all groups and parts together, nan where there is no number; or the values they name."""
        assert self.twin is not None
        if self.query.asked.statistics[name].naming:
            return np.empty(0), self.twin.named(plan, name, few)
        if plan.steps[name].width(self.rows) is not None and plan.steps[name].bar == "exact":  # noise of its own, on however many rows
            values, share = self.twin.values(plan, name, repeats, few), 1.0
        else:
            plan, share = self._scaled(plan)
            values = self.twin.values(plan, name, repeats, few)
        truth = self.truths[name]
        if truth is None or values.shape[-1] != len(truth):
            return np.empty(0), []
        return share * (values - truth).ravel(), []

    def _errors(self, name: str, plan: Settled) -> tuple[float, float] | None:
        assert self.twin is not None
        plan, share = self._scaled(plan)
        many = (GUESSES, GUESSES) if self.twin.guess else (REPEATS, FEW)
        drawn, truth = plan.steps[name].bar == "drawn", self.truths[name]
        many = (many[0] // ENDS, many[1] // ENDS) if drawn else many
        values, halves = self.twin.ends(plan, name, *many) if drawn else (self.twin.values(plan, name, *many), None)
        if values.shape[-1] != len(truth):
            return None
        worst = [errors[np.isfinite(errors)] for errors in np.abs(values - truth).T]
        if not any(len(errors) for errors in worst):
            return None
        spread = worst if halves is None else [half[np.isfinite(half)] for half in halves.T]  # what the ends will be, not the error
        sure = self.level if halves is None else LEVEL
        width = float(max(np.quantile(errors, _safe(len(errors), sure)) for errors in spread if len(errors)))
        rmse = float(max(math.sqrt((errors**2).mean()) for errors in worst if len(errors)))
        return share * width, share * rmse

    def between(self, name: str, plan: Settled, ends: Sequence[tuple[float, Forecast]]) -> Forecast | None:
        """A guess between two guesses at a lower and a higher price, on a line of logarithms; None where there is nothing between."""
        if self.twin is None or not self.twin.guess or name not in plan.steps:
            return None
        price = float(plan.cost.epsilon)
        below = max(((e, f) for e, f in ends if e <= price and f.half_width), key=lambda end: end[0], default=None)
        above = min(((e, f) for e, f in ends if e >= price and f.half_width), key=lambda end: end[0], default=None)
        if below is None or above is None or below[1].source != "codebook" or above[1].source != "codebook":
            return None
        share = math.log(price / below[0]) / math.log(above[0] / below[0]) if above[0] > below[0] else 0.0

        def middle(a: float | None, b: float | None) -> float | None:
            return None if not a or not b else math.exp((1 - share) * math.log(a) + share * math.log(b))

        width, rmse = (middle(getattr(below[1], word), getattr(above[1], word)) for word in ("half_width", "rmse"))
        step = plan.steps[name]
        return replace(below[1], mechanism=step.name, half_width=width, rmse=rmse, ranks=step.rank_width(self.level))


def _safe(draws: int, level: float = LEVEL) -> float:
    """The share of simulated errors under which so many of all errors lie, with 95% confidence: a promise must survive its simulation."""
    return min(1.0, level + 1.645 * math.sqrt(level * (1 - level) / draws))


def outlook(query: Query, *, guess: bool = True) -> Outlook:
    """The outlook from public facts: the declared twin, or where none is declared, and a guess will do, made-up rows."""
    from sordino.session.recorded import public_rows

    rows = public_rows(query)
    groups = math.prod(len(query.asked.column(name).keys or ()) or 1 for name in query.asked.by)
    made_up = query.table.guess_rows(None if rows is None else rows * groups) if guess else None
    return Outlook(query, rows, query.table.twin_rows or made_up, query.level)
