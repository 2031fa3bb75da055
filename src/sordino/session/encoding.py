"""An answer as bytes: canonical JSON, so that a repeat returns exactly what was sealed.

What an answer looks like as columns: a number, several numbers, a histogram or a list of keys. A public fact of the question.
"""

from __future__ import annotations

import datetime as dt
import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sordino.statistics.port import Shape
from sordino.summaries import Refused

if TYPE_CHECKING:
    from sordino.session.release import Release

__all__ = ["columns", "decode", "encode", "join", "split"]

SIMPLE = frozenset((int, float, str, bool, type(None)))  # columns of these are JSON as they are, but for endless floats
NESTED = frozenset((list, dict))


def _plain(value: Any) -> Any:
    """Values JSON does not know, tagged by one-key objects; numpy scalars become Python's. Order is kept: it is part of the answer."""
    match value:
        case float() if not math.isfinite(value):
            return {"$float": str(float(value))}
        case None | bool() | int() | float() | str():
            return value
        case Refused():
            return {"$refused": value.reason}
        case dt.datetime():
            return {"$timestamp": value.isoformat()}
        case dt.date():
            return {"$date": value.isoformat()}
        case bytes():
            return {"$bytes": value.hex()}
        case dict():
            if all(isinstance(key, str) and not key.startswith("$") for key in value):
                return {key: _plain(item) for key, item in value.items()}
            return {"$map": [[_plain(key), _plain(item)] for key, item in value.items()]}
        case frozenset() | set():
            return {"$set": sorted((_plain(item) for item in value), key=repr)}
        case tuple():
            return {"$tuple": [_plain(item) for item in value]}
        case list():
            simple = SIMPLE.issuperset(map(type, value)) and all(math.isfinite(item) for item in value if type(item) is float)
            return value if simple else [_plain(item) for item in value]
    if hasattr(value, "item"):
        return _plain(value.item())
    raise TypeError(f"{type(value).__name__} has no place in a recorded answer")


def _rich(value: Any) -> Any:
    if isinstance(value, list):
        return value if NESTED.isdisjoint(map(type, value)) else [_rich(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((tag, inner),) = value.items()
        match tag:
            case "$float":
                return float(inner)
            case "$refused":
                return Refused(inner)
            case "$timestamp":
                return dt.datetime.fromisoformat(inner)
            case "$date":
                return dt.date.fromisoformat(inner)
            case "$bytes":
                return bytes.fromhex(inner)
            case "$set":
                return frozenset(_rich(item) for item in inner)
            case "$map":
                return {_rich(key): _rich(item) for key, item in inner}
            case "$tuple":
                return tuple(_rich(item) for item in inner)
    return {key: _rich(item) for key, item in value.items()}


def encode(record: dict[str, Any]) -> bytes:
    """The record in the order it was written, ASCII only: a name with half a surrogate pair in it must not be an error after the charge."""
    return json.dumps(_plain(record), separators=(",", ":"), allow_nan=False).encode("ascii")


def decode(data: bytes) -> dict[str, Any]:
    record: dict[str, Any] = _rich(json.loads(data))
    return record


def join(answers: list[bytes]) -> bytes:
    """Several answers under one seal."""
    return encode({"members": answers})


def split(data: bytes) -> list[bytes]:
    """The answers of a batch, in the order they were asked."""
    return list(decode(data)["members"])


def columns(release: Release) -> dict[str, list[Any]]:
    """The release as a table: group columns in key order, then each statistic with its ends.

    A histogram or a top k asked alone has one row per cell or place; beside other statistics it stays one dict or tuple per group.
    """
    known = release.shapes.get(release.names[0]) if len(release.names) == 1 else None
    if known and "cells" in known:
        return _long(release, known)
    if known and "list" in known:
        return _listed(release)
    out: dict[str, list[Any]] = dict(release.keys)
    for name in release.names:
        split = release.shapes.get(name) or {}
        for i, column in enumerate(split.get("columns", [])):
            out |= {f"{column}{end}": [_part(c, i) for c in cells] for end, cells in _ends(release, name).items()}
        if "columns" not in split:
            out |= {f"{name}{end}": list(cells) for end, cells in _ends(release, name).items()}
        out |= {column: cells for column, cells in _limits(release, name).items() if column not in out}
    return out


def _limits(release: Release, name: str) -> dict[str, list[Any]]:
    """Beside the mean of moved values: the limits they were moved into, and at most how many were moved, where that was counted."""
    cells = release.card.get("moved", {}).get(name)
    if not cells or len(cells) != len(release.answers[name]):
        return {}
    ends = {f"{name}_moved_to_{word}": [cell["limits"][i] for cell in cells] for i, word in enumerate(("low", "high"))}
    counted = any(cell["at most"] is not None for cell in cells)
    return ends | ({f"{name}_moved_at_most": [cell["at most"] for cell in cells]} if counted else {})


def _ends(release: Release, name: str) -> dict[str, list[Any]]:
    return {end: release.answers[name + end] for end in ("", "_low", "_high") if name + end in release.answers}


def _part(cell: Any, index: int) -> Any:
    return cell[index] if isinstance(cell, tuple | list) else cell


def _spread(keys: Mapping[str, list[Any]], sizes: list[int]) -> dict[str, list[Any]]:
    """Every group key once per row that its group has."""
    return {name: [cell for cell, size in zip(cells, sizes, strict=True) for _ in range(size)] for name, cells in keys.items()}


def _long(release: Release, known: Shape) -> dict[str, list[Any]]:
    cells = {end: [_cells(cell) for cell in part] for end, part in _ends(release, release.names[0]).items()}
    cells |= {
        end: [own if own else dict.fromkeys(first) for own, first in zip(part, cells[""], strict=True)] for end, part in cells.items()
    }
    word = known["cells"] if known["cells"] not in release.keys else f"{release.names[0]} {known['cells']}"
    out = _spread(release.keys, [len(cell) for cell in cells[""]])
    out[word] = [key for cell in cells[""] for key in cell]
    return out | {f"{known['count']}{end}": [v for cell in part for v in cell.values()] for end, part in cells.items()}


def _cells(cell: Any) -> dict[Any, Any]:
    """The counts of one group; a refusal stands in the place of its keys."""
    return cell if isinstance(cell, dict) else {} if cell is None else {cell: None}


def _listed(release: Release) -> dict[str, list[Any]]:
    name = release.names[0]
    cells = [(cell,) if isinstance(cell, Refused) or cell is None else tuple(cell) for cell in release.answers[name]]
    return _spread(release.keys, [len(cell) for cell in cells]) | {name: [key for cell in cells for key in cell]}
