"""A measured lower bound on what a release gives away, for any callable, ours or a stranger's.

Events that tell two datasets apart: chosen on some trials, counted on others.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.lab.feature import PARTS, Feature, Outputs, features, read
from sordino.lab.finding import CONSISTENT, REFUTED, as_claim, as_confidence, exit_code, lower, upper
from sordino.pictures import Picture, lines

__all__ = ["NAMES", "Audit", "Event", "Point", "audit", "weigh"]

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


FIRST = 600  # the fewest trials an early look may have


@dataclass(frozen=True, repr=False)
class Audit:
    """What was claimed, what was measured, and the event that shows it.

    "refuted" is a proof up to 1 - confidence. "consistent" is none: it says that these events and this many trials showed nothing.
    The curve holds at all its points at once with the same confidence, as a statement of its own beside the verdict. `trials` were
    made on each dataset, of `planned` ones: fewer only if an early look sufficed.
    """

    claimed: tuple[float, float]
    epsilon_lower: float
    delta_lower: float
    trials: int
    confidence: float
    events: tuple[Event, ...]
    curve: tuple[Point, ...]
    planned: int

    @property
    def verdict(self) -> str:
        epsilon, delta = self.claimed
        return REFUTED if self.epsilon_lower > epsilon or self.delta_lower > delta else CONSISTENT

    @property
    def exit_code(self) -> int:
        return exit_code(self.verdict)

    @property
    def event(self) -> str:
        """The event that gives the largest epsilon, in words."""
        return str(max(self.events, key=lambda e: e.epsilon_lower))

    def __repr__(self) -> str:
        epsilon, delta = self.claimed
        many = f"{self.trials:,} trials" if self.trials == self.planned else f"stopped after {self.trials:,} of {self.planned:,} trials"
        return (
            f"audit: {self.verdict}, claimed epsilon {epsilon:.6g}, delta {delta:.6g}\n"
            f"  epsilon is at least {self.epsilon_lower:.4f} at the claimed delta\n"
            f"  delta is at least {self.delta_lower:.4g} at the claimed epsilon\n"
            f"  witness: {self.event}\n"
            f"  {many} on each dataset, confidence 1 - {1 - self.confidence:.2g}"
        )

    def plot(self) -> Picture:
        """The bound along the witnessing feature, under the claim."""
        series = {}
        for name, other in (NAMES, NAMES[::-1]):
            points = [p for p in self.curve if p.likelier == name and math.isfinite(p.threshold)]
            if points:
                series[f"{name} over {other}"] = ([p.threshold for p in points], [p.epsilon_lower for p in points])
        ends = [p.threshold for p in self.curve if math.isfinite(p.threshold)] or [0.0, 1.0]
        series["claimed"] = ([min(ends), max(ends)], [self.claimed[0]] * 2)
        feature = max(self.events, key=lambda e: e.epsilon_lower).feature
        return lines(series, title=f"Audit: {self.verdict}", x=f"threshold on {feature}", y="epsilon, lower bound")

    def to_json(self) -> str:
        body = {**asdict(self), "verdict": self.verdict, "event": self.event}
        for point in body["curve"]:
            if not math.isfinite(point["threshold"]):
                point["threshold"] = str(point["threshold"])
        return json.dumps(body, allow_nan=False)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{escape(e.what)}</td><td>{e.likelier}</td><td>{e.low:.4g}</td><td>{e.high:.4g}</td><td>{e.epsilon_lower:.4g}</td></tr>"
            for e in self.events
        )
        head = "<tr><th>event</th><th>likelier on</th><th>at least</th><th>at most elsewhere</th><th>epsilon is at least</th></tr>"
        return f"<pre>{escape(repr(self))}</pre>{self.plot().svg}<table><thead>{head}</thead><tbody>{rows}</tbody></table>"


def audit(
    release: Callable[..., Any],
    d0: Any,
    d1: Any,
    *,
    claimed: float | tuple[float, float],
    trials: int = 200_000,
    confidence: float = 1 - 1e-5,
    vectorised: bool = False,
    early: bool = False,
    progress: bool = False,
) -> Audit:
    r"""Try to refute a claimed (epsilon, delta) by watching outputs on two neighbours, at most `trials` on each.

    `release(data)` is called once per trial, or `release(data, n)` for n trials at once when vectorised. An exception is an output like
    any other. Outputs on one dataset must be independent draws. With `early` the audit looks already after trials/2^k trials, for every
    k that leaves enough of them, and stops at the first look that refutes.

    Theorem. If release is (epsilon, delta)-DP for d0 and d1, the verdict is "refuted" with probability at most 1 - confidence, however
    many looks there were and whichever of them was the last.
    Proof. A look spends its share of 1 - confidence, one half for the last one and equal parts of the rest for the earlier ones, fixed
    before the first trial. By the theorem of `weigh` a look refutes a true claim with at most that probability: it chooses events on
    trials that it does not count, and no look uses another look's choice. The shares add up to 1 - confidence, so the probability that
    any look refutes is no larger, and stopping can only return one of the looks. QED
    """
    claim, alpha = as_claim(claimed), 1 - as_confidence(confidence)
    if isinstance(trials, bool) or not isinstance(trials, int) or not 60 <= trials <= 10**9:
        raise QueryError("SRD-103", f"trials is {trials!r}.", "Give a whole number from 60 to a thousand million.")
    if not callable(release):
        raise QueryError("SRD-103", f"release is {release!r}.", "Give a function of the data.")
    looks = _looks(trials) if early else [(trials, 1.0)]
    outputs = (_batches if vectorised else _singly)(release, d0, d1, [size for size, _ in looks], progress)
    for (size, share), sides in zip(looks, outputs, strict=True):
        events, curve = weigh(read(*sides), alpha * share, claim)
        found = Audit(
            claimed=claim,
            epsilon_lower=max(e.epsilon_lower for e in events),
            delta_lower=max(e.delta_lower for e in events),
            trials=size,
            confidence=float(confidence),
            events=events,
            curve=curve,
            planned=trials,
        )
        if found.verdict == REFUTED:
            break
    return found


def _looks(trials: int) -> list[tuple[int, float]]:
    """How many trials each look has seen, and its share of the error."""
    sizes = [trials]
    while sizes[-1] >= 2 * FIRST:
        sizes.append(sizes[-1] // 2)
    if len(sizes) == 1:
        return [(trials, 1.0)]
    return [*((size, 0.5 / (len(sizes) - 1)) for size in sizes[:0:-1]), (trials, 0.5)]


def _batches(release: Callable[..., Any], d0: Any, d1: Any, sizes: list[int], progress: bool) -> Iterator[list[Any]]:
    """All outputs so far on both datasets, at each of these sizes."""
    sides: list[Any] = [None, None]
    done = 0
    for size in sizes:
        for k, data in enumerate((d0, d1)):
            try:
                new = release(data, size - done)
            except Exception as error:
                what, fix = "release raised in a vectorised call.", "Use vectorised=False: there an exception is an output."
                raise QueryError("SRD-105", what, fix) from error
            new = new if isinstance(new, np.ndarray) and new.ndim else list(new)
            if len(new) != size - done:
                what = f"release gave {len(new)} outputs, {size - done} were asked for."
                raise QueryError("SRD-105", what, "Return one output per trial.")
            sides[k] = new if done == 0 else _joined(sides[k], new)
        done = size
        _say(done, sizes[-1], progress)
        yield sides


def _joined(one: Any, other: Any) -> Any:
    both = (one, other)
    if all(isinstance(part, np.ndarray) for part in both) and one.dtype == other.dtype and one.shape[1:] == other.shape[1:]:
        return np.concatenate(both)
    return [*one, *other]


def _singly(release: Callable[..., Any], d0: Any, d1: Any, sizes: list[int], progress: bool) -> Iterator[list[Any]]:
    """The two datasets take turns, so that a drift of the machine meets both alike."""
    sides: list[list[Any]] = [[], []]
    for size in sizes:
        for i in range(len(sides[0]), size):
            for side, data in zip(sides, (d0, d1), strict=True):
                try:
                    side.append(release(data))
                except Exception as error:
                    side.append(error.with_traceback(None))  # a traceback would keep every frame of every trial alive
            if (i + 1) % max(1, sizes[-1] // 20) == 0:
                _say(i + 1, sizes[-1], progress)
        yield sides


def _say(done: int, planned: int, progress: bool) -> None:
    if progress:
        print(f"\raudit: {done / planned:4.0%} of {planned:,} trials", end="\n" if done == planned else "", file=sys.stderr, flush=True)
