"""Which keys may be named where people hold several: everybody's weight is divided among their keys, in four rounds."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.gaussian import largest_mu
from sordino.mechanisms.laplace import check_scale
from sordino.mechanisms.listing import claim, listed
from sordino.privacy.certificate import Certificate, Closed
from sordino.privacy.cost import Cost, gaussian_delta
from sordino.privacy.families import GaussianLaw
from sordino.privacy.law import Placed, output_grid
from sordino.privacy.number import as_delta, as_epsilon, as_reach, round_down
from sordino.privacy.relation import Relation
from sordino.summaries import Ask, Draw, KeyWeights, Tally
from sordino.summaries.request import WHOLE_WEIGHT, weight_of

__all__ = ["WeightedSelection"]

ROUNDS = (1, 2, 4, 8)  # parts of mu squared and of the delta that hides keys; also what a round's noisy weights count for, later on
ROOTS = tuple(Fraction(math.isqrt(part * 10**18 // sum(ROUNDS)), 10**9) for part in ROUNDS)  # of the shares, rounded down
APART = Fraction(1414213563, 10**9)  # the root of two, rounded up


@listed("weighted Gaussian selection", "DP-SIPS", note="002 stable histograms (infinite domain)")
@dataclass(frozen=True)
class WeightedSelection:
    r"""Name keys by their noisy weights, 1/sqrt(k) of a person with k keys; then again, with everybody's weight on keys not yet named.

    Theorem. A person holds at most l keys. Let round i add Gaussian noise of deviation s_i to the weight of every key that is held and
    not yet named, and name those whose noisy weights, added up over rounds 1 to i with public factors, reach T_i; where T_i, for every
    a <= l, hides a keys of weight 1/sqrt(a) in round i alone but for probability d_i. With mu^2 = sum 1/s_i^2 (sum 2/s_i^2 under replace)
    and E = -sum ln(1 - d_i) all rounds are (epsilon, delta)-DP if a Gaussian of shift mu has at most delta - sum d_i at epsilon - E.
    Proof. Call keys of one side only new, a of them, and let Q be the law of the names if new keys are never named. Given what was
    named, the other keys have the same weights from everybody else on both sides, and k weights of at most 1/sqrt(k) have L2 norm at
    most 1 (two people's, none negative, are at most sqrt(2) apart). So all noisy weights of these keys compose adaptively to a Gaussian
    of shift mu, and naming by sums of them is post-processing: Q keeps its (epsilon - E, delta - sum d_i) against the other side's Q.
    New keys have noise of their own. Whatever happens to the rest, their holder has at least these a keys until one of them is named,
    so each weighs at most 1/sqrt(a), and in round i all their sums stay below T_i with probability at least 1 - d_i. The sums rise
    with noises that are independent, so they are associated (Esary, Proschan and Walkup 1967): they stay below in all rounds with
    probability at least prod (1 - d_i) = e^-E. Hence the names of this side have a law between e^-E Q and Q + sum d_i, of every set. QED
    Adding up loses nothing: if weights stay as they are, the last round tests with all of mu, so that earlier rounds, which give way
    to keys that are held together with frequent ones, cost a part of the hiding delta only. Factors 1/s_i^2 are the best for weights
    that stay. A key needs about T sqrt(k) people of k keys each; a generous l hardly costs: T grows with the root of its logarithm.
    Weights are whole numbers, 2^20/sqrt(k) rounded down. Half of delta is the noise's, half hides keys. Naming in rounds is after
    Swanberg et al. 2023; with two rounds, of a tenth and nine tenths and each by its own noise, fewer keys were named.
    """

    epsilon: Fraction
    delta: Fraction
    max_groups: int = 3
    relation: Relation = Relation.ADD_REMOVE
    parts: bool = False  # whether the price is said part by part

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "delta", as_delta(self.delta))
        object.__setattr__(self, "relation", Relation.of(self.relation))
        as_reach(self.max_groups)
        if not isinstance(self.parts, bool):
            raise QueryError("SRD-103", f"parts is {self.parts!r}.", "Give True for a price in parts, False for one in all.")
        if self._left <= 0:
            raise QueryError("SRD-102", f"delta is {float(self.delta):g}.", "The threshold needs a delta far below epsilon.")
        for scale in self.scales:
            check_scale(scale)

    def hidden(self, turn: int) -> Fraction:
        """How often a round may name a key of one person alone."""
        return self.delta / 2 * Fraction(ROUNDS[turn], sum(ROUNDS))

    @property
    def _left(self) -> Fraction:
        """Epsilon for the noise, after what the coins of hidden keys cost."""
        return round_down(float(self.epsilon) + math.fsum(math.log1p(-float(self.hidden(i))) for i in range(len(ROUNDS))), 15)

    @cached_property
    def scales(self) -> tuple[Fraction, ...]:
        """The deviation of each round, in units of a millionth of a person."""
        reach = WHOLE_WEIGHT * (APART if self.relation is Relation.REPLACE else 1)
        return tuple(reach / (largest_mu(self._left, self.delta / 2) * root) for root in ROOTS)

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """What one person with 1, 2, .. keys adds to each."""
        return np.array([weight_of(k) for k in range(1, self.max_groups + 1)], float)

    def pooled(self, turn: int) -> tuple[int, float, float]:
        """What a weight counts for after this round, the deviation of the noise in the sum, and how far rounding may lift it."""
        scales = self.scales[: turn + 1]
        spread = math.hypot(*(part * float(scale) for part, scale in zip(ROUNDS, scales, strict=False)))
        lifted = sum(part * output_grid(scale) for part, scale in zip(ROUNDS, scales, strict=False)) / 2
        return sum(ROUNDS[: turn + 1]), spread, lifted

    @cached_property
    def thresholds(self) -> tuple[int, ...]:
        """The sum of noisy weights so far from which a key is named, in each round."""
        from scipy.special import ndtri

        keys, out = np.arange(1, self.max_groups + 1), []
        for turn in range(len(ROUNDS)):
            times, spread, lifted = self.pooled(turn)
            each = -np.expm1(math.log1p(-float(self.hidden(turn))) / keys) * (1 - 1e-6)
            far = times * self.weights + lifted - spread * ndtri(each)
            out.append(math.ceil(float(far.max())) + 1)
        return tuple(out)

    @property
    def sure_from(self) -> int:
        """The number of people with one key each from which it is named more often than not."""
        return self.people(1)

    def people(self, keys: int) -> int:
        """The number of people with so many keys each that name a key more often than not if none of their keys is named before."""
        return math.ceil(self.thresholds[-1] / (sum(ROUNDS) * weight_of(keys)))

    def seen(self, turn: int) -> float:
        """How often a round names some key of one person alone, at the worst number of keys."""
        from scipy.special import ndtr

        times, spread, lifted = self.pooled(turn)
        each = ndtr((times * self.weights + lifted - self.thresholds[turn]) / spread)
        return float(np.max(-np.expm1(np.arange(1, self.max_groups + 1) * np.log1p(-each))))

    def hockey(self, epsilon: float) -> float:
        """The theorem's sum, with what the thresholds and deviations really are."""
        seen = [self.seen(turn) for turn in range(len(ROUNDS))]
        reach = WHOLE_WEIGHT * float(APART if self.relation is Relation.REPLACE else 1)
        mu = math.sqrt(math.fsum((reach / float(scale)) ** 2 for scale in self.scales))
        rest = epsilon + math.fsum(math.log1p(-part) for part in seen)
        noise = gaussian_delta(mu, rest) if rest >= 0 else 1.0
        return min(1.0, noise + math.fsum(seen))

    def certificate(self) -> Certificate:
        unit = f"{self.relation.value}; a person in at most {self.max_groups} keys, of weight one together"
        why = "hiding and noise are added, round by round; that their maximum would do is not proved for rounds that depend on each other"
        return claim(self, self.cost, Closed(self.hockey), assumes=unit, loose=why)

    @cached_property
    def cost(self) -> Cost:
        """(epsilon, delta); by `parts`, for ledgers that add rho, a Gaussian of mu and the coins of hidden keys: mu^2/2 beside a delta."""
        if not self.parts:
            return Cost.approximate(self.epsilon, self.delta)
        noise = Cost.gaussian(largest_mu(self._left, self.delta / 2) ** 2, self._left, self.delta / 2)
        hidden = [self.hidden(turn) for turn in range(len(ROUNDS))]
        coins = tuple((Cost.approximate(part / (1 - part), part), 1) for part in hidden)  # -ln(1 - d) <= d/(1 - d)
        return Cost(self.epsilon, self.delta, "composed", parts=((noise, 1), *coins))

    def law(self, turn: int, weights: NDArray[np.int64]) -> Placed[Any]:
        return GaussianLaw().at(weights, self.scales[turn], grid=output_grid(self.scales[turn]))

    def release(self, ask: Ask, draw: Draw) -> tuple[Hashable, ...]:
        named: tuple[Hashable, ...] = ()
        sums: dict[Hashable, int] = {}
        for turn, (part, least) in enumerate(zip(ROUNDS, self.thresholds, strict=True)):
            tally: Tally = ask(KeyWeights(named))
            noisy = np.atleast_1d(draw(self.law(turn, tally.counts))).tolist()
            sums = {key: sums.get(key, 0) + part * weight for key, weight in zip(tally.keys, noisy, strict=True)}
            named += tuple(key for key, total in sums.items() if total >= least)
        return named

    def neighbours(self) -> Sequence[tuple[Any, ...]]:
        """People as collections of their keys: one who holds what others hold, and one whose keys nobody else has."""
        keys = [f"k{i}" for i in range(self.max_groups)]
        crowd, replaced = [tuple(keys)] * max(1, self.people(len(keys)) // 2), self.relation is Relation.REPLACE
        other = [("elsewhere",)] if replaced else []
        alone: tuple[Any, ...] = ("keys nobody else has", [*crowd, *other], [*crowd, tuple(f"n{i}" for i in range(len(keys)))], {}, True)
        single: tuple[Any, ...] = ("one key nobody else has", [*crowd, *other], [*crowd, ("n0",)], {}, True)
        found = [alone, single]
        if not replaced:
            found.append(("keys about as often named as not", crowd, [*crowd, tuple(keys)]))
        for quarter in (1, 2, 3):  # a key named only by high noise tells most of what a Gaussian can
            few = [("a",), ("b",)] * max(1, self.people(1) * quarter // 4)
            found.append((f"{quarter} quarters of the people a key needs", [*few, ("a",)] if replaced else few, [*few, ("b",)]))
        return found

    @classmethod
    def examples(cls) -> Sequence[WeightedSelection]:
        small = Fraction(1, 10**6)
        return (cls(Fraction(1), small), cls(Fraction(1), small, 20), cls(Fraction(1, 2), small, 5, Relation.REPLACE))
