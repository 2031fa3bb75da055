"""Totals of a column moved into limits of each group's own: limits that were drawn, so that the request says nothing new."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sordino.summaries.request import Request
from sordino.summaries.totals import GroupTotals, Item

__all__ = ["Clipped"]


@dataclass(frozen=True)
class Clipped(Request[GroupTotals]):
    """Ask for the rows of a column, the sum of min(max(x, low), high) and how many were moved, one pair of limits (low, high) per group.

    Limits are grid integers; nulls drop out. `keys` names the groups the limits belong to, None when there are none. The answer is a
    GroupTotals of exactly these groups with the three `items`.
    """

    column: str
    limits: tuple[tuple[int, int], ...]
    keys: tuple[tuple[Any, ...], ...] | None = None

    @property
    def items(self) -> tuple[Item, Item, Item]:
        return Item("rows", self.column), Item("sum", self.column), Item("moved", self.column)
