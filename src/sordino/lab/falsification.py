"""Looking for a pair of neighbours that refutes what a statistic's author says about its sensitivity. Finding none is no proof."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.lab.finding import CONSISTENT, REFUTED, exit_code
from sordino.lab.neighbourhood import Neighbourhood, Pair
from sordino.lab.report import as_html, as_json, say
from sordino.pictures import Picture, bars
from sordino.privacy.relation import Relation
from sordino.statistics.custom import Custom
from sordino.statistics.evaluation import called, number

__all__ = ["Falsification", "Witness", "falsify"]

Floats = NDArray[np.float64]
CLOSE = 1e-9  # of the range: differences floats may make
POOL = 40  # promising pairs that are changed further


@dataclass(frozen=True)
class Witness:
    """Two neighbouring tables, the claim they break, and by how much: `left` should be at most `right`."""

    claim: str
    x: tuple[float, ...]
    neighbour: tuple[float, ...]
    k: int
    left: float
    right: float

    def __str__(self) -> str:
        return f"{self.claim} fails at k = {self.k}: {self.left:.6g} > {self.right:.6g} for x = {list(self.x)}, x' = {list(self.neighbour)}"


@dataclass(frozen=True, repr=False)
class Falsification:
    """How many pairs were tried, the worst of every claim as left over right, and a witness if one was found."""

    statistic: str
    pairs: int
    witness: Witness | None = None
    closest: dict[str, float] = field(default_factory=dict)
    confidence: float = 1.0

    @property
    def ok(self) -> bool:
        return self.witness is None

    @property
    def verdict(self) -> str:
        return CONSISTENT if self.ok else REFUTED

    @property
    def exit_code(self) -> int:
        return exit_code(self.verdict)

    def __repr__(self) -> str:
        if self.witness is None:
            out = [f"{self.statistic}: nothing found in {self.pairs:,} pairs of neighbours; this is not a proof"]
            return say([*out, *(f"  {claim}: at most {ratio:.3g} of what is allowed" for claim, ratio in self.closest.items())])
        return f"{self.statistic}: refuted after {self.pairs:,} pairs\n  {self.witness}"

    def plot(self) -> Picture:
        shown = {claim: min(ratio, 2.0) for claim, ratio in self.closest.items()}
        return bars(list(shown), list(shown.values()), title=f"How close {self.statistic} comes to its claims", x="left over right")

    def to_json(self) -> str:
        return as_json(self, ok=self.ok, verdict=self.verdict)

    def _repr_html_(self) -> str:
        return as_html(self)


@dataclass(frozen=True)
class Claims:
    """Everything the author says, as inequalities left <= right on one pair, computed as a release would compute them."""

    custom: Custom
    low: float
    high: float

    @property
    def width(self) -> float:
        return self.high - self.low

    def value(self, x: Floats) -> Floats:
        found = called(lambda: np.asarray(called(self.custom.function, x), float).ravel())
        middle = (self.low + self.high) / 2
        if found is None or len(found) != self.custom.dimension:
            return np.full(self.custom.dimension, middle)
        out = np.where(np.isfinite(found), found, middle)
        return np.asarray(np.clip(out, self.low, self.high) if self.custom.range is not None else out)

    def rung(self, x: Floats, k: int) -> float:
        found = number(called(self.custom.rungs, x, k), math.inf)
        return min(found, self.width) if found >= 0 else self.width

    def distance(self, x: Floats, above: float) -> float:
        arguments = (x, above) if self.custom.measures_distance else (x,)
        return max(math.floor(number(called(self.custom.steps_away, *arguments), 0.0)), 0)

    def broken(self, pair: Pair) -> Iterator[Witness]:
        """Every inequality at this pair, whether it holds or not."""
        x, other = self.custom.prepared(pair.x), self.custom.prepared(pair.neighbour)
        move = self.value(x) - self.value(other)
        moved = float(np.abs(move).sum()) if self.custom.norm == 1 else float(np.sqrt((move**2).sum()))

        def said(claim: str, left: float, right: float, k: int = 0, *, turned: bool = False) -> Witness:
            one, two = (other, x) if turned else (x, other)
            return Witness(claim, tuple(one.tolist()), tuple(two.tolist()), k, left, right)

        if self.custom.global_sensitivity is not None:
            yield said("|f(x) - f(x')| <= sensitivity", moved, float(self.custom.global_sensitivity))
        if self.custom.rungs is not None:
            for turned, (one, two) in enumerate(((x, other), (other, x))):
                first = self.rung(one, 0)
                yield said("|f(x) - f(x')| <= A(x, 0)", min(moved, self.width), first, turned=bool(turned))
                for k in {0, pair.k}:
                    here, further = first if k == 0 else self.rung(one, k), self.rung(two, k + 1)
                    yield said("A(x, k) <= A(x', k + 1)", here, further, k, turned=bool(turned))
                    yield said("A(x, k) <= A(x, k + 1)", here, self.rung(one, k + 1), k, turned=bool(turned))
        if self.custom.steps_away is not None:
            above = pair.share * self.width if self.custom.measures_distance else 0.0
            near, far = self.distance(x, above), self.distance(other, above)
            yield said("|d(x) - d(x')| <= 1", abs(near - far), 1)
            if max(near, far) >= 1:
                yield said("f(x) = f(x') where d >= 1", self._change(x, other, moved), above)

    def _change(self, x: Floats, other: Floats, moved: float) -> float:
        """How far apart two values are; those that are no numbers are equal or not."""
        one, two = called(self.custom.function, x), called(self.custom.function, other)
        if isinstance(one, int | float | np.number | np.ndarray) and isinstance(two, int | float | np.number | np.ndarray):
            return moved
        return 0.0 if one == two else self.width


def falsify(statistic: Custom, pairs: int = 20_000, *, seed: int = 1) -> Falsification:
    """Try that many pairs of neighbours against everything claimed of a statistic; the verdict stays with it and goes on its cards.

    Random tables, structured ones (ties, two heaps, rows at the bounds, a ruler) and, a third of the time, changes of the pairs that came
    closest so far. The first pair that breaks a claim is made as small and simple as possible.
    """
    if not isinstance(statistic, Custom):
        raise QueryError("SRD-105", f"{statistic!r} is not a statistic.", "Decorate it with @sd.statistic(bounds=..., relation=...).")
    if isinstance(pairs, bool) or not isinstance(pairs, int) or pairs < 1:
        raise QueryError("SRD-103", f"pairs is {pairs!r}.", "Give a whole number of at least 1.")
    if statistic.rungs is None and statistic.steps_away is None and statistic.global_sensitivity is None:
        what = f"nothing is claimed about the sensitivity of {statistic.__name__!r}."
        raise QueryError("SRD-109", what, "Add @statistic.sensitivity_at, @statistic.distance_at, or sensitivity=.")
    found = _search(statistic, pairs, seed)
    statistic.verdict = found
    return found


def _search(statistic: Custom, pairs: int, seed: int) -> Falsification:
    bounds = (0.0, 1.0) if statistic.bounds is None else (float(statistic.bounds[0]), float(statistic.bounds[1]))
    limits = bounds if statistic.range is None else (float(statistic.range[0]), float(statistic.range[1]))
    claims = Claims(statistic, *limits)
    around = Neighbourhood(np.random.default_rng(seed), *bounds, replaced=statistic.relation is Relation.REPLACE)
    closest: dict[str, float] = {}
    pool: list[tuple[float, Pair]] = []
    for tried in range(1, pairs + 1):
        pair = around.changed(pool[around.place(len(pool))][1]) if pool and tried % 3 == 0 else around.pair()
        best = 0.0
        for seen in claims.broken(pair):
            ratio = _ratio(seen, claims.width)
            closest[seen.claim] = max(closest.get(seen.claim, 0.0), ratio)
            if seen.left > seen.right + CLOSE * claims.width:
                return Falsification(statistic.__name__, tried, _smallest(claims, around, pair, seen), closest)
            best = max(best, ratio if ratio < 1 else 0.0)  # pairs that meet a claim exactly are many and lead nowhere
        pool.append((best, pair))
        if len(pool) > 2 * POOL:
            pool = sorted(pool, key=lambda item: -item[0])[:POOL]
    return Falsification(statistic.__name__, pairs, None, closest)


def _ratio(seen: Witness, width: float) -> float:
    return 0.0 if seen.left <= CLOSE * width else seen.left / max(seen.right, CLOSE * width)


def _smallest(claims: Claims, around: Neighbourhood, pair: Pair, found: Witness) -> Witness:
    """The same claim broken by fewer rows and rounder numbers."""

    def breaks(other: Pair) -> Witness | None:
        same = (seen for seen in claims.broken(other) if seen.claim == found.claim)
        return next((seen for seen in same if seen.left > seen.right + CLOSE * claims.width), None)

    improved = True
    while improved:
        improved = False
        for other in around.simpler(pair):
            seen = breaks(other)
            if seen is not None:
                pair, found, improved = other, seen, True
                break
    return found
