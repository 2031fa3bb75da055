"""Witnesses: the worst neighbouring laws of a mechanism, as things that can be integrated.

A witness answers two questions about all neighbouring parameters at once: the largest log-ratio, and the largest hockey stick at a given
epsilon, in both directions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from sordino.privacy.cost import gaussian_delta
from sordino.privacy.dilation import Dilation, largest_ratio
from sordino.privacy.law import Noise

__all__ = ["Closed", "Dilated", "Finite", "GaussianShift", "LaplaceShift", "Later", "Witness", "weighted_laplace"]

ROUNDING = 1e-9
Probabilities = Mapping[Any, float] | Sequence[float]


class Witness(Protocol):
    def sup(self) -> float: ...
    def delta(self, epsilon: float) -> float: ...


@dataclass(frozen=True)
class Dilated:
    """Noise s S(x) Z with S beta-smooth: every slide up to 1/s and every dilation up to beta.

    Theorem. With cells [l0, l1] of width eta covering [0, beta], the hockey sticks at slide 1/s satisfy
    D_eps(W_l || N) <= e^eta D_{eps-eta}(W_l1 || N) and D_eps(N || W_l) <= D_{eps-eta}(N || W_l0), and slides below 1/s are no worse.
    Proof. For a symmetric unimodal density the hockey stick grows with the slide. Within a cell the wider density is at most e^eta times
    that of W_l1 (unimodality moves mass outwards only), and W_l0 is dominated by e^eta W_l in the same way. Where |y| h(y) decreases,
    stretching raises the density, and no factor e^eta is needed. QED
    """

    law: Noise
    s: float
    beta: float
    cells: int = 48

    def _pairs(self) -> tuple[float, list[tuple[Dilation, Dilation]]]:
        if self.beta == 0:
            same = [(Dilation(self.law, 1 / self.s, 0.0), Dilation(self.law, 1 / self.s, 0.0, wide_first=False))]
            return 0.0, same
        width = self.beta / self.cells
        pairs = []
        for i in range(self.cells):
            wide = Dilation(self.law, 1 / self.s, (i + 1) * width)
            narrow = Dilation(self.law, 1 / self.s, i * width, wide_first=False)
            pairs.append((wide, narrow))
        return width, pairs

    def sup(self, most: float = math.inf) -> float:
        """The largest log-ratio; where it is more than `most`, something between the two."""
        width, pairs = self._pairs()
        both = [pair for cell in pairs for pair in cell]
        dilation, wide = np.array([pair.dilation for pair in both]), np.array([pair.wide_first for pair in both])
        return largest_ratio(self.law, 1 / self.s, dilation, wide, width, most=most)

    def delta(self, epsilon: float) -> float:
        width, pairs = self._pairs()
        inner = epsilon - width
        worst = max(max(math.exp(width) * wide.delta(inner), narrow.delta(inner)) for wide, narrow in pairs)
        return worst * (1 + ROUNDING)


@dataclass(frozen=True)
class Later:
    """A witness that is worked out when it is first integrated: a price list needs the price, not the scale that is certified at it."""

    build: Callable[[], Witness]

    @cached_property
    def witness(self) -> Witness:
        return self.build()

    def sup(self) -> float:
        return self.witness.sup()

    def delta(self, epsilon: float) -> float:
        return self.witness.delta(epsilon)


@dataclass(frozen=True)
class LaplaceShift:
    """Independent Laplace coordinates moved by at most `shift` scales in L1 norm.

    Theorem. The largest log-ratio is exactly the shift; the hockey stick of one coordinate is 1 - e^{(eps - shift)/2}, and no way of
    spreading the shift over coordinates has a larger one. On whole numbers (`scalar` false) it is at most that of epsilon-DP.
    Proof. The log-ratio is a sum of |z_i - d_i| - |z_i| <= sum |d_i|, attained beyond both centres. Spreading: `Part`. QED
    """

    shift: float
    scalar: bool = True

    def sup(self) -> float:
        return self.shift

    def delta(self, epsilon: float) -> float:
        if epsilon >= self.shift:
            return 0.0
        if self.scalar:
            return -math.expm1((epsilon - self.shift) / 2)
        return -math.expm1(epsilon - self.shift) / (1 + math.exp(-self.shift))


@dataclass(frozen=True)
class GaussianShift:
    """Gaussian coordinates moved by at most mu standard deviations in L2 norm."""

    mu: float

    def sup(self) -> float:
        return math.inf

    def delta(self, epsilon: float) -> float:
        return gaussian_delta(self.mu, epsilon)


class Finite:
    """Two laws with finitely many outcomes, integrated by summing."""

    def __init__(self, p: Probabilities, q: Probabilities, *, missing: tuple[float, float] = (0.0, 0.0)) -> None:
        keys = list(dict.fromkeys([*p, *q])) if isinstance(p, Mapping) and isinstance(q, Mapping) else None
        if keys is not None:
            p, q = [p.get(k, 0.0) for k in keys], [q.get(k, 0.0) for k in keys]  # type: ignore[union-attr]
        self.p, self.q = np.asarray(p, float), np.asarray(q, float)
        self.missing = missing  # mass of either law outside the listed outcomes, counted against the claim

    def sup(self) -> float:
        seen = (self.p > 0) | (self.q > 0)
        with np.errstate(divide="ignore"):
            return float(np.max(np.abs(np.log(self.p[seen]) - np.log(self.q[seen]))))

    def delta(self, epsilon: float) -> float:
        grown = math.exp(min(epsilon, 700.0))
        forth = np.maximum(self.p - grown * self.q, 0).sum() + self.missing[0]
        back = np.maximum(self.q - grown * self.p, 0).sum() + self.missing[1]
        return float(max(forth, back))


@dataclass(frozen=True)
class Closed:
    """A hockey stick, and where it exists a largest log-ratio, known in closed form."""

    hockey: Callable[[float], float]
    largest: float = math.inf

    def sup(self) -> float:
        return self.largest

    def delta(self, epsilon: float) -> float:
        return self.hockey(epsilon)


def weighted_laplace(p: Any, q: Any, shift: Any, epsilon: float) -> Any:
    """The hockey stick of p Lap(0) over q Lap(shift), unit scale: two sub-probabilities on the same branch of a mechanism; vectorised."""
    p, q, shift = np.broadcast_arrays(np.asarray(p, float), np.asarray(q, float), np.asarray(shift, float))
    with np.errstate(divide="ignore", invalid="ignore"):
        level = np.where(p > 0, epsilon + np.log(q) - np.log(p), np.inf)
        inside = p * -np.expm1(np.minimum((level - shift) / 2, 0.0))
        outside = np.maximum(p - math.exp(min(epsilon, 700.0)) * q, 0.0)
    return np.where(level >= shift, 0.0, np.where(level <= -shift, outside, inside))
