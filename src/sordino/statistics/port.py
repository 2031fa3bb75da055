"""What a statistic is: it says what it needs, what that costs, and how one answer per group is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from sordino.schema.column import Column
from sordino.privacy.certificate import Certificate
from sordino.privacy.cost import Cost
from sordino.privacy.relation import PrivacyUnit
from sordino.summaries import Ask, Draw

__all__ = ["Answer", "Context", "Statistic", "Step"]


@dataclass(frozen=True)
class Context:
    """Public facts a statistic may use: the unit, whether the query is grouped, the declared columns, a declared size, the group keys.

    `groups_per_person` is max_groups for a grouped query over people and 1 otherwise; under it every per-group price is divided by this
    number. `size` is the declared number of units, if any. `filtered` is true when rows may drop out (a where, a group, a null policy
    "drop", a person unit): then n is private under both relations.
    """

    unit: PrivacyUnit
    columns: dict[str, Column] = field(default_factory=dict)
    grouped: bool = False
    groups_per_person: int = 1
    filtered: bool = True
    size: int | None = None
    keys: tuple[tuple[Any, ...], ...] | None = None


@dataclass(frozen=True)
class Answer:
    """One group's answer: the value, its 95% interval if its bar is honest, and rank bounds for quantiles."""

    value: Any
    low: Any = None
    high: Any = None
    ranks: tuple[float, float] | None = None


class Step(Protocol):
    """A statistic with its price settled."""

    @property
    def cost(self) -> Cost: ...  # the whole price over all groups
    @property
    def name(self) -> str: ...  # mechanism, for the card
    @property
    def bar(self) -> str: ...  # exact | rank | published | twin | none
    def certificates(self) -> Sequence[Certificate]: ...
    def release(self, ask: Ask, draw: Draw, groups: tuple[tuple[Any, ...], ...] | None) -> Sequence[Answer]: ...


class Statistic(Protocol):
    """A question about the rows: parameters only."""

    @property
    def label(self) -> str: ...
    @property
    def columns(self) -> tuple[str, ...]: ...  # the number columns it reads
    def question(self) -> dict[str, Any]: ...  # its part of the recall key: name and parameters, JSON-ready
    def needs_delta(self, context: Context) -> bool: ...
    def step(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step: ...
