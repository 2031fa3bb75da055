"""The exact loss between neighbours, for everything whose outcomes can be listed: no sampling, no error but rounding."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.lab.finding import CONSISTENT, REFUTED, as_claim, exit_code, grown, plain
from sordino.lab.recording import Conversation, opened
from sordino.lab.world import LARGEST, SPAN, Listing, listing, neighbours
from sordino.pictures import Picture, lines
from sordino.session.query import Query

__all__ = ["Enumeration", "exact", "small_world"]

SLACK = 1e-9  # relative rounding of listed probabilities, beside what narrow cells add


@dataclass(frozen=True, repr=False)
class Enumeration:
    """The worst of the listed pairs: what it costs at the claimed delta, what is left at the claimed epsilon, and its whole curve."""

    claimed: tuple[float, float]
    epsilon_lower: float
    delta_lower: float
    pairs: int
    outcomes: int
    witness: tuple[str, str]
    curve: tuple[tuple[float, float], ...]  # epsilon, delta of the worst pair
    cut: float = 0.0  # the probability of draws beyond the span, which is held against nobody and hides what it hides
    confidence: float = 1.0

    @property
    def verdict(self) -> str:
        epsilon, delta = self.claimed
        return REFUTED if self.epsilon_lower > epsilon or self.delta_lower > delta else CONSISTENT

    @property
    def exit_code(self) -> int:
        return exit_code(self.verdict)

    def __repr__(self) -> str:
        epsilon, delta = self.claimed
        beyond = f"; draws lie beyond the span with probability {self.cut:.2g}" if self.cut > 1e-6 else ""
        return (
            f"exact: {self.verdict}, claimed epsilon {epsilon:.6g}, delta {delta:.6g}\n"
            f"  epsilon is {self.epsilon_lower:.6g} at the claimed delta\n"
            f"  delta is {self.delta_lower:.6g} at the claimed epsilon\n"
            f"  witness: {' against '.join(text if len(text) <= 60 else text[:59] + '…' for text in self.witness)}\n"
            f"  {self.pairs:,} pairs of neighbours, {self.outcomes:,} outcomes, listed one by one{beyond}"
        )

    def plot(self) -> Picture:
        """The hockey stick of the worst pair, and the claim."""
        epsilons, deltas = zip(*self.curve, strict=True)
        series = {"listed": (epsilons, deltas), "claimed": ([self.claimed[0]] * 2, [0.0, max(deltas)])}
        return lines(series, title=f"Exact: {self.verdict}", x="epsilon", y="delta of the worst pair")

    def to_json(self) -> str:
        return json.dumps(plain({**asdict(self), "verdict": self.verdict}), allow_nan=False)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>{self.plot().svg}"


def exact(
    mechanism: Any, d0: Any, d1: Any, *, claimed: Any = None, span: int = SPAN, largest: int = LARGEST, **options: Any
) -> Enumeration:
    r"""List every outcome on two neighbours and compare: for a mechanism on data you own, a table's question, or a law of your own.

    `mechanism` is one of ours, with the options of `sd.release`; or a function of a table that asks a question, with epsilon= and
    delta=; or a function of the data that gives {outcome: probability}. The claim is the mechanism's own unless another is given.

    Theorem. If the claim is true for d0 and d1 the verdict is "consistent", up to rounding.
    Proof. With laws within c and c' of the listed ones in total variation, P(E) - e^epsilon Q(E) is at least the listed difference
    less c + e^epsilon c', for the union E of the outcomes where the difference is positive; and for a single outcome y,
    P(y) / Q(y) >= (p(y) - c) / (q(y) + c'). Both are what is reported. QED
    """
    laws, claim = _listings(mechanism, (d0, d1), claimed, {"span": span, "largest": largest}, options)
    return _worst([(laws[0], laws[1], (_words(d0), _words(d1)))], claim)


def _words(data: Any) -> str:
    return repr(data).partition("\n")[0]


def small_world(
    mechanism: Any,
    values: Iterable[Any],
    sizes: Iterable[int],
    *,
    relation: str = "add_remove",
    rows: int = 1,
    read: Callable[[Any], Any] = lambda table: table,
    claimed: Any = None,
    span: int = SPAN,
    **options: Any,
) -> Enumeration:
    """Every table of these sizes over these values, every neighbour by up to `rows` rows, and the exact law on each.

    `read` makes the mechanism's data of a tuple of rows, for example a count. The verdict is about the worst pair.
    """
    pairs = list(neighbours(values, sizes, relation, max_rows=rows))
    if not pairs:
        raise QueryError("SRD-105", "there are no neighbours to compare.", "Give at least one value and sizes that differ by one row.")
    tables = {repr(read(table)): read(table) for pair in pairs for table in pair}
    found, claim = _listings(mechanism, list(tables.values()), claimed, {"span": span}, options)
    laws = dict(zip(tables, found, strict=True))
    named = [(repr(read(one)), repr(read(other))) for one, other in pairs]
    return _worst([(laws[a], laws[b], (a, b)) for a, b in named], claim)


def _listings(mechanism: Any, tables: Any, claimed: Any, limits: dict[str, int], options: dict[str, Any]) -> tuple[list[Listing], Any]:
    """The law on every table, and the claim."""
    laws = []
    for data in tables:
        found = None if hasattr(mechanism, "release") or not callable(mechanism) else mechanism(data)
        if found is not None and not isinstance(found, Query):
            laws.append(Listing(_law(found)))
            continue
        with opened(mechanism, data, **options) as (held, ask):
            laws.append(listing(held, ask, **limits))
            if claimed is None:
                cost = held.cost if isinstance(held, Conversation) else held.certificate().cost
                claimed = (cost.epsilon, cost.delta)
    return laws, as_claim(claimed)


def _law(found: Any) -> dict[Hashable, float]:
    if not isinstance(found, Mapping) or not all(float(p) >= 0 for p in found.values()) or abs(sum(found.values()) - 1) > SLACK:
        what = f"{type(found).__name__} is not a law."
        raise QueryError("SRD-105", what, "Return {outcome: probability} with probabilities that add up to one, or a query.")
    return {outcome: float(p) for outcome, p in found.items()}


def _worst(laws: list[tuple[Listing, Listing, tuple[str, str]]], claim: tuple[float, float]) -> Enumeration:
    epsilon, delta = claim
    judged = [(_Pair(p, q), words) for p, q, words in laws]
    scored = [(pair.epsilon(delta), pair.delta(epsilon), pair, words) for pair, words in judged]
    best = max(scored, key=lambda item: (item[1] if delta else 0.0, item[0]))
    top = 1.5 * max(epsilon, min(best[0], 50.0), 0.1)
    curve = tuple((e, best[2].delta(e)) for e in np.linspace(0.0, top, 41).tolist())
    size = sum(len(q.law) for q in {id(law): law for p, q, _ in laws for law in (p, q)}.values())
    cut = max(law.cut for p, q, _ in laws for law in (p, q))
    return Enumeration(claim, max(item[0] for item in scored), max(item[1] for item in scored), len(laws), size, best[3], curve, cut)


class _Pair:
    """Lower bounds on the loss of the true laws, from two listed ones."""

    def __init__(self, one: Listing, other: Listing) -> None:
        keys = list(dict.fromkeys([*one.law, *other.law]))
        p, q = (np.array([side.law.get(key, 0.0) for key in keys]) for side in (one, other))
        self.sides = ((p, q, one.cut, other.cut), (q, p, other.cut, one.cut))
        self.slack = SLACK + one.rounding + other.rounding

    def delta(self, epsilon: float) -> float:
        """P(E) - e^epsilon Q(E) is at least this for some event and direction."""
        factor, less = grown(epsilon) * (1 + self.slack), 1 - self.slack
        return max(0.0, *(float(np.maximum(less * p - factor * q, 0).sum() - c - factor * d) for p, q, c, d in self.sides))

    def epsilon(self, delta: float) -> float:
        """The least epsilon for which the listed laws leave room for this delta."""
        found = 0.0
        if delta == 0:
            for p, q, c, d in self.sides:
                seen = p - c > 1e-250
                with np.errstate(divide="ignore"):
                    ratios = np.log(p[seen] - c) - np.log(q[seen] + d)
                found = max(found, float(ratios.max(initial=0.0)) - self.slack)
            return found
        if self.delta(700.0) > delta:
            return math.inf
        low, high = 0.0, 700.0
        if self.delta(0.0) <= delta:
            return 0.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return low
