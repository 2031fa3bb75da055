"""Privately bounding the local sensitivity: publish a bound first, then use it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from sordino.errors import QueryError
from sordino.mechanisms.laplace import on_grid
from sordino.mechanisms.listing import claim, listed
from sordino.privacy.certificate import Certificate, Closed, weighted_laplace
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import DiscreteLaplace
from sordino.privacy.families import LaplaceLaw
from sordino.privacy.law import output_grid
from sordino.privacy.number import as_delta, as_epsilon, as_positive, exact, round_down
from sordino.summaries import Ask, Draw, Rung, Stair

__all__ = ["Published", "PublishedBound"]


@dataclass(frozen=True)
class Published:
    """The answer with the bound it was drawn under: the noise scale is public now, so the error bar is honest."""

    value: float | int
    bound: float
    scale: float

    def __float__(self) -> float:
        return float(self.value)

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The noise-only interval; Laplace noise leaves it with probability 1 - level."""
        half = self.scale * math.log(1 / (1 - level))
        return float(self.value) - half, float(self.value) + half


@listed("privately bounding the local sensitivity", "published bound", note="000 13.3 (third approach)")
@dataclass(frozen=True)
class PublishedBound:
    r"""Release a noisy upper bound on the smooth sensitivity, then the statistic with noise scaled by that bound.

    Theorem. On a ladder of scales s_0 < s_1 < ... whose index j(x) moves by at most one between neighbours and has s_{j(x)} >= LS(x),
    publish J = clamp(j + DLap(1/e1) + t) and release f + Lap(s_J/e2); with P(DLap >= t + 1) <= delta this is (e1+e2, delta)-DP. Raising
    e2 as far as the joint hockey stick of (J, value) stays below delta at e1+e2 keeps the claim with less noise.
    Proof. J is e1-DP. Unless J < j, an event of probability at most delta, s_J >= |f(x) - f(x')| and the second step is e2-DP given J.
    J is part of the answer, so it may be read. A raised J makes the second step cheaper than e2, and the joint law of (J, value) is a
    mixture of Laplace pairs whose hockey stick is a finite sum. QED
    """

    epsilon: Fraction
    delta: Fraction
    beta: Fraction | None = None
    share: Fraction = Fraction(1, 4)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "delta", as_delta(self.delta))
        object.__setattr__(self, "share", exact(self.share, "share"))
        object.__setattr__(self, "beta", self.epsilon / 10 if self.beta is None else as_positive(self.beta, "beta"))
        if self.beta is not None and self.beta > 100:
            raise QueryError("SRD-103", f"beta is {float(self.beta):g}.", "Give beta of at most 100; a tenth of epsilon is a good choice.")
        if not 0 < self.share < 1:
            raise QueryError("SRD-103", f"share is {self.share}.", "Give the part of epsilon spent on the bound, between 0 and 1.")

    @property
    def split(self) -> tuple[Fraction, Fraction]:
        return self.epsilon * self.share, self.epsilon * (1 - self.share)

    @property
    def lift(self) -> int:
        """How many rungs the published bound is raised, so that it fails with probability at most delta."""
        first, delta = float(self.split[0]), float(self.delta)
        t = max(0, math.ceil(math.log(1 / (delta * (1 + math.exp(-first)))) / first) - 1)
        while self._miss(t) > delta * (1 - 1e-9):
            t += 1
        return t

    def _miss(self, lift: int) -> float:
        """P(DLap(1/e1) >= lift + 1): the published bound lies below the true one."""
        first = float(self.split[0])
        return math.exp(-first * (lift + 1)) / (1 + math.exp(-first))

    @property
    def rate(self) -> Fraction:
        """The noise is s_J / rate: at least e2, and as much more as the joint law allows."""
        assert self.beta is not None
        return _largest_rate(self.epsilon, self.delta, self.beta, self.share, self.lift)

    def hockey(self, epsilon: float) -> float:
        """The exact joint hockey stick, both ways, wherever on the ladder the pair stands."""
        assert self.beta is not None
        return _hockey(float(self.split[0]), float(self.rate), float(self.beta), self.lift, epsilon)

    def certificate(self) -> Certificate:
        cost = Cost.approximate(self.epsilon, self.delta)
        return claim(self, cost, Closed(self.hockey), assumes="the ladder index moves by at most one between neighbours")

    def release(self, ask: Ask, draw: Draw) -> Published:
        assert self.beta is not None
        rung: Rung = ask(Stair(self.beta))
        noisy = draw(DiscreteLaplace(1 / self.split[0], rung.index)) + self.lift
        bound = rung.scales[min(max(noisy, 0), len(rung.scales) - 1)]
        scale = bound / self.rate
        grid = output_grid(rung.scales[-1] / self.rate)
        value = draw(LaplaceLaw().at(rung.location, scale, grid=grid, low=rung.low, high=rung.high))
        return Published(on_grid(value, rung.step), float(bound * rung.step), float(scale * rung.step))

    @classmethod
    def examples(cls) -> Sequence[PublishedBound]:
        small = Fraction(1, 10**6)
        return (cls(Fraction(1), small), cls(Fraction(1, 2), small, share=Fraction(1, 2)))


def _hockey(first: float, rate: float, beta: float, lift: int, epsilon: float) -> float:
    """Sum over the published rung J of the hockey stick of two weighted Laplace laws, maximised over the room left above the index.

    Rungs are counted from the lower index j of the pair; f moves by at most s_j. A ladder that ends `room` rungs higher merges all J
    beyond its end. Each rung is at least `growth` times the one below: e^beta less the rounding of the ladder.
    """
    growth = max(1.0, math.exp(beta) * (1 - 1e-6) - beta / 1024)
    ratio = math.exp(-first)
    reach = lift + math.ceil(50 / first)
    rungs = np.arange(-reach, reach + 1)
    with np.errstate(over="ignore"):  # an infinite shift is two laws that never meet
        # below j the bound shrinks by at most e^beta a rung, above it grows by at least `growth`: both on the side of more loss
        shift = rate * np.where(rungs < 0, math.exp(beta), growth) ** -np.minimum(rungs, 200.0)
    law = {j: (1 - ratio) / (1 + ratio) * ratio ** np.abs(rungs - lift - j) for j in (0, 1)}
    beyond = 2 * ratio ** (reach - lift)
    worst = 0.0
    for one, other in ((0, 1), (1, 0), (0, 0)):
        p, q = law[one], law[other]
        below = np.concatenate([[0.0], np.cumsum(weighted_laplace(p, q, shift, epsilon))])
        tail_p, tail_q = (np.cumsum(part[::-1])[::-1] for part in (p, q))
        merged = below[:-1] + weighted_laplace(tail_p, tail_q, shift, epsilon)
        worst = max(worst, float(merged[reach:].max()) + beyond, float(below[-1]) + beyond)
    return worst


@lru_cache(maxsize=256)
def _largest_rate(epsilon: Fraction, delta: Fraction, beta: Fraction, share: Fraction, lift: int) -> Fraction:
    first, low, high = float(epsilon * share), float(epsilon * (1 - share)), 4 * float(epsilon)  # a large delta allows more than epsilon
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        holds = _hockey(first, middle, float(beta), lift, float(epsilon)) <= float(delta) * (1 - 1e-9)
        low, high = (middle, high) if holds else (low, middle)
    return max(round_down(low, 12), epsilon * (1 - share))
