"""A measured lower bound on what a release gives away, for any callable, ours or a stranger's."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.lab.confidence import lower, upper
from sordino.lab.feature import PARTS, Feature, features, read
from sordino.pictures import Picture, lines

__all__ = ["Audit", "Event", "Point", "audit"]

_KEPT = 12  # events that reach the final count
_NAMES = ("d0", "d1")


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
        other = _NAMES[1 - _NAMES.index(self.likelier)]
        return f"{self.what}: at least {self.low:.4g} on {self.likelier}, at most {self.high:.4g} on {other}"


@dataclass(frozen=True)
class Point:
    """The bound at one threshold of the witnessing feature."""

    threshold: float
    likelier: str
    epsilon_lower: float


@dataclass(frozen=True, repr=False)
class Audit:
    """What was claimed, what was measured, and the event that shows it.

    "refuted" is a proof up to 1 - confidence. "consistent" is none: it says that these events and this many trials showed nothing.
    The curve holds at all its points at once with the same confidence, as a statement of its own beside the verdict.
    """

    claimed: tuple[float, float]
    epsilon_lower: float
    delta_lower: float
    trials: int
    confidence: float
    events: tuple[Event, ...]
    curve: tuple[Point, ...]

    @property
    def verdict(self) -> str:
        epsilon, delta = self.claimed
        return "refuted" if self.epsilon_lower > epsilon or self.delta_lower > delta else "consistent"

    @property
    def event(self) -> str:
        """The event that gives the largest epsilon, in words."""
        return str(max(self.events, key=lambda e: e.epsilon_lower))

    def __repr__(self) -> str:
        epsilon, delta = self.claimed
        return (
            f"audit: {self.verdict}, claimed epsilon {epsilon:.6g}, delta {delta:.6g}\n"
            f"  epsilon is at least {self.epsilon_lower:.4f} at the claimed delta\n"
            f"  delta is at least {self.delta_lower:.4g} at the claimed epsilon\n"
            f"  witness: {self.event}\n"
            f"  {self.trials:,} trials on each dataset, confidence 1 - {1 - self.confidence:.2g}"
        )

    def plot(self) -> Picture:
        """The bound along the witnessing feature, under the claim."""
        series = {}
        for name, other in (_NAMES, _NAMES[::-1]):
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
    progress: bool = False,
) -> Audit:
    r"""Try to refute a claimed (epsilon, delta) by watching outputs on two neighbours, `trials` on each.

    `release(data)` is called once per trial, or `release(data, n)` once per dataset when vectorised. An exception is an output like any
    other. Outputs on one dataset must be independent draws.

    Theorem. If release is (epsilon, delta)-DP for d0 and d1, the verdict is "refuted" with probability at most 1 - confidence.
    Proof. Two of six trials choose at most 12 pairs of an event and a direction, in order of promise; given these, the other trials are
    independent. Pair i spends 2^-i of 1 - confidence, half on a lower bound of P(E), half on an upper bound of Q(E). All bounds hold
    together with the stated confidence, and then P(E) <= e^epsilon Q(E) + delta leaves ln((low - delta) / high) <= epsilon and
    low - e^epsilon high <= delta for every pair. QED
    """
    claim = _claim(claimed)
    if isinstance(trials, bool) or not isinstance(trials, int) or not 60 <= trials <= 10**9:
        raise QueryError("SRD-103", f"trials is {trials!r}.", "Give a whole number from 60 to a thousand million.")
    if isinstance(confidence, bool) or not isinstance(confidence, int | float) or not 0 < confidence < 1:
        raise QueryError("SRD-103", f"confidence is {confidence!r}.", "Give a number between 0 and 1, for example 0.99999.")
    if not callable(release):
        raise QueryError("SRD-103", f"release is {release!r}.", "Give a function of the data.")
    alpha = 1 - confidence
    first, second = _batch(release, d0, d1, trials) if vectorised else _singly(release, d0, d1, trials, progress)
    kept = _choose(read(first, second), alpha, claim)
    events, final = [], np.arange(trials) % PARTS > 1
    size = int(final.sum())
    for rank, pick in enumerate(kept, start=1):
        column = pick.feature.column[:, final]
        hits = np.count_nonzero(column >= pick.threshold if pick.side == ">=" else column <= pick.threshold, axis=1)
        low, high, eps, gain = _bounds(hits[pick.likelier], hits[1 - pick.likelier], size, alpha / 2**rank / 2, claim)
        what = pick.feature.say(pick.side, pick.threshold)
        events.append(
            Event(what, pick.feature.name, _NAMES[pick.likelier], float(low), float(high), max(0.0, float(eps)), max(0.0, float(gain)))
        )
    witness = kept[max(range(len(events)), key=lambda k: events[k].epsilon_lower)]
    return Audit(
        claimed=claim,
        epsilon_lower=max(e.epsilon_lower for e in events),
        delta_lower=max(e.delta_lower for e in events),
        trials=trials,
        confidence=float(confidence),
        events=tuple(events),
        curve=_curve(witness, final, alpha, claim),
    )


def _claim(claimed: Any) -> tuple[float, float]:
    try:
        epsilon, delta = map(float, claimed if isinstance(claimed, tuple | list) else (claimed, 0.0))
    except (TypeError, ValueError, OverflowError):
        raise QueryError("SRD-103", f"claimed is {claimed!r}.", "Give epsilon, or (epsilon, delta).") from None
    if not 0 <= epsilon <= 1e6:
        raise QueryError("SRD-101", f"the claimed epsilon is {epsilon!r}.", "Give a number from 0 to 1e6.")
    if not 0 <= delta < 1:
        raise QueryError("SRD-102", f"the claimed delta is {delta!r}.", "Give a number from 0 to below 1.")
    return epsilon, delta


def _batch(release: Callable[..., Any], d0: Any, d1: Any, n: int) -> list[Any]:
    sides = []
    for data in (d0, d1):
        try:
            outputs = release(data, n)
        except Exception as error:
            raise QueryError(
                "SRD-105", "release raised in a vectorised call.", "Use vectorised=False: there an exception is an output."
            ) from error
        outputs = outputs if isinstance(outputs, np.ndarray) and outputs.ndim else list(outputs)
        if len(outputs) != n:
            raise QueryError("SRD-105", f"release gave {len(outputs)} outputs, {n} were asked for.", "Return one output per trial.")
        sides.append(outputs)
    return sides


def _singly(release: Callable[..., Any], d0: Any, d1: Any, n: int, progress: bool) -> list[Any]:
    """The two datasets take turns, so that a drift of the machine meets both alike."""
    sides: list[list[Any]] = [[], []]
    for i in range(n):
        for side, data in zip(sides, (d0, d1), strict=True):
            try:
                side.append(release(data))
            except Exception as error:
                side.append(error.with_traceback(None))  # a traceback would keep every frame of every trial alive
        if progress and (i + 1) % max(1, n // 20) == 0:
            print(f"\raudit: {(i + 1) / n:4.0%} of {n:,} trials", end="\n" if i + 1 == n else "", file=sys.stderr, flush=True)
    return sides


@dataclass(frozen=True, eq=False)
class _Pick:
    feature: Feature
    side: str
    threshold: float
    likelier: int
    promise: float
    gain: float


def _bounds(hits: Any, others: Any, trials: float, alpha: float, claim: tuple[float, float]) -> tuple[NDArray[np.float64], ...]:
    epsilon, delta = claim
    low, high = lower(hits, trials, alpha), upper(others, trials, alpha)
    with np.errstate(divide="ignore"):
        return low, high, np.log(np.maximum(low - delta, 0.0) / high), low - math.exp(min(epsilon, 700.0)) * high


def _thresholds(column: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Evenly spaced quantiles, and ever rarer ones towards both ends."""
    pool = np.sort(column[~np.isnan(column)])
    if pool.size == 0:
        return pool
    far = np.geomspace(1, pool.size, count // 4)
    places = np.concatenate([np.linspace(0, pool.size - 1, count // 2), far - 1, pool.size - far])
    return np.unique(pool[places.astype(int)])


def _tails(column: NDArray[np.float64], thresholds: NDArray[np.float64]) -> dict[str, NDArray[np.int64]]:
    """How many outputs of each dataset lie in each tail."""
    sides = [np.sort(side[~np.isnan(side)]) for side in column]
    return {
        "<=": np.array([np.searchsorted(s, thresholds, side="right") for s in sides]),
        ">=": np.array([s.size - np.searchsorted(s, thresholds, side="left") for s in sides]),
    }


def _choose(outputs: Any, alpha: float, claim: tuple[float, float]) -> list[_Pick]:
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
    return ranked[:_KEPT]


def _curve(pick: _Pick, final: NDArray[np.bool_], alpha: float, claim: tuple[float, float]) -> tuple[Point, ...]:
    thresholds = _thresholds(pick.feature.column[:, 1::PARTS], 80)
    hits = _tails(pick.feature.column[:, final], thresholds)[pick.side]
    size, share = int(final.sum()), alpha / (4 * thresholds.size)
    points = []
    for k, name in enumerate(_NAMES):
        _, _, bound, _ = _bounds(hits[k], hits[1 - k], size, share, claim)
        points += [Point(float(t), name, max(0.0, float(b))) for t, b in zip(thresholds, bound, strict=True)]
    return tuple(points)
