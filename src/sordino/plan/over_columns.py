"""Windows of a formula, worked out over the released rows and put beside them as columns."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.plan.formula import Formula, inputs, windows, without
from sordino.plan.formula_array import array_value
from sordino.plan.window import codes

__all__ = ["column_array", "over_columns"]

Floats = NDArray[np.float64]
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
