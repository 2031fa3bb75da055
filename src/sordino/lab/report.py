"""What every attack shares: reading frames, drawing outputs, and saying the result as text, JSON and HTML."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError

__all__ = ["as_html", "as_json", "cells", "matrix", "names", "outputs", "say"]


def names(frame: Any) -> list[str]:
    """The column names of a mapping, or of a pandas, polars or pyarrow table."""
    if isinstance(frame, Mapping):
        return [str(name) for name in frame]
    found = getattr(frame, "column_names", None)  # asked first: a pyarrow table's `columns` are the data
    if found is None:
        found = getattr(frame, "columns", None)
    if found is None or callable(found):
        what = f"{type(frame).__name__} is not a table."
        raise QueryError("SRD-105", what, "Give {column: values}, or a pandas, polars or pyarrow table.")
    return [str(name) for name in found]


def cells(frame: Any, column: str) -> list[Any]:
    """One column as plain Python values, so that a date is the same date whichever library held it. Missing is None."""
    known = names(frame)
    if column not in known:
        raise QueryError("SRD-201", f"there is no column {column!r}.", f"Use one of {', '.join(known)}.")
    values = frame[column]
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(values, method):
            values = getattr(values, method)()
            break
    return [_plain(value) for value in values]


def _plain(value: Any) -> Any:
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]")
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or (isinstance(value, float) and math.isnan(value)) or str(value) in ("NaT", "<NA>"):
        return None
    if isinstance(value, dt.datetime):
        midnight = value.tzinfo is None and (value.hour, value.minute, value.second, value.microsecond) == (0, 0, 0, 0)
        return value.date() if midnight else value
    return value


def matrix(table: Any, what: str) -> NDArray[np.float64]:
    """People in rows, numbers in columns."""
    try:
        if isinstance(table, Mapping):
            table = np.column_stack([np.asarray(column, float) for column in table.values()])
        found = np.asarray(table, float)
    except (TypeError, ValueError):
        raise QueryError("SRD-105", f"{what} are not numbers.", "Give a table of numbers, one row per person.") from None
    if found.ndim != 2 or not found.size or not np.isfinite(found).all():
        raise QueryError("SRD-105", f"{what} are not a full table of finite numbers.", "Give one row per person, and leave none empty.")
    return found


def outputs(release: Callable[..., Any], d0: Any, d1: Any, trials: int, vectorised: bool) -> NDArray[np.float64]:
    """The outputs on both datasets, one row each. What is no number (an exception, "refused") is infinite: an output like any other."""
    if isinstance(trials, bool) or not isinstance(trials, int) or not 40 <= trials <= 10**8:
        raise QueryError("SRD-103", f"trials is {trials!r}.", "Give a whole number from 40 to a hundred million.")
    if not callable(release):
        raise QueryError("SRD-103", f"release is {release!r}.", "Give a function of the data.")
    if vectorised:
        sides = [[_number(value) for value in release(data, trials)] for data in (d0, d1)]
    else:
        sides = [[_once(release, data) for _ in range(trials)] for data in (d0, d1)]
    if any(len(side) != trials for side in sides):
        raise QueryError("SRD-105", f"release did not give {trials} outputs.", "Return one output per trial.")
    return np.array(sides)


def _once(release: Callable[..., Any], data: Any) -> float:
    try:
        return _number(release(data))
    except Exception:  # an attacker sees that it failed
        return math.inf


def _number(value: Any) -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return math.inf
    return math.inf if math.isnan(number) else number


def say(lines: Iterable[str]) -> str:
    """Lines of a report, none wider than eighty columns."""
    return "\n".join(line if len(line) <= 80 else line[:79] + "…" for line in lines)


def as_json(result: Any, **extra: Any) -> str:
    return json.dumps(_strict({**asdict(result), **extra}), default=str, allow_nan=False)


def _strict(value: Any) -> Any:
    """JSON knows neither nan nor tuples as keys."""
    if isinstance(value, dict):
        return {str(key): _strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_strict(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def as_html(result: Any) -> str:
    return f"<pre>{escape(repr(result))}</pre>{result.plot().svg}"
