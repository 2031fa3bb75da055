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
    from sordino.session.opening import open_dataset as open
    from sordino.session.own import release
    from sordino.session.table import table
    from sordino.statistics import (
        count,
        count_units,
        counts,
        histogram,
        iqr,
        max,
        mean,
        means,
        median,
        min,
        mode,
        quantile,
        quantiles,
        std,
        sum,
        top_k,
        variance,
    )

__version__ = "0.1.0"
__all__ = [
    "Budget",
    "count",
    "count_units",
    "counts",
    "errors",
    "histogram",
    "iqr",
    "lab",
    "max",
    "mean",
    "means",
    "mechanisms",
    "median",
    "min",
    "mode",
    "open",
    "privacy",
    "quantile",
    "quantiles",
    "release",
    "sensitivity",
    "std",
    "sum",
    "table",
    "top_k",
    "variance",
]

_ROOMS = ("lab", "mechanisms", "privacy", "sensitivity")
_HOMES = {"release": "session.own", "table": "session.table", "open": "session.opening", "Budget": "ledger"}


def __getattr__(name: str) -> Any:
    """Rooms and verbs load when they are first named, so that `import sordino` stays fast."""
    if name in _ROOMS:
        return import_module(f"sordino.{name}")
    if name in __all__:
        home = import_module(f"sordino.{_HOMES.get(name, 'statistics')}")
        return getattr(home, "open_dataset" if name == "open" else name)
    raise AttributeError(f"module 'sordino' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
