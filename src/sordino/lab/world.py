"""Small worlds: every table over a few values, every neighbour, and the exact law of what a mechanism releases on each."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.lab.recording import seen
from sordino.privacy.certificate import Finite
from sordino.privacy.discrete import ArgMax, Bernoulli, Categorical, DiscreteLaplace, UniformInteger
from sordino.privacy.law import Placed
from sordino.sensitivity.universe import exhaustive
from sordino.session.owned import owned
from sordino.summaries import Ask

__all__ = ["Listing", "exact_law", "hockey", "law_of", "listing", "loss", "neighbours"]

Table = tuple[Any, ...]
SPAN = 200  # outcomes of integer noise are clamped to this many steps around zero, in every world alike
LARGEST = 200_000


class _Fork(Exception):
    """The next draw has no scripted outcome yet."""

    def __init__(self, law: Any) -> None:
        self.law = law


@dataclass(frozen=True)
class Listing:
    """P(value) for every value, how likely some draw was cut off at the span, and the relative rounding error of the probabilities.

    `scripts` are outcomes that lead to each value.
    """

    law: dict[Hashable, float]
    cut: float = 0.0
    rounding: float = 0.0
    scripts: dict[Hashable, tuple[Any, ...]] = field(default_factory=dict, repr=False, compare=False)


def exact_law(mechanism: Any, data: Any, *, span: int = SPAN, **options: Any) -> dict[Hashable, float]:
    """P(value) of one release on data you own, value by value. NOT PRIVATE: it is the law itself."""
    return law_of(mechanism, owned(mechanism, data, **options), span=span)


def law_of(mechanism: Any, ask: Ask, *, span: int = SPAN) -> dict[Hashable, float]:
    """P(value) of one release, with every integer draw clamped to [-span, span]."""
    return listing(mechanism, ask, span=span).law


def listing(mechanism: Any, ask: Ask, *, span: int = SPAN, largest: int = LARGEST) -> Listing:
    r"""Walk through every sequence of outcomes the mechanism could draw, and add up the probabilities of equal values.

    Theorem. The result is the law of the mechanism whose integer draws are clamped to [-span, span], and lies within `cut` of the
    mechanism's own law in total variation.
    Proof. Probabilities of a path multiply. A placed law has P(outcome = k) equal to the mass of the rounding cell of k, its own clamp
    included. Run both mechanisms on the same draws: they differ only if a draw was clamped, and paths with an outcome at an end of the
    span have probability `cut`. QED
    """
    known: dict[Any, Any] = {}

    def answer(request: Any) -> Any:
        if request not in known:
            found = ask(request)
            known[request] = list(found) if isinstance(found, Iterator) else found
        return iter(known[request]) if isinstance(known[request], list) else known[request]

    law: dict[Hashable, float] = {}
    scripts: dict[Hashable, tuple[Any, ...]] = {}
    cut, rounding, turn, visited = 0.0, 0.0, 0, 0
    paths: list[tuple[tuple[Any, ...], float, bool]] = [((), 1.0, False)]
    while paths:
        path, chance, clamped = paths.pop()
        visited += 1
        turns = iter(path)

        def scripted(law: Any, turns: Iterator[Any] = turns) -> Any:
            for outcome in turns:
                return outcome
            raise _Fork(law)

        try:
            value = mechanism.release(answer, scripted)
        except _Fork as fork:
            if isinstance(fork.law, Placed):
                turn, rounding = max(turn, len(path) + 1), max(rounding, _rounding(fork.law))
            branches = list(_outcomes(fork.law, span, largest))
            _check_size(len(branches) + len(paths) + visited, largest)
            paths += [((*path, outcome), chance * p, clamped or end) for outcome, p, end in branches if p > 0]
            continue
        name = _named(value)
        law[name] = law.get(name, 0.0) + chance
        scripts.setdefault(name, path)
        cut += chance if clamped else 0.0
    return Listing(law, cut, turn * rounding, scripts)


def neighbours(values: Iterable[Any], sizes: Iterable[int], relation: str, *, max_rows: int = 1) -> Iterator[tuple[Table, Table]]:
    """Every pair of neighbouring tables, as multisets, each pair once. Under replace only tables of one size are neighbours."""
    kept, every = tuple(values), tuple(sizes)
    for group in [(size,) for size in every] if relation == "replace" else [every]:
        world = exhaustive(len, kept, relation, sizes=group, max_rows=max_rows)
        for i, near in enumerate(world.edges):
            yield from ((world.tables[i], world.tables[j]) for j in near if i < j)


def hockey(p: Mapping[Hashable, float], q: Mapping[Hashable, float], epsilon: float) -> float:
    """The larger of sup_E P(E) - e^epsilon Q(E) and sup_E Q(E) - e^epsilon P(E)."""
    return Finite(p, q).delta(epsilon)


def loss(p: Mapping[Hashable, float], q: Mapping[Hashable, float]) -> float:
    """The largest |ln P(y)/Q(y)|: the epsilon of the pair."""
    return Finite(p, q).sup()


def _check_size(paths: int, largest: int) -> None:
    if paths > largest:
        raise QueryError("SRD-103", "the world is too large to list.", "Use fewer keys, a coarser grid or a smaller span.")


def _named(value: Any) -> Hashable:
    if isinstance(value, dict):
        return tuple(value.items())
    if isinstance(value, int | float | str | tuple | frozenset | bool | None):
        try:
            hash(value)
        except TypeError:
            return seen(value)
        return value
    return seen(value)


def _rounding(law: Placed[Any]) -> float:
    """A cell much narrower than the scale is the difference of two almost equal tails."""
    scales = law.scale if isinstance(law.scale, Sequence) else [law.scale]
    return 1e-15 * max(float(scale) / law.grid for scale in scales)


Outcome = tuple[Any, float, bool]  # what is drawn, its probability, and whether it stands for all that lies beyond the span


def _outcomes(law: Any, span: int, largest: int) -> Iterator[Outcome]:
    """Every outcome of a law."""
    match law:
        case Bernoulli():
            coins = [float(p) for p in law.probabilities]
            if law.index is None:
                yield from ((True, coins[0], False), (False, 1 - coins[0], False))
                return
            parts: list[list[Outcome]] = [[(True, coins[i], False), (False, 1 - coins[i], False)] for i in law.index.tolist()]
            yield from _independent(parts, np.bool_, largest)
        case Categorical():
            weights = np.asarray(law.weights, float)
            yield from ((i, p, False) for i, p in enumerate((weights / weights.sum()).tolist()))
        case UniformInteger():
            width = law.high - law.low + 1
            _check_size(width, largest)
            yield from ((law.low + k, 1 / width, False) for k in range(width))
        case ArgMax():
            yield from ((i, p, False) for i, p in enumerate(law.probabilities().tolist()))
        case DiscreteLaplace() | Placed():
            places = np.atleast_1d(np.asarray(law.location)).tolist()
            scales = law.scale if isinstance(law.scale, Sequence) else [law.scale] * len(places)
            parts = [_integers(law, place, scale, span) for place, scale in zip(places, scales, strict=True)]
            if np.ndim(law.location) == 0:
                yield from parts[0]
            else:
                yield from _independent(parts, np.int64, largest)
        case _:
            raise QueryError("SRD-108", f"{type(law).__name__} cannot be listed.", "Hand draw() a placed or discrete law.")


def _independent(parts: list[list[Outcome]], kind: type, largest: int) -> Iterator[Outcome]:
    _check_size(math.prod(len(part) for part in parts), largest)
    for combination in product(*parts):
        outcomes, chances, ends = zip(*combination, strict=True) if combination else ((), (), ())
        yield np.array(outcomes, kind), math.prod(chances), any(ends)


def _integers(law: DiscreteLaplace[Any] | Placed[Any], place: int, width: Fraction, span: int) -> list[Outcome]:
    """The law of one integer outcome, clamped to public ends."""
    if isinstance(law, DiscreteLaplace):
        if abs(place) >= span:
            raise QueryError("SRD-103", f"a count lies beyond the span of {span}.", "Give a larger span or a smaller table.")
        outcomes = np.arange(-span, span + 1)
        p = law.probability(outcomes - place)
        p[0], p[-1] = (p[end] / -math.expm1(-1 / float(width)) for end in (0, -1))  # all that lies beyond
        return [(k, chance, abs(k) == span) for k, chance in zip(outcomes.tolist(), p.tolist(), strict=True)]
    low, high = max(-span, -((-law.low) // law.grid)), min(span, law.high // law.grid)
    cells = np.arange(low, high + 1)
    scale = float(width / law.grid)
    edges = np.concatenate([[-np.inf], (cells[1:] - 0.5 - place / law.grid) / scale, [np.inf]])
    left, right = edges[:-1], edges[1:]
    # by tails on either side of zero, so that rare outcomes keep their digits
    above = law.law.tail(np.maximum(left, 0)) - law.law.tail(np.maximum(right, 0))
    below = law.law.tail(np.maximum(-right, 0)) - law.law.tail(np.maximum(-left, 0))
    ends = {k for k, own in ((low, law.low // law.grid), (high, law.high // law.grid)) if abs(k) == span and abs(own) > span}
    chances = ((above + below) / 2).tolist()
    return [(k * law.grid, chance, k in ends) for k, chance in zip(cells.tolist(), chances, strict=True)]
