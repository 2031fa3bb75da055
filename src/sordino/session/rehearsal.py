"""A table of no rows: what a conversation is rehearsed with before anything is charged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.schema.frame import Frame
from sordino.summaries.moment import Gradient, Gram, Lengths, Outer, Products, Sizes, Slope
from sordino.summaries.totals import Clipped, GroupTotals, Middles, Ranks, Rows, Sorted, Totals, middle, rank_window

__all__ = ["Nobody"]


@dataclass(frozen=True)
class Nobody:
    """Answers every request as an engine would if nobody were there: no group occurs, and one window stands for all of them."""

    frame: Frame
    heard: list[Any] = field(default_factory=list, compare=False, repr=False)  # every request, in order

    def ask(self, request: Any) -> Any:
        self.heard.append(request)
        if isinstance(request, Totals):
            groups = () if self.frame.by else ((),)
            return GroupTotals(groups, {item: np.zeros(len(groups), np.int64) for item in request.items})
        if isinstance(request, Clipped):
            keys = request.keys if request.keys is not None else ((),)
            return GroupTotals(keys, {item: np.zeros(len(keys), np.int64) for item in request.items})
        if isinstance(request, Ranks | Middles):
            width = next(column for column in self.frame.columns if column.name == request.column).grid().width
            nothing = np.empty(0, np.int64)
            if isinstance(request, Middles):
                return iter([middle(nothing, kept, request.radius, width) for kept in request.kept])
            return iter([tuple(rank_window(nothing, q, request.radius, 0, width) for q in request.q)])
        if isinstance(request, Rows):
            return iter([Sorted(np.empty(0, np.int64), 0)])
        if isinstance(request, Gram | Gradient | Lengths | Outer):
            groups, size = (() if self.frame.by else ((),)), request.size if isinstance(request, Gradient | Outer) else len(request.terms)
            if isinstance(request, Lengths):
                return Sizes(groups, np.zeros((len(groups), len(request.edges) + 1), object))
            if isinstance(request, Gram | Outer):
                return Products(groups, np.zeros((len(groups), size, size), object))
            cells = request.octaves + 1 if request.octaves else 0
            return Slope(groups, np.zeros((len(groups), size), object), np.zeros((len(groups), cells), object))
        raise QueryError("SRD-106", f"an engine does not answer {type(request).__name__}.", "Ask for another statistic.")
