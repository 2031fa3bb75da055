"""Events that tell two datasets apart: chosen on some trials, counted on others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.lab.confidence import lower, upper
from sordino.lab.feature import PARTS, Feature, Outputs, features

__all__ = ["NAMES", "Event", "Point", "weigh"]

KEPT = 12  # events that reach the final count
NAMES = ("d0", "d1")
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Event:
    """Something visible that one dataset makes likelier: at least `low` there, at most `high` on the other."""

    what: str
    feature: str
    likelier: str
    low: float
    high: float
    epsilon_lower: float
    delta_lower: float

    def __str__(self) -> str:
        other = NAMES[1 - NAMES.index(self.likelier)]
        return f"{self.what}: at least {self.low:.4g} on {self.likelier}, at most {self.high:.4g} on {other}"


@dataclass(frozen=True)
class Point:
    """The bound at one threshold of the witnessing feature."""

    threshold: float
    likelier: str
    epsilon_lower: float


@dataclass(frozen=True, eq=False)
class _Pick:
    feature: Feature
    side: str
    threshold: float
    likelier: int
    promise: float
    gain: float


def weigh(outputs: Outputs, alpha: float, claim: tuple[float, float]) -> tuple[tuple[Event, ...], tuple[Point, ...]]:
    r"""Choose events on two of six trials and count them on the other four; then the curve of the best one's feature.

    Theorem. Unless the claim is false, an event has epsilon_lower > epsilon or delta_lower > delta with probability at most alpha; and the
    curve rises above the true epsilon at the claimed delta with probability at most alpha.
    Proof. Two of six trials choose at most 12 pairs of an event and a direction, in order of promise; given these, the other trials are
    independent. Pair i spends 2^-i of alpha, half on a lower bound of P(E), half on an upper bound of Q(E). All bounds hold together
    with probability 1 - alpha, and then P(E) <= e^epsilon Q(E) + delta leaves ln((low - delta) / high) <= epsilon and
    low - e^epsilon high <= delta for every pair. The curve's thresholds come from choosing trials; they and the features that could
    have been shown instead share alpha equally. QED
    """
    kept = _choose(outputs, alpha, claim)
    final = np.arange(outputs.kind.shape[1]) % PARTS > 1
    size = int(final.sum())
    events = []
    for rank, pick in enumerate(kept, start=1):
        column = pick.feature.column[:, final]
        hits = np.count_nonzero(column >= pick.threshold if pick.side == ">=" else column <= pick.threshold, axis=1)
        low, high, eps, gain = _bounds(hits[pick.likelier], hits[1 - pick.likelier], size, alpha / 2**rank / 2, claim)
        what = pick.feature.say(pick.side, pick.threshold)
        shown = (float(low), float(high), max(0.0, float(eps)), max(0.0, float(gain)))
        events.append(Event(what, pick.feature.name, NAMES[pick.likelier], *shown))
    best = max(range(len(events)), key=lambda k: events[k].epsilon_lower)
    return tuple(events), _curve(kept[best], final, alpha / len(kept), claim)


def _bounds(hits: Any, others: Any, trials: float, alpha: float, claim: tuple[float, float]) -> tuple[Floats, ...]:
    epsilon, delta = claim
    low, high = lower(hits, trials, alpha), upper(others, trials, alpha)
    with np.errstate(divide="ignore"):
        return low, high, np.log(np.maximum(low - delta, 0.0) / high), low - math.exp(min(epsilon, 700.0)) * high


def _thresholds(column: Floats, count: int) -> Floats:
    """Evenly spaced quantiles, and ever rarer ones towards both ends."""
    pool = np.sort(column[~np.isnan(column)])
    if pool.size == 0:
        return pool
    far = np.geomspace(1, pool.size, count // 4)
    places = np.concatenate([np.linspace(0, pool.size - 1, count // 2), far - 1, pool.size - far])
    return np.unique(pool[places.astype(int)])


def _tails(column: Floats, thresholds: Floats) -> dict[str, NDArray[np.int64]]:
    """How many outputs of each dataset lie in each tail."""
    sides = [np.sort(side[~np.isnan(side)]) for side in column]
    return {
        "<=": np.array([np.searchsorted(s, thresholds, side="right") for s in sides]),
        ">=": np.array([s.size - np.searchsorted(s, thresholds, side="left") for s in sides]),
    }


def _choose(outputs: Outputs, alpha: float, claim: tuple[float, float]) -> list[_Pick]:
    """The most promising event of every feature and direction, judged on the choosing trials as if they were as many as the final ones."""
    picks: list[_Pick] = []
    for feature in features(outputs):
        column = feature.column[:, 1::PARTS]
        thresholds = _thresholds(column, 400)
        if thresholds.size == 0:
            continue
        m, grow = column.shape[1], PARTS - 2
        tails = _tails(column, thresholds)
        for likelier in (0, 1):
            found = []
            for side, hits in tails.items():
                p, q = hits[likelier], hits[1 - likelier]
                _, _, promise, gain = _bounds(p * grow, q * grow, m * grow, alpha / 8, claim)
                best = {int(np.argmax(promise)), int(np.argmax(gain))}
                found += [_Pick(feature, side, float(thresholds[k]), likelier, float(promise[k]), float(gain[k])) for k in best]
            picks += {max(found, key=lambda p: p.promise), max(found, key=lambda p: p.gain)}
        picks = _front(picks)
    return picks


def _front(picks: list[_Pick]) -> list[_Pick]:
    """The best for epsilon first, the best for delta second, then by promise."""
    ranked = sorted(picks, key=lambda p: -p.promise)
    best = max(ranked[1:], key=lambda p: p.gain, default=None)
    if best is not None and best.gain > ranked[0].gain:
        ranked.remove(best)
        ranked.insert(1, best)
    return ranked[:KEPT]


def _curve(pick: _Pick, final: NDArray[np.bool_], alpha: float, claim: tuple[float, float]) -> tuple[Point, ...]:
    thresholds = _thresholds(pick.feature.column[:, 1::PARTS], 80)
    hits = _tails(pick.feature.column[:, final], thresholds)[pick.side]
    size, share = int(final.sum()), alpha / (4 * thresholds.size)
    points = []
    for k, name in enumerate(NAMES):
        _, _, bound, _ = _bounds(hits[k], hits[1 - k], size, share, claim)
        points += [Point(float(t), name, max(0.0, float(b))) for t, b in zip(thresholds, bound, strict=True)]
    return tuple(points)
