"""Public twins: rows anybody may see that stand in for the private ones while an error is predicted."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Iterator, Mapping
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
from sordino.summaries import Ask, Refused
from sordino.summaries.clip import Clipped
from sordino.summaries.totals import GroupTotals, Item, Ranks, Totals

if TYPE_CHECKING:
    from sordino.session.settled import Answers, Settled
    from sordino.statistics.port import Groups

__all__ = ["MOST_ROWS", "Twin", "codebook", "conversations", "open_twin"]

MOST_ROWS = 10_000  # of a codebook; the error of a larger table is that of this one, less by as much as it is larger
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
        step = plan.steps.get(name)
        if repeats > 1 and not plan.by and hasattr(step, "repeated") and len(plan.frames) == 1:
            return self._repeated(plan, step, few or repeats)
        held = conversations(plan, self.engine, SALT, repeats, few)
        out = [[number for answer in answers[name] for number in _numbers(answer.value)] for _, answers in held]
        width = max(map(len, out), default=0)
        return np.array([row + [math.nan] * (width - len(row)) for row in out]).reshape(len(out), width)


    def _repeated(self, plan: Settled, step: Any, repeats: int) -> NDArray[np.float64]:
        """Few conversations of this one statistic, each with many draws of its noise: what is slow is done once in each."""
        with self.engine.bounded(plan.frames[0], SALT) as rows:
            rounds = min(ROUNDS, 2) if self.guess else ROUNDS
            ask, each = Remembered(rows.ask).ask, -(-repeats // rounds)
            held = [answer for _ in range(rounds) for answer in step.repeated(ask, draw, None, each)[0]]
        return np.array([_numbers(answer.value) for answer in held])


def conversations(plan: Settled, engine: Any, salt: int, repeats: int, few: int | None = None) -> list[tuple[Groups, Answers]]:
    """The same release again and again on one bounded table: NOT PRIVATE but on public rows.

    All at once where a question without groups allows it, as if every repeat were a group of its own; elsewhere only `few` times, if given.
    """
    with ExitStack() as stack:
        opened: dict[Frame, Remembered] = {}

        def converse(copies: int) -> tuple[Groups, Answers]:
            def open_frame(frame: Frame) -> Any:
                if frame not in opened:
                    opened[frame] = Remembered(stack.enter_context(engine.bounded(frame, salt)).ask)
                return nullcontext(replace(opened[frame], copies=copies))

            return plan.converse(open_frame, draw)

        if not plan.by and repeats > 1:
            try:
                _, answers = converse(repeats)
                return [(None, {name: cells[i : i + 1] for name, cells in answers.items()}) for i in range(repeats)]
            except Single:
                pass
        return [converse(1) for _ in range(few or repeats)]


class Single(Exception):
    """A request that has no answer for several copies of a table at once."""


@dataclass(frozen=True)
class Remembered:
    """A bounded table whose answers are computed once; as several equal groups when there are `copies` of it."""

    source: Ask
    copies: int = 1
    known: dict[Any, Any] = field(default_factory=dict)

    def ask(self, request: Any) -> Any:
        if self.copies > 1 and isinstance(request, Clipped):
            return self.source(replace(request, keys=((),) * self.copies))  # limits of each copy's own
        if self.copies > 1 and not isinstance(request, Totals | Ranks):
            raise Single
        if request not in self.known:
            found = self.source(request)
            self.known[request] = list(found) if isinstance(found, Iterator) else found
        found = self.known[request]
        if isinstance(found, GroupTotals) and self.copies > 1:
            if found.keys != ((),):  # cells of a counted column
                raise Single
            totals: dict[Item, Any] = {item: np.tile(total, self.copies) for item, total in found.values.items()}
            return GroupTotals(found.keys * self.copies, totals)
        return iter(found * self.copies) if isinstance(found, list) else found


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
