"""The most frequent keys of an unbounded domain, by stability."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sordino.errors import QueryError
from sordino.mechanisms.listing import claim, listed
from sordino.mechanisms.stability import Stability, coin_witness
from sordino.privacy.certificate import Certificate
from sordino.privacy.cost import Cost
from sordino.privacy.relation import Relation
from sordino.summaries import Ask, Counts, Draw, Held, Near, Tally

__all__ = ["StableMode"]


@listed("stable mode", "mode by propose-test-release", "mode", "top-k", note="002 mode")
@dataclass(frozen=True)
class StableMode:
    r"""The most frequent key, or the set of the k most frequent, exactly, if their lead is large enough.

    Theorem. Let ties go to the key that is lower in byte order, and let need be the least number of rows that puts another key into the
    answer: the lead over each rival (plus one if the rival loses ties), and the count of the last winner itself, because an unseen lower
    key may overtake it. With at most c rows per person and key, d = max(0, ceil(need/c) - 1) under add_remove and
    max(0, ceil(need/(2c)) - 1) under replace, and releasing with probability pi(d) is (epsilon, delta)-DP.
    Proof. One added or removed person changes a lead by at most c, one replaced person by at most 2c, so fewer than d+1 changes cannot
    alter the answer and d moves by at most one between neighbours; then the stability theorem applies. QED
    """

    epsilon: Fraction
    delta: Fraction
    k: int = 1
    relation: Relation = Relation.ADD_REMOVE
    max_rows: int = 1

    def __post_init__(self) -> None:
        test = Stability(self.epsilon, self.delta)
        object.__setattr__(self, "epsilon", test.epsilon)
        object.__setattr__(self, "delta", test.delta)
        object.__setattr__(self, "relation", Relation.of(self.relation))
        for name in ("k", "max_rows"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise QueryError("SRD-103", f"{name} is {value!r}.", f"Give {name} as a whole number of at least 1.")

    @property
    def least_lead(self) -> int:
        """The lead, in rows, from which the answer appears with probability at least 99%."""
        step = self.max_rows * (2 if self.relation is Relation.REPLACE else 1)
        return step * Stability(self.epsilon, self.delta).least_distance + 1

    def certificate(self) -> Certificate:
        witness = coin_witness(self.epsilon, self.delta, self.delta)
        unit = f"{self.relation.value}, at most {self.max_rows} rows per person and key"
        return claim(self, Cost.approximate(self.epsilon, self.delta), witness, assumes=unit)

    def near(self, tally: Tally) -> Near:
        """The winners and their distance to instability."""
        from sordino.sensitivity import distance

        counts = {key: count for key, count in zip(tally.keys, tally.counts.tolist(), strict=True) if count}
        options: dict[str, Any] = {"relation": self.relation, "max_rows": self.max_rows}
        ranked = sorted(counts, key=lambda key: (-counts[key], distance.canonical(key)))
        if self.k == 1:
            return Near(distance.mode(counts, **options), ranked[0] if ranked else None)
        return Near(distance.top_k(counts, self.k, **options), frozenset(ranked[: self.k]))

    def release(self, ask: Ask, draw: Draw) -> Any:
        near = self.near(ask(Counts()))
        return Stability(self.epsilon, self.delta).release(Held(near), draw)

    @classmethod
    def examples(cls) -> Sequence[StableMode]:
        small = Fraction(1, 10**6)
        return (cls(Fraction(1), small), cls(Fraction(1, 2), small, 5, Relation.REPLACE, 3))
