"""A certificate: the theorem, its price, and the worst neighbouring laws that can be integrated to check it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

from sordino.errors import QueryError
from sordino.privacy.cost import Cost
from sordino.privacy.law import Noise
from sordino.privacy.number import round_up
from sordino.privacy.witness import Dilated, Witness

__all__ = ["Certificate", "Part", "Verdict", "least_scale", "whole_cost"]

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
