"""What a statistic is: it says what it needs, what that costs, and how one answer per group is drawn.

What follows from public facts: the grids of columns, and what a mechanism that runs once in each group may spend there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

from sordino.errors import QueryError
from sordino.privacy.certificate import Certificate, Part, whole_cost
from sordino.privacy.cost import Cost
from sordino.privacy.number import exp_up, round_down
from sordino.privacy.relation import Limits, PrivacyUnit, Relation
from sordino.schema.column import Column, Grid
from sordino.summaries import Ask, Draw

__all__ = [
    "LEVEL", "Answer", "Context", "Counted", "Groups", "NoForecast", "NoInterval", "Plain", "Priced", "ReachPrice", "Redrawn", "Shape",
    "Statistic", "Step", "Ways", "column_of", "grid_of", "length_grid", "one_unit", "per_group", "per_row", "public_size",
]  # fmt: skip

LEVEL = 0.95
Groups = tuple[tuple[Any, ...], ...] | None
Shape = dict[str, Any]  # {"columns": names} for vectors, {"cells": "key" | "bin", "count": name} for histograms, {"list": name} for top k


@dataclass(frozen=True)
class Context:
    """Public facts a statistic may use: the unit, whether the query is grouped, the declared columns, a declared size, the group keys.

    `size` is the declared number of units, if any. `filtered` is true when rows may drop out (a where,
    a group, a null policy "drop", a person unit): then n is private under both relations. `keys` are the public groups; None in a grouped
    query means private. `rows` is how many rows the public believes the question is about: the declared size or a recorded count, for
    choices of utility only. `propose` and `otherwise` are the caller's bound on the local sensitivity, in the column's unit, and what a
    failed test answers. `adds_rho` says that the ledger adds rho, where Gaussian noise may be cheaper although it is not quieter.
    """

    unit: PrivacyUnit
    columns: dict[str, Column] = field(default_factory=dict)
    grouped: bool = False
    filtered: bool = True
    size: int | None = None
    keys: tuple[tuple[Any, ...], ...] | None = None
    rows: int | None = None
    propose: Fraction | None = None
    otherwise: str = "refuse"
    adds_rho: bool = False

    @property
    def private_keys(self) -> bool:
        return self.grouped and self.keys is None

    @property
    def limits(self) -> Limits:
        """How one person's rows may fall on the groups of the question: nobody is in more groups than there are."""
        if not self.grouped:
            return self.unit.limits()
        return self.unit.limits(self.unit.max_groups if self.keys is None else max(len(self.keys), 1))

    def cells(self, values: int | None = None) -> Limits:
        """The same where the values of a counted column are part of the groups; `values` is how many there are, if that is public."""
        groups = 1 if not self.grouped else None if self.keys is None else max(len(self.keys), 1)
        known = None if values is None or groups is None else max(values, 1) * groups
        return self.unit.limits(self.unit.max_groups if known is None else known)


@dataclass(frozen=True)
class Counted:
    """A column whose values (or bins) are themselves groups: what `histogram`, `mode` and `top_k` count.

    The session builds the frame of such a statistic with this column as the last group column, after those of the query, so that
    contribution bounding sees it: a person's rows fall on (group, value) cells within the limits that hold for groups. `keys`,
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
    """A statistic with its price settled: its parts, and what follows from them."""

    @property
    def parts(self) -> tuple[Part, ...]: ...  # every mechanism it may draw from, and how one person can meet it
    @property
    def cost(self) -> Cost: ...  # the price of the parts, over all groups
    @property
    def name(self) -> str: ...  # mechanism, for the card
    @property
    def bar(self) -> str: ...  # exact | bound (at least 95%) | rank | published | twin | none
    @property
    def covers(self) -> str: ...  # what the bar is about, if that is not plainly the statistic of these rows
    @property
    def said_without_bar(self) -> bool: ...  # whether that is said although there is no bar
    @property
    def shown_from(self) -> int | None: ...  # how large a value's lead or count must be to be shown; None: everything is
    def certificates(self) -> Sequence[Certificate]: ...
    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]: ...  # groups: None when ungrouped, else in order
    def interval(self, answer: Answer, level: float) -> tuple[Any, Any] | None: ...  # of an answer, at another level
    def width(self, rows: int | None, level: float = LEVEL) -> float | None: ...  # half-width before spending; None: needs rows, or private
    def rmse(self, rows: int | None) -> float | None: ...  # root mean squared error of the noise before spending; None likewise
    def rank_width(self, level: float = LEVEL) -> float | None: ...  # half-width in ranks, which is public; None where ranks say nothing
    def population(self, answer: Answer, level: float) -> tuple[Any, Any] | None: ...  # about those the rows are a sample of
    def warning(self, rows: int | None) -> str: ...  # what the preview says where it cannot work, or ""
    def said(self, answers: Sequence[Answer]) -> str | None: ...  # for the card: what else the draws say; None: nothing
    def moved(self, answers: Sequence[Answer]) -> list[dict[str, Any]] | None: ...  # for the card: what was moved into drawn limits
    def noise_of_bins(self, answers: Sequence[Answer]) -> dict[str, Any] | None: ...  # for the card: what ranges of its bins need
    @property
    def counting(self) -> object | None: ...  # the noise of the number of moved rows; None where they are not counted


class Priced:
    """What costs as much as its parts, and is certified by their certificates: by nothing else.

    As a step it shows everything, its bar is about the statistic of these rows, it has no rank bar, and there is nothing to add to its
    answers or to warn of, unless it says otherwise.
    """

    @property
    def parts(self) -> tuple[Part, ...]:
        raise NotImplementedError

    @cached_property
    def cost(self) -> Cost:
        return whole_cost(self.parts)

    def certificates(self) -> Sequence[Certificate]:
        return tuple(one for part in self.parts for one in (part.certificate, *part.instead))

    @property
    def covers(self) -> str:
        return ""

    @property
    def said_without_bar(self) -> bool:
        """Whether what it is about is said although it has no bar."""
        return False

    @property
    def shown_from(self) -> int | None:
        return None

    def rank_width(self, level: float = LEVEL) -> float | None:
        return None

    def population(self, answer: Answer, level: float) -> tuple[Any, Any] | None:
        return None

    def warning(self, rows: int | None) -> str:
        return ""

    def said(self, answers: Sequence[Answer]) -> str | None:
        return None

    def moved(self, answers: Sequence[Answer]) -> list[dict[str, Any]] | None:
        return None

    def noise_of_bins(self, answers: Sequence[Answer]) -> dict[str, Any] | None:
        return None

    @property
    def counting(self) -> object | None:
        return None


class NoForecast(Priced):
    """A step whose width depends on the rows: nothing is known of it before the draw."""

    def width(self, rows: int | None, level: float = LEVEL) -> None:
        return None

    def rmse(self, rows: int | None) -> None:
        return None


class NoInterval(NoForecast):
    """A step whose answer has no interval around its value: a key, a verdict, or a quantile, which has ranks instead."""

    def interval(self, answer: Answer, level: float) -> None:
        return None


class Redrawn(NoForecast):
    """A step that can draw its noise several times around one place: a forecast on public rows finds the place once."""

    slow: bool = False  # whether what is asked on the way there is worth keeping

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        return [answers[0] for answers in self.repeated(ask, draw, groups, 1)]

    def repeated(self, ask: Ask, draw: Draw, groups: Groups, copies: int) -> list[list[Answer]]:
        """Per group several draws around one place; one draw is the release."""
        raise NotImplementedError


Ways = Mapping[str, Callable[[], Step]]


@runtime_checkable
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
    @property
    def unbounded(self) -> bool: ...  # whether it may read columns without public bounds, as far as the public horizon
    @property
    def shared(self) -> bool: ...  # whether it may be read off one draw together with others of the same column
    @property
    def derived(self) -> tuple[Column, ...]: ...  # columns it computes from those declared
    @property
    def without_delta(self) -> tuple[str, str] | None: ...  # what to say, and to do, where it needs a delta and there is none
    @property
    def ranged(self) -> bool: ...  # whether its answer lies in the public range of its columns
    @property
    def sampled(self) -> bool: ...  # whether its rows can be simulated as a sample of a population
    @property
    def naming(self) -> bool: ...  # whether its answer names values of the column
    @property
    def unsettled(self) -> bool: ...  # whether what it claims may still change: it is somebody's own
    def shape(self, label: str) -> Shape | None: ...  # its columns in a table of answers; None for one value per group
    def counted(self, context: Context) -> Counted | None: ...  # the frame it wants instead of the query's own
    def question(self) -> dict[str, Any]: ...  # its part of the recall key: name and parameters, JSON-ready
    def needs_delta(self, context: Context) -> bool: ...  # an offered delta may be used even when none is needed
    @property
    def takes_delta(self) -> bool: ...  # whether it uses one where it is offered, though it does without
    def step(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step: ...
    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways: ...


class Plain:
    """What most statistics answer: no predicates, no frame of their own, one share, bounds, no delta, one way or the first of several.

    A statistic defines `ways`, or `step` and the short name of its one way.
    """

    way: str = ""
    predicates: tuple[Any, ...] = ()
    weight: int = 1
    sampled: bool = False
    naming: bool = False
    unsettled: bool = False

    @property
    def ranged(self) -> bool:
        return False

    def shape(self, label: str) -> Shape | None:
        return None

    @property
    def unbounded(self) -> bool:
        return False

    @property
    def shared(self) -> bool:
        return True

    @property
    def derived(self) -> tuple[Column, ...]:
        return ()

    @property
    def without_delta(self) -> tuple[str, str] | None:
        return None

    def counted(self, context: Context) -> Counted | None:
        return None

    def needs_delta(self, context: Context) -> bool:
        return False

    @property
    def takes_delta(self) -> bool:
        return False

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        return {self.way: lambda: self.step(epsilon, delta, context)}

    def step(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step:
        return next(iter(self.ways(epsilon, delta, context).values()))()


LARGEST = 50  # a mechanism with a delta spends no more than this on one of two steps: e^e would leave nothing of its delta


def column_of(context: Context, name: str) -> Column:
    """A declared column, or an error with the fix."""
    if name not in context.columns:
        raise QueryError("SRD-201", f"column {name!r} is unknown.", f"Known columns: {', '.join(context.columns) or 'none'}.")
    return context.columns[name]


def grid_of(context: Context, name: str) -> Grid:
    """The public grid of a number column with at least two points."""
    grid = column_of(context, name).grid()
    if grid.width < 1:
        raise QueryError("SRD-202", f"the bounds of {name!r} leave one value.", "Declare low < high, at least one grid step apart.")
    return grid


def length_grid(context: Context, name: str) -> Grid:
    """The grid of a column whose values may be added: dates and timestamps have quantiles, not sums."""
    grid = grid_of(context, name)
    if grid.kind in ("date", "timestamp"):
        what = f"column {name!r} is of type {grid.kind} and cannot be added."
        raise QueryError("SRD-203", what, "Ask for median, quantile, iqr, min or max.")
    return grid


def one_unit(grid: Grid) -> int:
    """One unit of the column in grid steps: what a difference between rows may be like, as far as the public knows.

    At least one step, and no more than the bounds are apart: of a column in [0, 1e-6] one unit says nothing.
    """
    return max(1, min(math.floor(1 / grid.step), grid.width))


def public_size(context: Context) -> int | None:
    """n where it is public: the whole table under replace, one row per unit, nothing dropped, a declared size."""
    unit = context.unit
    rows = unit.relation is Relation.REPLACE and unit.column is None and unit.max_rows == 1
    return context.size if rows and context.size and not context.filtered and not context.grouped else None


@dataclass(frozen=True)
class ReachPrice:
    """What one group's mechanism may spend, the relation it must hold for, and how one person meets all groups together."""

    epsilon: Fraction
    delta: Fraction
    relation: Relation
    full: int = 1
    rest: Fraction = Fraction(0)
    steps: int = 1

    def part(self, certificate: Certificate, *instead: Certificate) -> Part:
        """The mechanism of one group, as a part of the whole price."""
        return Part(certificate, self.full, self.rest, self.steps, instead)


def per_row(epsilon: Fraction, context: Context, *, limits: Limits | None = None) -> ReachPrice:
    r"""The price of a pure mechanism that runs once in each group and whose loss grows at most in proportion to a person's rows there.

    Theorem. With N rows of a person that count and at most r in a group, running it at epsilon r/N for r rows costs epsilon in all; for
    replace, run the add_remove mechanism at half of that. Ungrouped, the mechanism's own relation and the whole price.
    Proof. r_i rows cost at most the share r_i/r, and sum r_i <= N. A replacement is a removal and an addition. QED
    """
    bound = context.limits if limits is None else limits
    if not context.grouped:
        return ReachPrice(epsilon, Fraction(0), context.unit.relation)
    each, rest = epsilon * bound.rows / bound.counted, Fraction(bound.rest, bound.rows)
    if context.unit.relation is not Relation.REPLACE:
        return ReachPrice(each, Fraction(0), Relation.ADD_REMOVE, bound.filled, rest)
    return ReachPrice(each / 2, Fraction(0), Relation.ADD_REMOVE, bound.filled, rest, 2)


def per_group(epsilon: Fraction, delta: Fraction, context: Context, *, limits: Limits | None = None) -> ReachPrice:
    r"""The price of a mechanism that runs once in each group and costs the same however few rows of a person are there.

    Theorem. With a person in at most J groups, running it at (epsilon/J, delta/J) for add_remove costs (epsilon, delta) in all; for
    replace, run the add_remove mechanism at e = epsilon/(2 J) and delta/(J (1 + e^e)). Ungrouped, the mechanism's own relation and the
    whole price.
    Proof. Add_remove: J mechanisms change, the others see the same rows. Replace: a removal and an addition, at most J groups each; two
    steps in one group cost (2 e, (1 + e^e) delta') by group privacy, two steps in different groups no more. QED
    """
    relation = context.unit.relation
    if not context.grouped:
        return ReachPrice(epsilon, delta, relation)
    people = (context.limits if limits is None else limits).touched
    if relation is not Relation.REPLACE:
        return ReachPrice(epsilon / people, delta / people, relation, people)
    each = min(epsilon / (2 * people), Fraction(LARGEST)) if delta else epsilon / (2 * people)
    share = round_down(delta / (people * (1 + exp_up(each))), 40) if delta else delta
    return ReachPrice(each, share, Relation.ADD_REMOVE, people, steps=2)
