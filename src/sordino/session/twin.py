"""Public twins: rows anybody may see that stand in for the private ones while an error is predicted."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sordino.engines.source import open_source
from sordino.errors import QueryError, SordinoError
from sordino.noise import draw
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.statistics.port import Redrawn
from sordino.summaries import Ask, Refused
from sordino.summaries.totals import MOST_ROWS as MOST_SORTED
from sordino.summaries.totals import Clipped, GroupTotals, Item, Ranks, Rows, Totals

if TYPE_CHECKING:
    from sordino.session.settled import Answers, Settled
    from sordino.statistics.port import Groups

__all__ = ["MOST_ROWS", "Twin", "codebook", "conversations", "open_twin"]

MOST_ROWS = 10_000  # of a codebook; the error of a larger table is that of this one, less by as much as it is larger
AT_ONCE = 20_000  # groups of a conversation that is held with several copies of a table
ROUNDS = 8  # conversations of a mechanism whose noise can be drawn again around one place; the place depends little on them
SALT = 1  # the twin is public, so its bounding need not be secret
GOLDEN = (math.sqrt(5) - 1) / 2
KEYS = 20


@dataclass(frozen=True, eq=False)
class Twin:
    """Rows with the private table's columns, in an engine of their own. `guess` is true when nobody gave them: a codebook."""

    engine: Any
    guess: bool
    rows: int | None = None  # of a codebook
    known: dict[Any, Any] = field(default_factory=dict, repr=False)  # what was simulated before, by question and price

    def values(self, plan: Settled, name: str, repeats: int, few: int | None = None) -> NDArray[np.float64]:
        """Simulated answers of one statistic: one row per repeat, one column per group and part; nan where refused."""
        step: object = plan.steps.get(name)
        if repeats > 1 and not plan.by and isinstance(step, Redrawn) and len(plan.frames) == 1:
            return self._repeated(plan, step, few or repeats)
        held = conversations(plan, FlatRows(self.engine), SALT, repeats, few)
        return _table([[number for answer in answers[name] for number in _numbers(answer.value)] for _, answers in held])

    def named(self, plan: Settled, name: str, repeats: int) -> list[str]:
        """Simulated answers of a statistic that names a value, in all groups."""
        held = conversations(plan, FlatRows(self.engine), SALT, repeats, repeats)
        return [_said(answer.value) for _, answers in held for answer in answers[name]]

    def ends(self, plan: Settled, name: str, repeats: int, few: int | None = None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Simulated answers of a statistic that draws its ends, and half the distance of those ends."""
        held = [answers[name] for _, answers in conversations(plan, FlatRows(self.engine), SALT, repeats, few)]
        value, low, high = (_table([[v for cell in cells for v in _numbers(part(cell))] for cells in held]) for part in PARTS)
        return value, (high - low) / 2

    def _repeated(self, plan: Settled, step: Redrawn, repeats: int) -> NDArray[np.float64]:
        """Few conversations of this one statistic, each with many draws of its noise: what is slow is done once in each."""
        with FlatRows(self.engine).bounded(plan.frames[0], SALT) as rows:
            rounds = min(ROUNDS, 2) if self.guess else ROUNDS
            held = self.known.setdefault((plan.frames[0], "rows"), {}) if step.slow else {}
            ask, each = Remembered(rows.ask, known=held).ask, -(-repeats // rounds)
            answers = [answer for _ in range(rounds) for answer in step.repeated(ask, draw, None, each)[0]]
        return np.array([_numbers(answer.value) for answer in answers])


@dataclass(frozen=True)
class FlatRows:
    """Public rows in the place of a view: they have its columns already, and nobody joined them."""

    engine: Any

    def bounded(self, frame: Frame, salt: int) -> Any:
        return self.engine.bounded(replace(frame, view=None), salt)


def conversations(plan: Settled, engine: Any, salt: int, repeats: int, few: int | None = None) -> list[tuple[Groups, Answers]]:
    """The same release again and again on one bounded table: NOT PRIVATE but on public rows.

    All at once where the requests allow it, as if every repeat were a group of its own; elsewhere one by one. `few` is for previews: a
    question with groups, or one that cannot be asked at once, is then held only so often.
    """
    groups = (plan.context.keys or ()) if plan.by else ((),)
    at_once = min(repeats, max(AT_ONCE // max(len(groups), 1), 1))
    with ExitStack() as stack:
        opened: dict[Frame, Remembered] = {}

        def converse(copies: int) -> tuple[Groups, Answers]:
            def open_frame(frame: Frame) -> Any:
                if frame not in opened:
                    opened[frame] = Remembered(stack.enter_context(engine.bounded(frame, salt)).ask, groups)
                return nullcontext(replace(opened[frame], copies=copies))

            held = replace(plan, context=replace(plan.context, keys=groups * copies)) if plan.by and copies > 1 else plan
            return held.converse(open_frame, draw)

        if at_once > 1 and groups and not (plan.by and few) and plan.plan.keys is None:
            try:
                return [
                    turn for done in range(0, repeats, at_once) for turn in _turns(converse, min(at_once, repeats - done), plan, groups)
                ]
            except SingleTwin:
                pass
        return [converse(1) for _ in range(few or repeats)]


def _turns(
    converse: Callable[[int], tuple[Groups, Answers]], copies: int, plan: Settled, groups: tuple[Any, ...]
) -> Iterator[tuple[Groups, Answers]]:
    """One conversation with several copies of the table, as so many answers."""
    _, answers = converse(copies)
    wide = len(groups)
    for i in range(copies):
        yield groups if plan.by else None, {name: cells[i * wide : (i + 1) * wide] for name, cells in answers.items()}


class SingleTwin(Exception):
    """A request that has no answer for several copies of a table at once."""


@dataclass(frozen=True)
class Remembered:
    """A bounded table whose answers are computed once; as several equal groups when there are `copies` of it."""

    source: Ask
    groups: tuple[Any, ...] = ((),)
    copies: int = 1
    known: dict[Any, Any] = field(default_factory=dict)

    def ask(self, request: Any) -> Any:
        if self.copies > 1 and isinstance(request, Clipped):
            return self._clipped(request)
        if self.copies > 1 and not isinstance(request, Totals | Ranks):
            raise SingleTwin
        if request not in self.known:
            found = self.source(request)
            self.known[request] = list(found) if isinstance(found, Iterator) else found
        found = self.known[request]
        if isinstance(found, GroupTotals) and self.copies > 1:
            if found.keys != self.groups:  # cells of a counted column
                raise SingleTwin
            totals: dict[Item, Any] = {item: np.tile(total, self.copies) for item, total in found.values.items()}
            return GroupTotals(found.keys * self.copies, totals)
        return iter(found * self.copies) if isinstance(found, list) else found

    def _clipped(self, request: Clipped) -> GroupTotals:
        """Limits of each copy's own: sums inside them from the sorted column, whose running sums are kept in two halves of 24 bits."""
        held = self.known.get(request.column)
        if held is None:
            held = []
            for part in self.source(Rows(request.column, self.groups if self.groups != ((),) else None)):
                if part.n >= MOST_SORTED:  # it may have been cut
                    raise SingleTwin
                halves = (part.values >> 24, part.values & (2**24 - 1))
                held.append((part.values, [np.concatenate([[0], np.cumsum(half)]) for half in halves]))
            self.known[request.column] = held
        rows, sums, moved = [], [], []
        for i, (low, high) in enumerate(request.limits):
            x, (large, small) = held[i % len(held)]
            first = int(np.searchsorted(x, low, "left"))
            last = max(first, int(np.searchsorted(x, high, "right")))
            inside = (int(large[last] - large[first]) << 24) + int(small[last] - small[first])
            rows.append(len(x))
            sums.append(inside + first * low + (len(x) - last) * high)
            moved.append(first + len(x) - last)
        keys = request.keys if request.keys is not None else ((),) * len(rows)
        found = (np.array(values, object) for values in (rows, sums, moved))
        return GroupTotals(keys, dict(zip(request.items, found, strict=True)))


PARTS: tuple[Callable[[Any], Any], ...] = (lambda cell: cell.value, lambda cell: cell.low, lambda cell: cell.high)


def _table(rows: list[list[float]]) -> NDArray[np.float64]:
    width = max(map(len, rows), default=0)
    return np.array([row + [math.nan] * (width - len(row)) for row in rows]).reshape(len(rows), width)


def _numbers(value: Any) -> list[float]:
    match value:
        case Refused() | None | str():
            return [math.nan]
        case dt.datetime():
            return [value.timestamp()]
        case dt.date():
            return [float(value.toordinal())]
        case dict():
            return [float(v) for v in value.values()]
        case tuple() | list():
            return [number for part in value for number in _numbers(part)]
    return [float(value)]


def _said(value: Any) -> str:
    return "no value" if value is None or isinstance(value, Refused) else str(value)


def open_twin(twin: Any, columns: Mapping[str, Column], rows: int | None) -> Twin | None:
    """A twin from a public frame, or a codebook of the number of rows the public believes in; None where that is unknown."""
    if twin is not None and not isinstance(twin, str):
        engine = open_source(twin, tuple(columns.values()))
        missing = sorted(set(columns) - set(engine.header()))
        if missing:
            engine.close()
            raise QueryError("SRD-201", f"the twin has no column {missing[0]!r}.", "Give a public frame with the same columns.")
        return Twin(engine, False)
    if twin not in (None, "codebook"):
        raise QueryError("SRD-103", f"twin is {twin!r}.", 'Give a public frame, or "codebook".')
    if rows is None:
        return None
    try:
        few = min(rows, MOST_ROWS)
        return Twin(open_source(codebook(columns, few), tuple(columns.values())), True, few)
    except SordinoError:  # a column nobody could make up
        return None


def codebook(columns: Mapping[str, Column], rows: int) -> dict[str, Any]:
    """Made-up rows, the same every time: even over bounds and keys, a bell over a symmetric column, a skewed one mostly at its low end."""
    return {name: _spread(column, rows, i) for i, (name, column) in enumerate(columns.items())}


def _spread(column: Column, rows: int, place: int) -> Any:
    share = (np.arange(rows) * (GOLDEN * (place + 1) % 1) + 0.5 / rows) % 1  # every column in an order of its own
    if column.type in ("id", "never"):
        return np.arange(rows)
    if column.type == "bool":
        return share < 0.5
    if column.type == "cat":
        keys = list(column.keys) if column.keys is not None else [f"key {i}" for i in range(KEYS)]
        return [keys[i] for i in (share * len(keys)).astype(int)]
    if column.bounds is None:
        return np.zeros(rows)
    grid = column.grid()
    if column.shape == "symmetric":
        from scipy.special import ndtri

        share = np.clip(0.5 + ndtri(np.clip(share, 1e-6, 1 - 1e-6)) / 12, 0, 1)
    elif column.shape == "skewed":
        share = np.clip(-np.log1p(-share) / 20, 0, 1)
    steps = np.minimum((share * (grid.width + 1)).astype(np.int64), grid.width)
    if grid.kind in ("date", "timestamp"):
        return [grid.value(int(step)).isoformat() for step in steps]
    return [str(grid.value(int(step))) for step in steps] if grid.kind == "decimal" else (steps + grid.low) * float(grid.step)
