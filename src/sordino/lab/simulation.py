"""Many releases of one mechanism on the same data: for owners, benches and audits. NOT PRIVATE, whatever the mechanism."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.noise import draw
from sordino.privacy.law import Placed
from sordino.session.own import owned
from sordino.summaries import Ask, Refused

__all__ = ["outcomes", "simulate"]


def simulate(mechanism: Any, data: Any, *, repeats: int = 10_000, **options: Any) -> NDArray[Any] | dict[Hashable, NDArray[np.float64]]:
    """NOT PRIVATE: that many independent releases on data you own, no ledger, no card.

    Numbers come back as one array with nan for "refused", histograms as one array per key with nan where the key was not shown,
    anything else as an array of objects. The data are summarised once.
    """
    values = outcomes(mechanism, data, repeats=repeats, **options)
    if isinstance(values, np.ndarray):
        return values
    if all(isinstance(value, dict) for value in values):
        keys = dict.fromkeys(key for value in values for key in value)
        return {key: np.array([value.get(key, math.nan) for value in values], float) for key in keys}
    if all(isinstance(value, int) for value in values):
        return np.array(values, np.int64)
    if all(isinstance(value, Refused | Real) or hasattr(value, "__float__") for value in values):
        return np.array([math.nan if isinstance(value, Refused) else float(value) for value in values])
    out = np.empty(len(values), object)
    out[:] = values
    return out


def outcomes(mechanism: Any, data: Any, *, repeats: int = 10_000, **options: Any) -> NDArray[Any] | list[Any]:
    """NOT PRIVATE: the values themselves, exactly as they would be released, one per repeat."""
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise QueryError("SRD-103", f"repeats is {repeats!r}.", "Give a whole number of at least 1.")
    ask = _once(owned(mechanism, data, **options))
    laws: list[Any] = []

    def first(law: Any) -> Any:
        laws.append(law)
        return draw(law)

    value = mechanism.release(ask, first)
    if len(laws) == 1 and isinstance(laws[0], Placed) and np.ndim(laws[0].location) == 0 and isinstance(value, Real):
        return np.asarray(mechanism.release(ask, lambda law: draw(replace(law, location=np.full(repeats, law.location, np.int64)))))
    return [value, *(mechanism.release(ask, draw) for _ in range(repeats - 1))]


def _once(ask: Ask) -> Ask:
    """The same answers, each computed at the first request only."""
    known: dict[Any, Any] = {}

    def answer(request: Any) -> Any:
        if request not in known:
            known[request] = ask(request)
        return known[request]

    return answer
