"""Groups whose keys nobody listed: which of them may be named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, cast

from sordino.mechanisms.partition_selection import PartitionSelection
from sordino.mechanisms.stability import UNIT
from sordino.mechanisms.stable_histogram import StableHistogram
from sordino.mechanisms.weighted_selection import WeightedSelection
from sordino.privacy.certificate import Part
from sordino.statistics.histograms import noise_radius, noise_rmse, stable_histogram
from sordino.statistics.port import LEVEL, Answer, Context, Priced
from sordino.statistics.reach import key_order, tally
from sordino.statistics.row_count import units_item
from sordino.summaries import Ask, Draw, Held, Tally
from sordino.summaries.totals import GroupTotals, Item, Totals

__all__ = ["CountedKeys", "Keys", "Named"]

Keyed = tuple[tuple[Any, ...], ...]  # the keys of a tally are groups, each a tuple of its columns' values


@dataclass(frozen=True)
class Named:
    """The keys that may be named, in canonical order, and any answers that came with them, by the statistic's name."""

    keys: Keyed
    answers: dict[str, Sequence[Answer]] = field(default_factory=dict)


def _tally(ask: Ask, item: Item) -> Tally:
    answer: GroupTotals = ask(Totals((item,)))
    return tally({key: int(v) for key, v in zip(answer.keys, answer.values[item], strict=True)})


FEW = 2  # groups of a person up to which each key's own coin names more than divided weights do


@dataclass(frozen=True)
class Keys(Priced):
    """Which groups are named, by how many people they have.

    A person in one or two groups: each is named with the largest probability that its number of people allows. In more: everybody's
    weight is divided among their groups, in rounds of noise.
    """

    epsilon: Fraction
    delta: Fraction
    context: Context

    def __post_init__(self) -> None:
        _ = self.threshold  # every refusal comes before the charge

    @cached_property
    def mechanism(self) -> PartitionSelection | WeightedSelection:
        groups, relation = self.context.limits.touched, self.context.unit.relation
        if groups <= FEW:
            return PartitionSelection(self.epsilon, self.delta, groups, relation)
        return WeightedSelection(self.epsilon, self.delta, groups, relation, parts=self.context.adds_rho)

    @property
    def name(self) -> str:
        return type(self.mechanism).__name__

    @cached_property
    def threshold(self) -> int:
        """The number of people from which a key is named more often than not; of people with no other key, if that matters."""
        if isinstance(self.mechanism, WeightedSelection):
            return self.mechanism.people(1)
        return next(i for i, chance in enumerate(self.mechanism.table) if 2 * chance >= UNIT)

    @property
    def most(self) -> int:
        """The same of people who are in as many groups as count."""
        return self.mechanism.people(self.mechanism.max_groups) if isinstance(self.mechanism, WeightedSelection) else self.threshold

    @property
    def usual(self) -> int:
        """The same of people in half as many groups as count, as far as the public knows the middle."""
        groups = -(-self.mechanism.max_groups // 2)
        return self.mechanism.people(groups) if isinstance(self.mechanism, WeightedSelection) else self.threshold

    @property
    def least(self) -> str:
        """How large a key must be to be shown, for a price list."""
        return f"{self.threshold:,}" if self.most == self.threshold else f"{self.threshold:,} to {self.most:,}"

    @property
    def withheld(self) -> str:
        if self.most == self.threshold:
            return withheld(self.threshold, self.context)
        groups = self.mechanism.max_groups
        return f"keys under about {self.threshold:,} people in one group each, or {self.most:,} in {groups} groups each, are withheld"

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part(self.mechanism.certificate()),)

    def release(self, ask: Ask, draw: Draw) -> Named:
        if isinstance(self.mechanism, WeightedSelection):
            return Named(tuple(sorted(cast(Keyed, self.mechanism.release(ask, draw)), key=key_order)))
        people = _tally(ask, units_item(self.context))
        return Named(cast(Keyed, self.mechanism.release(Held(people), draw)))


@dataclass(frozen=True)
class CountedKeys(Priced):
    """Keys and their counts in one draw, for a query that asks for nothing but the count of rows by group."""

    epsilon: Fraction
    delta: Fraction
    context: Context
    label: str

    def __post_init__(self) -> None:
        _ = self.threshold

    @cached_property
    def mechanism(self) -> StableHistogram:
        return stable_histogram(self.epsilon, self.delta, self.context.limits, self.context.unit.relation)

    @property
    def name(self) -> str:
        return f"StableHistogram, {self.mechanism.noise}"

    @property
    def threshold(self) -> int:
        return self.mechanism.threshold

    @property
    def least(self) -> str:
        return f"{self.threshold:,}"

    @property
    def withheld(self) -> str:
        said, rows = withheld(self.threshold, self.context, "rows"), self.context.limits.rows
        if self.context.unit.column is None or rows == 1:
            return said
        return f"{said} (of {self.threshold:,} people with one row there, of {-(-self.threshold // rows):,} with {rows:,})"

    def width(self, level: float = LEVEL) -> float:
        """The half-width of a count that is shown."""
        return float(noise_radius(self.mechanism, level))

    def rmse(self) -> float:
        return noise_rmse(self.mechanism)

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part(self.mechanism.certificate()),)

    def release(self, ask: Ask, draw: Draw) -> Named:
        rows = _tally(ask, Item("rows"))
        shown = self.mechanism.release(Held(rows), draw)
        radius = noise_radius(self.mechanism, LEVEL)
        answers = [Answer(v, v - radius, v + radius) for v in shown.values()]
        return Named(cast(Keyed, tuple(shown)), {self.label: answers})


def withheld(threshold: int, context: Context, word: str = "") -> str:
    """What a reader may know about keys that are not shown."""
    return f"keys under about {threshold} {word or ('people' if context.unit.column is not None else 'rows')} are withheld"
