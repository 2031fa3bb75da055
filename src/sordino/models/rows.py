"""Rows an estimator was given, as an engine: opened after the charge, asked for sums and middle values, and forgotten.

Slopes of pairs of rows: what Theil and Sen's estimator asks of a table.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from hashlib import shake_256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.models.box import Box, as_numbers
from sordino.schema.frame import Frame
from sordino.summaries.array_table import ArrayTable, quantised
from sordino.summaries.moment import ONE
from sordino.summaries.request import Request, Window, rank_window

__all__ = ["FARTHEST", "STEP", "BoundedRows", "LeftOver", "ModelRows", "Pairs", "left_over", "ring", "slopes"]

STEP = 2**20  # slopes and left-overs are whole multiples of 1/STEP
FARTHEST = 4 * STEP  # a line that stays inside the box of the bounds has slope 1 at most
HALF = Fraction(1, 2)
Words = NDArray[np.uint64]


@dataclass(frozen=True)
class Pairs(Request[Window]):
    r"""Ask for the middle slopes (y_i - y_j)/(x_i - x_j) of neighbours in this many rings of all rows; the answer is a Window.

    A ring orders the rows by a hash of the release's salt, the ring's number, the row's content and how many equal rows came before it.

    Theorem. For every salt, whoever knows it: a row that joins takes at most one slope out of each ring and puts at most two in; a row
    that is replaced takes out at most three and puts in as many.
    Proof. Equal rows are interchangeable, so a row more is one pair (content, how many before it) more, the others unchanged. Pairs are in
    a total order of their own: by hash, and by themselves where hashes are equal. So the new one is put into one gap of the ring, whose
    slope gives way to two. A lonely row has no slope, and two rows have theirs twice. A slope without a direction, x_i = x_j, is 0, so
    every neighbour counts. A replacement is a removal, two out and one in, and an addition. QED
    So #{slopes < s} less half of all slopes moves by at most 3/2 per ring when a row joins or leaves, and by 3 when one is replaced, while
    n slopes are there to outweigh it; a matching of the rows has n/2 slopes and moves by 1. The hash has to mix well, nothing more.
    """

    rings: int
    radius: int


@dataclass(frozen=True)
class LeftOver(Request[Window]):
    """Ask for the middle values of y - slope x, slope a drawn multiple of 1/STEP; the answer is a Window."""

    slope: int
    radius: int


def _mixed(words: Words) -> Words:
    """A one-to-one scramble of 64 bits: every bit of the result depends on every bit that went in."""
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray(words ^ (words >> np.uint64(31)))


def ring(x: NDArray[np.float64], y: NDArray[np.float64], salt: int, turn: int) -> NDArray[np.int64]:
    """The slopes of one ring; x and y are whole coordinates."""
    if len(x) < 2:
        return np.empty(0, np.int64)
    told = np.lexsort((y, x))
    x, y = x[told], y[told]
    first = np.append(True, (np.diff(x) != 0) | (np.diff(y) != 0))
    before = np.arange(len(x)) - np.maximum.accumulate(np.where(first, np.arange(len(x)), 0))
    marks = np.frombuffer(shake_256(f"{salt}:{turn}".encode()).digest(8), np.uint64)
    for part in (x, y, before):
        marks = _mixed(marks + part.astype(np.int64).view(np.uint64))
    order = np.argsort(marks, kind="stable")  # equal marks: by content, as the rows stand
    after = np.roll(order, 1)
    run, rise = x[order] - x[after], y[order] - y[after]
    steep = np.where(run == 0, 0.0, rise / np.where(run == 0, 1.0, run))
    return np.asarray(np.floor(np.clip(steep * STEP, -FARTHEST, FARTHEST)), np.int64)


def slopes(x: NDArray[np.float64], y: NDArray[np.float64], request: Pairs, salt: int) -> Window:
    found = [ring(x, y, salt, turn) for turn in range(request.rings)]
    return rank_window(np.sort(np.concatenate(found)), HALF, request.radius, -FARTHEST, FARTHEST)


def left_over(x: NDArray[np.float64], y: NDArray[np.float64], request: LeftOver) -> Window:
    """y and x are whole coordinates, and so is slope x / STEP up to rounding."""
    values = np.sort(np.floor(np.clip(y - request.slope * (x / STEP), -FARTHEST, FARTHEST)).astype(np.int64))
    return rank_window(values, HALF, request.radius, -FARTHEST, FARTHEST)


Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class ModelRows:
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
    def bounded(self, frame: Frame, salt: int) -> Iterator[BoundedRows]:
        yield BoundedRows(self._coordinates(), salt)

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
class BoundedRows:
    """Whole coordinates: the constant, the features, the target."""

    rows: Floats
    salt: int

    def ask(self, request: Any) -> Any:
        if not isinstance(request, Pairs | LeftOver):
            return ArrayTable(coordinates=(self.rows,)).ask(request)
        whole = self.rows[~np.isnan(self.rows).any(axis=1)]
        x, y = whole[:, 1], whole[:, -1]
        return slopes(x, y, request, self.salt) if isinstance(request, Pairs) else left_over(x, y, request)
