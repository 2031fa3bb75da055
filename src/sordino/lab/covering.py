"""How often an interval covers what the answer is about, on rows one owns. NOT PRIVATE: for owners, benches and tests.

What an answer is about is computed here a second time, from the bounded rows themselves: the count, sum, mean, spread or quantile of the
rows that count, clamped as declared; of a mean in two stages, of the same rows moved into the limits that were drawn.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.noise import draw
from sordino.privacy.discrete import UniformInteger
from sordino.schema.frame import Frame
from sordino.session.query import Query
from sordino.session.settled import Settled
from sordino.session.twin import Remembered, conversations
from sordino.statistics.port import Answer
from sordino.statistics.registry import find
from sordino.summaries.totals import Item, Rows, Totals

__all__ = ["Covered", "coverage"]

Floats = NDArray[np.float64]
LEAST, AGAIN = 0.93, 10  # a share below is measured again with so many times the releases


@dataclass(frozen=True)
class Covered:
    """One statistic of one group: the kind of its bar, and how many of its releases covered what they are about."""

    name: str
    group: tuple[Any, ...]
    bar: str
    about: str
    truth: Any  # what the answer is about; None where it differs from release to release
    repeats: int
    share: float | None  # None: the answer has no interval
    half_width: float | None  # the median one, in the column's unit; None where the bar is in ranks
    plain: float | None = None  # the share that covers the number the caller calls plain

    def __str__(self) -> str:
        of = "" if not self.group else f" {', '.join(map(str, self.group))}"
        said = (
            "no interval"
            if self.share is None
            else f"{self.share:.1%} of {self.repeats:,} cover {self.about or 'the answer of these rows'}"
        )
        return f"{self.name}{of}: {said} ({self.bar} bar). NOT PRIVATE"


def coverage(
    query: Query, *, epsilon: Any, delta: Any = None, repeats: int = 2_000, plain: Mapping[Any, Any] | None = None
) -> list[Covered]:
    """NOT PRIVATE: release a query that many times on one table and count the intervals that cover; nothing is charged.

    One entry per statistic and group. `plain` are other numbers to look for, by (name, *group): of the raw column, for example. A share
    below 93% is measured a second time with ten times the releases, so that what is reported is no accident of the draw. Statistics
    whose answers have no interval are released once.
    """
    return measured(query, (epsilon,), delta=delta, repeats=repeats, plain=plain)[0]


def measured(
    query: Query, epsilons: Sequence[Any], *, delta: Any = None, repeats: int = 2_000, plain: Mapping[Any, Any] | None = None
) -> list[list[Covered]]:
    """The coverage at several prices; the rows are bounded once."""
    if not isinstance(query, Query):
        raise QueryError("SRD-103", f"{type(query).__name__} is not a query.", "Give a table's query, such as people.mean('income').")
    with _Kept(query.table.engine, draw(UniformInteger(0, 2**128 - 1))) as engine:
        return [_at(query.settle(epsilon, delta), query.asked.statistics, engine, repeats, plain or {}) for epsilon in epsilons]


def _at(plan: Settled, statistics: Mapping[str, Any], engine: _Kept, repeats: int, plain: Mapping[Any, Any]) -> list[Covered]:
    if plan.plan.keys is not None:
        raise QueryError("SRD-106", "which private keys appear differs from release to release.", "Declare the keys of the group columns.")
    barless = all(plan.bar_of(name) == "none" for name in plan.names)
    cells = _cells(plan, conversations(plan, engine, 0, 1 if barless else repeats))
    found = []
    for place, name in enumerate(plan.names):
        truths = _truths(plan, engine, statistics[name])
        for at, group in enumerate((plan.context.keys or ()) if plan.by else ((),)):
            judged = _Judged(plan, name, statistics[name], truths[at])
            wanted = plain.get((name, *group))
            result = judged.of(cells[place][at], group, wanted)
            if result.share is not None and result.share < LEAST:
                more = _cells(plan, conversations(plan, engine, 0, repeats * AGAIN))
                result = judged.of(more[place][at], group, wanted)
            found.append(result)
    return found


class _Kept:
    """An engine with one salt, whose bounded tables stay open and remember what they answered."""

    def __init__(self, engine: Any, salt: int) -> None:
        self._engine, self._salt, self._stack = engine, salt, ExitStack()
        self._open: dict[Frame, Remembered] = {}

    def __enter__(self) -> _Kept:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def bounded(self, frame: Frame, _: int) -> AbstractContextManager[Remembered]:
        if frame not in self._open:
            self._open[frame] = Remembered(self._stack.enter_context(self._engine.bounded(frame, self._salt)).ask)
        return nullcontext(self._open[frame])


def _cells(plan: Settled, held: Sequence[tuple[Any, Any]]) -> list[list[list[Answer]]]:
    """The answers by statistic, group and turn."""
    groups = len(plan.context.keys or ()) if plan.by else 1
    return [[[answers[name][at] for _, answers in held] for at in range(groups)] for name in plan.names]


@dataclass(frozen=True)
class _Values:
    """The rows of one group: how many, how many people, and the values of the statistic's column in grid steps, sorted."""

    rows: int
    units: int
    counted: tuple[int, ...]
    columns: Mapping[str, NDArray[np.int64]]
    people: tuple[int, ...] = ()


def _truths(plan: Settled, engine: _Kept, statistic: Any) -> list[Any]:
    """The rows each answer is about, group by group; for a counted column the number of rows of each value or bin."""
    own, *counted = plan.frames
    if statistic.counted(plan.context) is not None:
        with engine.bounded(counted[0], 0) as rows:
            totals = rows.ask(Totals((Item("rows"),)))
        width = len(plan.by)
        tallies: dict[Any, dict[Any, int]] = {}
        for key, n in zip(totals.keys, totals.values[Item("rows")].tolist(), strict=True):
            tallies.setdefault(key[:width], {})[key[width]] = n
        return [tallies.get(key, {}) for key in (plan.context.keys or ((),) if plan.by else ((),))]
    indices = range(getattr(statistic, "first", 0), getattr(statistic, "first", 0) + len(statistic.predicates))
    items = (Item("rows"), Item("units"), *(Item(what, index=i) for what in ("counted", "people") for i in indices))
    with engine.bounded(own, 0) as rows:
        totals = rows.ask(Totals(items))
        sorted_columns = {name: [part.values for part in rows.ask(Rows(name))] for name in statistic.columns}
    out = []
    for at in range(len(totals.keys)):
        numbers = [int(totals.values[item][at]) for item in items]
        split = 2 + len(indices)
        columns = {name: parts[at] for name, parts in sorted_columns.items()}
        out.append(_Values(numbers[0], numbers[1], tuple(numbers[2:split]), columns, tuple(numbers[split:])))
    return out


def quantile_of(x: NDArray[np.int64], q: Fraction) -> int | None:
    """The smallest value with at least a share q of the rows at or below it."""
    return int(x[max(math.ceil(q * len(x)), 1) - 1]) if len(x) else None


@dataclass(frozen=True)
class _Judged:
    """One statistic and the rows its answers are about."""

    plan: Settled
    name: str
    statistic: Any
    rows: Any

    @property
    def about(self) -> str:
        return self.plan.steps[self.name].covers if self.name in self.plan.steps else ""

    def of(self, answers: Sequence[Answer], group: tuple[Any, ...], plain: Any) -> Covered:
        bar = self.plan.bar_of(self.name)
        if bar == "none":
            return Covered(self.name, group, bar, self.about, None, 0, None, None)
        if bar == "rank":
            return Covered(
                self.name, group, bar, self.about, self.truth(), len(answers), self.ranked(answers), None, self._plain_ranks(answers, plain)
            )
        truth = self.moved(answers) if self.in_stages else self.truth()
        share, width = covered(answers, truth)
        found = None if plain is None else covered(answers, plain)[0]
        return Covered(self.name, group, bar, self.about, None if self.in_stages else truth, len(answers), share, width, found)

    @property
    def in_stages(self) -> bool:
        said = self.statistic.question()
        return bool(said["statistic"] == "mean" and (said.get("method") == "two_stage" or said.get("bounds") == "private"))

    def moved(self, answers: Sequence[Answer]) -> Floats:
        """The mean of the rows inside the limits of each answer, as the step reads them off what was drawn."""
        grid, x = self._grid(self.statistic.column), self.rows.columns[self.statistic.column]
        first = len(answers[0].raw) - (2 if self.plan.steps[self.name].counting is None else 3) if answers else 0
        limits = np.array([answer.raw[first : first + 2] for answer in answers])
        known: dict[tuple[float, ...], float] = {}
        for low, high in map(tuple, limits.tolist()):
            if (low, high) not in known:
                known[low, high] = float(grid.step) * (float(np.clip(x, low, high).mean()) + grid.low) if len(x) else math.nan
        return np.array([known[tuple(pair)] for pair in limits.tolist()])

    def _grid(self, column: str) -> Any:
        return self.plan.context.columns[column].grid()

    def truth(self) -> Any:
        """The statistic of these rows, from its definition."""
        said = self.statistic.question()
        kind = said["statistic"]
        if kind in ("histogram",):
            return self.rows
        if kind == "count_distinct":
            return sum(1 for key, rows in self.rows.items() if rows and key is not None)
        if kind == "count":
            return self.rows.rows
        if kind == "count_units":
            return self.rows.units
        if kind in ("counts", "present"):
            return self.rows.counted
        if kind == "present_units":
            return self.rows.people
        if kind == "means":
            return tuple(self._mean(column) for column in self.statistic.columns)
        column = self.statistic.column
        grid, x = self._grid(column), self.rows.columns[column]
        if kind == "quantile":
            return self._value(quantile_of(x, Fraction(said["q"])), grid)
        if kind == "quantiles":
            return tuple(self._value(quantile_of(x, Fraction(q)), grid) for q in said["q"])
        if kind in ("min", "max"):
            return self._value(quantile_of(x, Fraction(int(kind == "max"))), grid)
        if not len(x):
            return math.nan
        step = float(grid.step)
        numbers: dict[str, Callable[[], float]] = {
            "mean": lambda: self._mean(column),
            "sum": lambda: step * (int(x.sum(dtype=object)) + grid.low * len(x)),
            "variance": lambda: step**2 * float(np.var(x.astype(float))),
            "std": lambda: step * float(np.std(x.astype(float))),
            "iqr": lambda: step * ((quantile_of(x, Fraction(3, 4)) or 0) - (quantile_of(x, Fraction(1, 4)) or 0)),
        }
        known = find(kind)
        if known is not None and known.exact is not None:
            return known.exact((x + float(grid.low)) * step)
        if kind not in numbers:
            raise QueryError("SRD-106", f"what {kind} is about has no second computation.", "Ask for another statistic.")
        return numbers[kind]()

    def _mean(self, column: str) -> float:
        grid, x = self._grid(column), self.rows.columns[column]
        return float(Fraction(int(x.sum(dtype=object)), len(x)) + grid.low) * float(grid.step) if len(x) else math.nan

    @staticmethod
    def _value(steps: int | None, grid: Any) -> Any:
        return math.nan if steps is None else grid.value(steps)

    def ranked(self, answers: Sequence[Answer]) -> float:
        """How often every quantile of an answer lies within its ranks: #{x < y} <= q n + t and #{x <= y} >= q n - t."""
        grid, x = self._grid(self.statistic.column), self.rows.columns[self.statistic.column]
        levels = self._levels()
        drawn = np.array([self._drawn(answer, grid, len(levels)) for answer in answers], np.int64)
        reach = np.array([answer.ranks[1] for answer in answers if answer.ranks is not None])
        held = np.ones(len(answers), bool)
        for at, q in zip(drawn.T, levels, strict=True):
            target = float(q * len(x))
            held &= (np.searchsorted(x, at, "left") <= target + reach) & (np.searchsorted(x, at, "right") >= target - reach)
        return float(held.mean())

    def _levels(self) -> list[Fraction]:
        said = self.statistic.question()
        return {"iqr": [Fraction(1, 4), Fraction(3, 4)], "min": [Fraction(0)], "max": [Fraction(1)]}.get(said["statistic"]) or [
            Fraction(q) for q in (said["q"] if isinstance(said["q"], list) else [said["q"]])
        ]

    @staticmethod
    def _drawn(answer: Answer, grid: Any, levels: int) -> list[int]:
        """The quantiles of an answer in grid steps: as they were drawn, or as they were released."""
        if len(answer.raw) == levels:
            return sorted(map(int, answer.raw))
        return [_steps(y, grid) for y in (answer.value if isinstance(answer.value, tuple | list) else [answer.value])]

    def _plain_ranks(self, answers: Sequence[Answer], plain: Any) -> float | None:
        """With a rank bar the plain quantile is covered where the ranks are: of the same rows, if none was cut or moved."""
        return None if plain is None or plain != self.truth() else self.ranked(answers)


def _steps(y: Any, grid: Any) -> int:
    """A released value as grid steps above the lower bound."""
    if isinstance(y, dt.datetime):
        number = Fraction(int(y.replace(tzinfo=dt.UTC).timestamp()))
    elif isinstance(y, dt.date):
        number = Fraction(y.toordinal() - dt.date(1970, 1, 1).toordinal())
    else:
        number = Fraction(y)
    return int(round(number / grid.step) - grid.low)


def covered(answers: Sequence[Answer], truth: Any) -> tuple[float, float]:
    """The share of intervals that hold the truth and the median half-width; of several numbers the worst share and the widest."""
    if isinstance(truth, dict):
        parts = [covered([Answer(None, a.low.get(_bin(a.low, i, key)), a.high.get(_bin(a.high, i, key))) for a in answers], n)
                 for i, (key, n) in enumerate(truth.items())]  # fmt: skip
        return min(share for share, _ in parts), max(width for _, width in parts)
    if isinstance(truth, tuple):
        parts = [covered([Answer(None, a.low[i], a.high[i]) for a in answers], n) for i, n in enumerate(truth)]
        return min(share for share, _ in parts), max(width for _, width in parts)
    low, high = (np.array([_number(end) for end in ends]) for ends in zip(*((a.low, a.high) for a in answers), strict=True))
    true = truth if isinstance(truth, np.ndarray) else _number(truth)
    slack = 1e-9 * np.maximum(np.abs(true), np.abs(high - low))  # doubles, where the noise is in whole steps of a fine grid
    return float(np.mean((low - slack <= true) & (true <= high + slack))), float(np.median(high - low) / 2)


def _bin(shown: Mapping[Any, Any], place: int, key: Any) -> Any:
    """A histogram's answer calls bins by their edges, the table by their index."""
    return key if key in shown else list(shown)[place]


def _number(value: Any) -> float:
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=dt.UTC).timestamp()
    return float(value.toordinal()) if isinstance(value, dt.date) else float(value)
