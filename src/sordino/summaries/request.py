"""What a mechanism may ask of a table, and what it gets back. A request depends on public facts and on values already drawn."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Ask",
    "Counts",
    "Draw",
    "Hidden",
    "Near",
    "Nearness",
    "RankWindow",
    "Refused",
    "Rung",
    "Scores",
    "Stair",
    "Tally",
    "Value",
    "Window",
]

Ask = Callable[[Any], Any]
Draw = Callable[[Any], Any]


class Hidden:
    """A summary never leaves its release: it prints as its name only and cannot be pickled or copied to another process."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}(private)"

    def __reduce__(self) -> Any:
        raise TypeError("a summary never leaves its release")


@dataclass(frozen=True)
class Refused:
    """The answer "the test did not pass": a value like any other, at the same price."""

    reason: str = "the stability test did not pass"

    def __bool__(self) -> bool:
        return False


@dataclass(frozen=True)
class Value:
    """Ask for the statistic itself, in whole steps of the public grid: an integer, or one per coordinate."""

    step: Fraction = Fraction(1)
    dimension: int = 1


@dataclass(frozen=True)
class Scores:
    """Ask for the score of every public candidate, in candidate order."""


@dataclass(frozen=True)
class Counts:
    """Ask how many rows carry each key; the answer is a Tally."""


@dataclass(frozen=True, repr=False)
class Tally(Hidden):
    """Keys that occur, in canonical byte order, with their counts."""

    keys: tuple[Hashable, ...]
    counts: NDArray[np.int64]


@dataclass(frozen=True)
class Stair:
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
class Nearness:
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
class RankWindow:
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
