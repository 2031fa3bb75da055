"""A table of no rows: what a conversation is rehearsed with before anything is charged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.schema.frame import Frame
from sordino.summaries.totals import GroupTotals, Ranks, Totals
from sordino.summaries.window import rank_window

__all__ = ["Nobody"]


@dataclass(frozen=True)
class Nobody:
    """Answers every request as an engine would if nobody were there: no group occurs, and one window stands for all of them."""

    frame: Frame

    def ask(self, request: Any) -> Any:
        if isinstance(request, Totals):
            groups = () if self.frame.by else ((),)
            return GroupTotals(groups, {item: np.zeros(len(groups), np.int64) for item in request.items})
        if isinstance(request, Ranks):
            width = next(column for column in self.frame.columns if column.name == request.column).grid().width
            nothing = np.empty(0, np.int64)
            return iter([tuple(rank_window(nothing, q, request.radius, 0, width) for q in request.q)])
        raise QueryError("SRD-106", f"an engine does not answer {type(request).__name__}.", "Ask for another statistic.")
