"""A declaration that fits what was seen of a column, and why: its type, its bounds rounded outwards, or that nobody may use it."""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Mapping
from typing import Any

from sordino.engines.inspection import MOMENTS, NUMERIC, Seen
from sordino.schema.column import Column

__all__ = ["MOST", "candidates", "comparable", "declaration", "names_people", "nice", "outward", "suggest", "toml"]

MOST = 0.95  # of the values there are, for a type to be suggested
FEW = 1_000  # values a column may have to be one
NEVER = {"access": "never"}
WHO = ("id", "index", "key", "nr", "person", "patient", "user", "customer", "client", "member", "household", "pid", "uid")


def suggest(seen: Seen, declared: str = "") -> tuple[dict[str, Any], str]:
    """A declaration that fits what was seen of a column, and why; what looks like names or free text may never be used.

    A type that most values have is suggested; where the owner has declared it, half of them suffice. The reason holds no number: it may
    stand in a dataset file.
    """
    there = seen.present
    moments, numbers = (MOST if declared not in kinds else 0.5 for kinds in (MOMENTS, NUMERIC))
    if not there:
        return dict(NEVER), "it has no values"
    if seen.stored == "bool" or (seen.numbers == there and (seen.low, seen.high) == (0, 1) and seen.whole[0] == there):
        return {"type": "bool"}, "zero or one"
    if seen.moments >= moments * there and seen.first is not None and seen.last is not None:
        day = seen.stored == "date" or seen.days == seen.moments
        ends = [f"{seen.first.year}-01-01", f"{seen.last.year}-12-31"]
        if not day:
            ends[1] += "T23:59:59"
        return {"type": "date" if day else "timestamp", "bounds": ends}, "days" if day else "moments"
    if seen.numbers >= numbers * there and seen.low is not None and seen.high is not None:
        if _identity(seen):
            return dict(NEVER), "it names people or rows"
        return _number(seen)
    if _identity(seen):
        return dict(NEVER), "it names people or rows"
    if seen.flags >= MOST * there:
        return {"type": "bool"}, "yes or no"
    if seen.numbers >= there / 2:
        return dict(NEVER), "numbers mixed with other text: clean it, or declare it as numbers"
    if seen.longest > 256 or seen.distinct > FEW or seen.distinct > max(20, there / 2):
        return dict(NEVER), "names or free text"
    return {"type": "cat", "keys": "private"}, "few different texts; list the public ones as values = [...]"


def names_people(name: str) -> bool:
    """Whether a column is called like one that says who a row is about."""
    word = name.lower().replace(" ", "_").replace("-", "_")
    return word in WHO or word.endswith(("_id", "_key", "_no", "_number"))


def _identity(seen: Seen) -> bool:
    return names_people(seen.name) and seen.distinct > 0.05 * seen.present > 1


def _number(seen: Seen) -> tuple[dict[str, Any], str]:
    assert seen.low is not None
    assert seen.high is not None
    finite = seen.numbers - seen.infinite
    low, high = outward(seen.low, seen.high)
    scale = next((s for s, n in enumerate(seen.whole) if n == finite), None)
    if scale == 0 and max(abs(low), abs(high)) < 2**53:
        return {"type": "int", "bounds": [int(low), int(high)]}, "whole numbers"
    ends = [int(end) if end == int(end) else end for end in (low, high)] if max(abs(low), abs(high)) < 2**53 else [low, high]
    if scale and seen.stored in ("text", "decimal") and max(abs(low), abs(high)) < 1e12:
        digits = len(str(int(max(abs(low), abs(high))))) + scale
        return {"type": f"decimal({digits},{scale})", "bounds": ends}, f"numbers with {scale} decimals"
    return {"type": "float", "bounds": ends}, "numbers"


def nice(x: float) -> float:
    """The least of 1, 2, 5, 10, 20, 50, ... and their tenths that is not below x > 0."""
    power = math.floor(math.log10(x))
    for k in (power - 1, power, power + 1):
        for digit in (1, 2, 5):
            found = float(f"{digit}e{k}")
            if found >= x:
                return found
    return float(f"1e{power + 1}")


def outward(low: float, high: float) -> tuple[float, float]:
    """Round ends that hold both: zero where the values start near it, a few digits elsewhere."""
    if low == high == 0:
        return 0.0, 1.0
    if low >= 0 and low <= high / 2:
        return 0.0, nice(high)
    if high <= 0 and high >= low / 2:
        return -nice(-low), 0.0
    if low < 0 < high:
        return -nice(-low), nice(high)
    step = nice(max(high - low, abs(high) * 1e-3))
    first, last = math.floor(low / step) * step, math.ceil(high / step) * step
    return (first, last) if first < last else (first, first + step)


def candidates(column: Column, seen: Seen) -> tuple[str | None, list[Any], list[Any]]:
    """The bounds whose cost is looked at: the declared ones, those that move nothing, and narrower ones."""
    facts, _ = suggest(seen, column.type)
    kind = column.type if column.type in (*NUMERIC, *MOMENTS) else str(facts.get("type", "")).partition("(")[0]
    lows: list[Any]
    highs: list[Any]
    if kind in MOMENTS:
        if seen.first is None or seen.last is None:
            return None, [], []
        years = (
            sorted({min(seen.first.year + i, seen.last.year) for i in (0, 1, 5)}),
            sorted({max(seen.last.year - i, seen.first.year) for i in (0, 1, 5)}),
        )
        lows, highs = [dt.datetime(year, 1, 1) for year in years[0]], [_year_end(year, kind) for year in years[1]]
    elif kind in NUMERIC and seen.low is not None and seen.high is not None:
        low, high = outward(seen.low, seen.high)
        lows = [-end for end in _narrower(-low)] if low < 0 else [low]
        highs = [end for end in _narrower(high) if end > max(low, 0) or end == high]
    else:
        return None, [], []
    if column.bounds is not None and column.type == kind:
        ends = [comparable(column, end) for end in column.bounds]
        lows, highs = sorted({*lows, ends[0]}), sorted({*highs, ends[1]})
    return kind, sorted(lows), sorted(highs)


def _year_end(year: int, kind: str) -> dt.datetime:
    return dt.datetime(year, 12, 31) if kind == "date" else dt.datetime(year, 12, 31, 23, 59, 59)


def _narrower(end: float) -> list[float]:
    """An end and a few nice ones below it."""
    if end <= 0:
        return [end]
    found = [end]
    while len(found) < 7:
        found.append(nice(found[-1] * 0.35))  # the next of 1, 2, 5, ... below
    return found


def comparable(column: Column, end: Any) -> Any:
    """A declared bound as it is compared here."""
    if column.type not in MOMENTS:
        return float(end)
    if isinstance(end, dt.datetime):
        return end.astimezone(dt.UTC).replace(tzinfo=None) if end.tzinfo else end
    if isinstance(end, dt.date):
        return dt.datetime(end.year, end.month, end.day)
    return dt.datetime.fromisoformat(str(end)).replace(tzinfo=None)


def declaration(column: Column) -> dict[str, Any]:
    """A column's declaration in the words it was made with."""
    if column.type == "never":
        return dict(NEVER)
    kind = f"decimal(38,{column.scale})" if column.type == "decimal" else column.type
    said: dict[str, Any] = {"type": kind}
    if column.bounds is not None:
        said["bounds"] = [end.isoformat() if isinstance(end, dt.date) else end for end in map(_plain, column.bounds)]
    if column.keys is not None and column.type != "bool":
        said["values"] = list(column.keys)
    return said


def _plain(end: Any) -> Any:
    """A bound as TOML writes it."""
    if isinstance(end, dt.date | str):
        return end
    number = float(end)
    return int(number) if number == int(number) and abs(number) < 2**53 else number


def toml(facts: Mapping[str, Any]) -> str:
    """One column's declaration as TOML."""
    return "{ " + ", ".join(f"{word} = {json.dumps(value, ensure_ascii=False)}" for word, value in facts.items()) + " }"
