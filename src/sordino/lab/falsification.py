"""Looking for a pair of neighbours that refutes what a statistic's author says about its sensitivity. Finding none is no proof."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.lab.finding import CONSISTENT, REFUTED, exit_code
from sordino.lab.neighbourhood import Neighbourhood, RowPair
from sordino.lab.report import as_html, as_json, say
from sordino.pictures import Picture, bars
from sordino.privacy.relation import Relation
from sordino.statistics.applied import reach_of
from sordino.statistics.custom import Custom
from sordino.statistics.evaluation import Evaluation, called, plain, values

__all__ = ["Counterexample", "Falsification", "falsify", "walked"]

SMALL = 1e-9  # what counts as nothing when pairs are ranked by how close they came
POOL = 40  # promising pairs that are changed further, for each claim
FAR = 8  # units: a distance beyond this is not told apart


@dataclass(frozen=True)
class Counterexample:
    """Two neighbouring tables, the claim they break, and by how much: `left` should be at most `right`."""

    claim: str
    x: tuple[Any, ...]  # numbers, or rows of several columns
    neighbour: tuple[Any, ...]
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
    hunted: int = 0  # of the pairs: changes of those that had come closest to breaking a claim

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
            out.append(f"  {self.hunted:,} of them hunted: changes of those that came closest to breaking a claim")
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
        x, other = (self.custom.prepared(self._given(rows)) for rows in (pair.x, pair.neighbour))

        def said(claim: str, left: Any, right: Any, k: int = 0, *, turned: bool = False) -> Counterexample:
            one, two = (other, x) if turned else (x, other)
            return Counterexample(self.unit + claim, self._shown(one), self._shown(two), k, float(left), float(right))

        if self.custom.global_sensitivity is not None:
            yield said("|f(x) - f(x')| <= sensitivity", self._moved(x, other), reach_of(self.custom, self.made.moves))
        if self.custom.rungs is not None and self.custom.dimension == 1:
            yield from self._ladders(x, other, pair.k, said)
        if self.custom.rungs is not None or self.custom.steps_away is not None:
            near, far = (self.made.distance(rows, most=FAR) for rows in (x, other))
            yield said("|d(x) - d(x')| <= 1", abs(near - far), 1)
            if max(near, far) >= 1:
                yield said("f(x) = f(x') where d >= 1", self._recorded(x) != self._recorded(other), 0)
        if (self.custom.goals is not None or self.custom.reached is not None) and self.custom.range is not None:
            low, high = self.custom.range
            goal = float(low + Fraction(pair.share) * (high - low))
            yield said("|d(x, y) - d(x', y)| <= 1", abs(self.made.steps_to(x, goal) - self.made.steps_to(other, goal)), self.made.moves)
            for rows, turned in ((x, False), (other, True)):
                yield said("d(x, f(x)) = 0", self.made.steps_to(rows, self.made.plain(rows)), 0, turned=turned)
        if self.custom.measures_distance and self.custom.range is not None and self.custom.dimension == 1:
            yield from self._tested(x, other, pair.share, said)

    def _given(self, rows: Any) -> Any:
        return np.array(rows, float).reshape(len(rows), len(self.custom.columns)) if self.custom.columns else [row[0] for row in rows]

    def _shown(self, x: Any) -> tuple[Any, ...]:
        """Prepared rows as plain numbers."""
        if not self.custom.columns:
            return tuple(x.tolist())
        return tuple(map(tuple, (x if self.custom.matrix else np.column_stack(list(x.values()))).tolist()))

    def _moved(self, x: Any, other: Any) -> float:
        move = np.array(values(self.custom, x)) - np.array(values(self.custom, other))
        return float(np.abs(move).sum()) if self.custom.norm == 1 else float(np.sqrt((move**2).sum()))

    def _recorded(self, x: Any) -> str:
        return repr(plain(called(self.custom.function, x)))

    def _ladders(self, x: Any, other: Any, k: int, said: Callable[..., Counterexample]) -> Iterator[Counterexample]:
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

    def _tested(self, x: Any, other: Any, share: float, said: Callable[..., Counterexample]) -> Iterator[Counterexample]:
        """Proposed bounds anywhere in the range, and some just too small for what this unit does."""
        made = self.made
        moved = abs(made.value(x) - made.value(other))
        for above in (Fraction(share) * made.top * made.step, Fraction(share) * moved * made.step):
            near, far = made.distance(x, above, FAR), made.distance(other, above, FAR)
            yield said("|d(x, above) - d(x', above)| <= 1", abs(near - far), 1)
            if max(near, far) >= 1:
                yield said("|f(x) - f(x')| <= above where d(x, above) >= 1", moved * made.step, made.bound(above) * made.step)


def falsify(
    statistic: Custom, pairs: int = 20_000, *, rows: int | None = None, seed: int = 1, seconds: float | None = None
) -> Falsification:
    """Hunt for a pair of neighbours that breaks a claim about a statistic; the verdict stays with it and goes on its cards.

    One unit may hold up to `rows` rows (without it: 1, or what a claim about people says). The author's own steps are walked, whole units
    that come, go or are replaced at once, and people replaced where a claim about coming and going would be used for them, too.
    Half of the pairs are new: random tables and structured ones (ties, two heaps, rows at the bounds, a ruler, columns that follow each
    other). The other half are changes of those that came closest to breaking each single claim: rows moved by a hair or by far, copied,
    dropped, tables doubled, distances lengthened. `pairs` and `seconds` are the budget. The first pair that breaks a claim is made as
    small and simple as possible.
    """
    if not isinstance(statistic, Custom):
        raise QueryError("SRD-105", f"{statistic!r} is not a statistic.", "Decorate it with @sd.statistic(bounds=..., relation=...).")
    for name, number in (("pairs", pairs), ("rows", statistic.max_rows if rows is None else rows)):
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise QueryError("SRD-103", f"{name} is {number!r}.", "Give a whole number of at least 1.")
    claims = (statistic.rungs, statistic.steps_away, statistic.goals, statistic.reached, statistic.global_sensitivity)
    if all(claim is None for claim in claims):
        what = f"nothing is claimed about the sensitivity of {statistic.__name__!r}."
        raise QueryError("SRD-109", what, "Add @statistic.sensitivity_at, .distance_at, .distance_to or .path_at, or sensitivity=.")
    missing = [name for name in statistic.columns if name not in statistic.limits]
    if missing:
        what = f"the bounds of {missing[0]!r} are not part of the claims about {statistic.__name__!r}."
        raise QueryError("SRD-104", what, f'Give sd.statistic bounds={{"{missing[0]}": (low, high), ...}}: those that the table declares.')
    found = walked(statistic, pairs, statistic.max_rows if rows is None else rows, seed, seconds=seconds)
    statistic.verdict = found
    return found


def _walks(statistic: Custom, rows: int, chance: np.random.Generator, evaluation: type[Evaluation]) -> tuple[Walk, ...]:
    """The author's steps, whole units, and replaced people, as far as these are different."""
    pairs = tuple(statistic.limits[name] for name in statistic.columns) or (statistic.bounds or (Fraction(0), Fraction(1)),)
    bounds = tuple((float(low), float(high)) for low, high in pairs)
    swapped = statistic.relation is Relation.REPLACE
    own = rows if statistic.level == "person" else 1
    found = [Walk(statistic, Neighbourhood(chance, bounds, swapped, own), evaluation(statistic), replaced=False)]
    if (moves := statistic.moves(rows)) > 1:
        found.append(Walk(statistic, Neighbourhood(chance, bounds, swapped, rows), evaluation(statistic, moves), replaced=False))
    if not swapped:
        around = Neighbourhood(chance, bounds, replaced=True, rows=rows, paired=False)
        found.append(Walk(statistic, around, evaluation(statistic, statistic.moves(rows, replaced=True)), replaced=True))
    return tuple(found)


Pool = list[tuple[float, RowPair]]


def walked(
    statistic: Custom, pairs: int, rows: int, seed: int, evaluation: type[Evaluation] = Evaluation, *, seconds: float | None = None
) -> Falsification:
    """The search itself, with the `Evaluation` a release would use."""
    chance = np.random.default_rng(seed)
    walks = _walks(statistic, rows, chance, evaluation)
    closest: dict[str, float] = {}
    pools: dict[Walk, dict[str, Pool]] = {walk: {} for walk in walks}
    hunted, tried, until = 0, 0, None if seconds is None else time.monotonic() + seconds
    while tried < pairs and (until is None or time.monotonic() < until):
        tried += 1
        walk = walks[tried % len(walks)]
        around, known = walk.around, pools[walk]
        pool = list(known.values())[around.place(len(known))] if known else []
        hunt = bool(pool) and around.place(2) == 0
        pair = around.changed(pool[around.place(len(pool))][1]) if hunt else around.pair()
        hunted += hunt
        for seen in walk.broken(pair):
            ratio = _ratio(seen)
            closest[seen.claim] = max(closest.get(seen.claim, 0.0), ratio)
            if seen.left > seen.right:
                return Falsification(statistic.__name__, tried, _smallest(walk, pair, seen), closest, rows=rows, hunted=hunted)
            _kept(known.setdefault(seen.claim, []), ratio, pair)
    return Falsification(statistic.__name__, tried, None, closest, rows=rows, hunted=hunted)


def _kept(pool: Pool, ratio: float, pair: RowPair) -> None:
    """The pairs that came closest; those that meet a claim exactly are many, and count no more than those far from it."""
    pool.append((ratio if ratio < 1 else 0.0, pair))
    if len(pool) > 2 * POOL:
        pool.sort(key=lambda item: -item[0])
        del pool[POOL:]


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
