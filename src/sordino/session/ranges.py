"""Counts of bins that add up well: any range of a column afterwards, with its bar, from one release; nothing below zero, by choice."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sordino.errors import QueryError, builds
from sordino.privacy.number import shown
from sordino.session.card import Card
from sordino.statistics.port import LEVEL, Answer
from sordino.statistics.ranges import BinNoise

if TYPE_CHECKING:
    from sordino.session.preview import Preview
    from sordino.session.query import Query
    from sordino.session.release import Release

__all__ = ["RangeCount", "Ranges", "RangesQuery", "nonnegative"]


@dataclass(frozen=True)
class RangeCount:
    """How many rows lie in a range, with the ends of its interval: it covers the noise, not sampling."""

    value: float
    low: float
    high: float
    level: float = LEVEL

    def __float__(self) -> float:
        return float(self.value)


@dataclass(frozen=True, eq=False)
class RangesQuery:
    """The question before it is paid."""

    query: Query

    def __post_init__(self) -> None:
        """Refused before it is paid for: no range could be read off the answer."""
        if len(self.query.asked.statistics) != 1:
            raise QueryError("SRD-208", "ranges are asked alone.", "Ask a table, or the rows a where() keeps.")

    def preview(self, **options: Any) -> Preview:
        """The price list; the error is that of one bin."""
        return self.query.preview(**options)

    def release(self, **price: Any) -> Ranges:
        """Pay once, with the words of every release; any range is free afterwards."""
        return Ranges(self.query.release(**price))

    def __repr__(self) -> str:
        return f"{self.query!r}"


@dataclass(frozen=True, eq=False)
class Ranges:
    """Released counts of bins. Everything here is post-processing."""

    release: Release
    before: Ranges | None = None  # what was drawn, where nothing below zero is left

    @cached_property
    def noise(self) -> BinNoise:
        """The public noise of the bins, from the card; of an answer without it, from its price."""
        name = self.release.names[0]
        said = self.release.card.get("noise of bins", {}).get(name) if len(self.release.names) == 1 else None
        if said is None and self.release.query is not None and len(self.release.names) == 1:
            own = self.release.cost.exact
            plan = self.release.query.settle(own.epsilon, own.delta, way="gaussian" if own.mu_squared is not None else "laplace")
            step = plan.steps.get(self.release.query.labels.first(name))
            said = None if step is None else step.noise_of_bins([Answer(None)])
        if said is None or self.release.grouped:
            what = "ranges are read off a histogram of bins, asked alone and without groups."
            raise QueryError("SRD-105", what, 'Release table.cdf("x") or table.histogram("x", bins=100).')
        return BinNoise.read(said)

    @cached_property
    def counts(self) -> dict[tuple[Any, Any], float]:
        """The estimated number of rows in every bin."""
        _ = self.noise  # refuses what is no histogram of bins
        found: dict[tuple[Any, Any], float] = self.release.value
        return found

    @cached_property
    def edges(self) -> tuple[Any, ...]:
        """Where ranges may begin and end; the last is inside the last bin."""
        bins = list(self.counts)
        return (*(first for first, _ in bins), bins[-1][1])

    def _place(self, edge: Any) -> int:
        if edge in self.edges:
            return self.edges.index(edge)
        try:
            near = sorted(self.edges, key=lambda known: abs(known - edge))[:2]
        except TypeError:
            near = [self.edges[0], self.edges[-1]]
        what = f"{shown(edge)} is no edge of a bin."
        raise QueryError("SRD-103", what, f"Near it are {near[0]} and {near[1]}; .edges lists all of them.")

    @builds
    def between(self, low: Any = None, high: Any = None, *, level: float = LEVEL) -> RangeCount:
        """How many rows lie from `low` on and below `high`; up to the upper bound it is inside. Left out, an end is that of the bounds."""
        from sordino.session.release import as_level

        level, first = as_level(level), 0 if low is None else self._place(low)
        last = len(self.edges) - 1 if high is None else self._place(high)
        if last <= first:
            raise QueryError("SRD-103", f"from {shown(low)} to {shown(high)} there is no bin.", "Give the lower edge first.")
        weights = np.zeros(len(self.edges) - 1)
        weights[first:last] = 1.0
        value = math.fsum(list(self.counts.values())[first:last])
        far = self.noise.sum_width(weights, level)
        drawn = value if self.before is None else self.before.between(low, high).value
        return RangeCount(value, drawn - far, drawn + far, level)

    def below(self, edge: Any, *, level: float = LEVEL) -> RangeCount:
        """How many rows lie below an edge: the cumulative count."""
        return self.between(None, edge, level=level)

    def to_dict(self) -> dict[str, list[Any]]:
        """Every edge but the first with the number of rows below it, and its interval."""
        found = [self.below(edge) for edge in self.edges[1:]]
        ends = {"low": [one.low for one in found], "high": [one.high for one in found]}
        return {"edge": list(self.edges[1:]), "below": [one.value for one in found], **ends}

    def nonnegative(self) -> Ranges:
        """The same with nothing below zero: cumulative counts are made to rise. Intervals stay those from before."""
        return self if self.before is not None else Ranges(nonnegative(self.release), self)

    @property
    def cost(self) -> Any:
        return self.release.cost

    @property
    def card(self) -> Any:
        return self.release.card

    @property
    def about(self) -> str:
        return self.release.about

    def __repr__(self) -> str:
        whole = self.between()
        ends = f"{whole.value:,.0f} [{whole.low:,.0f}, {whole.high:,.0f}]"
        return f"{self.about}\nranges between {len(self.edges)} edges; all of them: {ends}"


BEFORE = "nothing below zero; intervals are those from before"


def nonnegative(release: Release) -> Release:
    """Counts with nothing below zero: post-processing, free. The ends stay those of the drawn numbers.

    Bins drawn for ranges have their cumulative counts made to rise, as close to the drawn ones as that can be. Any other counts are
    lowered by one amount and cut at zero so that their total stays, which is the closest point with that total (Duchi et al. 2008).
    """
    said = [item["statistic"] for item in release.card.get("question", {}).get("statistics", {}).values()]
    if not said or any(kind not in ("count", "count_units", "histogram", "present", "present_units") for kind in said):
        raise QueryError("SRD-105", "only counts are made non-negative.", "Release a count by group or a histogram.")
    answers = dict(release.answers)
    fine = _finest(release) if any("sets" in item for item in release.card["question"]["statistics"].values()) else None
    for name in release.names if fine is None else ():
        cells = release.answers[name]
        rising = "square root" in str(release.card.get("noise of bins", {}).get(name, {}).get("kind", ""))
        if cells and all(isinstance(cell, dict) for cell in cells):
            answers[name] = [dict(zip(cell, _projected(list(cell.values()), rising=rising), strict=True)) for cell in cells]
        elif all(isinstance(cell, int | float) for cell in cells):
            answers[name] = _projected(cells)
    for name in release.names if fine is not None else ():
        answers[name] = _added(release, fine or {}, name)
    card = Card(release.card)
    card["post-processing"] = [*card.get("post-processing", []), BEFORE]
    return replace(release, answers=answers, card=card, raw={}, query=None, sealed=None)


def _finest(release: Release) -> dict[tuple[Any, ...], int]:
    """The places of the groups by all columns, which all others add up."""
    rows = list(zip(*release.keys.values(), strict=True))
    fine = {key: place for place, key in enumerate(rows) if None not in key}
    if not fine:
        raise QueryError("SRD-105", "no grouping has all columns.", "Ask for the grouping by all of them too.")
    return fine


def _added(release: Release, fine: dict[tuple[Any, ...], int], name: str) -> list[float]:
    """Several groupings: the finest is made non-negative, and the others are its sums."""
    cells = dict(zip(fine, _projected([release.answers[name][place] for place in fine.values()]), strict=True))
    sums: dict[tuple[Any, ...], float] = {}
    rows = list(zip(*release.keys.values(), strict=True))
    for named in {tuple(part is not None for part in row) for row in rows}:
        for key, value in cells.items():
            group = tuple(part if kept else None for part, kept in zip(key, named, strict=True))
            sums[group] = sums.get(group, 0.0) + value
    return [sums[row] for row in rows]


def _projected(drawn: Sequence[float], *, rising: bool = False) -> list[float]:
    values = np.array(drawn, float)
    if len(values) == 0 or values.min() >= 0:
        return list(drawn)
    if rising:
        from scipy.optimize import isotonic_regression

        below = np.maximum(isotonic_regression(np.cumsum(values)).x, 0.0)
        return [float(v) for v in np.diff(below, prepend=0.0)]
    total = values.sum()
    if total <= 0:
        return [0.0] * len(values)
    falling = np.sort(values)[::-1]
    excess = (np.cumsum(falling) - total) / np.arange(1, len(values) + 1)
    return [float(v) for v in np.maximum(values - excess[np.nonzero(falling > excess)[0][-1]], 0.0)]
