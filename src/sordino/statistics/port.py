"""What a statistic is: it says what it needs, what that costs, and how one answer per group is drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from sordino.privacy.certificate import Certificate
from sordino.privacy.cost import Cost
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.summaries import Ask, Draw

__all__ = ["LEVEL", "Answer", "Context", "Counted", "Groups", "Plain", "Statistic", "Step", "Ways"]

LEVEL = 0.95
Groups = tuple[tuple[Any, ...], ...] | None


@dataclass(frozen=True)
class Context:
    """Public facts a statistic may use: the unit, whether the query is grouped, the declared columns, a declared size, the group keys.

    `groups_per_person` is max_groups for a grouped query over people (the number of public groups, if smaller) and 1 otherwise; every
    per-group price is divided by it. `size` is the declared number of units, if any. `filtered` is true when rows may drop out (a where,
    a group, a null policy "drop", a person unit): then n is private under both relations. `keys` are the public groups; None in a grouped
    query means private. `rows` is how many rows the public believes the question is about: the declared size or a recorded count, for
    choices of utility only. `propose` and `otherwise` are the caller's bound on the local sensitivity, in the column's unit, and what a
    failed test answers.
    """

    unit: PrivacyUnit
    columns: dict[str, Column] = field(default_factory=dict)
    grouped: bool = False
    groups_per_person: int = 1
    filtered: bool = True
    size: int | None = None
    keys: tuple[tuple[Any, ...], ...] | None = None
    rows: int | None = None
    propose: Fraction | None = None
    otherwise: str = "refuse"

    @property
    def private_keys(self) -> bool:
        return self.grouped and self.keys is None


@dataclass(frozen=True)
class Counted:
    """A column whose values (or bins) are themselves groups: what `histogram`, `mode` and `top_k` count.

    The session builds the frame of such a statistic with this column as the last group column, after those of the query, so that
    contribution bounding sees it: a person is in at most max_groups (group, value) cells and has at most max_rows rows in each. `keys`,
    when given, replace the column's declared keys. With `edges` (grid steps above the lower bound, ascending) the group key is the index
    i of the bin edges[i] <= x < edges[i+1], the last bin closed on the right, public keys 0..len(edges)-2; rows in no bin drop out.
    GroupTotals.keys are then (*query group, value or bin).
    """

    column: str
    keys: tuple[Any, ...] | None = None
    edges: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Answer:
    """One group's answer: the value, its interval if its bar is honest, and rank bounds for quantiles.

    `ranks` are row offsets (-t, t): with probability at least 95% the value y has #{x<y} <= q n + t and #{x<=y} >= q n - t. They are
    public facts, and simultaneous for statistics of several quantiles. `raw` are the drawn numbers the value is computed from, so that
    an interval at another level is post-processing. Statistics with several numbers have tuples, or dicts by key, in value, low, high.
    """

    value: Any
    low: Any = None
    high: Any = None
    ranks: tuple[float, float] | None = None
    raw: tuple[float, ...] = ()


class Step(Protocol):
    """A statistic with its price settled."""

    @property
    def cost(self) -> Cost: ...  # the whole price over all groups; its delta is 0 when the delta on offer was not needed
    @property
    def name(self) -> str: ...  # mechanism, for the card
    @property
    def bar(self) -> str: ...  # exact | bound (at least 95%) | rank | published | twin | none; what it is about, if not plain, is `covers`
    def certificates(self) -> Sequence[Certificate]: ...
    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]: ...  # groups: None when ungrouped, else in order
    def interval(self, answer: Answer, level: float) -> tuple[Any, Any] | None: ...  # of an answer, at another level
    def width(self, rows: int | None, level: float = LEVEL) -> float | None: ...  # half-width before spending; None: needs rows, or private
    def rmse(self, rows: int | None) -> float | None: ...  # root mean squared error of the noise before spending; None likewise


Ways = Mapping[str, Callable[[], Step]]


class Statistic(Protocol):
    """A question about the rows: parameters only.

    `ways` are the mechanisms that can answer it, each under its short name (`laplace`, `gaussian`, `exponential`, `smooth`, ...) and
    built only when called. The first is the planner's choice, and `step` takes it: the order may follow from public facts only.
    """

    @property
    def label(self) -> str: ...
    @property
    def columns(self) -> tuple[str, ...]: ...  # the number columns it reads
    @property
    def predicates(self) -> tuple[Any, ...]: ...  # goes to frame.counted, from index `first` of the statistic on
    @property
    def weight(self) -> int: ...  # shares of a common budget: one per independent draw
    def counted(self, context: Context) -> Counted | None: ...  # the frame it wants instead of the query's own
    def question(self) -> dict[str, Any]: ...  # its part of the recall key: name and parameters, JSON-ready
    def needs_delta(self, context: Context) -> bool: ...  # an offered delta may be used even when none is needed
    def step(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step: ...
    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways: ...


class Plain:
    """What most statistics answer: no predicates, no frame of their own, one share, no delta, one way or the first of several.

    A statistic defines `ways`, or `step` and the short name of its one way.
    """

    way: str = ""
    predicates: tuple[Any, ...] = ()
    weight: int = 1

    def counted(self, context: Context) -> Counted | None:
        return None

    def needs_delta(self, context: Context) -> bool:
        return False

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        return {self.way: lambda: self.step(epsilon, delta, context)}

    def step(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step:
        return next(iter(self.ways(epsilon, delta, context).values()))()
