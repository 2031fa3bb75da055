"""Windows over released rows: shares of all groups, changes from one month to the next, running totals, ranks. Post-processing, free.

Rows here are groups of an answer, never people: SUM(COUNT(*)) OVER (), LAG(n) OVER (ORDER BY month), RANK() OVER (ORDER BY total DESC).
One implementation works on the released numbers and on simulated ones: an array has a row for each group and a column for each draw.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from sordino.plan.literal import bare, constant_of
from sordino.plan.refusal import allow, refuse

__all__ = ["Over", "codes", "over", "window_of"]

Floats = NDArray[np.float64]
PLACES = {exp.RowNumber: "row_number", exp.Rank: "rank", exp.DenseRank: "dense_rank"}
TOTALS = {exp.Sum: "sum", exp.Avg: "avg", exp.Min: "min", exp.Max: "max", exp.Count: "count"}
NEXT = {exp.Lag: "lag", exp.Lead: "lead", exp.FirstValue: "first_value", exp.LastValue: "last_value"}
KNOWN = "Use SUM, AVG, MIN, MAX, COUNT, LAG, LEAD, FIRST_VALUE, ROW_NUMBER, RANK, DENSE_RANK or NTILE OVER (PARTITION BY ... ORDER BY ...)."
FRAMES = "Write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW, or leave the frame out."
ALL = 10**9


@dataclass(frozen=True)
class Over:
    """What a window does, beside the formulas it reads: first its argument, then what it is parted by, then what it is ordered by."""

    word: str
    argument: bool
    parted: int
    falling: tuple[bool, ...]
    step: int = 1  # of lag and lead, or the parts of ntile
    back: int = ALL  # rows before this one that a total counts
    ahead: int = 0  # rows after it
    peers: bool = True  # whether equals of this row count with it


def window_of(node: exp.Expr, made: Callable[..., Any]) -> Any:
    """The formula of a window; `made` makes one of a word, its parts and a detail."""
    allow(node, "this", "partition_by", "order", "spec", "over")
    inner, order = bare(node.this), node.args.get("order")
    if type(inner) is exp.IgnoreNulls:
        refuse("IGNORE NULLS", "Leave it out: released groups have a number each.")
    by = [] if order is None else list(order.expressions)
    for item in by:
        allow(item, "this", "desc", "nulls_first")
    word, argument, step = _function(inner)
    parts = list(node.args.get("partition_by") or ())
    back, ahead, peers = _frame(node.args.get("spec"), bool(by))
    falling = tuple(bool(item.args.get("desc")) for item in by)
    detail = Over(word, argument is not None, len(parts), falling, step, back, ahead, peers)
    return made("over", *([] if argument is None else [argument]), *parts, *(item.this for item in by), detail=detail)


def _function(node: exp.Expr) -> tuple[str, exp.Expr | None, int]:
    kind = type(node)
    if kind in PLACES:
        return PLACES[kind], None, 1
    if kind is exp.Ntile:
        return "ntile", None, _whole(node.this, "NTILE(4)")
    if kind in NEXT:
        allow(node, "this", "offset")
        offset = node.args.get("offset")
        return NEXT[kind], node.this, 1 if offset is None else _whole(offset, "LAG(x, 1)")
    if kind in TOTALS:
        argument = node.args.get("this")
        if kind is exp.Count and (argument is None or type(argument) is exp.Star):
            return "count", exp.Literal.number(1), 1
        if argument is None or type(argument) is exp.Distinct:
            refuse("a window function of another kind", KNOWN)
        return TOTALS[kind], argument, 1
    return refuse("a window function outside the subset", KNOWN)


def _whole(node: exp.Expr, form: str) -> int:
    number = constant_of(node)
    if not isinstance(number, Fraction) or number.denominator != 1 or not 1 <= number <= 10_000:
        refuse("a window of an unusual size", f"Write a whole number: {form}.")
    return int(number)


def _frame(spec: exp.Expr | None, ordered: bool) -> tuple[int, int, bool]:
    """Rows before and after that count, and whether equals of this row do."""
    if not ordered:
        return ALL, ALL, False
    if spec is None:
        return ALL, 0, True
    ends = []
    for word, side in (("start", "PRECEDING"), ("end", "FOLLOWING")):
        end, direction = spec.args.get(word), str(spec.args.get(f"{word}_side") or "").upper()
        said = str(end).upper() if not isinstance(end, exp.Expr) else ""
        if said == "CURRENT ROW" or (end is None and word == "end"):
            ends.append(0)
        elif said == "UNBOUNDED" and direction == side:
            ends.append(ALL)
        elif isinstance(end, exp.Expr) and direction == side:
            ends.append(_whole(end, "2 PRECEDING"))
        else:
            refuse("a frame of another kind", FRAMES)
    by_rows = str(spec.args.get("kind") or "").upper() == "ROWS"
    if not by_rows and ends not in ([ALL, 0], [ALL, ALL]):
        refuse("a frame of another kind", FRAMES)
    return ends[0], ends[1], not by_rows


def codes(cells: list[Any]) -> Floats:
    """Numbers in the order of the cells, equal for equal ones; nothing comes last."""
    known = sorted({cell for cell in cells if cell is not None}, key=lambda cell: (str(type(cell)), cell))
    places = {cell: float(place) for place, cell in enumerate(known)}
    return np.array([[places.get(cell, float(len(known)))] for cell in cells]).reshape(-1, 1)


def over(detail: Over, parts: list[Floats]) -> Floats:
    """The window's number in every row, for every draw. `parts` are arrays of one shape; what parts and orders may be codes."""
    rows, draws = np.broadcast_shapes(*(part.shape for part in parts)) if parts else (0, 1)
    given = [np.broadcast_to(part, (rows, draws)) for part in parts]
    values = given.pop(0) if detail.argument else np.ones((rows, draws))
    group, keys = given[: detail.parted], given[detail.parted :]
    signed = [-key if falling else key for key, falling in zip(keys, detail.falling, strict=True)]
    place = np.broadcast_to(np.arange(rows)[:, None], (rows, draws))
    for key in [*signed[::-1], *group[::-1]]:  # stable: earlier keys decide last, and equals keep the order they were released in
        turn = np.argsort(np.take_along_axis(key, place, 0), axis=0, kind="stable")
        place = np.take_along_axis(place, turn, 0)

    def ranged(arrays: list[Floats]) -> NDArray[np.bool_]:
        """Where a run of equals begins."""
        first = np.zeros((rows, draws), bool)
        first[:1] = True
        for array in arrays:
            laid = np.take_along_axis(array, place, 0)
            first[1:] |= ~((laid[1:] == laid[:-1]) | (np.isnan(laid[1:]) & np.isnan(laid[:-1])))
        return first

    at = np.broadcast_to(np.arange(rows)[:, None], (rows, draws))
    parted = ranged(group)
    start = np.maximum.accumulate(np.where(parted, at, 0), axis=0)
    stop = _stops(parted, rows)
    met = parted | ranged(signed)
    laid = np.take_along_axis(values, place, 0)
    made = _counted(detail, laid, _Runs(at, start, stop, met)) if detail.argument else _placed(detail, _Runs(at, start, stop, met))
    answer = np.empty((rows, draws))
    np.put_along_axis(answer, place, made, 0)
    return answer


def _stops(first: NDArray[np.bool_], rows: int) -> NDArray[np.int64]:
    """The last row of each run."""
    at = np.broadcast_to(np.arange(rows)[:, None], first.shape)
    ends = np.ones(first.shape, bool)
    ends[:-1] = first[1:]
    return np.minimum.accumulate(np.where(ends, at, rows)[::-1], axis=0)[::-1]


@dataclass(frozen=True, eq=False)
class _Runs:
    """Rows in order: the place of each, the first and last place of its part, and where a run of equals begins."""

    at: NDArray[Any]
    start: NDArray[Any]
    stop: NDArray[Any]
    met: NDArray[Any]


def _placed(detail: Over, runs: _Runs) -> Floats:
    at, start, stop, met = runs.at, runs.start, runs.stop, runs.met
    if detail.word == "row_number":
        return np.asarray(at - start + 1, float)
    if detail.word == "rank":
        return np.asarray(np.maximum.accumulate(np.where(met, at, 0), axis=0) - start + 1, float)
    if detail.word == "dense_rank":
        number = np.cumsum(met, axis=0)
        return np.asarray(number - np.take_along_axis(number, start, 0) + 1, float)
    size, place = stop - start + 1, at - start  # ntile: the first parts have one row more
    small, more = size // detail.step, size % detail.step
    edge = more * (small + 1)
    return np.asarray(np.where(place < edge, place // (small + 1), more + (place - edge) // np.maximum(small, 1)) + 1, float)


def _counted(detail: Over, laid: Floats, runs: _Runs) -> Floats:
    at, start, stop, met, rows = runs.at, runs.start, runs.stop, runs.met, len(laid)
    if detail.word in ("lag", "lead"):
        source = at + (-detail.step if detail.word == "lag" else detail.step)
        inside = (source >= start) & (source <= stop)
        return np.where(inside, np.take_along_axis(laid, np.clip(source, 0, rows - 1), 0), np.nan)
    low = np.maximum(start, at - detail.back)
    high = np.minimum(stop, _stops(met, rows) if detail.peers else at + detail.ahead)
    if detail.word in ("first_value", "last_value"):
        return np.take_along_axis(laid, low if detail.word == "first_value" else high, 0)
    if detail.word in ("min", "max"):
        choose = np.fmin if detail.word == "min" else np.fmax
        made = np.full(laid.shape, np.nan)
        for shift in range(rows):
            source = low + shift
            made = np.where(source <= high, choose(made, np.take_along_axis(laid, np.clip(source, 0, rows - 1), 0)), made)
        return made
    there = ~np.isnan(laid)
    sums, counts = (np.vstack([np.zeros((1, laid.shape[1])), np.cumsum(np.where(there, cells, 0.0), axis=0)]) for cells in (laid, 1.0))
    total, count = (np.take_along_axis(run, high + 1, 0) - np.take_along_axis(run, low, 0) for run in (sums, counts))
    if detail.word == "count":
        return np.asarray(count)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(count > 0, total / count if detail.word == "avg" else total, np.nan)
