"""Every summary of a frame at once, for tests that compare two engines on tables of their own."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from sordino.lab.engine_check import items
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.summaries.totals import Clipped, Middles, Ranks, Totals


def everything(engine: Any, frame: Frame, salt: int = 12345) -> Any:
    """Every summary of a frame, as plain values that compare."""
    with engine.bounded(frame, salt) as bounded:
        totals = bounded.ask(Totals(items(frame)))
        found = [(item, [int(value) for value in values]) for item, values in totals.values.items()]
        ranks = []
        for column in frame.columns:
            for windows in bounded.ask(Ranks(column.name, (Fraction(0), Fraction(1, 2), Fraction(9, 10), Fraction(1)), 2)):
                ranks.append([(window.values.tolist(), window.first, window.n) for window in windows])
                assert all(window.values.dtype == np.int64 for window in windows)
        return totals.keys, found, ranks, [cut(bounded, frame, column, totals.keys) for column in frame.columns]


def cut(bounded: Any, frame: Frame, column: Column, keys: tuple[Any, ...]) -> Any:
    """The middle rows and the clipped totals of a column, with other numbers and limits in every group, as plain values."""
    width, named = column.grid().width, keys if frame.by else None
    limits = tuple((i * width // 7 % (width + 1), max(i * width // 7 % (width + 1), width - i * width // 9)) for i in range(len(keys)))
    clipped = bounded.ask(Clipped(column.name, limits, named))
    found = [[int(value) for value in values] for values in clipped.values.values()]
    middles = bounded.ask(Middles(column.name, tuple(1 + 3 * i for i in range(len(keys))), 2, named))
    return clipped.keys, found, [(m.total, m.lower.tolist(), m.upper.tolist(), m.kept, m.n) for m in middles]
