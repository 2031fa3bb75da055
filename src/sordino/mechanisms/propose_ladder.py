"""Propose-test-release without a guess: bounds on a public ladder, tried by sparse vector, and the first that passes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.laplace import check_scale, on_grid
from sordino.mechanisms.listing import claim, listed
from sordino.privacy.certificate import Certificate, Closed, weighted_laplace
from sordino.privacy.cost import Cost
from sordino.privacy.families import LaplaceLaw
from sordino.privacy.law import output_grid
from sordino.privacy.number import as_delta, as_epsilon, as_positive, exact
from sordino.summaries import Ask, Draw, Near, Nearness, Refused

__all__ = ["ProposeLadder"]

SPREAD = 2  # one distance may rise while another falls
FIRST = Fraction(387, 1000)  # of the test's price, for its threshold: 1 to 2^(2/3)
SURE = 45  # scales beyond which nothing is drawn
LONGEST = 64


@listed("propose-test-release by sparse vector", "ladder of proposals", note="002 propose-test-release (the guess of B)")
@dataclass(frozen=True)
class ProposeLadder:
    r"""Try bounds B_1 < .. < B_J in order and release with noise for the first whose distance passes a noisy threshold.

    Theorem. Let d_j(x) be how many units must change before the local sensitivity exceeds B_j. With threshold noise Lap(1/a), distance
    noise Lap(2/b), a + b = e1, rounded to whole numbers, release (j, f + Lap(B_j/e2)) for the first j with d_j + noise >= T + noise, or
    "refused". With T such that J distances of 0 reach it with probability at most delta, this is (e1 + e2, delta)-DP.
    Proof. Distances move by at most one, some up and some down, so the index alone is the sparse vector of spread 2: e1-DP. If d_j(x) >= 1
    or d_j(x') >= 1, then |f(x) - f(x')| <= B_j, and the value given j is e2-DP. Every other j has distance 0 on both sides. One of these
    is chosen only if its noise reaches the threshold; that any of at most J does has probability at most delta, on either side. So
    P(S) <= delta + e^{e1 + e2} P'(S). QED
    """

    epsilon: Fraction
    delta: Fraction
    ladder: tuple[Fraction, ...]
    share: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "delta", as_delta(self.delta))
        object.__setattr__(self, "share", exact(self.share, "share"))
        rungs = tuple(as_positive(bound, "a rung") for bound in self.ladder)
        object.__setattr__(self, "ladder", rungs)
        if not 1 <= len(rungs) <= LONGEST or any(a >= b for a, b in pairwise(rungs)):
            raise QueryError("SRD-103", "the ladder does not rise.", f"Give 1 to {LONGEST} rising bounds on the local sensitivity.")
        if not 0 < self.share < 1:
            raise QueryError("SRD-103", f"share is {self.share}.", "Give the part of epsilon spent on the tests, between 0 and 1.")
        if self.delta >= Fraction(1, 2):
            raise QueryError("SRD-102", f"delta is {float(self.delta):g}.", "The test needs delta below one half.")
        check_scale(max(self.scales))

    @property
    def split(self) -> tuple[Fraction, Fraction]:
        return self.epsilon * self.share, self.epsilon * (1 - self.share)

    @property
    def scales(self) -> tuple[Fraction, Fraction]:
        """Of the noise of the threshold and of the distances."""
        tests = self.split[0]
        return 1 / (tests * FIRST), SPREAD / (tests * (1 - FIRST))

    @property
    def propose(self) -> Fraction:
        """The rung in the middle: what one would propose who had to name one."""
        return self.ladder[len(self.ladder) // 2]

    @cached_property
    def threshold(self) -> int:
        """The least T that J distances of 0 reach with probability at most delta."""
        return _threshold(self.scales, len(self.ladder), self.delta)

    @property
    def longest(self) -> int:
        """Distances beyond this pass for certain and are not told apart."""
        return self.threshold + math.ceil(SURE * (self.scales[0] + self.scales[1]))

    def law(self, distances: Sequence[int]) -> NDArray[np.float64]:
        """The probability of every rung, and of a refusal, at these distances: sums over what the threshold may be."""
        first, second = (float(scale) for scale in self.scales)
        reach = math.ceil(SURE * first)
        levels = np.arange(-reach, reach + 1)
        mass = _mass(levels, first)
        before, out = np.ones(len(levels)), []
        for distance in distances:
            over = _reaches(levels + self.threshold - min(distance, self.longest), second)
            out.append(float((mass * before * over).sum()))
            before = before * -np.expm1(np.log(np.maximum(over, 1e-300)))
        return np.array([*out, float((mass * before).sum())])

    def hockey(self, epsilon: float) -> float:
        """The largest hockey stick over hostile pairs of distances, both directions: values of unsafe rungs may be anything."""
        second, worst = float(self.split[1]), 0.0
        for p, q, unsafe in self._laws:
            for here, there in ((p, q), (q, p)):
                told = weighted_laplace(here[:-1], there[:-1], second, epsilon)
                atom = max(here[-1] - math.exp(min(epsilon, 700.0)) * there[-1], 0.0)
                worst = max(worst, float(np.where(unsafe, here[:-1], told).sum() + atom))
        return worst

    @cached_property
    def _laws(self) -> list[tuple[NDArray[np.float64], NDArray[np.float64], list[bool]]]:
        """Both laws of every hostile pair, and which rungs are unsafe on both sides."""
        known = {tuple(distances): self.law(distances) for pair in self._pairs() for distances in pair}
        unsafe = [[max(a, b) < 1 for a, b in zip(one, other, strict=True)] for one, other in self._pairs()]
        return [(known[tuple(one)], known[tuple(other)], bad) for (one, other), bad in zip(self._pairs(), unsafe, strict=True)]

    def _pairs(self) -> list[tuple[list[int], list[int]]]:
        size, far = len(self.ladder), self.threshold
        zero = [0] * size
        found = [(zero, zero)]
        for level in (0, far // 2, far, far + math.ceil(3 * self.scales[1])):
            still = [max(level - 1, 0)] * (size // 2) + [level] * (size - size // 2)
            found += [(still, [d + 1 for d in still]), (still, [max(d + (-1) ** i, 0) for i, d in enumerate(still)])]
            found.append((still, [d + 1 for d in still[:-1]] + [max(still[-1] - 1, 0)]))
        return found

    def certificate(self) -> Certificate:
        assumes = "every distance to instability moves by at most one between neighbours"
        why = "the sparse vector is paid for the worst of all ladders, and few reach it"
        return claim(self, Cost.approximate(self.epsilon, self.delta), Closed(self.hockey), assumes=assumes, loose=why)

    def noise(self, near: Near, place: int) -> Any:
        """The law of the value, for one rung."""
        scale = Fraction(math.ceil(self.ladder[place] / near.step)) / self.split[1]
        return LaplaceLaw().at(near.value, scale, grid=output_grid(scale), low=near.low, high=near.high)

    def release(self, ask: Ask, draw: Draw) -> Any:
        """The value and the rung it was released at. The value of some rung is drawn whatever the test says."""
        found: list[Near] = [ask(Nearness(bound)) for bound in self.ladder]
        distances = np.array([min(near.distance, self.longest) for near in found], np.int64)
        bar = draw(LaplaceLaw().at(self.threshold, self.scales[0]))
        noisy = draw(LaplaceLaw().at(distances, self.scales[1]))
        reached = np.flatnonzero(np.asarray(noisy) >= bar)
        place = int(reached[0]) if len(reached) else len(self.ladder) - 1
        value = on_grid(draw(self.noise(found[place], place)), found[place].step)
        return (value, place) if len(reached) else Refused()

    @classmethod
    def examples(cls) -> Sequence[ProposeLadder]:
        small, rungs = Fraction(1, 10**6), tuple(Fraction(2**i) for i in range(12))
        return (cls(Fraction(1), small, rungs), cls(Fraction(1, 5), small, rungs[2:5]))


def _mass(levels: NDArray[Any], scale: float) -> NDArray[np.float64]:
    """Of Laplace noise rounded to whole numbers."""
    far = np.abs(levels)
    return np.asarray(np.where(far == 0, -np.expm1(-0.5 / scale), np.exp(-far / scale) * math.sinh(0.5 / scale)))


def _reaches(levels: NDArray[Any], scale: float) -> NDArray[np.float64]:
    """P(rounded noise >= level)."""
    edge = (levels - 0.5) / scale
    return np.asarray(np.where(edge > 0, np.exp(-np.maximum(edge, 0)) / 2, 1 - np.exp(np.minimum(edge, 0)) / 2))


@lru_cache(maxsize=256)
def _threshold(scales: tuple[Fraction, Fraction], size: int, delta: Fraction) -> int:
    first, second = (float(scale) for scale in scales)
    reach = math.ceil((SURE - math.log(float(delta))) * first)
    levels = np.arange(-reach, reach + 1)
    mass = _mass(levels, first)

    def unsafe(threshold: int) -> float:
        some = -np.expm1(size * np.log1p(-np.minimum(_reaches(levels + threshold, second), 1 - 1e-16)))
        return float((mass * some).sum() * (1 + 1e-9) + math.exp(-reach / first))

    low, high = 0, 1
    while unsafe(high) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if unsafe(middle) > delta else (low, middle)
    return high
