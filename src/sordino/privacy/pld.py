"""Privacy-loss distributions: what releases with fixed parameters cost together, nearly exactly and never too little."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sordino.privacy.cost import Cost, gaussian_delta, gaussian_epsilon
from sordino.privacy.lattice import Tilt, transform
from sordino.privacy.pair import DominatingPair, discrete

__all__ = ["PrivacyLoss", "of", "of_laws", "total"]

CLASSES = 1200  # distinct scales kept apart; more are rounded up, by ln(largest/smallest)/CLASSES at most


@dataclass(frozen=True)
class PrivacyLoss:
    """The losses of a composition in one direction and in the other, the mass of infinite loss, and all its Gaussians as one.

    Theorem. `delta(epsilon)` and `epsilon(delta)` are upper bounds for every adaptive composition of releases whose families and
    parameters were fixed in advance.
    Proof. Each part is a dominating pair (`Pair`); Gaussians of mu_i are together one of mu^2 = sum of mu_i^2 (Dong, Roth and Su 2022);
    compositions of dominating pairs dominate (Zhu, Dong and Wang 2022); the losses are summed from above (`transform`).
    An outcome of infinite loss counts in full: delta = i + (1 - i) times the delta of the finite losses. QED
    """

    forward: Mapping[DominatingPair, int] = field(default_factory=dict)
    backward: Mapping[DominatingPair, int] | None = None  # None: the same as forward
    mu_squared: Fraction = Fraction(0)
    infinite: tuple[float, float] = (0.0, 0.0)

    def __add__(self, other: PrivacyLoss) -> PrivacyLoss:
        return _sum([(self, 1), (other, 1)])

    def power(self, times: int) -> PrivacyLoss:
        """The same releases, this many times over."""
        return _sum([(self, times)])

    def delta(self, epsilon: float) -> float:
        """An upper bound on delta at this epsilon."""
        return max(infinite + (1 - infinite) * self._delta(parts, epsilon) for parts, infinite in self._directions())

    def epsilon(self, delta: float) -> float:
        """An upper bound on epsilon at this delta; infinite if the releases' own deltas already use it up."""
        if any(infinite >= delta for _, infinite in self._directions()):
            return math.inf
        return max(self._epsilon(parts, (delta - infinite) / (1 - infinite) * (1 - 1e-12)) for parts, infinite in self._directions())

    def _delta(self, parts: Mapping[DominatingPair, int], epsilon: float) -> float:
        if not parts:
            return gaussian_delta(math.sqrt(self.mu_squared), epsilon)
        tilt = Tilt(_classes(parts), float(self.mu_squared))
        return transform(tilt, tilt.where(lambda _, at: at[1] > epsilon)).delta(epsilon)

    def _epsilon(self, parts: Mapping[DominatingPair, int], delta: float) -> float:
        if not parts:
            return gaussian_epsilon(math.sqrt(self.mu_squared), delta) if self.mu_squared else 0.0
        tilt = Tilt(_classes(parts), float(self.mu_squared))
        theta = tilt.where(lambda theta, at: at[0] - theta * at[1] < math.log(delta))
        best = math.inf
        for _ in range(6):
            curve = transform(tilt, theta)
            best = min(best, found := curve.epsilon(delta))
            if math.isfinite(found) and curve.doubt(found) < 1e-3 * delta:
                break
            theta /= 4  # tilted too far: Chernoff's exponent overshoots when delta is near its largest value
        return best

    def _directions(self) -> list[tuple[Mapping[DominatingPair, int], float]]:
        there = (self.forward, self.infinite[0])
        return [there] if self.backward is None else [there, (self.backward, self.infinite[1])]


def of(cost: Cost) -> PrivacyLoss:
    """The privacy loss of one release."""
    if cost.parts:
        return _sum([(of(part), times) for part, times in cost.parts])
    if cost.mu_squared is not None:
        return PrivacyLoss(mu_squared=cost.mu_squared)
    family = "approximate" if cost.family == "discrete_laplace" else cost.family  # randomized response dominates every pure pair
    revealed = min(1.0, float(cost.delta) * (1 + 1e-15))
    return PrivacyLoss({DominatingPair.of(family, math.nextafter(float(cost.epsilon), math.inf)): 1}, infinite=(revealed, revealed))


def of_laws(P: Mapping[Any, Any], Q: Mapping[Any, Any]) -> PrivacyLoss:
    """The privacy loss of two finite laws, each a mapping from outcome to probability."""
    (there, lost), (back, gone) = discrete(P, Q)
    forward, backward = ({pair: 1} if pair.width else {} for pair in (there, back))  # a loss that is always zero adds nothing
    return PrivacyLoss(forward, backward, infinite=(lost, gone))


def total(costs: Iterable[Cost]) -> PrivacyLoss:
    """The privacy loss of all these releases together."""
    return _sum([(of(cost), times) for cost, times in Counter(costs).items()])


def _sum(terms: list[tuple[PrivacyLoss, int]]) -> PrivacyLoss:
    forward: Counter[DominatingPair] = Counter()
    backward: Counter[DominatingPair] = Counter()
    for loss, times in terms:
        for pair, count in loss.forward.items():
            forward[pair] += count * times
        for pair, count in (loss.forward if loss.backward is None else loss.backward).items():
            backward[pair] += count * times
    kept = [[times * math.log1p(-loss.infinite[way]) if loss.infinite[way] < 1 else -math.inf for loss, times in terms] for way in (0, 1)]
    lost, gone = (min(1.0, -math.expm1(math.fsum(logs)) * (1 + 1e-12)) for logs in kept)
    symmetric = all(loss.backward is None for loss, _ in terms)
    mu_squared = sum((loss.mu_squared * times for loss, times in terms), Fraction(0))
    return PrivacyLoss(forward, None if symmetric else backward, mu_squared, (lost, gone))


def _classes(parts: Mapping[DominatingPair, int]) -> list[tuple[DominatingPair, int]]:
    """At most a few classes of nearly equal scale, each named by its largest: a larger epsilon of the same family dominates."""
    scales = [(pair.family, pair.width) for pair in parts if pair.family]
    if len(scales) <= CLASSES:
        return list(parts.items())
    least = min(width for _, width in scales)
    stride = math.log(max(width for _, width in scales) / least) / CLASSES
    bins: dict[tuple[str, int], list[tuple[DominatingPair, int]]] = {}
    for pair, count in parts.items():
        key = (pair.family, math.floor(math.log(pair.width / least) / stride)) if pair.family else ("", len(bins))
        bins.setdefault(key, []).append((pair, count))
    return [(max(members, key=lambda part: part[0].width)[0], sum(count for _, count in members)) for members in bins.values()]
