"""Looking for a pair of neighbours that refutes what a statistic's author says about its sensitivity. Finding none is no proof.

Pairs of neighbouring tables to try a claim on: random, structured, changed a little, and made simpler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.lab.finding import CONSISTENT, REFUTED, exit_code
from sordino.lab.report import as_html, as_json, say
from sordino.pictures import Picture, bars
from sordino.privacy.relation import Relation
from sordino.statistics.applied import reach_of
from sordino.statistics.custom import Custom
from sordino.statistics.evaluation import Evaluation, called, plain, values

__all__ = ["Counterexample", "Falsification", "Neighbourhood", "RowPair", "falsify", "walked"]

Floats = NDArray[np.float64]
SIZES = (0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 12, 20, 31)


@dataclass(frozen=True)
class RowPair:
    """The rows two tables share, those only one of them has, a distance k and a share of the range to ask about."""

    common: tuple[float, ...]
    mine: tuple[float, ...]
    other: tuple[float, ...]
    k: int = 1
    share: float = 0.0

    @property
    def x(self) -> tuple[float, ...]:
        return (*self.common, *self.mine)

    @property
    def neighbour(self) -> tuple[float, ...]:
        return (*self.common, *self.other)


@dataclass(frozen=True)
class Neighbourhood:
    """Where pairs come from: bounds, relation and a source of chance.

    One side of a pair has up to `rows` rows of its own. If they are `replaced`, so has the other: as many, where the relation of the
    claim keeps the size (`paired`), and any number up to `rows` otherwise.
    """

    chance: np.random.Generator
    low: float
    high: float
    replaced: bool
    rows: int = 1
    paired: bool = True

    def place(self, size: int) -> int:
        return int(self.chance.integers(size))

    def value(self) -> float:
        """A row: a bound, the middle, a round fraction, or anything between."""
        share = (0.0, 1.0, 0.0, 1.0, 0.5, float(self.chance.integers(9)) / 8, float(self.chance.random()))[self.place(7)]
        return self.low + (self.high - self.low) * share

    def table(self) -> list[float]:
        chance, size = self.chance, SIZES[self.place(len(SIZES))]
        width = self.high - self.low
        match self.place(7):
            case 0:
                shares = chance.random(size)
            case 1:
                shares = chance.integers(0, 5, size) / 4
            case 2:
                shares = (chance.random(size) < chance.random()).astype(float)
            case 3:
                shares = np.full(size, chance.integers(0, 9) / 8)
            case 4:
                shares = np.arange(size) / max(size - 1, 1)
            case 5:
                shares = chance.random() + 0.01 * chance.standard_normal(size)
            case _:
                shares = np.where(chance.random(size) < 0.3, chance.integers(0, 2, size), chance.random())
        return [self.low + width * float(share) for share in np.clip(shares, 0, 1)]

    def pair(self) -> RowPair:
        common, k = self.table(), int(self.chance.integers(1, 5)) if self.chance.random() < 0.8 else int(self.chance.integers(5, 40))
        return RowPair(tuple(common), *self.own(), k, float(self.chance.random()) ** 2)

    def own(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The rows that only one table has, those of either: often one, often as many as may be, often all alike."""
        mine = self.side((1, self.rows, 1 + self.place(self.rows))[self.place(3)])
        if not self.replaced:
            return mine, ()
        return mine, self.side(len(mine) if self.paired else (0, 1, len(mine), self.rows)[self.place(4)])

    def side(self, size: int) -> tuple[float, ...]:
        return (self.value(),) * size if self.place(2) else tuple(self.value() for _ in range(size))

    def changed(self, pair: RowPair) -> RowPair:
        """One step away from a pair that came close."""
        common = list(pair.common)
        match self.place(6):
            case 0 if common:
                common[self.place(len(common))] = self.value()
            case 1 if common:
                common[self.place(len(common))] = common[self.place(len(common))]
            case 2 if common:
                del common[self.place(len(common))]
            case 3:
                common.append(self.value())
            case 4:
                mine, other = self.own()
                return replace(pair, mine=mine, other=other)
            case _:
                return replace(pair, k=max(0, pair.k + (-1, 1)[self.place(2)]))
        return replace(pair, common=tuple(common))

    def simpler(self, pair: RowPair) -> Iterator[RowPair]:
        """Pairs with a row less or a rounder row, simplest first."""
        for i in range(len(pair.common)):
            yield replace(pair, common=pair.common[:i] + pair.common[i + 1 :])
        mine, other = _shorter(pair.mine), _shorter(pair.other)
        if self.paired and self.replaced:
            yield from (replace(pair, mine=one, other=two) for one, two in zip(mine, other, strict=True) if one)
        elif len(pair.mine) + len(pair.other) > 1:
            yield from (replace(pair, mine=one) for one in mine)
            yield from (replace(pair, other=two) for two in other)
        if pair.k > 0:
            yield replace(pair, k=pair.k - 1)
        round_ones = (self.low, self.high, (self.low + self.high) / 2)
        parts: dict[str, tuple[float, ...]] = {"common": pair.common, "mine": pair.mine, "other": pair.other}
        for name, rows in parts.items():
            for i, row in enumerate(rows):
                for simple in round_ones[: round_ones.index(row) if row in round_ones else None]:
                    rounder: dict[str, Any] = {name: (*rows[:i], simple, *rows[i + 1 :])}
                    yield replace(pair, **rounder)


def _shorter(rows: tuple[float, ...]) -> list[tuple[float, ...]]:
    return [rows[:i] + rows[i + 1 :] for i in range(len(rows))]


SMALL = 1e-9  # what counts as nothing when pairs are ranked by how close they came
POOL = 40  # promising pairs that are changed further
FAR = 8  # units: a distance beyond this is not told apart


@dataclass(frozen=True)
class Counterexample:
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
    witness: Counterexample | None = None
    closest: dict[str, float] = field(default_factory=dict)
    confidence: float = 1.0
    rows: int = 1  # of one unit, at most

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
            units = "" if self.rows == 1 else f", units of up to {self.rows} rows"
            out = [f"{self.statistic}: nothing found in {self.pairs:,} pairs of neighbours{units}; this is not a proof"]
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
class Walk:
    """Pairs one unit apart, and everything a release relies on there, as inequalities left <= right in the release's own arithmetic.

    Ladders and distances come from the `Evaluation` a release by smooth sensitivity, a published bound, propose-test-release or
    stability would use for units of so many steps; the move and the reach of a global sensitivity from what `FixedStep` adds noise to; a
    stable value is compared as it would be recorded. Where a unit is one step these are the author's claims.
    """

    custom: Custom
    around: Neighbourhood
    made: Evaluation
    replaced: bool  # people, where the claim is about rows or people that come and go

    @property
    def unit(self) -> str:
        """What one unit is, where it is not a step of the claim."""
        many = f"up to {self.around.rows} rows replaced" if self.replaced else f"up to {self.around.rows} rows at once"
        return "" if self.made.moves == 1 else f"{many}, {self.made.moves} steps: "

    def broken(self, pair: RowPair) -> Iterator[Counterexample]:
        """Every inequality at this pair, whether it holds or not."""
        x, other = self.custom.prepared(pair.x), self.custom.prepared(pair.neighbour)

        def said(claim: str, left: Any, right: Any, k: int = 0, *, turned: bool = False) -> Counterexample:
            one, two = (other, x) if turned else (x, other)
            return Counterexample(self.unit + claim, tuple(one.tolist()), tuple(two.tolist()), k, float(left), float(right))

        if self.custom.global_sensitivity is not None:
            yield said("|f(x) - f(x')| <= sensitivity", self._moved(x, other), reach_of(self.custom, self.made.moves))
        if self.custom.rungs is not None and self.custom.dimension == 1:
            yield from self._ladders(x, other, pair.k, said)
        if self.custom.rungs is not None or self.custom.steps_away is not None:
            near, far = (self.made.distance(rows, most=FAR) for rows in (x, other))
            yield said("|d(x) - d(x')| <= 1", abs(near - far), 1)
            if max(near, far) >= 1:
                yield said("f(x) = f(x') where d >= 1", self._recorded(x) != self._recorded(other), 0)
        if self.custom.measures_distance and self.custom.range is not None and self.custom.dimension == 1:
            yield from self._tested(x, other, pair.share, said)

    def _moved(self, x: Floats, other: Floats) -> float:
        move = np.array(values(self.custom, x)) - np.array(values(self.custom, other))
        return float(np.abs(move).sum()) if self.custom.norm == 1 else float(np.sqrt((move**2).sum()))

    def _recorded(self, x: Floats) -> str:
        return repr(plain(called(self.custom.function, x)))

    def _ladders(self, x: Floats, other: Floats, k: int, said: Callable[..., Counterexample]) -> Iterator[Counterexample]:
        made, step = self.made, self.made.step
        moved = abs(made.value(x) - made.value(other)) * step
        rungs = [[int(rung) for rung in made.ladder(rows).rungs(k // made.moves + 2)] for rows in (x, other)]
        for turned, (one, two) in enumerate(((0, 1), (1, 0))):
            yield said("|f(x) - f(x')| <= A(x, 0)", moved, rungs[one][0] * step, turned=bool(turned))
            for at in {0, k // made.moves}:
                yield said("A(x, k) <= A(x', k + 1)", rungs[one][at] * step, rungs[two][at + 1] * step, at, turned=bool(turned))
            for at in {0, k}:  # before a release would mend it
                here, further = (made.rung((x, other)[one], i) * step for i in (at, at + 1))
                yield said("A(x, k) <= A(x, k + 1)", here, further, at, turned=bool(turned))

    def _tested(self, x: Floats, other: Floats, share: float, said: Callable[..., Counterexample]) -> Iterator[Counterexample]:
        """Proposed bounds anywhere in the range, and some just too small for what this unit does."""
        made = self.made
        moved = abs(made.value(x) - made.value(other))
        for above in (Fraction(share) * made.top * made.step, Fraction(share) * moved * made.step):
            near, far = made.distance(x, above, FAR), made.distance(other, above, FAR)
            yield said("|d(x, above) - d(x', above)| <= 1", abs(near - far), 1)
            if max(near, far) >= 1:
                yield said("|f(x) - f(x')| <= above where d(x, above) >= 1", moved * made.step, made.bound(above) * made.step)


def falsify(statistic: Custom, pairs: int = 20_000, *, rows: int | None = None, seed: int = 1) -> Falsification:
    """Try that many pairs of neighbours against everything claimed of a statistic; the verdict stays with it and goes on its cards.

    One unit may hold up to `rows` rows (without it: 1, or what a claim about people says). The author's own steps are walked, whole units
    that come, go or are replaced at once, and people replaced where a claim about coming and going would be used for them, too.
    Random tables, structured ones (ties, two heaps, rows at the bounds, a ruler) and, a third of the time, changes of the pairs that came
    closest so far. The first pair that breaks a claim is made as small and simple as possible.
    """
    if not isinstance(statistic, Custom):
        raise QueryError("SRD-105", f"{statistic!r} is not a statistic.", "Decorate it with @sd.statistic(bounds=..., relation=...).")
    for name, number in (("pairs", pairs), ("rows", statistic.max_rows if rows is None else rows)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise QueryError("SRD-103", f"{name} is {number!r}.", "Give a whole number of at least 1.")
    if statistic.rungs is None and statistic.steps_away is None and statistic.global_sensitivity is None:
        what = f"nothing is claimed about the sensitivity of {statistic.__name__!r}."
        raise QueryError("SRD-109", what, "Add @statistic.sensitivity_at, @statistic.distance_at, or sensitivity=.")
    found = walked(statistic, pairs, statistic.max_rows if rows is None else rows, seed)
    statistic.verdict = found
    return found


def _walks(statistic: Custom, rows: int, chance: np.random.Generator, evaluation: type[Evaluation]) -> tuple[Walk, ...]:
    """The author's steps, whole units, and replaced people, as far as these are different."""
    bounds = (0.0, 1.0) if statistic.bounds is None else (float(statistic.bounds[0]), float(statistic.bounds[1]))
    swapped = statistic.relation is Relation.REPLACE
    own = rows if statistic.level == "person" else 1
    found = [Walk(statistic, Neighbourhood(chance, *bounds, swapped, own), evaluation(statistic), replaced=False)]
    if (moves := statistic.moves(rows)) > 1:
        found.append(Walk(statistic, Neighbourhood(chance, *bounds, swapped, rows), evaluation(statistic, moves), replaced=False))
    if not swapped:
        around = Neighbourhood(chance, *bounds, replaced=True, rows=rows, paired=False)
        found.append(Walk(statistic, around, evaluation(statistic, statistic.moves(rows, replaced=True)), replaced=True))
    return tuple(found)


def walked(statistic: Custom, pairs: int, rows: int, seed: int, evaluation: type[Evaluation] = Evaluation) -> Falsification:
    """The search itself, with the `Evaluation` a release would use."""
    chance = np.random.default_rng(seed)
    walks = _walks(statistic, rows, chance, evaluation)
    closest: dict[str, float] = {}
    pools: dict[Walk, list[tuple[float, RowPair]]] = {walk: [] for walk in walks}
    for tried in range(1, pairs + 1):
        walk = walks[tried % len(walks)]
        around, pool = walk.around, pools[walk]
        pair = around.changed(pool[around.place(len(pool))][1]) if pool and around.place(3) == 0 else around.pair()
        best = 0.0
        for seen in walk.broken(pair):
            ratio = _ratio(seen)
            closest[seen.claim] = max(closest.get(seen.claim, 0.0), ratio)
            if seen.left > seen.right:
                return Falsification(statistic.__name__, tried, _smallest(walk, pair, seen), closest, rows=rows)
            best = max(best, ratio if ratio < 1 else 0.0)  # pairs that meet a claim exactly are many and lead nowhere
        pool.append((best, pair))
        if len(pool) > 2 * POOL:
            pool.sort(key=lambda item: -item[0])
            del pool[POOL:]
    return Falsification(statistic.__name__, pairs, None, closest, rows=rows)


def _ratio(seen: Counterexample) -> float:
    return 0.0 if seen.left <= SMALL else seen.left / max(seen.right, SMALL)


def _smallest(walk: Walk, pair: RowPair, found: Counterexample) -> Counterexample:
    """The same claim broken by fewer rows and rounder numbers."""

    def breaks(other: RowPair) -> Counterexample | None:
        same = (seen for seen in walk.broken(other) if seen.claim == found.claim)
        return next((seen for seen in same if seen.left > seen.right), None)

    improved = True
    while improved:
        improved = False
        for other in walk.around.simpler(pair):
            seen = breaks(other)
            if seen is not None:
                pair, found, improved = other, seen, True
                break
    return found
