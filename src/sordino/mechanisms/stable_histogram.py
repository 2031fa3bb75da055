"""Counts of keys nobody listed beforehand: noise every key that occurs, show those above a threshold."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from sordino.errors import QueryError
from sordino.mechanisms.laplace import check_scale
from sordino.mechanisms.listing import claim, listed
from sordino.privacy.certificate import Certificate, Closed
from sordino.privacy.cost import Cost, gaussian_delta
from sordino.privacy.discrete import DiscreteLaplace
from sordino.privacy.families import GaussianLaw
from sordino.privacy.number import as_delta, as_epsilon, as_reach, round_up
from sordino.privacy.relation import Limits, PrivacyUnit, Relation
from sordino.summaries import Ask, Counts, Draw, Tally

__all__ = ["StableHistogram"]


def _rounded_gaussian_tail(steps: float, sigma: float) -> float:
    """P(round(sigma Z) >= steps)."""
    return 0.5 * math.erfc((steps - 0.5) / sigma / math.sqrt(2))


@listed("stable histogram", "stability-based histogram", "unknown keys", note="002 stable histograms")
@dataclass(frozen=True)
class StableHistogram:
    r"""Noisy counts of the keys that occur, shown only from a public threshold t on.

    Theorem. A person has rows in at most l keys, at most c in each, N <= l c in all. With integer noise K and tail F(v) = P(K < t - v),
    showing a count when count + K >= t is (epsilon, delta)-DP if, for keys of v_1, .., v_a rows present on one side only, b others on the
    other side only and the rest on both, 1 - prod F(v_i) + prod F(v_i) H(epsilon + ln(prod F(w_j)/prod F(v_i))) <= delta, where H is the
    hockey stick of the keys present on both sides. For Laplace noise that is 1 - prod F(v_i) <= delta over all rows of one person, and
    the worst has j keys, c rows in as many as there are rows for, at least one in each. For Gaussian noise c rows in each of l keys
    bound it from above.
    Proof. A key of v rows present on one side only is visible there with probability 1 - F(v) and invisible otherwise, which multiplies
    the likelihood of the other outcomes by prod F on either side; keys on both sides are shifted by at most c and the
    threshold is post-processing. Discrete Laplace noise of scale N/epsilon (2 N/epsilon under replace) costs one over the scale for each
    shared row, and a key of w rows that is gone takes w rows from the shared ones and adds -ln F(w) <= w/scale, which the threshold
    sees to: so H vanishes. -ln F is convex on [1, c] and increasing, so its sum over
    j keys with at most N rows in all is largest at a vertex: all keys full or with a single row but for one. QED
    A key with count m appears with probability P(K >= t - m); all n counts at once err by at most t + ln(n/eta) scales with
    probability 1 - eta.
    """

    epsilon: Fraction
    delta: Fraction
    noise: str = "laplace"
    max_groups: int = 1
    max_rows: int = 1
    relation: Relation = Relation.ADD_REMOVE
    total: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "delta", as_delta(self.delta))
        object.__setattr__(self, "relation", Relation.of(self.relation))
        as_reach(self.max_groups)
        as_reach(self.max_rows)
        as_reach(1 if self.total is None else self.total)
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
        return self.limits.counted * (2 if self.relation is Relation.REPLACE else 1) / self.epsilon

    @property
    def limits(self) -> Limits:
        return Limits(self.max_rows, self.max_groups, self.max_groups * self.max_rows if self.total is None else self.total)

    @property
    def threshold(self) -> int:
        """The public count from which a noisy key is shown."""
        if self.noise == "gaussian":  # half of delta hides keys; the calibration of the noise knows the exact remainder
            allowed = -math.expm1(math.log1p(-float(self.delta)) / self.max_groups) * (1 - 1e-9) / 2
            return self.max_rows + _least(lambda above: self.hidden(above) <= allowed)
        allowed = float(self.delta) * (1 - 1e-9)
        return self.max_rows + _least(lambda above: self.seen(self.max_rows + above) <= allowed and self._quiet(self.max_rows + above))

    def _quiet(self, threshold: int) -> bool:
        """Whether a key that goes is no louder than its rows would be as noise: -ln F(v) <= v/scale, at both ends of a convex function."""
        ends = (1, self.limits.rows)
        return all(-math.log1p(-self.hidden(threshold - rows)) <= rows / float(self.scale) * (1 - 1e-9) for rows in ends)

    def seen(self, threshold: int) -> float:
        """How often some key of one person alone shows at this threshold, at the worst allocation of their rows, under Laplace noise."""
        limits, worst = self.limits, 0.0
        for keys in range(1, limits.touched + 1):
            spare = min(limits.counted, keys * limits.rows) - keys  # rows beyond one in each
            full, left = divmod(spare, limits.rows - 1) if limits.rows > 1 else (0, 0)
            held = {limits.rows: full, 1 + left: 1} if full < keys else {limits.rows: full}
            held[1] = held.get(1, 0) + keys - sum(held.values())
            log = math.fsum(times * math.log1p(-self.hidden(threshold - rows)) for rows, times in held.items() if times)
            worst = max(worst, -math.expm1(log))
        return worst

    def hidden(self, above: int) -> float:
        """P(K >= above): how often a key of the largest single contribution would show with the threshold this far above it."""
        return _hidden(self.noise, float(self.scale), above)

    def hockey(self, epsilon: float) -> float:
        """The theorem's left side, maximised over how many keys are new, gone and shared."""
        if self.noise == "laplace":
            steps = 2 if self.relation is Relation.REPLACE else 1
            seen, loss = self.seen(self.threshold), self.limits.counted * steps / float(self.scale)
            rest = 0.0 if epsilon >= loss * (1 - 1e-12) else -math.expm1(epsilon - loss) / (1 + math.exp(-loss))
            return seen + (1 - seen) * rest
        visible = self.hidden(self.threshold - self.max_rows)
        unit = PrivacyUnit(None, self.relation, self.max_rows, self.max_groups)
        return _worst(float(self.scale), visible, unit, epsilon)

    def certificate(self) -> Certificate:
        limits = self.limits
        unit = f"{self.relation.value}; a person in at most {limits.groups} keys, {limits.rows} rows each, {limits.counted} in all"
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
            cls(one, small, max_groups=4, max_rows=3, total=7),
            cls(Fraction(1, 2), small, relation=Relation.REPLACE),
            cls(one, small, "gaussian", 4),
            cls(one, small, "gaussian", 3, 2, Relation.REPLACE),
        )


def _least(enough: Callable[[int], bool]) -> int:
    """The least whole number from 1 on that is enough, by bisection."""
    above = 1
    while not enough(above):
        above *= 2
    low = above // 2
    while above - low > 1:
        middle = (low + above) // 2
        low, above = (low, middle) if enough(middle) else (middle, above)
    return above


def _hidden(noise: str, scale: float, above: int) -> float:
    if noise == "gaussian":
        return _rounded_gaussian_tail(above, scale)
    return math.exp(-above / scale) / (1 + math.exp(-1 / scale))


def _worst(scale: float, visible: float, unit: PrivacyUnit, epsilon: float) -> float:
    groups, rows, both = unit.max_groups, unit.max_rows, unit.relation is Relation.REPLACE
    log_f = math.log1p(-visible)
    worst = 0.0
    for new in range(groups + 1):
        for gone in range(groups + 1 if both else (groups + 1 if new == 0 else 1)):
            shared = (2 * groups - new - gone) if both else groups - max(new, gone)
            level = epsilon + (gone - new) * log_f
            stick = gaussian_delta(rows * math.sqrt(shared) / scale, level) if shared else -math.expm1(min(level, 0.0))
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
        return _worst(sigma, max(visible, share), unit, float(epsilon)) <= float(delta) * (1 - 1e-9)

    high = float(unit.max_rows)
    while not holds(high):
        high *= 2
    low = high / 2
    while high - low > 1e-3 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return round_up(high, 9)
