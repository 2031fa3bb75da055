"""Model selection fits one estimator again and again: each fit is a release of its own, so a search is refused with its price."""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import Any

from sordino.errors import QueryError
from sordino.privacy.number import shown

__all__ = ["Allowance", "admit"]

ROOM = "sklearn.model_selection"


class Allowance:
    """How many fits by a search are still agreed to, shared by an estimator and its clones within one process."""

    def __init__(self, left: int) -> None:
        self._left, self._lock = left, threading.Lock()

    def take(self) -> bool:
        with self._lock:
            self._left -= 1
            return self._left >= 0

    def __deepcopy__(self, memo: Any) -> Allowance:
        return self

    def __reduce__(self) -> Any:
        return Allowance, (0,)  # another process would count for itself


def admit(estimator: Any) -> None:
    """Refuse a fit that scikit-learn's model selection asks for, unless `fits=` agreed to it. Looks at the call, never at the data."""
    searching, fits = _search()
    if not searching:
        return
    agreed = estimator.fits
    if agreed is None or isinstance(agreed, bool) or not isinstance(agreed, int) or agreed < 1:
        many = "many times" if fits is None else f"{fits} times"
        price = f"each fit costs epsilon {shown(estimator.epsilon)}, delta {shown(estimator.delta)}"
        total = "" if fits is None or not isinstance(estimator.epsilon, int | float) else f", {fits * estimator.epsilon:g} in all"
        what = f"a search would fit this estimator {many}; {price}{total}, and its scores on held-out rows are not private at all."
        fix = "Choose parameters from public facts or on public data; or give fits=, the number of fits you agree to pay for."
        raise QueryError("SRD-103", what, fix, fits=fits)
    allowance: Allowance = estimator.__dict__.setdefault("_allowance", Allowance(agreed))
    if not allowance.take():
        what = f"the {agreed} fits that were agreed to are used up."
        raise QueryError("SRD-103", what, "Give fits= a larger number; fits are counted in one process, so use n_jobs=1.")


def _search() -> tuple[bool, int | None]:
    """Whether model selection is among the callers, and how many fits it is up to where it says so."""
    frame: FrameType | None = sys._getframe(1)
    found = False
    while frame is not None:
        if str(frame.f_globals.get("__name__", "")).startswith(ROOM):
            found = True
            counts = [frame.f_locals.get(name) for name in ("n_candidates", "n_splits")]
            if all(isinstance(count, int) for count in counts):
                return True, counts[0] * counts[1] + 1  # type: ignore[operator]
        frame = frame.f_back
    return found, None
