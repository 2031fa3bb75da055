"""What a mechanism may ask of a table, and what it gets back. A request depends on public facts and on values already drawn.

Order statistics around a rank, from a sorted array: the reference every engine must equal.
"""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sordino.privacy.law import LawOutcome

__all__ = [
    "WHOLE_WEIGHT",
    "Ask",
    "Counts",
    "Draw",
    "Held",
    "Hidden",
    "KeyWeights",
    "Near",
    "Nearness",
    "RankWindow",
    "Refused",
    "Request",
    "Rung",
    "Scores",
    "Stair",
    "Steps",
    "Tally",
    "Value",
    "Window",
    "rank_window",
    "weight_of",
]

A = TypeVar("A")
A_co = TypeVar("A_co", covariant=True)
Steps = int | NDArray[np.int64]  # whole steps of a public grid: one number, or one per coordinate


class Request(Generic[A_co]):
    """A question about rows; its parameter is the answer. A table answers some (`TableRequest`), an array of one's own the others."""


class Ask(Protocol):
    """Who answers a mechanism or a statistic: an engine's bounded table, an array, or what is at hand."""

    def __call__(self, request: Request[A], /) -> A: ...


class Draw(Protocol):
    """Who draws: the exact sampler, or a recording of it."""

    def __call__(self, law: LawOutcome[A], /) -> A: ...


class Hidden:
    """A summary never leaves its release: it prints as its name only and cannot be pickled or copied to another process."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(private)"

    def __reduce__(self) -> Any:
        raise TypeError("a summary never leaves its release")


@dataclass(frozen=True, repr=False)
class Held(Hidden):
    """An answer that is at hand already, for a mechanism that asks for it and for nothing else."""

    answer: Any

    def __call__(self, request: Request[Any], /) -> Any:
        return self.answer


@dataclass(frozen=True)
class Refused:
    """The answer "the test did not pass": a value like any other, at the same price."""

    reason: str = "the stability test did not pass"

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True)
class Value(Request[Steps]):
    """Ask for the statistic itself, in whole steps of the public grid: an integer, or one per coordinate."""

    step: Fraction = Fraction(1)
    dimension: int = 1


@dataclass(frozen=True)
class Scores(Request[NDArray[np.int64]]):
    """Ask for the score of every public candidate, in candidate order."""


@dataclass(frozen=True)
class Counts(Request["Tally"]):
    """Ask how many rows carry each key; the answer is a Tally."""


@dataclass(frozen=True)
class KeyWeights(Request["Tally"]):
    """Ask for the weight of every key but those in `without`: a person with k of them adds 1/sqrt(k) to each, in whole units.

    The answer is a Tally of weights. `without` are keys that were drawn, so the request says nothing new.
    """

    without: tuple[Hashable, ...] = ()


WHOLE_WEIGHT = 2**20  # of a person with one key


def weight_of(keys: int) -> int:
    """What a person with so many keys adds to each, rounded down: the squares of all of them add up to no more than a whole weight's."""
    return math.isqrt(WHOLE_WEIGHT**2 // keys)


@dataclass(frozen=True, repr=False)
class Tally(Hidden):
    """Keys that occur, in canonical byte order, with their counts."""

    keys: tuple[Hashable, ...]
    counts: NDArray[np.int64]


@dataclass(frozen=True)
class Stair(Request["Rung"]):
    """Ask where a statistic stands on the public ladder of scales for this beta; the answer is a Rung."""

    beta: Fraction


@dataclass(frozen=True, repr=False)
class Rung(Hidden):
    """The statistic in grid steps, the index of its smooth sensitivity on the ladder, and the ladder's public scales, in grid steps."""

    location: int
    index: int
    scales: tuple[Fraction, ...]
    low: int = -(2**62)
    high: int = 2**62
    step: Fraction = Fraction(1)


@dataclass(frozen=True)
class Nearness(Request["Near"]):
    """Ask how many units must change before the local sensitivity exceeds `above` (None: before the answer itself changes)."""

    above: Fraction | None = None


@dataclass(frozen=True, repr=False)
class Near(Hidden):
    """The distance, the statistic (grid steps for numbers), and what the global fallback needs."""

    distance: int
    value: Any
    worst_case: int = 0
    low: int = -(2**62)
    high: int = 2**62
    step: Fraction = Fraction(1)


@dataclass(frozen=True)
class RankWindow(Request["Window"]):
    """Ask for the order statistics of ranks floor(q n - radius)+1 .. ceil(q n + radius); the answer is a Window."""

    q: Fraction
    radius: int


@dataclass(frozen=True, repr=False)
class Window(Hidden):
    """Consecutive order statistics in grid steps (low before rank 1, high after rank n), the rank of the first, and n.

    `memo` keeps what was computed from a window as long as the window lives, and no longer.
    """

    values: NDArray[np.int64]
    first: int
    n: int
    memo: dict[Any, Any] = field(default_factory=dict, compare=False)


def rank_window(x: NDArray[np.int64], q: Fraction, radius: int, low: int, high: int) -> Window:
    """The values of ranks floor(q n - radius)+1 .. ceil(q n + radius) of a sorted array; low before rank 1 and high after rank n.

    Ranks more than one beyond either end repeat the bound and are left out: they carry no information.
    """
    n = len(x)
    first = max(math.floor(q * n - radius) + 1, 0)
    last = min(math.ceil(q * n + radius), n + 1)
    inside = x[max(first, 1) - 1 : min(last, n)]
    before, after = np.full(int(first < 1), low, np.int64), np.full(int(last > n), high, np.int64)
    return Window(np.concatenate([before, inside.astype(np.int64, copy=False), after]), first, n)
