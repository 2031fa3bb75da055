"""A certificate: the theorem, its price, and the worst neighbouring laws that can be integrated to check it.

Witnesses: the worst neighbouring laws of a mechanism, as things that can be integrated.

A witness answers two questions about all neighbouring parameters at once: the largest log-ratio, and the largest hockey stick at a given
epsilon, in both directions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np

from sordino.errors import QueryError
from sordino.privacy.cost import Cost, gaussian_delta
from sordino.privacy.dilation import Dilation, largest_ratio
from sordino.privacy.law import Noise
from sordino.privacy.number import round_up

__all__ = [
    "Certificate", "Closed", "Dilated", "Finite", "GaussianShift", "LaplaceShift", "Later", "Part", "Verdict", "Witness", "least_scale",
    "weighted_laplace", "whole_cost",
]  # fmt: skip

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


MARGIN = 1e-9  # float rounding of the integrals, relative
LARGEST_BETA = 100  # e^beta beyond this leaves the range in which densities can be compared
SMALLEST = 1e-9  # scales are quoted to nine decimals, so nothing is gained below


@dataclass(frozen=True)
class Verdict:
    """Whether the claim holds, the epsilon that is really needed at the claimed delta, and claimed over needed."""

    sound: bool
    slack: float
    epsilon: float
    delta: float

    def __str__(self) -> str:
        word = "sound" if self.sound else "REFUTED"
        return f"{word}: needs epsilon {self.epsilon:.6g}, delta at the claim {self.delta:.3g}, slack {self.slack:.4f}"


@dataclass(frozen=True)
class Certificate:
    """What is claimed and what would have to be true for it."""

    theorem: str
    cost: Cost
    witnesses: tuple[Witness, ...]
    assumptions: str = ""
    loose: str = ""  # why the slack exceeds 1.05, where it does

    def delta(self, epsilon: float) -> float:
        """The largest hockey stick over all witnesses."""
        return max(witness.delta(epsilon) for witness in self.witnesses)

    def check(self) -> Verdict:
        """Integrate every witness and compare with the price."""
        claimed, allowed = float(self.cost.epsilon), float(self.cost.delta)
        if allowed == 0:
            needed = max(witness.sup() for witness in self.witnesses)
            return Verdict(needed <= claimed * (1 + MARGIN), claimed / needed if needed else math.inf, needed, 0.0)
        delta = self.delta(claimed)
        needed = _least_epsilon(self.delta, allowed, claimed)
        return Verdict(delta <= allowed * (1 + MARGIN), claimed / needed if needed else math.inf, needed, delta)


def claim(mechanism: Any, cost: Cost, *witnesses: Witness, assumes: str = "", loose: str = "") -> Certificate:
    """The certificate of a listed mechanism: its own theorem at this cost, to be checked on these witnesses."""
    return Certificate(type(mechanism).theorem, cost, witnesses, assumes, loose)


@dataclass(frozen=True)
class Part:
    r"""One mechanism of a price: what it proves, and how hard one person can meet it.

    In `full` groups a person moves it by all that its certificate allows, in one more by the share `rest` of that; everything `steps`
    times over, where a replacement is a removal and an addition.

    Theorem. Let a person touch groups i with shares t_i <= 1 of what the certificate allows, sum t_i <= full + rest. If the loss is
    linear in the share, the price of (1, .., 1, rest) bounds that of every such allocation: as epsilon, as rho, and as a whole privacy
    profile, for Laplace, discrete Laplace (epsilon and rho), bounded-range and Gaussian laws.
    Proof. Epsilons add, rho is convex in the share and 0 at 0, so the vertex (1, .., 1, rest) of the polytope is the worst. Profiles: in
    the measure e^{-l/2} dP a pair of independent draws of losses a >= b, E = a + b, has on |l| < E the density 1/4 +
    min(2b, E - |l|)/16 and atoms of 1/4 at +-(a - b) and +-E for Laplace (times e^{-E/2}), and one proportional to min(2b, E - |l|) for
    bounded range. Either is a mixture of randomized responses of epsilon |l| with weights proportional to cosh(l/2) times that. Moving
    t from b to a takes mass from |l| < a - b + 2t outwards, and the total stays one, so it mixes stochastically larger epsilons and
    dominates. Such moves, and larger losses, lead from any allocation to the vertex; domination survives composition (Zhu, Dong and
    Wang 2022). Gaussian: the sum of squares is convex. QED
    What costs the same however little a person does in a group (naming a key, counting people, smooth sensitivity, tests) has
    rest = 0 and `full` counts every group the person can be in.
    """

    certificate: Certificate
    full: int = 1
    rest: Fraction = Fraction(0)
    steps: int = 1
    instead: tuple[Certificate, ...] = ()  # what may be drawn in its place, by earlier outcomes, at the same price

    def __post_init__(self) -> None:
        if any(other.cost != self.certificate.cost for other in self.instead):
            raise QueryError("SRD-110", "a mechanism and its replacement have different prices.", "Give both the same price.")

    @cached_property
    def cost(self) -> Cost:
        once = self.certificate.cost.group(self.steps)
        share = [(self.certificate.cost.scaled(self.rest).group(self.steps), 1)] if self.rest else []
        return Cost.sum([(once, self.full), *share])


def whole_cost(parts: Iterable[Part]) -> Cost:
    """The price of a list of parts, and the only way to it."""
    return Cost.sum((part.cost, 1) for part in parts)


def _least_epsilon(delta: Callable[[float], float], allowed: float, start: float) -> float:
    """The least epsilon whose hockey stick is allowed, to a ten-thousandth of the starting point."""
    low, high = 0.0, start
    while delta(high) > allowed * (1 + MARGIN):
        low, high = high, 2 * high
        if high > 1e3 * start + 1e3:
            return math.inf
    while high - low > 1e-4 * start:
        middle = (low + high) / 2
        low, high = (middle, high) if delta(middle) > allowed * (1 + MARGIN) else (low, middle)
    return high


def _between(low: float, high: float, over: Mapping[float, float], turn: int) -> float:
    """Where to look next for the least s that holds: a little to either side of where the excess seems to vanish, every third time halfway.

    The excess, in logarithms, is nearly linear in ln s; beyond the least s it falls on, or stays where it is, and then two points below
    say where. Only where the search looks depends on the guess: what it returns was certified, and a ten-thousandth less was refuted.
    """
    middle, below, above = (low + high) / 2, over.get(low, math.inf), over.get(high, math.inf)
    if turn % 3 == 2 or not (math.isfinite(below) and below > 0):
        return middle
    if -math.inf < above < -1e-3 * below:
        guess = low * (high / low) ** (below / (below - above))
    else:
        earlier = max((s for s, excess in over.items() if s < low and below < excess < math.inf), default=None)
        slope = 1.0 if earlier is None else (over[earlier] - below) / math.log(low / earlier)
        guess = low * math.exp(min(below / slope, 1.0))
    guess *= 1 + 4e-5 * (1 if turn % 3 == 0 else -1)
    return guess if low < guess < high else middle


@lru_cache(maxsize=512)
def least_scale(law: Noise, beta: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The least s, to a ten-thousandth, for which f + s S Z with a beta-smooth S is certified at (epsilon, delta).

    The certificate that accepts s is the same one that is later shown to the user. Above epsilon 1,000, where the noise is far below what
    anybody reads (a forecast asks there for the answer without noise), a tenth more than the least is near enough.
    """
    e, d, b = float(epsilon), float(delta), float(beta)

    over: dict[float, float] = {}  # how far each s tried is from what is allowed, in units in which that is nearly a power of s

    def holds(s: float) -> bool:
        witness = Dilated(law, s, b) if e <= 1000 else Dilated(law, s, b, cells=4)
        allowed = e * (1 + MARGIN) if d == 0 else d * (1 - 1e-7)
        found = witness.sup(allowed) if d == 0 else witness.delta(e)
        over[s] = math.log(found / allowed) if 0 < found < math.inf else math.copysign(math.inf, found - allowed)
        return found <= allowed

    if b > LARGEST_BETA:
        raise QueryError("SRD-103", f"beta is {b:g}.", f"Give a beta of at most {LARGEST_BETA}; most uses lie below 1.")
    high = 1.0
    while not holds(high):
        high *= 2
        if high > 1e12:
            what = f"no scale makes {law.name} noise private at beta {b:g}, epsilon {e:g}, delta {d:g}."
            raise QueryError("SRD-110", what, "Use a smaller beta, a positive delta for light-tailed noise, or noise='power_law'.")
    low = high / 2
    while low > SMALLEST and holds(low):
        low, high = low / 2, low
    turn = 0
    near = 1e-4 if e <= 1000 else 0.1
    while high - low > near * high:
        middle, turn = _between(low, high, over, turn), turn + 1
        low, high = (low, middle) if holds(middle) else (middle, high)
    return round_up(high * (1 + 2 * MARGIN), 9)
