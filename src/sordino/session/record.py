"""An answer as bytes: canonical JSON, so that a repeat returns exactly what was sealed."""

from __future__ import annotations

import datetime as dt
import json
import math
from typing import Any

from sordino.summaries import Refused

__all__ = ["decode", "encode", "join", "split"]

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
