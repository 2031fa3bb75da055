"""Counts of keys nobody listed beforehand: noise every key that occurs, show those above a threshold."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from sordino.errors import QueryError
from sordino.mechanisms.laplace import check_scale
from sordino.mechanisms.listing import claim, listed
from sordino.mechanisms.selection import as_reach
from sordino.privacy.certificate import Certificate
from sordino.privacy.cost import Cost, gaussian_delta
from sordino.privacy.discrete import DiscreteLaplace
from sordino.privacy.families import GaussianLaw
from sordino.privacy.number import as_delta, as_epsilon, round_up
from sordino.privacy.relation import PrivacyUnit, Relation
from sordino.privacy.witness import Closed
from sordino.summaries import Ask, Counts, Draw, Tally

__all__ = ["StableHistogram"]


def _rounded_gaussian_tail(steps: float, sigma: float) -> float:
    """P(round(sigma Z) >= steps)."""
    return 0.5 * math.erfc((steps - 0.5) / sigma / math.sqrt(2))


@listed("stable histogram", "stability-based histogram", "unknown keys", note="002 stable histograms")
@dataclass(frozen=True)
class StableHistogram:
    r"""Noisy counts of the keys that occur, shown only from a public threshold t on.

    Theorem. A person has rows in at most l keys, at most c in each. With integer noise K and tail F = P(K < t - c), showing a count when
    count + K >= t is (epsilon, delta)-DP if, for a keys present on one side only, b on the other only and the rest on both (a + b <= l
    with one of them 0 under add_remove; a, b <= l under replace),
    1 - F^a + F^a H(epsilon + (b - a) ln F) <= delta, where H is the hockey stick of the keys present on both sides.
    Proof. A key present on one side only is visible there with probability at most 1 - F and invisible otherwise, which multiplies the
    likelihood of the other outcomes by F^a on one side and F^b on the other; keys on both sides are shifted by at most c and the
    threshold is post-processing. Discrete Laplace noise of scale l c/epsilon (2 l c/epsilon under replace) makes H vanish, and then
    F^l >= 1 - delta suffices. QED
    A key with count m appears with probability P(K >= t - m); all n counts at once err by at most t + ln(n/eta) scales with
    probability 1 - eta.
    """

    epsilon: Fraction
    delta: Fraction
    noise: str = "laplace"
    max_groups: int = 1
    max_rows: int = 1
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "delta", as_delta(self.delta))
        object.__setattr__(self, "relation", Relation.of(self.relation))
        as_reach(self.max_groups)
        as_reach(self.max_rows)
        if self.noise not in ("laplace", "gaussian"):
            raise QueryError("SRD-106", f"noise {self.noise!r} is unknown.", 'Use "laplace" or "gaussian".')
        if self.delta >= min(0.5, -math.expm1(-float(self.epsilon))):
            raise QueryError("SRD-102", f"delta is {float(self.delta):g}.", "The threshold needs delta below 1/2 and below 1 - e^-epsilon.")
        check_scale(self.scale)

    @property
    def scale(self) -> Fraction:
        """Scale of the discrete Laplace noise, or standard deviation of the Gaussian noise."""
        if self.noise == "gaussian":
            return _gaussian_scale(self.epsilon, self.delta, PrivacyUnit(None, self.relation, self.max_rows, self.max_groups))
        return self.max_groups * self.max_rows * (2 if self.relation is Relation.REPLACE else 1) / self.epsilon

    @property
    def threshold(self) -> int:
        """The public count from which a noisy key is shown."""
        allowed = -math.expm1(math.log1p(-float(self.delta)) / self.max_groups) * (1 - 1e-9)
        if self.noise == "gaussian":
            allowed /= 2  # half of delta hides keys; the calibration of the noise knows the exact remainder
        above = 1
        while self.hidden(above) > allowed:
            above *= 2
        low = above // 2
        while above - low > 1:
            middle = (low + above) // 2
            low, above = (middle, above) if self.hidden(middle) > allowed else (low, middle)
        return self.max_rows + above

    def hidden(self, above: int) -> float:
        """P(K >= above): how often a key of the largest single contribution would show with the threshold this far above it."""
        return _hidden(self.noise, float(self.scale), above)

    def hockey(self, epsilon: float) -> float:
        """The theorem's left side, maximised over how many keys are new, gone and shared."""
        visible = self.hidden(self.threshold - self.max_rows)
        unit = PrivacyUnit(None, self.relation, self.max_rows, self.max_groups)
        return _worst(self.noise, float(self.scale), visible, unit, epsilon)

    def certificate(self) -> Certificate:
        unit = f"{self.relation.value}; a person in at most {self.max_groups} keys, {self.max_rows} rows each"
        why = "half of delta is set aside for hiding keys, and a count has whole steps" if self.noise == "gaussian" else ""
        return claim(self, Cost.approximate(self.epsilon, self.delta), Closed(self.hockey), assumes=unit, loose=why)

    def release(self, ask: Ask, draw: Draw) -> dict[Hashable, int]:
        tally: Tally = ask(Counts())
        occurs = tally.counts > 0
        counts = tally.counts[occurs].astype(np.int64)
        noisy = draw(GaussianLaw().at(counts, self.scale) if self.noise == "gaussian" else DiscreteLaplace(self.scale, counts))
        shown, least = zip(np.flatnonzero(occurs).tolist(), noisy.tolist(), strict=True), self.threshold
        return {tally.keys[i]: count for i, count in shown if count >= least}

    @classmethod
    def examples(cls) -> Sequence[StableHistogram]:
        one, small = Fraction(1), Fraction(1, 10**6)
        return (
            cls(one, small),
            cls(one, small, max_groups=4, max_rows=2),
            cls(Fraction(1, 2), small, relation=Relation.REPLACE),
            cls(one, small, "gaussian", 4),
            cls(one, small, "gaussian", 3, 2, Relation.REPLACE),
        )


def _hidden(noise: str, scale: float, above: int) -> float:
    if noise == "gaussian":
        return _rounded_gaussian_tail(above, scale)
    return math.exp(-above / scale) / (1 + math.exp(-1 / scale))


def _worst(noise: str, scale: float, visible: float, unit: PrivacyUnit, epsilon: float) -> float:
    groups, rows, both = unit.max_groups, unit.max_rows, unit.relation is Relation.REPLACE
    log_f = math.log1p(-visible)
    worst = 0.0
    for new in range(groups + 1):
        for gone in range(groups + 1 if both else (groups + 1 if new == 0 else 1)):
            shared = (2 * groups - new - gone) if both else groups - max(new, gone)
            level = epsilon + (gone - new) * log_f
            if noise == "gaussian":
                stick = gaussian_delta(rows * math.sqrt(shared) / scale, level) if shared else -math.expm1(min(level, 0.0))
            else:
                loss = shared * rows / scale
                stick = 0.0 if level >= loss else -math.expm1(level - loss) / (1 + math.exp(-loss))
            seen = -math.expm1(new * log_f)
            worst = max(worst, seen + (1 - seen) * stick)
    return worst


@lru_cache(maxsize=256)
def _gaussian_scale(epsilon: Fraction, delta: Fraction, unit: PrivacyUnit) -> Fraction:
    """The least standard deviation, to a thousandth, whose threshold at half of delta keeps the whole claim."""
    share = -math.expm1(math.log1p(-float(delta)) / unit.max_groups) / 2

    def holds(sigma: float) -> bool:
        above = 1
        while _hidden("gaussian", sigma, above) > share * (1 - 1e-9):
            above += max(1, above // 64)
        visible = min(_hidden("gaussian", sigma, above), share)
        return _worst("gaussian", sigma, max(visible, share), unit, float(epsilon)) <= float(delta) * (1 - 1e-9)

    high = float(unit.max_rows)
    while not holds(high):
        high *= 2
    low = high / 2
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return round_up(high, 9)
