"""The lab: attacks, audits of any callable, simulation, replay. Faces may import it; nothing private is decided here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sordino.lab import notes, town
    from sordino.lab.auditing import audit
    from sordino.lab.bits import low_bits
    from sordino.lab.difference import differencing
    from sordino.lab.exploitation import noise_exploitation
    from sordino.lab.link import linkage
    from sordino.lab.recording import replay
    from sordino.lab.simulation import simulate
    from sordino.lab.tracing import trace
    from sordino.lab.unique import how_unique, uniqueness

__all__ = [
    "audit",
    "differencing",
    "how_unique",
    "linkage",
    "low_bits",
    "noise_exploitation",
    "notes",
    "replay",
    "simulate",
    "town",
    "trace",
    "uniqueness",
]

_SHELVES = ("notes", "town")
_HOMES = {
    "audit": "auditing",
    "differencing": "difference",
    "how_unique": "unique",
    "linkage": "link",
    "low_bits": "bits",
    "noise_exploitation": "exploitation",
    "replay": "recording",
    "simulate": "simulation",
    "trace": "tracing",
    "uniqueness": "unique",
}


def __getattr__(name: str) -> Any:
    if name in _SHELVES:
        return import_module(f"sordino.lab.{name}")
    if name in _HOMES:
        return getattr(import_module(f"sordino.lab.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
