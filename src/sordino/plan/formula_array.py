"""A formula on arrays: a row for each group, a column for each draw, null as nan, truth as 1 and 0. What has text has no numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.plan.formula import Formula
from sordino.plan.window import over

__all__ = ["NoNumber", "array_value", "divisors"]

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
