"""What makes two functions of a user the same function, as far as a recorded answer is concerned."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from hashlib import sha256
from types import CodeType
from typing import Any

__all__ = ["fingerprint"]


def fingerprint(function: Any) -> str:
    """Name and digest of a function's code, constants, defaults and enclosed values. Anything that cannot be read makes it a new one."""
    name = getattr(function, "__qualname__", type(function).__name__)
    return f"{name}:{sha256(repr(list(_parts(function))).encode()).hexdigest()[:16]}"


def _parts(thing: Any, depth: int = 0) -> Iterator[Any]:
    """Everything that decides what a function computes, without memory addresses where that is possible."""
    if isinstance(thing, functools.partial):
        yield "partial"
        yield from _parts(thing.func, depth + 1)
        yield repr((thing.args, sorted(thing.keywords.items())))
    elif isinstance(thing, CodeType):
        yield thing.co_code.hex()
        yield thing.co_names
        for constant in thing.co_consts:
            yield from _parts(constant, depth + 1)
    elif hasattr(thing, "__code__") and depth < 8:
        yield from _parts(thing.__code__, depth + 1)
        yield repr((thing.__defaults__, thing.__kwdefaults__))
        for cell in thing.__closure__ or ():
            yield from _parts(cell.cell_contents, depth + 1)
        called = {name: thing.__globals__[name] for name in thing.__code__.co_names if name in thing.__globals__}
        for name, value in called.items():  # helpers and constants it refers to; modules by their name
            yield name
            if hasattr(value, "__code__"):
                yield from _parts(value, depth + 1)
            else:
                yield getattr(value, "__name__", None) or repr(value)
    else:
        yield repr(thing)
