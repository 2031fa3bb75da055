"""Sordino: differential privacy whose noise fits the data.

>>> import sordino as sd
>>> from sordino.mechanisms import Laplace
>>> sd.release(Laplace(epsilon=1, sensitivity=1), 42).mechanism
'Laplace'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from sordino import errors

if TYPE_CHECKING:
    from sordino import lab, mechanisms, privacy, sensitivity
    from sordino.ledger import Budget
    from sordino.session.own import release

__version__ = "0.1.0"
__all__ = ["Budget", "errors", "lab", "mechanisms", "privacy", "release", "sensitivity"]

_ROOMS = ("lab", "mechanisms", "privacy", "sensitivity")
_NAMES = {"release": "sordino.session.own", "Budget": "sordino.ledger"}


def __getattr__(name: str) -> Any:
    """Rooms and verbs load when they are first named, so that `import sordino` stays fast."""
    if name in _ROOMS:
        return import_module(f"sordino.{name}")
    if name in _NAMES:
        return getattr(import_module(_NAMES[name]), name)
    raise AttributeError(f"module 'sordino' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
