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
    from sordino import course, lab, mechanisms, models, privacy, sensitivity, survey
    from sordino import inference as tests
    from sordino.ledger import Budget
    from sordino.remote import connect
    from sordino.session import owner
    from sordino.session.dataset import dataset
    from sordino.session.open_dataset import open_dataset as open
    from sordino.session.owned import release
    from sordino.session.reconciliation import reconcile
    from sordino.session.synthesis import synthesize
    from sordino.session.table import table
    from sordino.statistics import (
        apply,
        count,
        count_distinct,
        count_units,
        counts,
        histogram,
        huber_mean,
        iqr,
        m_estimate,
        max,
        mean,
        means,
        median,
        min,
        mode,
        quantile,
        quantiles,
        statistic,
        std,
        sum,
        top_k,
        trimmed_mean,
        variance,
        winsorized_mean,
        written,
    )

__version__ = "0.1.0"
__all__ = [
    "Budget",
    "apply",
    "connect",
    "count",
    "count_distinct",
    "count_units",
    "counts",
    "course",
    "dataset",
    "errors",
    "histogram",
    "huber_mean",
    "iqr",
    "lab",
    "m_estimate",
    "max",
    "mean",
    "means",
    "mechanisms",
    "median",
    "min",
    "mode",
    "models",
    "open",
    "owner",
    "privacy",
    "quantile",
    "quantiles",
    "reconcile",
    "release",
    "sensitivity",
    "statistic",
    "std",
    "sum",
    "survey",
    "synthesize",
    "table",
    "tests",
    "top_k",
    "trimmed_mean",
    "variance",
    "winsorized_mean",
    "written",
]

_ROOMS = ("course", "lab", "mechanisms", "models", "privacy", "sensitivity", "survey")
_HOMES = {
    "release": "session.owned", "synthesize": "session.synthesis", "table": "session.table", "open": "session.open_dataset",
    "Budget": "ledger", "connect": "remote", "dataset": "session.dataset",
    "reconcile": "session.reconciliation",
}  # fmt: skip


if not TYPE_CHECKING:  # a name that is not there is an error to a type checker too

    def __getattr__(name: str) -> Any:
        """Rooms and verbs load when they are first named, so that `import sordino` stays fast."""
        if name == "tests":
            return import_module("sordino.inference")
        if name == "owner":
            return import_module("sordino.session.owner")
        if name in _ROOMS:
            return import_module(f"sordino.{name}")
        if name in __all__:
            home = import_module(f"sordino.{_HOMES.get(name, 'statistics')}")
            return getattr(home, "open_dataset" if name == "open" else name)
        raise AttributeError(f"module 'sordino' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
