"""Which columns to say less in, so that fewer people are alone."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Coarsening", "Codes", "codes", "crowds", "judge", "suggest"]

Codes = NDArray[np.int64]
_LARGEST = 2_000  # mixtures worth trying


@dataclass(frozen=True)
class Coarsening:
    """What to say less of, column by column, and what is left after it."""

    changes: tuple[tuple[str, str], ...]
    share_unique: float
    bits: float


def codes(column: Sequence[Any]) -> Codes:
    """The values numbered in the order they appear."""
    seen: dict[Any, int] = {}
    return np.array([seen.setdefault(value, len(seen)) for value in column], np.int64)


def crowds(people: Codes, columns: Sequence[Codes]) -> Codes:
    """How many people share each person's combination; of several combinations the least shared counts."""
    joint = np.zeros(len(people), np.int64)
    for column in columns:
        joint = np.unique(joint * (int(column.max()) + 1) + column, return_inverse=True)[1]
    count = int(people.max()) + 1
    pairs = np.unique(joint * count + people)
    shared = np.bincount(pairs // count)[pairs // count]
    least = np.full(count, len(people) + 1, np.int64)
    np.minimum.at(least, pairs % count, shared)
    return least


def judge(sizes: Codes) -> tuple[float, float]:
    """The share of people who are alone, and the entropy of the combination in bits."""
    return float(np.mean(sizes == 1)), float(np.mean(np.log2(len(sizes) / sizes)))


def _coarser(column: Sequence[Any]) -> list[tuple[str, Callable[[Any], Any]]]:
    """Ways to say less in a column, finest first; the last one says nothing."""
    seen = [value for value in column if value is not None]
    ways: list[tuple[str, Callable[[Any], Any]]] = []
    if seen and all(isinstance(v, dt.date) for v in seen):
        ways = [("year and month", lambda d: d and (d.year, d.month)), ("year", lambda d: d and d.year)]
        ways.append(("decade", lambda d: d and d.year // 10))
    elif seen and all(isinstance(v, int | float) and not isinstance(v, bool) for v in seen):
        reach = max(seen) - min(seen)
        for parts in (20, 5):
            width = 10.0 ** math.ceil(math.log10(reach / parts)) if reach > 0 else 1.0
            ways.append((f"in steps of {width:,g}", partial(_stepped, width)))
    elif seen and all(isinstance(v, str) for v in seen) and len({len(v) for v in seen}) == 1 and any(c.isdigit() for c in seen[0]):
        length = len(seen[0])
        ways = [(f"first {keep} characters", partial(_cut, keep)) for keep in range(length - 1, 0, -1)]
    return [*ways, ("left out", lambda v: None)]


def _stepped(width: float, value: float | None) -> int | None:
    return None if value is None else math.floor(value / width)


def _cut(keep: int, text: str | None) -> str | None:
    return text and text[:keep]


def suggest(people: Codes, data: dict[str, list[Any]], coded: dict[str, Codes], target: float) -> tuple[Coarsening, ...]:
    """The finest tables in which few enough people are alone: every mixture of ways, the three that keep most bits."""
    if judge(crowds(people, list(coded.values())))[0] <= target:
        return ()
    ways = {name: _distinct(coded[name], column) for name, column in data.items()}
    if math.prod(map(len, ways.values())) > _LARGEST:
        ways = {name: [found[0], found[-1]] for name, found in ways.items()}  # as it is, or left out
    found = []
    for mixture in islice(product(*ways.values()), 1, _LARGEST):
        unique, bits = judge(crowds(people, [column for _, column in mixture]))
        if unique <= target:
            changes = tuple((name, how) for name, (how, _) in zip(ways, mixture, strict=True) if how)
            found.append(Coarsening(changes, unique, bits))
    return tuple(sorted(found, key=lambda c: -c.bits)[:3])


def _distinct(plain: Codes, column: Sequence[Any]) -> list[tuple[str, Codes]]:
    """The column as it is and each way that says less than the one before."""
    kept = [("", plain)]
    for how, less in _coarser(column):
        found = codes([less(value) for value in column])
        if found.max() < kept[-1][1].max() and (found.max() or how == "left out"):
            kept.append((how, found))
    return kept
