"""Many releases of one mechanism or query on the same data: for owners, benches and audits. NOT PRIVATE, whatever is released.

The audit ladder: what several releases claimed beside what was measured, one rung each.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.noise import draw
from sordino.pictures import Picture
from sordino.pictures import ladder as drawn
from sordino.privacy.discrete import UniformInteger
from sordino.privacy.law import Placed
from sordino.session.owned import owned
from sordino.session.query import Query
from sordino.session.twin import Remembered, conversations
from sordino.summaries import Refused

__all__ = ["ladder", "outcomes", "simulate"]


def simulate(mechanism: Any, data: Any = None, *, repeats: int = 10_000, **options: Any) -> NDArray[Any] | dict[Hashable, NDArray[Any]]:
    """NOT PRIVATE: that many independent releases of a mechanism on data you own, or of a table's query; no ledger, no card.

    Numbers come back as one array with nan for "refused", histograms as one array per key with nan where the key was not shown,
    anything else as an array of objects. A query takes epsilon= and delta=; with groups it gives one array per group key, with several
    statistics one entry per name. The data are read and summarised once.
    """
    if isinstance(mechanism, Query):
        return _queried(mechanism, repeats, **options)
    return _gathered(outcomes(mechanism, data, repeats=repeats, **options))


def _gathered(values: NDArray[Any] | list[Any]) -> NDArray[Any] | dict[Hashable, NDArray[Any]]:
    if isinstance(values, np.ndarray):
        return values
    if all(isinstance(value, dict) for value in values):
        keys = dict.fromkeys(key for value in values for key in value)
        return {key: np.array([value.get(key, math.nan) for value in values], float) for key in keys}
    if all(isinstance(value, np.ndarray) and value.shape == values[0].shape for value in values):
        return np.stack(values)
    if all(isinstance(value, int) for value in values):
        return np.array(values, np.int64)
    if all(isinstance(value, Refused | Real) or hasattr(value, "__float__") for value in values):
        return np.array([math.nan if isinstance(value, Refused) else float(value) for value in values])
    out = np.empty(len(values), object)
    out[:] = values
    return out


def _queried(query: Query, repeats: int, *, epsilon: Any, delta: Any = None) -> NDArray[Any] | dict[Hashable, NDArray[Any]]:
    """The conversation of a release, held again and again with one bounded table."""
    _check(repeats)
    plan = query.settle(epsilon, delta)
    salt = draw(UniformInteger(0, 2**128 - 1))
    cells: dict[Hashable, list[Any]] = {}
    for turn, (groups, answers) in enumerate(conversations(plan, query.table.engine, salt, repeats)):
        for name, found in answers.items():
            for group, answer in zip(groups if groups is not None else ((),), found, strict=True):
                key = (*([name] if len(plan.names) > 1 else []), *(group if len(group) != 1 else (group[0],)))
                column = cells.setdefault(key[0] if len(key) == 1 else key, [])
                column.extend([Refused("not shown")] * (turn - len(column)))
                column.append(answer.value)
    for column in cells.values():
        column.extend([Refused("not shown")] * (repeats - len(column)))
    if set(cells) == {()}:
        return _gathered(cells[()])
    return {key: np.asarray(_gathered(column)) for key, column in cells.items()}


def _check(repeats: Any) -> None:
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise QueryError("SRD-103", f"repeats is {repeats!r}.", "Give a whole number of at least 1.")


def outcomes(mechanism: Any, data: Any, *, repeats: int = 10_000, **options: Any) -> NDArray[Any] | list[Any]:
    """NOT PRIVATE: the values themselves, exactly as they would be released, one per repeat."""
    _check(repeats)
    ask = Remembered(owned(mechanism, data, **options)).ask
    laws: list[Any] = []

    def first(law: Any) -> Any:
        laws.append(law)
        return draw(law)

    value = mechanism.release(ask, first)
    if len(laws) == 1 and isinstance(laws[0], Placed) and np.ndim(laws[0].location) == 0 and isinstance(value, Real):
        return np.asarray(mechanism.release(ask, lambda law: draw(replace(law, location=np.full(repeats, law.location, np.int64)))))
    return [value, *(mechanism.release(ask, draw) for _ in range(repeats - 1))]


def ladder(findings: Mapping[str, Any], *, title: str = "Claimed, and found by the auditor") -> Picture:
    """One rung per name for what `audit`, `one_run` or `certify` found: the claimed epsilon is a tick, the measured one a bar."""
    rungs = {str(name): _rung(name, found) for name, found in findings.items()}
    claimed, measured = ([pair[k] for pair in rungs.values()] for k in (0, 1))
    return drawn(list(rungs), claimed, measured, title=title)


def _rung(name: object, found: Any) -> tuple[float, float]:
    """The claim, and the epsilon that is needed: at least, where it was sampled; exactly, where it was integrated."""
    measured = getattr(found, "epsilon_lower", None)
    measured = getattr(found, "epsilon", None) if measured is None else measured
    try:
        return float(found.claimed[0]), float(measured)  # type: ignore[arg-type]
    except (AttributeError, TypeError, IndexError):
        raise QueryError("SRD-105", f"{name!r} is not the result of an audit.", "Give what audit or certify returned.") from None
