"""How released rows are shown: columns computed from them, conditions on them, their order. Post-processing, kept beside the question.

A formula on arrays: a row for each group, a column for each draw, null as nan, truth as 1 and 0. What has text has no numbers.

Windows of a formula, worked out over the released rows and put beside them as columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.plan.formula import Formula, inputs, value, windows, without
from sordino.plan.window import codes, over
from sordino.summaries import Refused

__all__ = ["Arrangement", "NoNumber", "OrderBy", "array_value", "column_array", "divisors", "over_columns"]

Floats = NDArray[np.float64]
COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "=": np.equal, "<>": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
}  # fmt: skip
ONE: dict[str, Callable[[Any], Any]] = {
    "neg": np.negative, "abs": np.abs, "floor": np.floor, "ceil": np.ceil, "sqrt": np.sqrt, "exp": np.exp, "ln": np.log, "float": np.array,
}  # fmt: skip
TWO: dict[str, Callable[[Any, Any], Any]] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "**": np.power, "%": np.fmod, "//": lambda a, b: np.trunc(a / b),
}  # fmt: skip


class NoNumber(Exception):
    """The formula has a part that is no number."""


def array_value(formula: Formula, cells: Mapping[str, Floats]) -> Floats:
    """Every operation as `formula.value` has it: null where an operand is null, or where a number has no such value."""
    with np.errstate(all="ignore"):
        found = _value(formula, cells)
    return np.where(np.isinf(found), np.nan, found)


def _value(formula: Formula, cells: Mapping[str, Floats]) -> Floats:
    word = formula.word
    if word == "name":
        if formula.detail not in cells:
            raise NoNumber
        return cells[formula.detail]
    if word == "constant":
        if isinstance(formula.detail, str) or not isinstance(formula.detail, bool | int | float | None):
            raise NoNumber
        return np.array([[np.nan if formula.detail is None else float(formula.detail)]])
    parts = [_value(item, cells) for item in formula.items]
    if word == "over":
        return over(formula.detail, parts)
    if word == "case":
        *branches, made = parts
        for test, then in zip(branches[-2::-2], branches[::-2], strict=True):
            made = np.where(test == 1, then, made)
        return made
    if word in ("and", "or"):
        decides = 1.0 if word == "or" else 0.0
        hit = np.logical_or.reduce(np.broadcast_arrays(*(part == decides for part in parts)))
        null = np.logical_or.reduce(np.broadcast_arrays(*(np.isnan(part) for part in parts)))
        return np.where(hit, decides, np.where(null, np.nan, 1 - decides))
    if word == "coalesce":
        made = parts[-1]
        for part in parts[-2::-1]:
            made = np.where(np.isnan(part), made, part)
        return made
    if word == "is null":
        return np.isnan(parts[0]).astype(float)
    if word in ("least", "greatest"):
        made = parts[0]
        for part in parts[1:]:
            made = (np.fmin if word == "least" else np.fmax)(made, part)
        return made
    if word == "nullif":
        return np.where(parts[0] == parts[1], np.nan, parts[0])
    null = np.logical_or.reduce(np.broadcast_arrays(*(np.isnan(part) for part in parts)))
    return np.where(null, np.nan, _made(formula, parts))


def _made(formula: Formula, parts: list[Floats]) -> Floats:
    word = formula.word
    if word in COMPARED:
        return np.asarray(COMPARED[word](*parts), float)
    if word in TWO:
        made: Floats = TWO[word](*parts)
        return np.where(parts[1] == 0, np.nan, made) if word in ("/", "//", "%") else made
    if word == "not":
        return 1 - parts[0]
    if word == "round":
        tens = 10.0**formula.detail
        return np.asarray(np.sign(parts[0]) * np.floor(np.abs(parts[0]) * tens + 0.5) / tens)
    return np.asarray(ONE[word](parts[0]))


def divisors(formula: Formula) -> list[Formula]:
    """What is divided by, or taken the logarithm or a root of: where it may be zero an interval means little."""
    own = [formula.items[-1]] if formula.word in ("/", "//", "%") else [formula.items[0]] if formula.word in ("ln", "sqrt", "**") else []
    return [*own, *(found for item in formula.items for found in divisors(item))]


MEASURED = ("avg", "sum", "min", "max", "lag", "lead", "first_value", "last_value")


def over_columns(formula: Formula, cells: Mapping[str, list[Any]], kept: list[int]) -> tuple[Formula, dict[str, list[Any]]]:
    """The formula with its windows read from columns, and these: over the rows that are kept, null elsewhere."""
    found = windows(formula)
    names = {item: f"over {place}" for place, item in enumerate(found)}
    made: dict[str, list[Any]] = {}
    for item, name in names.items():
        own = {column: [values[row] for row in kept] for column, values in cells.items()}
        whole = item.detail.word not in MEASURED or (
            item.detail.word != "avg" and all(isinstance(v, int) for n in inputs(item.items[0]) for v in own.get(n, []) if v is not None)
        )
        numbers = array_value(item, {column: column_array(values) for column, values in own.items()})
        column: list[Any] = [None] * len(next(iter(cells.values()), []))
        for row, number in zip(kept, np.broadcast_to(numbers, (len(kept), 1))[:, 0].tolist(), strict=True):
            column[row] = None if math.isnan(number) else int(number) if whole and number == int(number) else number
        made[name] = column
    return without(formula, names), made


def column_array(values: list[Any]) -> Floats:
    """A column of numbers as it is, and anything else by its place in order."""
    if all(value is None or (isinstance(value, int | float)) for value in values):
        return np.array([[math.nan if value is None else float(value)] for value in values]).reshape(-1, 1)
    return codes(values)


@dataclass(frozen=True)
class OrderBy:
    """One key to sort by: a group column or an answer, by its name in the release."""

    name: str
    falling: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class Arrangement:
    """`names` are group columns shown under another name; rows are sorted by `order`, ties in key order, and cut after `limit`."""

    names: tuple[tuple[str, str], ...] = ()
    order: tuple[OrderBy, ...] = ()
    limit: int | None = None
    formulas: tuple[tuple[str, Formula | None], ...] = ()  # every answer that is shown; None where it is a statistic itself
    having: Formula | None = None
    qualify: Formula | None = None  # a condition on windows over the rows that HAVING keeps
    hidden: tuple[str, ...] = ()  # statistics that only formulas read
    said: Mapping[str, str] = field(default_factory=dict, compare=False)  # the formulas in the words of the statement

    def kept(self, columns: Mapping[str, Sequence[Any]], size: int) -> list[int]:
        """The places of the rows that HAVING keeps."""
        if self.having is None:
            return list(range(size))
        read = [name for name in inputs(self.having) if name in columns]
        return [place for place in range(size) if value(self.having, {name: columns[name][place] for name in read}) is True]

    def rows(self, columns: Mapping[str, Sequence[Any]], size: int) -> list[int]:
        """The places of the rows to show, in the order to show them."""
        places = self.kept(columns, size)
        if self.qualify is not None:
            read_by = {name: list(columns[name]) for name in inputs(self.qualify) if name in columns}
            plain, looked = over_columns(self.qualify, read_by or {"": [None] * size}, places)
            table = {**read_by, **looked}
            places = [place for place in places if value(plain, {name: column[place] for name, column in table.items()}) is True]
        for key in reversed([key for key in self.order if key.name in columns]):
            cells = columns[key.name]
            known = [place for place in places if _comparable(cells[place])]
            missing = [place for place in places if not _comparable(cells[place])]
            known.sort(key=lambda place, cells=cells: cells[place], reverse=key.falling)  # type: ignore[misc]
            places = [*missing, *known] if key.nulls_first else [*known, *missing]
        return places if self.limit is None else places[: self.limit]

    def shown(self, name: str) -> str:
        return dict(self.names).get(name, name)

    def hides(self, name: str) -> bool:
        """Whether a column of the answer is one that only formulas read."""
        return any(name in (hidden, f"{hidden}_low", f"{hidden}_high") for hidden in self.hidden)


def _comparable(cell: Any) -> bool:
    """Null, a refusal and a number that is none have no place in an order."""
    return cell is not None and not isinstance(cell, Refused) and not (isinstance(cell, float) and math.isnan(cell))
