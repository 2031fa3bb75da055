"""The law of a minimum whose objective is pulled by Gaussian noise: what objective perturbation tells two neighbours apart by."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.lab.loss import NOTHING, PathLoss, between, cells, listed, together
from sordino.mechanisms.objective_perturbation import ObjectivePerturbation
from sordino.mechanisms.penalised_minimum import sigmoid
from sordino.privacy.families import GaussianLaw
from sordino.summaries import Ask

__all__ = ["PulledMinimum", "ToldMinimum", "minimum_loss"]

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
