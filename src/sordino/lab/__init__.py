"""The lab: audits of any callable, simulation, replay. Faces may import it; nothing private is decided here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sordino.lab.audit import audit
    from sordino.lab.recording import replay
    from sordino.lab.simulation import simulate

__all__ = ["audit", "replay", "simulate"]

_HOMES = {"audit": "audit", "replay": "recording", "simulate": "simulation"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"sordino.lab.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
