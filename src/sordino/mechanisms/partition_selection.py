"""Which keys may be named at all: optimal partition selection."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from sordino.mechanisms.listing import claim, listed
from sordino.mechanisms.stability import UNIT, acceptance, coin_witness
from sordino.privacy.certificate import Certificate, Closed
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import Bernoulli
from sordino.privacy.number import as_delta, as_epsilon, as_reach, exp_up, round_down
from sordino.privacy.relation import Relation
from sordino.summaries import Ask, Counts, Draw, Tally

__all__ = ["PartitionSelection"]


@listed("partition selection", "key selection", "unbounded key domain", note="002 stable histograms (infinite domain)")
@dataclass(frozen=True)
class PartitionSelection:
    r"""Name each key with the largest probability that privacy allows for its number of people; counts are not shown.

    Theorem. With a person in at most l keys, naming a key held by m people with probability pi(m), pi(0) = 0, by the recursion at
    (epsilon/l, 1 - (1-delta)^{1/l}) is (epsilon, delta)-DP under add_remove. For l = 1 no rule names any key more often. Under replace
    the recursion runs at epsilon/2 and delta/(1 + e^{epsilon/2}).
    Proof. One person changes at most l coins by one step each; l-fold composition of (e, d) coins is (l e, 1 - (1-d)^l). For l = 1 the
    recursion takes at each number of people the largest probability that both inequalities with the one before it allow, and is
    monotone in that one. A replacement is a removal and an addition: group privacy for two. QED
    For larger l this coin is the best of those for one person's epsilon/l, not of all independent coins: from l = 3 on Gaussian noise on
    divided weights, `WeightedSelection`, names keys of fewer people.
    """

    epsilon: Fraction
    delta: Fraction
    max_groups: int = 1
    relation: Relation = Relation.ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "delta", as_delta(self.delta))
        object.__setattr__(self, "relation", Relation.of(self.relation))
        as_reach(self.max_groups)

    @property
    def step(self) -> tuple[Fraction, Fraction]:
        """(epsilon, delta) of one coin for one added or removed person."""
        epsilon, delta = self.epsilon, self.delta
        if self.relation is Relation.REPLACE:
            epsilon, delta = epsilon / 2, delta / (1 + exp_up(epsilon / 2))
        share = -math.expm1(math.log1p(-float(delta)) / self.max_groups) * (1 - 1e-12)
        return epsilon / self.max_groups, round_down(share, 30)

    @property
    def table(self) -> tuple[int, ...]:
        return acceptance(*self.step, Fraction(0))

    @property
    def sure_from(self) -> int:
        """The number of people from which a key is named for certain."""
        return len(self.table) - 1

    def hockey(self, epsilon: float) -> float:
        """Composition of the changed coins, as l (2l) pairs of the (e, d) form with their exact common delta."""
        coins = self.max_groups * (2 if self.relation is Relation.REPLACE else 1)
        e, d = (float(part) for part in self.step)
        worst = coin_witness(*self.step, Fraction(0)).delta(e)
        if self.relation is Relation.REPLACE:
            once = -math.expm1(self.max_groups * math.log1p(-max(worst, d)))
            total = self.max_groups * e
            return min(1.0, (1 + math.exp(min(total, 300))) * once) if epsilon >= 2 * total * (1 - 1e-12) else 1.0
        revealed = -math.expm1(coins * math.log1p(-max(worst, d)))
        pure = coins * e
        rest = 0.0 if epsilon >= pure * (1 - 1e-12) else -math.expm1(epsilon - pure) / (1 + math.exp(-pure))
        return revealed + (1 - revealed) * rest

    def certificate(self) -> Certificate:
        unit = f"{self.relation.value}; a person in at most {self.max_groups} keys, counted once in each"
        cost = Cost.approximate(self.epsilon, self.delta)
        if self.max_groups > 1:  # a ledger that adds rho adds that of every coin
            coin = Cost.approximate(*self.step).group(2 if self.relation is Relation.REPLACE else 1)
            cost = replace(Cost.sum([(coin, self.max_groups)]), epsilon=self.epsilon, delta=self.delta)
        if self.max_groups == 1 and self.relation is Relation.ADD_REMOVE:
            return claim(self, cost, coin_witness(*self.step, Fraction(0)), assumes=unit)
        return claim(self, cost, Closed(self.hockey), assumes=unit)

    def release(self, ask: Ask, draw: Draw) -> tuple[Hashable, ...]:
        tally: Tally = ask(Counts())
        table = self.table
        people = np.minimum(np.maximum(tally.counts, 0), len(table) - 1)
        steps = np.unique(np.append(people, 0))  # the empty table tosses no coin, but hands over a law all the same
        index = np.searchsorted(steps, people).astype(np.int64)
        named = draw(Bernoulli(tuple(Fraction(table[int(step)], UNIT) for step in steps), index))
        return tuple(key for key, shown in zip(tally.keys, np.atleast_1d(named).tolist(), strict=True) if shown)

    @classmethod
    def examples(cls) -> Sequence[PartitionSelection]:
        small = Fraction(1, 10**6)
        return (cls(Fraction(1), small), cls(Fraction(1), small, 4), cls(Fraction(1), small, 2, Relation.REPLACE))
