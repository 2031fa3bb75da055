"""Keys nobody listed: which are named, each on its own or in rounds by sums of noisy weights, and what that tells."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sordino.lab.loss import NOTHING, PathLoss, listed, mass_upto, merged, together
from sordino.mechanisms.partition_selection import PartitionSelection
from sordino.mechanisms.stable_histogram import StableHistogram
from sordino.mechanisms.weighted_selection import ROUNDS, WeightedSelection

__all__ = ["ToldAlone", "ToldKeys", "first_named"]

FAR = 2**59  # an outcome that no threshold lies beyond, and eight of which are still a number of the machine
WIDE = 12  # deviations below a threshold that are walked
POINTS, AT = np.polynomial.legendre.leggauss(160)


@lru_cache(maxsize=100_000)
def first_named(weights: tuple[int, ...], scales: tuple[float, ...], least: tuple[float, ...]) -> NDArray[np.float64]:
    """The probability that a key of these weights, round by round, is first named in each round, and, last, that it never is.

    The sum so far has a density below its threshold; each round moves it by a Gaussian. Integrals by Gauss and Legendre.
    """
    chances, left = [], 1.0
    places, mass = np.zeros(1), np.ones(1)  # where the sum is, and with what probability, as far as the key is not named
    spread = 0.0
    for part, weight, scale, end in zip(ROUNDS, weights, scales, least, strict=True):
        step = part * scale
        shifted = places + part * weight
        below = float(mass @ ndtr((end - shifted) / step))
        chances.append(max(0.0, left - below))
        spread = float(np.hypot(spread, step))
        middle = sum(p * w for p, w in zip(ROUNDS[: len(chances)], weights, strict=False))
        low, high = min(middle, end) - WIDE * spread, min(end, middle + WIDE * spread)
        nodes = low + (high - low) * (POINTS + 1) / 2
        moved = np.exp(-(((nodes[:, None] - shifted[None, :]) / step) ** 2) / 2) / (step * np.sqrt(2 * np.pi))
        places, mass, left = nodes, (moved @ mass) * AT * (high - low) / 2, below
    return np.array([*chances, left])


@dataclass(frozen=True)
class ToldKeys:
    """On the path that is walked the first rounds name none, the last every key that both sides have.

    Along it everybody's keys stay theirs, so that keys are named independently: each one's round is listed.
    """

    least: tuple[int, ...]
    sides: tuple[dict[Hashable, int], dict[Hashable, int]]

    @classmethod
    def of(cls, mechanism: WeightedSelection, one: Any, other: Any) -> ToldKeys:
        first, second = ({key: place for place, key in enumerate(tally.keys)} for tally in (one, other))
        return cls(mechanism.thresholds, (first, second))

    def pin(self, turn: int, one: Any, other: Any) -> tuple[Any, Any]:
        both = self.sides[0].keys() & self.sides[1].keys() if turn == len(ROUNDS) - 1 else set()
        first, second = (np.array([FAR if key in both else -FAR for key in side], np.int64) for side in self.sides)
        return first, second

    def loss(self, turns: Sequence[tuple[Any, Any]]) -> PathLoss:
        keys = dict.fromkeys([*self.sides[0], *self.sides[1]])
        laws = [tuple(turn[side] for turn in turns) for side in (0, 1)]
        return together([listed(self._law(laws[0], 0, key), self._law(laws[1], 1, key)) for key in keys])

    def _law(self, laws: Sequence[Any], side: int, key: Hashable) -> NDArray[np.float64]:
        place = self.sides[side].get(key)
        if place is None:
            return np.array([0.0] * len(ROUNDS) + [1.0])
        weights = tuple(int(np.asarray(law.location)[place]) for law in laws)
        return first_named(weights, tuple(float(law.scale) for law in laws), tuple(end - 0.5 for end in self.least))


class ToldAlone:
    """Keys nobody listed: each is named, or its count shown, on its own. Keys of one side only are withheld on both."""

    def __init__(self, mechanism: PartitionSelection | StableHistogram, one: Any, other: Any) -> None:
        self.mechanism = mechanism
        counts = mechanism if isinstance(mechanism, StableHistogram) else None
        self.least = None if counts is None else counts.threshold
        held = [[k for k, n in zip(t.keys, t.counts, strict=True) if counts is None or n > 0] for t in (one, other)]
        self.sides = [{key: place for place, key in enumerate(keys)} for keys in held]

    def pin(self, _: int, one: Any, other: Any) -> tuple[Any, Any]:
        chosen: list[list[Any]] = [[0] * len(side) for side in self.sides]
        for side, places in enumerate(self.sides):
            for key, i in places.items():
                chosen[side][i] = self._outcome(key, one, other)
        kind = np.bool_ if self.least is None else np.int64
        return np.array(chosen[0], kind), np.array(chosen[1], kind)

    def _outcome(self, key: Any, one: Any, other: Any) -> Any:
        both = key in self.sides[0] and key in self.sides[1]
        if self.least is None:
            return both and all(law.probabilities[law.index[side[key]]] > 0 for law, side in zip((one, other), self.sides, strict=True))
        return max(self.least, int(np.asarray(one.location)[self.sides[0][key]])) if both else -FAR

    def loss(self, turns: Sequence[tuple[Any, Any]]) -> PathLoss:
        ((one, other),) = turns
        return together([self._key(key, one, other) for key in {**self.sides[0], **self.sides[1]}])

    def _key(self, key: Any, one: Any, other: Any) -> PathLoss:
        laws: list[NDArray[np.float64]] = []
        places = [side.get(key) for side in self.sides]
        if self.least is None:
            for law, place in zip((one, other), places, strict=True):
                p = 0 if place is None else law.probabilities[law.index[place]]
                laws.append(np.array([float(p), float(1 - p)]))
            return listed(*laws)
        a, b = (None if place is None else int(np.asarray(law.location)[place]) for law, place in zip((one, other), places, strict=True))
        if a is not None and b is not None:
            return NOTHING if a == b else listed(*merged(one, a, b, self.least))
        hidden = [1.0 if n is None else float(mass_upto(one, n, self.least - 1)) for n in (a, b)]
        return listed([hidden[0], 1 - hidden[0]], [hidden[1], 1 - hidden[1]])
