"""Laws of what two mechanisms tell that draw more than they show.

Keys nobody listed: which are named, each on its own or in rounds by sums of noisy weights, and what that tells.

The law of a minimum whose objective is pulled by Gaussian noise: what objective perturbation tells two neighbours apart by.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from sordino.lab.loss import NOTHING, PathLoss, between, cells, listed, mass_upto, merged, together
from sordino.mechanisms.objective_perturbation import ObjectivePerturbation
from sordino.mechanisms.partition_selection import PartitionSelection
from sordino.mechanisms.penalised_minimum import sigmoid
from sordino.mechanisms.stable_histogram import StableHistogram
from sordino.mechanisms.weighted_selection import ROUNDS, WeightedSelection
from sordino.privacy.families import GaussianLaw
from sordino.summaries import Ask

__all__ = ["PulledMinimum", "ToldAlone", "ToldKeys", "ToldMinimum", "first_named", "minimum_loss"]

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


Floats = NDArray[np.float64]
CELLS = 240  # along the direction in which the neighbours pull apart
ACROSS = 16  # points for all other directions together
PASSES, HALVINGS = 200, 30


@dataclass(frozen=True)
class PulledMinimum:
    """The minimum of sum l(x't, y) + penalty |t|^2/2 + b't with b of this deviation in each coordinate: its law, in closed form.

    Theorem. Its density is phi(F(t)/s)/s^d det F'(t), F the gradient without b. Proof. b = -F(t) is one to one. QED
    Equal rows are counted together. Nothing is shared with the mechanism's own solver but the logistic function.
    """

    x: Floats
    y: Floats
    many: Floats
    penalty: float
    deviation: float

    @classmethod
    def of(cls, x: Floats, y: Floats, penalty: float, deviation: float) -> PulledMinimum:
        rows, many = np.unique(np.column_stack([x, y]), axis=0, return_counts=True)
        return cls(rows[:, :-1], rows[:, -1], many.astype(float), penalty, deviation)

    def slope(self, t: Floats) -> Floats:
        """F at many points, one per line."""
        return np.asarray(((sigmoid(t @ self.x.T) - self.y) * self.many) @ self.x + self.penalty * t)

    def bend(self, t: Floats) -> Floats:
        """F' at many points."""
        chance, d = sigmoid(t @ self.x.T), t.shape[1]
        squares = (self.x[:, :, None] * self.x[:, None, :]).reshape(-1, d * d)
        return np.asarray((chance * (1 - chance) * self.many) @ squares).reshape(-1, d, d) + self.penalty * np.eye(d)

    def log_density(self, t: Floats) -> Floats:
        """But for a constant that all tables share, at one deviation."""
        return np.asarray(
            -len(t[0]) * math.log(self.deviation)
            - (self.slope(t) ** 2).sum(axis=1) / (2 * self.deviation**2)
            + np.linalg.slogdet(self.bend(t))[1]
        )

    def minima(self, pull: Floats) -> Floats:
        """The minimum for every pull, by Newton's method with steps that are halved until the gradient is shorter."""
        t = np.zeros(pull.shape)
        rest = self.slope(t) + pull
        for _ in range(PASSES):
            size = np.linalg.norm(rest, axis=1)
            if not len(t) or float(size.max()) < 1e-9:
                break
            step = np.linalg.solve(self.bend(t), rest[:, :, None])[:, :, 0]
            share = np.ones(len(t))
            for _ in range(HALVINGS):
                tried = t - share[:, None] * step
                left = self.slope(tried) + pull
                worse = np.linalg.norm(left, axis=1) > (1 - share / 4) * size + 1e-12
                if not worse.any():
                    break
                share = np.where(worse, share / 2, share)
            t, rest = tried, left
        return t


def minimum_loss(one: PulledMinimum, other: PulledMinimum) -> PathLoss:
    """What the exact minimum tells: exact between cells for one coefficient; for several, the density at points that fill the pulls.

    The pulls of either side are cut into cells along the direction in which the two gradients differ, to beyond where either law has
    mass, with their exact probabilities; across it there are fixed normal points. Every point stands for both laws by their ratio there,
    which is sound for the half-and-half mixture that the points of both sides fill.
    """
    if all(np.array_equal(*pair) for pair in ((one.x, other.x), (one.y, other.y), (one.many, other.many))):
        return NOTHING
    start = one.minima(np.zeros((1, one.x.shape[1])))
    apart = (other.slope(start) - one.slope(start))[0]
    long, d = float(np.linalg.norm(apart)), len(apart)
    moved = 2 + abs(float(other.many.sum() - one.many.sum()))
    reach = 9 + moved * math.sqrt(d) / min(one.deviation, other.deviation)
    z = np.linspace(-reach, reach, CELLS + 1)
    if d == 1:
        edges = np.sort(np.concatenate([side.minima(-z[:, None] * side.deviation) for side in (one, other)]), axis=0)
        return listed(*(cells(GaussianLaw(), side.slope(edges)[:, 0] / side.deviation) for side in (one, other)))
    basis = np.linalg.qr(np.column_stack([apart / long if long > 0 else np.eye(d)[0], np.eye(d)]))[0][:, :d]
    across = GaussianLaw().quantile((np.arange(ACROSS) + 0.5) / ACROSS)[:, None]
    if d > 2:
        half = np.random.default_rng(0).normal(size=(ACROSS // 2, d - 1))
        across = np.concatenate([half, -half])
    middles = np.concatenate([[z[0]], (z[1:] + z[:-1]) / 2, [z[-1]]])
    mass = np.repeat(cells(GaussianLaw(), z), len(across)) / len(across)
    pulls = np.concatenate([np.repeat(middles, len(across))[:, None], np.tile(across, (len(middles), 1))], axis=1) @ basis.T
    t = np.concatenate([side.minima(-pulls * side.deviation) for side in (one, other)])
    ratio = one.log_density(t) - other.log_density(t)
    return listed(*(np.tile(mass, 2) * np.exp(-np.logaddexp(0.0, sign * ratio)) for sign in (-1, 1)))


class ToldMinimum:
    """One release: a drawn number of rows, a pull that is not told, and noise around the minimum."""

    def __init__(self, mechanism: ObjectivePerturbation, one: Ask, other: Ask) -> None:
        self.mechanism, self.asks = mechanism, (one, other)

    def pin(self, turn: int, law: Any, _: Any) -> tuple[Any, Any]:
        outcome = np.zeros(len(law.location), np.int64) if turn == 1 else law.location
        return outcome, outcome

    def loss(self, turns: Sequence[tuple[Any, Any]]) -> PathLoss:
        counted, pulls, last = turns
        drawn = max(int(counted[0].location), 0)
        laws = []
        for ask, pull in zip(self.asks, pulls, strict=True):
            deviation = float(pull.scale) * self.mechanism.unit
            laws.append(PulledMinimum.of(*self.mechanism.rows(ask, drawn), self.mechanism.penalty, deviation))
        return together([between(*counted), minimum_loss(*laws), self._around(laws, last, drawn)])

    def _around(self, laws: Sequence[PulledMinimum], last: tuple[Any, Any], drawn: int) -> PathLoss:
        """The noise around the point that was found, by how far that lies from the minimum of the pull that was pinned, on both sides."""
        unit = self.mechanism.finishing(drawn)[1]
        still = np.zeros((1, self.mechanism.dimension))
        missed = math.fsum(
            max(float(np.linalg.norm(place.location - law.minima(still)[0] / unit)) - 2 * math.sqrt(still.size), 0.0)
            for law, place in zip(laws, last, strict=True)
        )
        noise = GaussianLaw().at(0, last[0].scale), GaussianLaw().at(math.ceil(missed), last[0].scale)
        return between(*noise)
