"""The cases of an audit campaign: what is checked, at which price, between which neighbours, by which method.

The twin that needs twice what the theorem needs: the same release drawn at twice its price. A check that passes it has no power.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.lab.auditing import audit
from sordino.lab.enumeration import exact
from sordino.lab.finding import CONSISTENT, REFUTED, certify
from sordino.lab.pathwise import PathTrace, pathwise
from sordino.lab.recording import opened
from sordino.lab.replaying import replay
from sordino.lab.simulation import outcomes
from sordino.lab.specimen import WIDE, Specimen, specimens, variant
from sordino.mechanisms import catalog
from sordino.noise import draw
from sordino.privacy.certificate import Certificate
from sordino.privacy.discrete import Bernoulli, Categorical
from sordino.session.owned import owned
from sordino.summaries import Ask, Draw

__all__ = [
    "FULL",
    "NO_POWER",
    "QUICK",
    "UNKNOWN",
    "UNSEEN",
    "AuditCase",
    "Effort",
    "Found",
    "certified",
    "claimed_by",
    "listed",
    "louder",
    "mechanism_cases",
    "powered",
    "replayed",
    "sampled",
    "traced",
    "unaudited",
    "until",
]


def louder(mechanism: Any) -> Any:
    """The mechanism at twice its epsilon, or with its odds squared if it has none; None where no such mechanism can be made."""
    if not hasattr(mechanism, "epsilon"):
        return _Sharper(mechanism)
    changes: dict[str, Any] = {"epsilon": 2 * mechanism.epsilon}
    changes |= {f.name: None for f in fields(mechanism) if f.name == "beta" and f.default is None}  # it follows from epsilon
    try:
        return replace(mechanism, **changes)
    except QueryError:
        return None


def claimed_by(mechanism: Any, twin: Any) -> Certificate:
    """What the twin draws, sold at the mechanism's price."""
    drawn: Certificate = twin.certificate()
    return replace(drawn, cost=mechanism.certificate().cost)


@dataclass(frozen=True)
class _Sharper:
    """Coins and choices with their odds squared: the loss of every outcome doubles."""

    mechanism: Any

    def certificate(self) -> Certificate:
        found: Certificate = self.mechanism.certificate()
        squared = [_Squared(witness) for witness in found.witnesses]
        return replace(found, witnesses=tuple(squared))

    def release(self, ask: Ask, draw: Draw) -> Any:
        return self.mechanism.release(ask, lambda law: draw(_squared(law)))


@dataclass(frozen=True)
class _Squared:
    witness: Any

    def sup(self) -> float:
        return 2 * float(self.witness.sup())

    def delta(self, epsilon: float) -> float:
        return float(self.witness.delta(epsilon / 2))


def _squared(law: Any) -> Any:
    match law:
        case Bernoulli():
            return replace(law, probabilities=tuple(p * p / (p * p + (1 - p) * (1 - p)) for p in map(Fraction, law.probabilities)))
        case Categorical():
            squares = tuple(w * w for w in law.weights) if isinstance(law.weights, tuple) else np.asarray(law.weights) ** 2
            return replace(law, weights=squares)
    raise QueryError("SRD-108", f"{type(law).__name__} has no odds.", "Give the mechanism an epsilon.")


Found = dict[str, Any] | None  # plain values, or None where a method does not apply
UNKNOWN = "not audited"
NO_POWER = "no power"  # the same check passes the twin that needs twice what the theorem needs
TIGHT = 1.05  # slack beyond this has a reason
# Of what a release draws, what could be drawn twice for one price without tables of people showing it, and what shows it instead
UNSEEN = {
    "IntervalStep, QuantileEnd": "where one end tells most the other tells little; at twice their price they are planted and caught",
    "JointStep, JointExponential": "the same beside its ends; drawn alone it is seen",
    "Keys, WeightedSelection": "its delta is for people of more keys than these; small worlds of its mechanism have them",
}
FEWEST = 300  # trials on a dataset below which an audit can hardly show anything


@dataclass(frozen=True)
class Effort:
    """How much is done: seconds per sampled case, the most trials on a dataset, listed outcomes, canaries, and the error of one case."""

    seconds: float = 0.1
    most: int = 2_000_000
    listed: int = 3_000
    canaries: int = 100_000
    error: float = 1e-10
    epsilons: tuple[Fraction, ...] = (Fraction(1, 2), Fraction(1), Fraction(2))
    pairs: int = 99
    kinds: int = 99


FULL = Effort()
QUICK = Effort(seconds=0.03, most=20_000, listed=500, canaries=2_000, epsilons=(Fraction(1),), pairs=1, kinds=1)


@dataclass(frozen=True)
class AuditCase:
    """One check, with how to run it; it travels to another process as parameters, never as data."""

    part: str  # mechanism | statistic | one run
    subject: str
    epsilon: str
    pair: str
    method: str
    run: Callable[[Effort], Found]

    @property
    def id(self) -> str:
        return " | ".join((self.part, self.subject, self.epsilon, self.pair, self.method))


def mechanism_cases(effort: Effort) -> Iterator[AuditCase]:
    """Every example of the catalogue at every price, without repetition."""
    known = set()
    for kind in catalog():
        for example in kind.examples():
            for epsilon in effort.epsilons:
                try:
                    mechanism, wide = variant(example, epsilon), variant(example, epsilon, narrow=False)
                except QueryError:  # a parameter that does not fit this price
                    continue
                if repr(mechanism) not in known:
                    known.add(repr(mechanism))
                    yield from _cases(mechanism, wide, effort)


def _cases(mechanism: Any, wide: Any, effort: Effort) -> Iterator[AuditCase]:
    """What is integrated or traced has the grid of the example; what is listed or sampled has a narrow one."""
    epsilon = mechanism.epsilon if hasattr(mechanism, "epsilon") else mechanism.certificate().cost.epsilon
    make = partial(AuditCase, "mechanism", _label(mechanism), f"{float(epsilon):.4g}")
    yield make("all neighbours", "certificate", partial(_certify, wide))
    try:
        pairs = specimens(mechanism)
    except QueryError as missing:
        yield make("no neighbours known", "sampled", partial(unaudited, missing.what))
        return
    for place, pair in enumerate(pairs[: effort.pairs]):
        if not pair.new_key:
            yield make(pair.name, "replay", partial(_replay, mechanism, place))
        yield make(pair.name, "exact", partial(_list, mechanism, place))
        yield make(pair.name, "sampled", partial(_sample, mechanism, place))
    yield make("every pair", "pathwise", partial(_trace_all, wide))


def unaudited(what: str, effort: Effort) -> Found:
    """Something that should have been audited and could not."""
    return {"verdict": UNKNOWN, "witness": what}


def _label(mechanism: Any) -> str:
    """A mechanism by the parameters that are not its price and not the default."""
    hidden = ("epsilon", "delta", "beta", "low", "high", "question")
    pure = getattr(mechanism, "delta", None) == 0  # another law where there is a choice
    shown = [f for f in fields(mechanism) if f.name not in hidden or (f.name == "delta" and pure)]
    named = [f for f in shown if getattr(mechanism, f.name) != f.default]
    return f"{type(mechanism).__name__}({', '.join(f'{f.name}={_short(getattr(mechanism, f.name))}' for f in named)})"


def _short(value: Any) -> str:
    text = str(getattr(value, "value", value))
    return text if len(text) <= 24 else text[:23] + "…"


def powered(found: Found, twin: Callable[[], Found]) -> Found:
    """The same check of the twin drawn at twice the price and sold at the old one: where it is not refuted, the check shows nothing."""
    if found is None or found["verdict"] != CONSISTENT:
        return found
    shown = twin()
    caught = shown is not None and shown["verdict"] == REFUTED
    return {**found, "twin": caught, "verdict": CONSISTENT if caught else NO_POWER}


def _claim(mechanism: Any) -> tuple[float, float]:
    cost = mechanism.certificate().cost
    return float(cost.epsilon), float(cost.delta)


def _certify(mechanism: Any, effort: Effort) -> Found:
    twin = louder(mechanism)
    return powered(certified(mechanism), lambda: None if twin is None else certified(claimed_by(mechanism, twin)))


def _replay(mechanism: Any, place: int, effort: Effort) -> Found:
    pair = specimens(mechanism)[place]
    return replayed(mechanism, pair.d0, pair.d1, **pair.options)


def until(walks: Iterable[tuple[str, Callable[[bool], Found]]], effort: Effort) -> Found:
    """Pair after pair: as many as the effort says, and more until the twin is caught and whoever draws would be seen to draw twice.

    The worst of them, how many there were, and whose draws could be made twice for one price without being seen in any.
    """
    walked: list[dict[str, Any]] = []
    caught, alone = False, dict[str, bool]()
    for name, walk in walks:
        if caught and all(alone.values()) and len(walked) >= effort.pairs:
            break
        found = walk(not caught)
        if found is None:
            continue
        path: PathTrace = found.pop("path")
        walked.append({**found, "pair": name})
        if found["verdict"] not in (CONSISTENT, NO_POWER):
            return {**walked[-1], "walked": len(walked)}
        caught = caught or found["twin"]
        if not alone or not all(alone.values()):
            alone |= {who: alone.get(who, False) or seen for who, seen in path.noticed.items() if not who.endswith(tuple(UNSEEN))}
    if not walked:
        return None
    worst = max(walked, key=lambda item: float(item["reached"]))
    blind = [who for who, seen in alone.items() if not seen]
    return {**worst, "twin": caught, "blind": blind, "verdict": CONSISTENT if caught else NO_POWER, "walked": len(walked)}


def _trace_all(mechanism: Any, effort: Effort) -> Found:
    """On the mechanism's neighbours and on those that are worst for its twin, where the worst pair follows from the price."""
    pairs, twin = specimens(mechanism), louder(mechanism)
    if hasattr(mechanism, "neighbours") and twin is not None:
        pairs += [replace(pair, name=f"{pair.name}, at twice the price") for pair in specimens(twin)]
    return until([(pair.name, partial(_trace, mechanism, pair)) for pair in pairs], effort)


def _trace(mechanism: Any, pair: Specimen, twin: bool) -> Found:
    cost = mechanism.certificate().cost

    def walked(drawn: Any) -> Found:
        asks = [owned(mechanism, data, **pair.options) for data in (pair.d0, pair.d1)]
        return None if drawn is None else traced(pathwise((drawn, asks[0]), (drawn, asks[1]), cost), _claim(mechanism))

    found = walked(mechanism)
    return powered(found, lambda: walked(louder(mechanism))) if twin else found


def _list(mechanism: Any, place: int, effort: Effort) -> Found:
    pair, claim = specimens(mechanism)[place], _claim(mechanism)
    options = {"span": 2 * WIDE if pair.options else 300, "claimed": claim, **pair.options}
    twin = louder(mechanism)
    found = listed(mechanism, pair.d0, pair.d1, effort, **options)
    return powered(found, lambda: None if twin is None else listed(twin, pair.d0, pair.d1, effort, **options))


def _sample(mechanism: Any, place: int, effort: Effort) -> Found:
    pair = specimens(mechanism)[place]

    def seen(drawn: Any) -> Found:
        if drawn is None:
            return None
        return sampled(lambda data, n: outcomes(drawn, data, repeats=n, **pair.options), pair.d0, pair.d1, _claim(mechanism), effort)

    return powered(seen(mechanism), lambda: seen(louder(mechanism)))


def certified(mechanism: Any, **price: Any) -> Found:
    """All neighbours at once: what the theorem's worst pairs need."""
    found = certify(mechanism, points=2, **price)
    reasons = {"loose": found.loose} if found.slack > TIGHT else {}
    return {"claimed": found.claimed, "found": found.epsilon, "slack": found.slack, "verdict": found.verdict, **reasons}


def traced(found: PathTrace, claim: tuple[float, float]) -> Found:
    """A whole release, draw by draw: the largest share of what was charged."""
    epsilon = found.epsilon if found.charge.epsilon else claim[0] * min(found.reached, 1.0)
    verdict = REFUTED if found.wrong else CONSISTENT
    return {"claimed": claim, "found": epsilon, "reached": found.reached, "verdict": verdict, "witness": found.said()[:300], "path": found}


def replayed(mechanism: Any, d0: Any, d1: Any, **options: Any) -> Found:
    """One conversation with pinned outcomes: everything visible. What its draws tell is traced."""
    found = replay(mechanism, d0, d1, priced=False, **options)
    return {"verdict": found.verdict, "witness": "; ".join(found.differences)[:300]}


def listed(mechanism: Any, d0: Any, d1: Any, effort: Effort, **options: Any) -> Found:
    """The exact loss of this pair, where its outcomes can be listed in the time there is."""
    price = {name: value for name, value in options.items() if name not in ("span", "claimed")}
    with opened(mechanism, d0, **price) as (held, ask):
        quickest = min(_timed(lambda _, n: held.release(ask, draw), d0, d0, 1)[1] for _ in range(3)) / 2
    try:
        found = exact(mechanism, d0, d1, largest=min(effort.listed, int(effort.seconds / max(quickest, 1e-6))), **options)
    except QueryError as refused:
        if refused.code not in ("SRD-103", "SRD-108"):
            raise
        return None
    if found.cut > 0.01:
        return None  # what lies beyond the span could hide a violation
    numbers = {"found": found.epsilon_lower, "delta_found": found.delta_lower, "draws": found.outcomes}
    return {"claimed": found.claimed, **numbers, "verdict": found.verdict}


def sampled(release: Callable[[Any, int], Any], d0: Any, d1: Any, claim: tuple[float, float], effort: Effort) -> Found:
    """An audit of as many trials as fit the time; None where a release takes so long that there would be nothing to see."""
    trials = _trials(release, d0, d1, effort)
    if trials < FEWEST:
        return None
    found = audit(release, d0, d1, claimed=claim, trials=trials, confidence=1 - effort.error, vectorised=True)
    numbers = {"found": found.epsilon_lower, "delta_found": found.delta_lower, "draws": 2 * trials}
    return {"claimed": claim, **numbers, "verdict": found.verdict, "witness": found.event[:300]}


def _trials(release: Callable[[Any, int], Any], d0: Any, d1: Any, effort: Effort) -> int:
    """By a pilot of a few draws. Arrays are read whole by the auditor and have four times as long, anything else goes leaf by leaf.

    Slow releases have up to ten times as long to reach the fewest trials that can show anything.
    """
    _timed(release, d0, d1, 1)  # reads and summarises
    sample, drawing = _timed(release, d0, d1, 3)
    many = isinstance(sample, np.ndarray)
    if drawing < 0.01:
        _, drawing = _timed(release, d0, d1, 4000 if many else 30)
    reading = 3e-6 if many else 10e-6 * (2 + _leaves(sample[0]))
    fitting = effort.seconds / (reading + drawing)
    found = max(4 * fitting if many else fitting, min(FEWEST, 10 * fitting))
    return int(min(effort.most, float(f"{found:.2g}")))


def _timed(release: Callable[[Any, int], Any], d0: Any, d1: Any, size: int) -> tuple[Any, float]:
    """Some outputs, and the seconds that one trial on both datasets takes."""
    start = time.process_time()  # a busy machine must not shrink the audit
    sample, _ = release(d0, size), release(d1, size)
    return sample, (time.process_time() - start) / size


def _leaves(value: Any) -> int:
    if isinstance(value, dict):
        return sum(_leaves(item) for item in value.values())
    return sum(_leaves(item) for item in value) if isinstance(value, list | tuple) else 1
