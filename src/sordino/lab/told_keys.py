"""Keys named in rounds by sums of noisy weights: when each is named, and what that tells two neighbours apart by."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sordino.lab.loss import PathLoss, listed, together
from sordino.mechanisms.weighted_selection import ROUNDS, WeightedSelection

__all__ = ["ToldKeys", "first_named"]

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
