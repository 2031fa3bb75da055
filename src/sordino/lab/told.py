"""Mechanisms that draw more than they tell: the law of what leaves, from the laws they hand to the sampler."""

from __future__ import annotations

import bisect
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, permutations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.lab.loss import NOTHING, PathLoss, between, listed, mass_upto
from sordino.lab.told_law import ToldAlone, ToldKeys, ToldMinimum
from sordino.lab.world import Listing, listing
from sordino.mechanisms.above_threshold import AboveThreshold
from sordino.mechanisms.joint_exponential import JointExponential
from sordino.mechanisms.joint_top import JointTop
from sordino.mechanisms.objective_perturbation import ObjectivePerturbation
from sordino.mechanisms.partition_selection import PartitionSelection
from sordino.mechanisms.propose_ladder import ProposeLadder
from sordino.mechanisms.propose_test_release import FINE, ProposeTestRelease
from sordino.mechanisms.published_bound import PublishedBound
from sordino.mechanisms.stability import Stability
from sordino.mechanisms.stable_histogram import StableHistogram
from sordino.mechanisms.stable_mode import StableMode
from sordino.mechanisms.weighted_selection import WeightedSelection
from sordino.privacy.discrete import Bernoulli, UniformInteger
from sordino.privacy.law import Placed
from sordino.summaries import Ask, Counts, KeyWeights, Nearness, Scores, Stair

__all__ = ["Told", "told"]

FAR = 2**60  # an outcome that no threshold lies beyond
SURE = 16  # noise lies within so many scales but for less than a millionth
MOST = 4_000  # tuples of cells that are compared, of those there are
BRANCHES = 100  # draws of cells that are walked
PIECES = 9  # tuples of points that are compared in each of them
Turns = Sequence[tuple[Any, Any]]  # the laws of both sides, draw by draw


@dataclass(frozen=True)
class Told:
    """One release of such a mechanism on both sides: which outcomes to pin so that both answer the same, and what the answer tells."""

    pin: Callable[[int, Any, Any], tuple[Any, Any]]
    loss: Callable[[Turns], PathLoss]


def told(mechanism: Any, one: Ask, other: Ask) -> Told | None:
    """The rule of this mechanism; None where its outcomes are what it tells.

    A mechanism from elsewhere that draws more than it tells says so with `tells_less = True`, and its values are listed.
    """
    one, other = _kept(one), _kept(other)
    if isinstance(mechanism, PartitionSelection | StableHistogram):
        keys = ToldAlone(mechanism, one(Counts()), other(Counts()))
        return Told(keys.pin, keys.loss)
    if isinstance(mechanism, WeightedSelection):
        rounds = ToldKeys.of(mechanism, one(KeyWeights()), other(KeyWeights()))
        return Told(rounds.pin, rounds.loss)
    for kind, rule in RULES.items():
        if isinstance(mechanism, kind):
            return rule(mechanism, one, other)
    return _listed(mechanism, one, other) if getattr(mechanism, "tells_less", False) else None


def _kept(ask: Ask) -> Ask:
    """The same answers, each computed once."""
    known: dict[str, Any] = {}

    def answer(request: Any) -> Any:
        name = repr(request)
        if name not in known:
            known[name] = ask(request)
        return known[name]

    return answer


def _listed(mechanism: Any, one: Ask, other: Ask) -> Told:
    """Every value there is, with the outcomes that lead to it: nothing is assumed about the mechanism."""
    sides = [listing(mechanism, ask) for ask in (one, other)]
    shared = sides[0].law.keys() & sides[1].law.keys()
    chosen = [max(shared or side.law, key=lambda value: (sides[0].law.get(value, 0.0), str(value))) for side in sides]
    scripts = [side.scripts[value] for side, value in zip(sides, chosen, strict=True)]
    return Told(lambda turn, *_: (scripts[0][turn], scripts[1][turn]), lambda _: _values(*sides))


def _values(one: Listing, other: Listing) -> PathLoss:
    keys = list(dict.fromkeys([*one.law, *other.law]))
    return listed([one.law.get(key, 0.0) for key in keys], [other.law.get(key, 0.0) for key in keys])


def _proposed(mechanism: ProposeTestRelease, one: Ask, other: Ask) -> Told:
    """Both sides fail the test. What is told: a refusal or the broad noise, and the narrow noise with the probability of a pass."""

    def pin(turn: int, law: Any, _: Any) -> tuple[Any, Any]:
        outcome = (False if isinstance(law, Bernoulli) else -FAR) if turn == 0 else law.location
        return outcome, outcome

    def passing(law: Any) -> float:
        if isinstance(law, Bernoulli):
            return float(law.probabilities[0])
        return 1 - float(mass_upto(law, law.location, math.ceil(mechanism.threshold * FINE) + 1))

    def loss(turns: Turns) -> PathLoss:
        p, q = (passing(law) for law in turns[0])
        fitted = _noise(*turns[1])
        broad = ([1.0], [1.0]) if mechanism.otherwise == "refuse" else _noise(*turns[2])
        sides = zip((p, q), broad, fitted, strict=True)
        return listed(*(np.concatenate([(1 - chance) * np.asarray(b), chance * np.asarray(f)]) for chance, b, f in sides))

    return Told(pin, loss)


def _noise(one: Placed[Any], other: Placed[Any]) -> Any:
    """Two placed laws on common intervals."""
    found = between(one, other)
    return ([1.0], [1.0]) if found.nothing else found.pairs()[0]


def _published(mechanism: PublishedBound, one: Ask, other: Ask) -> Told:
    """Both sides publish the first side's rung. What is told: every rung, and the noise that goes with it."""

    def pin(_: int, law: Any, __: Any) -> tuple[Any, Any]:
        return law.location, law.location

    def loss(turns: Turns) -> PathLoss:
        (first, second), noises = turns[0], turns[1]
        if first.location == second.location and between(*noises).nothing:
            return NOTHING
        assert mechanism.beta is not None
        scales, lift, rate = one(Stair(mechanism.beta)).scales, mechanism.lift, mechanism.rate
        reach = math.ceil(SURE * float(first.scale))
        low, high = (f(first.location, second.location) for f in (min, max))
        masses: dict[int, NDArray[np.float64]] = {}
        for rung in range(low - reach, high + reach + 1):
            place = min(max(rung + lift, 0), len(scales) - 1)
            masses[place] = masses.get(place, np.zeros(2)) + [float(law.probability(rung - law.location)) for law in (first, second)]
        parts: list[list[Any]] = [[], []]
        for place, chances in masses.items():
            laws = [replace(law, scale=scales[place] / rate) for law in noises]
            for side, chance, mass in zip(parts, chances, _noise(*laws), strict=True):
                side.append(chance * np.asarray(mass))
        return listed(*(np.concatenate(side) for side in parts))

    return Told(pin, loss)


def _first_above(mechanism: AboveThreshold, one: Ask, other: Ask) -> Told:
    """A threshold beyond reach on both sides. What is told: the first index whose noisy value reaches the noisy threshold, or none."""

    def pin(turn: int, law: Any, _: Any) -> tuple[Any, Any]:
        outcome = FAR if turn == 0 else law.location
        return outcome, outcome

    def law_of(bar: Placed[Any], values: Placed[Any]) -> NDArray[np.float64]:
        reach = math.ceil(45 * float(bar.scale))  # type: ignore[arg-type]
        levels = np.arange(int(bar.location) - reach, int(bar.location) + reach + 1)
        lower = np.diff(mass_upto(bar, int(bar.location), np.append(levels[0] - 1, levels[: reach + 1])))
        mass = np.append(lower, lower[-2::-1])  # symmetric: what is 1 minus nearly 1 would have lost its digits
        places = np.atleast_1d(np.asarray(values.location)).tolist()
        under = [mass_upto(values, place, levels - 1) for place in places]
        over = [mass_upto(values, -place, -levels) for place in places]  # the noise is symmetric: no digits are lost
        before, out = np.ones(len(levels)), []
        for below, above in zip(under, over, strict=True):
            out.append(float((mass * before * above).sum()))
            before = before * below
        return np.array([*out, float((mass * before).sum())])

    return Told(pin, lambda turns: listed(law_of(turns[0][0], turns[1][0]), law_of(turns[0][1], turns[1][1])))


def _laddered(mechanism: ProposeLadder, one: Ask, other: Ask) -> Told:
    """A threshold beyond reach on both sides. What is told: the first rung that passes, with the noise that goes with it, or a refusal."""

    def pin(turn: int, law: Any, _: Any) -> tuple[Any, Any]:
        outcome = FAR if turn == 0 else law.location
        return outcome, outcome

    def loss(turns: Turns) -> PathLoss:
        chances = [mechanism.law(np.asarray(law.location).tolist()) for law in turns[1]]
        parts: list[list[Any]] = [[chance[-1:]] for chance in chances]
        near = [[ask(Nearness(bound)) for bound in mechanism.ladder] for ask in (one, other)]
        for place in range(len(mechanism.ladder)):
            noises = _noise(*(mechanism.noise(side[place], place) for side in near))
            for part, chance, mass in zip(parts, chances, noises, strict=True):
                part.append(chance[place] * np.asarray(mass))
        return listed(*(np.concatenate(part) for part in parts))

    return Told(pin, loss)


def _sequences(mechanism: JointTop, one: Ask, other: Ask) -> Told:
    """The leaders of the first side, in order, on both. What is told: a sequence, by the weight its heap was handed over with."""
    scores = [np.asarray(ask(Scores()), np.int64) for ask in (one, other)]
    heaps = [mechanism.heaps(side) for side in scores]
    far = mechanism.farthest(len(scores[0]))
    leaders = np.argsort(-scores[0], kind="stable")[: mechanism.k].tolist()
    orders = np.array(_orders(len(scores[0]), leaders))

    def heap(side: int, chosen: Any) -> Any:
        """Where a sequence lies: the heap of its loss and of the first place that has it."""
        top = np.sort(scores[side])[::-1][: mechanism.k]
        below = np.minimum(top - scores[side][np.asarray(chosen)], far)
        loss, place = below.max(axis=-1), below.argmax(axis=-1)
        known = heaps[side].loss * mechanism.k + heaps[side].place
        order = np.argsort(known)
        return order[np.searchsorted(known[order], loss * mechanism.k + place)]

    def pin(turn: int, *_: Any) -> tuple[Any, Any]:
        return (int(heap(0, leaders)), int(heap(1, leaders))) if turn == 0 else (leaders[turn - 1],) * 2

    def loss(turns: Turns) -> PathLoss:
        laws = []
        for side, law in enumerate(turns[0]):
            weights = np.asarray(law.weights, float)
            each = weights / weights.sum() * np.exp(-heaps[side].log_number)
            laws.append(each[heap(side, orders)])
        rest = [1 - float(chances.sum()) for chances in laws]
        if min(rest) > 1e-9:  # all other sequences as one; what is rounding and no mass would have no ratio
            laws = [np.append(chances, left) for chances, left in zip(laws, rest, strict=True)]
        return listed(*laws)

    return Told(pin, loss)


def _all(candidates: int, k: int) -> int:
    return math.perm(candidates, k)


def _orders(candidates: int, leaders: list[int]) -> list[tuple[int, ...]]:
    """Every sequence; or, of too many, the leaders in nearly their order, and with each other candidate in the last place."""
    k = len(leaders)
    if _all(candidates, k) <= MOST:
        return list(permutations(range(candidates), k))
    swapped = [(*leaders[:i], leaders[i + 1], leaders[i], *leaders[i + 2 :]) for i in range(k - 1)]
    others = [c for c in range(candidates) if c not in leaders][:MOST]
    return [tuple(leaders), *swapped, *((*leaders[:-1], c) for c in others), *((*leaders[:-2], leaders[-1], c) for c in others)]


def _joint(mechanism: JointExponential, one: Ask, other: Ask) -> Told:
    """Points drawn anywhere on both sides. What is told: a rising tuple, by the cells it lies in and the chance they were drawn with."""
    count = len(mechanism.levels)

    def pin(turn: int, law: Any, _: Any) -> tuple[Any, Any]:
        outcome = law.low if turn > count + 1 else 1 if turn == count + 1 else 0
        return outcome, outcome

    def loss(_: Turns) -> PathLoss:
        sides = [_CellTree(mechanism, ask) for ask in (one, other)]
        ends = sorted({end for side in sides for spans in side.chances for span in spans for end in span})
        tuples = dict.fromkeys(points for side in sides for spans in side.chances for points in _inside(spans, ends))
        pairs = [[side.log_density(points) for side in sides] for points in tuples]
        ratio = np.array([p - q for p, q in pairs if p is not None and q is not None] or [0.0])
        there, back = float(ratio.max()), float(-ratio.min())
        return PathLoss(max(there, 0.0), max(back, 0.0), 0.0, best=None) if max(there, back) > 1e-12 else NOTHING

    return Told(pin, loss)


class _CellTree:
    """The cells that tuples are drawn in, with the chances really handed to the sampler: the likeliest and the rarest, or all.

    A draw of cells is `len(levels) + 1` choices; another decides whether the points are drawn there or anywhere; each point is then
    uniform on a span. Nothing else is assumed about the mechanism: every branch is walked by releasing once more.
    """

    def __init__(self, mechanism: JointExponential, ask: Ask) -> None:
        self.mechanism, self.ask, self.count = mechanism, ask, len(mechanism.levels)
        self.whole = int(mechanism.measure.total(mechanism.high))
        self.chances: dict[tuple[tuple[int, int], ...], float] = {}  # the log-chance of spans, one for each point
        self.anywhere = 0.0
        left: list[tuple[float, tuple[int, ...]]] = [(0.0, ())]
        for turn in range(BRANCHES):
            if not left:
                break
            place = 0 if turn % 2 else max(range(len(left)), key=left.__getitem__)  # the likeliest, and the rarest, which tell most
            self._walk(*left.pop(place), left)
            left.sort()
        self.complete = not left
        self.known = sorted({span for spans in self.chances for span in spans})

    def _walk(self, _: float, known: tuple[int, ...], left: list[tuple[float, tuple[int, ...]]]) -> None:
        taken: list[int] = []
        spans: list[tuple[int, int]] = []
        log = 0.0

        def draw(law: Any) -> int:
            nonlocal log
            if isinstance(law, UniformInteger):
                spans.append((law.low - 1, law.high))
                return law.low
            weights = np.asarray(law.weights, float)
            logs = np.log(np.where(weights > 0, weights, np.nan) / weights.max()) - math.log(float((weights / weights.max()).sum()))
            if len(taken) == self.count + 1:
                self.anywhere = math.exp(logs[1])
                return 0
            place = known[len(taken)] if len(taken) < len(known) else int(np.nanargmax(logs))
            if len(taken) >= len(known):
                for i in np.flatnonzero(weights > 0).tolist():
                    if i != place:
                        left.append((-(log + float(logs[i])), (*taken, i)))
            taken.append(place)
            log += float(logs[place])
            return place

        self.mechanism.release(self.ask, draw)  # type: ignore[arg-type]
        cells = tuple(sorted(spans))
        self.chances[cells] = float(np.logaddexp(self.chances.get(cells, -math.inf), log))

    def log_density(self, points: Sequence[int]) -> float | None:
        """ln of the chance of a tuple, by one integer of each point's mass; None where its cells were not walked."""
        cells = []
        for point in points:
            place = bisect.bisect_left(self.known, (point, -1)) - 1
            cells += [self.known[place]] if place >= 0 and point <= self.known[place][1] else []
        chance = self.chances.get(tuple(cells)) if len(cells) == self.count else None
        if chance is None and not self.complete:
            return None
        even = math.lgamma(self.count + 1) - self.count * math.log(self.whole) + math.log(self.anywhere)
        if chance is None:
            return even
        orders = sum(math.lgamma(often + 1) for often in Counter(cells).values())
        spread = sum(math.log(stop - start) for start, stop in cells)
        return float(np.logaddexp(math.log1p(-self.anywhere) + chance + orders - spread, even))


def _minimised(mechanism: ObjectivePerturbation, one: Ask, other: Ask) -> Told:
    """The same number of rows and no pull on both sides. What is told: the number, and the minimum, by its density."""
    rule = ToldMinimum(mechanism, one, other)
    return Told(rule.pin, rule.loss)


def _inside(spans: Sequence[tuple[int, int]], ends: list[int]) -> Iterator[tuple[int, ...]]:
    """Tuples in these cells, a point for every piece that the other side's cells cut out of each: a few of them."""
    pieces = []
    for start, stop in dict.fromkeys(spans):
        inner = ends[bisect.bisect_right(ends, start) : bisect.bisect_right(ends, stop)]
        pieces.append([inner[0], inner[-1], inner[len(inner) // 2]])
    often = [spans.count(span) for span in dict.fromkeys(spans)]
    for chosen in islice(product(*pieces), PIECES):
        yield tuple(point for point, times in zip(chosen, often, strict=True) for _ in range(times))


RULES: dict[type, Callable[[Any, Ask, Ask], Told]] = {
    ProposeTestRelease: _proposed,
    PublishedBound: _published,
    AboveThreshold: _first_above,
    ProposeLadder: _laddered,
    JointExponential: _joint,
    JointTop: _sequences,
    ObjectivePerturbation: _minimised,
    StableMode: _listed,
    Stability: _listed,
}
