"""Rows an estimator was given, as an engine: opened after the charge, asked for sums and middle values, and forgotten."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.models.box import Box, as_numbers
from sordino.models.pair import LeftOver, Pairs, left_over, slopes
from sordino.schema.frame import Frame
from sordino.summaries.moment import ONE
from sordino.summaries.product import Asked, answer, quantised

__all__ = ["Bounded", "Rows"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class Rows:
    """Features and target behind the engine's port. Nothing of them is touched before `bounded`.

    Values are clamped to the public bounds; a row with a value that is no number, or with a label that is no class, drops out.
    """

    features: Any
    target: Any
    box: Box
    limits: Box | None = None  # of a number target
    classes: tuple[Any, ...] | None = None  # of a label

    def header(self) -> tuple[str, ...]:
        return (*(f"x{i}" for i in range(1, len(self.box.low) + 1)), "y")

    def check(self, frame: Frame) -> None:
        return

    def close(self) -> None:
        return

    @contextlib.contextmanager
    def bounded(self, frame: Frame, salt: int) -> Iterator[Bounded]:
        yield Bounded(self._coordinates(), salt)

    def _coordinates(self) -> Floats:
        x = quantised(as_numbers(self.features), np.array(self.box.low), np.array(self.box.high))
        return np.column_stack([np.full(len(x), float(ONE)), x, self._target()])

    def _target(self) -> Floats:
        if self.classes is None:
            assert self.limits is not None
            return quantised(as_numbers(self.target), self.limits.low[0], self.limits.high[0])
        given = np.asarray(self.target, object)
        marks = [_same(given, label) for label in self.classes]
        many = len(marks)
        places = (0.0, float(ONE)) if many == 2 else [float((2 * k + 1) * ONE // many - ONE) for k in range(many)]
        out = np.full(len(given), np.nan)
        for mark, place in zip(reversed(marks), reversed(places), strict=True):
            out = np.where(mark, place, out)
        return out


def _same(given: NDArray[np.object_], label: Any) -> NDArray[np.bool_]:
    """Which labels are this class; a value that refuses to be compared is not."""

    def equal(value: Any) -> bool:
        try:
            return bool(value == label)
        except Exception:
            return False

    return np.array([equal(value) for value in given.tolist()], bool)


@dataclass(frozen=True, eq=False, repr=False)
class Bounded:
    """Whole coordinates: the constant, the features, the target."""

    rows: Floats
    salt: int

    def ask(self, request: Any) -> Any:
        if isinstance(request, Asked):
            return answer(self.rows, request)
        if isinstance(request, Pairs | LeftOver):
            whole = self.rows[~np.isnan(self.rows).any(axis=1)]
            x, y = whole[:, 1], whole[:, -1]
            return slopes(x, y, request, self.salt) if isinstance(request, Pairs) else left_over(x, y, request)
        raise QueryError("SRD-106", f"rows in memory do not answer {type(request).__name__}.", "Ask for sums or slopes.")
