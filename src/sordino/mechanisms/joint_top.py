"""The k most frequent of public candidates in one draw: the exponential mechanism over sequences."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.listing import claim, listed
from sordino.mechanisms.selection import Selection
from sordino.privacy.certificate import Certificate, Finite
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import Categorical
from sordino.summaries import Ask, Draw, Scores

__all__ = ["Heaps", "JointTop"]

RARE = math.log(1e6)  # all sequences beyond the farthest loss weigh this much less than the best one
DEEPEST = 690.0  # how many powers of e doubles can tell apart
CROWD = 2**17  # candidates of the pair that attains the bound


@dataclass(frozen=True)
class Heaps:
    """Sequences in heaps of one loss each: the loss, the first place that has it, and ln of how many sequences there are."""

    loss: NDArray[np.int64]
    place: NDArray[np.int64]
    log_number: NDArray[np.float64]


@listed("joint exponential top-k", "joint top-k", note="002 mode (top k, known keys)")
@dataclass(frozen=True)
class JointTop(Selection):
    r"""Choose k different candidates in order, with weight e^{-c loss}: loss is how far the worst of them lies below its place.

    With c_(1) >= c_(2) >= .. the sorted scores, the loss of a sequence is max_i (c_(i) - score of its i-th candidate), cut at a public
    K = (ln of the number of sequences + ln 10^6)/c: all of them beyond it weigh less than a millionth of the best one.

    Theorem. If one unit moves every score by at most D, all the same way, loss moves by at most Delta = D; by at most Delta = 2 D
    otherwise. With c = epsilon/(2 Delta) the choice is epsilon-DP, of bounded range epsilon, and no sequence has weight zero.
    Proof. A sorted score moves no further than the scores do, and one way if they do. So each difference moves by at most D, or 2 D, and
    maxima and cuts keep that. The exponential mechanism spends 2 Delta c. Where the sequences of loss t are counted by the first place
    i that attains it, the candidates allowed at earlier places (above c_(l) - t) are nested and miss those of place i (equal to
    c_(i) - t), which are allowed at all later places (c_(l) - t or more); so their number is a product of how many are left at each
    place, and drawing place by place among those left is uniform. Logarithms of these products are rounded; `slack` pays for it. No
    exponent falls below -c K, which `depth` keeps inside the doubles at every price: a weight that underflows would be an infinite
    loss. K need not be whole: a loss of ceil(K) or more is cut to K, a smaller one is below K. QED
    The mechanism is Gillenwater, Joseph, Munoz Medina and Ribero's (2022).
    """

    k: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.k, bool) or not isinstance(self.k, int) or self.k < 2:
            raise QueryError("SRD-103", f"k is {self.k!r}.", "Give k as a whole number of at least 2; for one, use PermuteAndFlip.")
        if 10 * self.slack > self.epsilon:
            raise QueryError("SRD-101", f"epsilon is {float(self.epsilon):g}.", "Drawing k together needs a larger epsilon.")

    @property
    def reach(self) -> int:
        """Delta, the sensitivity of the loss."""
        return self.sensitivity * (1 if self.monotone else 2)

    @property
    def slack(self) -> Fraction:
        """What rounding may cost, in epsilon: k + 2 sums of logarithms below 2 DEEPEST, each off by at most 2^-52 of that, four times."""
        return Fraction(math.ceil(8 * (self.k + 2) * DEEPEST), 2**51)

    @property
    def scale(self) -> Fraction:
        return 2 * self.reach / (self.epsilon - self.slack)

    @property
    def rate(self) -> Fraction:
        """c, the factor of the loss in the exponent."""
        return 1 / self.scale

    @property
    def cost(self) -> Cost:
        return Cost.bounded_range(self.epsilon)

    def depth(self, candidates: int) -> float:
        """c K: beyond it all sequences together weigh less than a millionth of the best one. Refused where weights leave the doubles."""
        if candidates < self.k:
            raise QueryError("SRD-103", f"there are {candidates} candidates for {self.k} places.", "Ask for fewer.")
        number = sum(math.log(candidates - place) for place in range(self.k))
        if 2 * number + RARE > DEEPEST:
            what = f"{self.k} of {candidates:,} candidates are too many to be drawn together."
            raise QueryError("SRD-103", what, "Ask for fewer, or choose them one by one with PermuteAndFlip.")
        return number + RARE

    def farthest(self, candidates: int) -> int:
        """The least whole loss that is cut."""
        return math.ceil(self.depth(candidates) / float(self.rate))

    def exponents(self, loss: NDArray[np.int64], candidates: int) -> NDArray[np.float64]:
        """-c times the loss, cut."""
        return np.asarray(-np.minimum(float(self.rate) * loss, self.depth(candidates)))

    def heaps(self, scores: NDArray[np.int64]) -> Heaps:
        """Every sequence, in heaps of one loss; beyond K in one heap per place."""
        rising, count, far = np.sort(scores), len(scores), self.farthest(len(scores))
        top, distinct = rising[::-1][: self.k], np.unique(rising)

        def above(score: Any) -> Any:
            return count - np.searchsorted(rising, score, side="right")

        def upto(score: Any) -> Any:
            return count - np.searchsorted(rising, score, side="left")

        loss, place, number = [], [], []
        for i in range(self.k):
            near = top[i] - distinct[distinct <= top[i]]
            t = np.append(near[near < far], far)
            left = [above(top[before] - t) - before for before in range(i)]
            here = np.append((upto(top[i] - t) - above(top[i] - t))[:-1], count - above(top[i] - far))
            right = [np.append((upto(top[after] - t) - after)[:-1], count - after) for after in range(i + 1, self.k)]
            ways = np.array([*left, here, *right])
            some = (ways > 0).all(axis=0)
            loss.append(t[some])
            place.append(np.full(int(some.sum()), i))
            number.append(np.log(ways[:, some]).sum(axis=0))
        return Heaps(np.concatenate(loss), np.concatenate(place), np.concatenate(number))

    def release(self, ask: Ask, draw: Draw) -> tuple[int, ...]:  # type: ignore[override]
        """A heap, then a candidate for each place among those its loss leaves."""
        scores = np.asarray(ask(Scores()), np.int64)
        heaps, far = self.heaps(scores), self.farthest(len(scores))
        weights = heaps.log_number + self.exponents(heaps.loss, len(scores))
        heap = draw(Categorical(np.exp(weights - weights.max())))
        loss, first, top = int(heaps.loss[heap]), int(heaps.place[heap]), np.sort(scores)[::-1][: self.k]
        chosen: list[int] = []
        for place, score in enumerate(top.tolist()):
            if place < first:
                allowed = scores > score - loss
            elif place == first:
                allowed = scores <= score - far if loss == far else scores == score - loss
            else:
                allowed = scores >= score - loss if loss < far else np.ones(len(scores), bool)
            allowed[chosen] = False
            chosen.append(int(draw(Categorical(allowed.astype(float)))))
        return tuple(chosen)

    def log_probability(self, scores: Any, sequences: Sequence[Sequence[int]]) -> NDArray[np.float64]:
        """ln P of given sequences: the law that is sampled, for certificates and small worlds."""
        scores = np.asarray(scores, np.int64)
        heaps, top = self.heaps(scores), np.sort(scores)[::-1][: self.k]
        whole = np.logaddexp.reduce(heaps.log_number + self.exponents(heaps.loss, len(scores)))
        losses = [int((top - scores[list(chosen)]).max()) for chosen in sequences]
        return np.asarray(self.exponents(np.array(losses), len(scores)) - whole)

    def certificate(self) -> Certificate:
        """One leader far ahead of a crowd of ties: a unit that lifts both makes nearly all sequences better and one worse."""
        step = self.reach
        gap = math.ceil((math.log(CROWD) + 9) / float(self.rate)) + step
        lead = [step + gap * (self.k - 1 - place) for place in range(self.k)]
        still = np.array([*lead, *[0] * CROWD])
        ways = [0] * (self.k - 2) + [1, 0 if self.monotone else -1] + [1] * CROWD
        moved = still + self.sensitivity * np.array(ways)
        common, rare = (*range(self.k - 1), self.k), (*range(self.k - 2), self.k - 1, self.k - 2)
        pair = [self.log_probability(scores, (common, rare)) for scores in (still, moved)]
        witness = Finite(*(np.exp(found).tolist() for found in pair))
        loose = "at a high price no pair of tables attains the bound" if self.rate * self.reach > 1 else ""
        return claim(self, self.cost, witness, assumes=f"one unit moves each score by at most {self.sensitivity}", loose=loose)

    @classmethod
    def examples(cls) -> Sequence[JointTop]:
        return (cls(Fraction(1)), cls(Fraction(1, 10), 3, k=5), cls(Fraction(2), monotone=True, k=3))
