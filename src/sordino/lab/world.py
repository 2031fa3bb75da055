"""Small worlds: every table over a few values, every neighbour, and the exact law of what a mechanism releases on each."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.lab.recording import seen
from sordino.privacy.discrete import ArgMax, Bernoulli, Categorical, DiscreteLaplace, UniformInteger
from sordino.privacy.law import Placed
from sordino.privacy.witness import Finite
from sordino.sensitivity.universe import exhaustive
from sordino.session.own import owned
from sordino.summaries import Ask

__all__ = ["exact_law", "hockey", "law_of", "loss", "neighbours"]

Table = tuple[Any, ...]
SPAN = 200  # outcomes of integer noise are clamped to this many steps around zero, in every world alike
LARGEST = 200_000


class _Fork(Exception):
    """The next draw has no scripted outcome yet."""

    def __init__(self, law: Any) -> None:
        self.law = law


def exact_law(mechanism: Any, data: Any, *, span: int = SPAN, **options: Any) -> dict[Hashable, float]:
    """P(value) of one release on data you own, value by value. NOT PRIVATE: it is the law itself."""
    return law_of(mechanism, owned(mechanism, data, **options), span=span)


def law_of(mechanism: Any, ask: Ask, *, span: int = SPAN) -> dict[Hashable, float]:
    r"""Walk through every sequence of outcomes the mechanism could draw, and add up the probabilities of equal values.

    Theorem. For a mechanism of one draw the result is the exact law of a function of its release; for several draws it is the law of the
    mechanism whose integer draws are clamped to [-span, span].
    Proof. Probabilities of a path multiply. A placed law has P(outcome = k) equal to the mass of the rounding cell of k, its clamp
    included. Clamping to public ends is a function of the outcome. QED
    """
    known: dict[Any, Any] = {}

    def answer(request: Any) -> Any:
        if request not in known:
            known[request] = ask(request)
        return known[request]

    law: dict[Hashable, float] = {}
    paths: list[tuple[tuple[Any, ...], float]] = [((), 1.0)]
    while paths:
        path, chance = paths.pop()
        turns = iter(path)

        def scripted(law: Any, turns: Iterator[Any] = turns) -> Any:
            for outcome in turns:
                return outcome
            raise _Fork(law)

        try:
            value = mechanism.release(answer, scripted)
        except _Fork as fork:
            branches = list(_outcomes(fork.law, span))
            _check_size(len(branches) + len(paths))
            paths += [((*path, outcome), chance * p) for outcome, p in branches if p > 0]
            continue
        name = _named(value)
        law[name] = law.get(name, 0.0) + chance
    return law


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


def _check_size(paths: int) -> None:
    if paths > LARGEST:
        raise QueryError("SRD-103", "the world is too large to list.", "Use fewer keys, a coarser grid or a smaller span.")


def _named(value: Any) -> Hashable:
    if isinstance(value, int | float | str | tuple | frozenset | bool | None):
        return value
    return tuple(value.items()) if isinstance(value, dict) else seen(value)


def _outcomes(law: Any, span: int) -> Iterator[tuple[Any, float]]:
    """Every outcome of a law with its probability."""
    match law:
        case Bernoulli():
            coins = [float(p) for p in law.probabilities]
            if law.index is None:
                yield from ((True, coins[0]), (False, 1 - coins[0]))
                return
            yield from _independent([{True: coins[i], False: 1 - coins[i]} for i in law.index.tolist()], np.bool_)
        case Categorical():
            weights = np.asarray(law.weights, float)
            yield from enumerate((weights / weights.sum()).tolist())
        case UniformInteger():
            width = law.high - law.low + 1
            yield from ((law.low + k, 1 / width) for k in range(min(width, LARGEST)))
        case ArgMax():
            yield from enumerate(law.probabilities().tolist())
        case DiscreteLaplace() | Placed():
            places = np.atleast_1d(np.asarray(law.location)).tolist()
            parts = [_integers(law, place, span) for place in places]
            if np.ndim(law.location) == 0:
                yield from parts[0].items()
            else:
                yield from _independent(parts, np.int64)
        case _:
            raise QueryError("SRD-108", f"{type(law).__name__} cannot be listed.", "Hand draw() a placed or discrete law.")


def _independent(parts: list[dict[Any, float]], kind: type) -> Iterator[tuple[NDArray[Any], float]]:
    _check_size(math.prod(len(part) for part in parts))
    for combination in product(*(part.items() for part in parts)):
        yield np.array([outcome for outcome, _ in combination], kind), float(np.prod([p for _, p in combination]))


def _integers(law: DiscreteLaplace | Placed, place: int, span: int) -> dict[Any, float]:
    """The law of one integer outcome, clamped to public ends."""
    if isinstance(law, DiscreteLaplace):
        outcomes = np.arange(-span, span + 1)
        p = law.probability(outcomes - place)
        ratio = np.exp(-1 / float(law.scale))
        p[0], p[-1] = (p[end] / (1 - ratio) for end in (0, -1))  # all that lies beyond, while the place is inside
        return dict(zip(outcomes.tolist(), p.tolist(), strict=True))
    low, high = max(-span, -((-law.low) // law.grid)), min(span, law.high // law.grid)
    cells = np.arange(low, high + 1)
    scale = float(law.scale / law.grid)  # type: ignore[operator]
    edges = np.concatenate([[-np.inf], (cells[1:] - 0.5 - place / law.grid) / scale, [np.inf]])
    left, right = edges[:-1], edges[1:]
    # by tails on either side of zero, so that rare outcomes keep their digits
    above = law.law.tail(np.maximum(left, 0)) - law.law.tail(np.maximum(right, 0))
    below = law.law.tail(np.maximum(-right, 0)) - law.law.tail(np.maximum(-left, 0))
    return dict(zip((cells * law.grid).tolist(), ((above + below) / 2).tolist(), strict=True))
