"""Propose-test-release: propose a bound on the local sensitivity, test it privately, then release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.laplace import on_grid
from sordino.mechanisms.listing import claim, listed
from sordino.mechanisms.stability import UNIT, acceptance_with_value
from sordino.pictures import Picture, steps
from sordino.privacy.certificate import Certificate, Closed, weighted_laplace
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import Bernoulli
from sordino.privacy.families import LaplaceLaw
from sordino.privacy.law import output_grid
from sordino.privacy.number import as_delta, as_epsilon, as_positive, exact, exp_down
from sordino.summaries import Ask, Draw, Near, Nearness, Refused

__all__ = ["ProposeTestRelease"]

FINE = 2**20  # the noisy distance is compared on a grid of a millionth of a unit


@listed("propose-test-release", "PTR", "propose test release", note="002 propose-test-release")
@dataclass(frozen=True)
class ProposeTestRelease:
    r"""Propose a bound B; if the data are far from any table whose local sensitivity exceeds it, release with noise for B.

    Theorem. Let d(x) be the number of units that must change before the local sensitivity exceeds B. Release f + Lap(B/e2) when
    d + Lap(1/e1) > ln(1/(2 delta))/e1, or with the largest private probability pi(d) (test="optimal"); otherwise answer "refused", or
    f + Lap(GS/e2) with the branch shown (otherwise="global"). This is (e1+e2, delta)-DP, whatever the outcome.
    Proof. d moves by at most one between neighbours. If d(x) >= 1 or d(x') >= 1 then |f(x) - f(x')| <= B and both steps compose. If both
    are 0 the value may differ arbitrarily, but a pass has probability at most delta on either side: e^{-e1 T}/2 = delta. The optimal
    test is the solution of the joint hockey-stick equation. The global branch is e2-DP for every pair. QED
    """

    epsilon: Fraction
    delta: Fraction
    propose: Fraction
    test: str = "optimal"
    otherwise: str = "refuse"
    share: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "delta", as_delta(self.delta))
        object.__setattr__(self, "propose", as_positive(self.propose, "propose"))
        object.__setattr__(self, "share", exact(self.share, "share"))
        if not 0 < self.share < 1:
            raise QueryError("SRD-103", f"share is {self.share}.", "Give the part of epsilon spent on the test, between 0 and 1.")
        if self.test not in ("optimal", "laplace"):
            raise QueryError("SRD-106", f"test {self.test!r} is unknown.", 'Use "optimal" or "laplace".')
        if self.otherwise not in ("refuse", "global"):
            raise QueryError("SRD-106", f"otherwise {self.otherwise!r} is unknown.", 'Use "refuse" or "global".')
        if self.delta >= Fraction(1, 2):
            raise QueryError("SRD-102", f"delta is {float(self.delta):g}.", "The test needs delta below one half.")

    @property
    def split(self) -> tuple[Fraction, Fraction]:
        return self.epsilon * self.share, self.epsilon * (1 - self.share)

    @property
    def threshold(self) -> float:
        """The public threshold T of the Laplace test."""
        return math.log(1 / (2 * float(self.delta))) / float(self.split[0])

    @property
    def table(self) -> tuple[int, ...]:
        """The optimal test's probabilities, in units of 2^-128."""
        return acceptance_with_value(*self.split, self.delta, both=self.otherwise == "global")

    def chances(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """The probabilities of passing and of failing at distances 0, 1, 2, ...; each to full relative precision."""
        if self.test == "optimal":
            return np.array([entry / UNIT for entry in self.table]), np.array([(UNIT - entry) / UNIT for entry in self.table])
        last = math.ceil(self.threshold + 60 / float(self.split[0]))
        gap = float(self.split[0]) * (np.arange(last + 1) - self.threshold)
        near = np.exp(-np.abs(gap)) / 2
        return np.where(gap < 0, near, 1 - near), np.where(gap < 0, 1 - near, near)

    def plot(self) -> Picture:
        """How likely the test passes, by the distance to instability. Public: no data are in it."""
        passing, _ = self.chances()
        kept = passing[: int(np.argmax(passing > 0.9999)) + 2] if (passing > 0.9999).any() else passing
        words = f"epsilon {float(self.epsilon):g}, delta {float(self.delta):g}, {self.test} test"
        return steps({"passes": (np.arange(len(kept)), kept)}, title=words, x="distance to instability", y="probability of release")

    def hockey(self, epsilon: float) -> float:
        """The largest hockey stick over all pairs of distances (d, d+1), (d, d) and both directions."""
        if self.test == "optimal" and epsilon == float(self.epsilon):
            return self._exact_hockey()
        second = float(self.split[1])
        passing, failing = self.chances()
        worst = float(passing[0])  # both at distance 0: the values may be anything
        if self.otherwise == "global":
            worst += float(weighted_laplace(failing[0], failing[0], second, epsilon))
        up, down, same = (slice(1, None), slice(-1)), (slice(-1), slice(1, None)), (slice(None), slice(None))
        for one, other in (up, down, same):
            # refusal is an atom; the global branch instead carries its weight through an e2-DP release
            aside = np.maximum(failing[one] - math.exp(min(epsilon, 700.0)) * failing[other], 0.0)
            if self.otherwise == "global":
                aside = weighted_laplace(failing[one], failing[other], second, epsilon)
            worst = max(worst, float(np.max(weighted_laplace(passing[one], passing[other], second, epsilon) + aside, initial=0.0)))
        return worst

    def _exact_hockey(self) -> float:
        """The same at the price itself, in whole numbers rounded up: doubles cancel, and the optimal test leaves no slack to lose."""
        first, second = self.split
        grown, slid, back = (math.floor(exp_down(e) * UNIT) for e in (self.epsilon, first, -second))

        def stick(p: int, q: int) -> int:
            """p Lap(0) over q Lap(e2): nothing, p - sqrt(p q e^e1), or p - e^epsilon q, as ln(p/q) passes e1 and e1 + 2 e2."""
            near = p - math.isqrt(p * q * slid // UNIT)
            far = p - q * grown // UNIT
            return max(0, near if q * grown >= p * back else far)

        atom = self.otherwise == "refuse"
        worst = self.table[0]
        for small, large in pairwise([*self.table, UNIT]):
            refused = UNIT - small - grown * (UNIT - large) // UNIT if atom else stick(UNIT - small, UNIT - large)
            worst = max(worst, stick(large, small), refused)
        return worst / UNIT

    def certificate(self) -> Certificate:
        why = "" if self.test == "optimal" else "the Laplace test keeps the classical threshold; the optimal test uses the slack"
        assumes = "the distance to instability moves by at most one between neighbours"
        return claim(self, Cost.approximate(self.epsilon, self.delta), Closed(self.hockey), assumes=assumes, loose=why)

    def _passed(self, distance: int, draw: Draw) -> bool:
        if self.test == "optimal":
            return bool(draw(Bernoulli.of(Fraction(self.table[min(distance, len(self.table) - 1)], UNIT))))
        capped = min(distance, math.ceil(self.threshold + 1000 / self.split[0]))  # beyond this the test passes for certain
        noisy = draw(LaplaceLaw().at(capped * FINE, FINE / self.split[0]))
        return bool(noisy > math.ceil(self.threshold * FINE) + 1)

    def release(self, ask: Ask, draw: Draw) -> Any:
        near: Near = ask(Nearness(self.propose))
        second = self.split[1]
        passed = self._passed(near.distance, draw)
        bound = Fraction(math.ceil(self.propose / near.step))
        worst = Fraction(max(near.worst_case, 1))
        fitted = draw(LaplaceLaw().at(near.value, bound / second, grid=output_grid(bound / second), low=near.low, high=near.high))
        if self.otherwise == "refuse":
            return on_grid(fitted, near.step) if passed else Refused()
        broad = draw(LaplaceLaw().at(near.value, worst / second, grid=output_grid(worst / second), low=near.low, high=near.high))
        return on_grid(fitted if passed else broad, near.step), "proposed bound" if passed else "global sensitivity"

    @classmethod
    def examples(cls) -> Sequence[ProposeTestRelease]:
        half, small, bound = Fraction(1, 2), Fraction(1, 10**6), Fraction(100)
        return (
            cls(Fraction(1), small, bound),
            cls(Fraction(1, 5), small, bound),
            cls(Fraction(1), small, bound, "laplace"),
            cls(half, small, bound, "optimal", "global"),
        )
