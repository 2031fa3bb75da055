"""ORDER BY, LIMIT and names of group columns: how released rows are shown. Post-processing, kept beside the question and not part of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sordino.summaries import Refused

__all__ = ["Arrangement", "Order"]


@dataclass(frozen=True)
class Order:
    """One key to sort by: a group column or an answer, by its name in the release."""

    name: str
    falling: bool = False
    nulls_first: bool = False


@dataclass(frozen=True)
class Arrangement:
    """`names` are group columns shown under another name; rows are sorted by `order`, ties in key order, and cut after `limit`."""

    names: tuple[tuple[str, str], ...] = ()
    order: tuple[Order, ...] = ()
    limit: int | None = None

    def rows(self, columns: Mapping[str, Sequence[Any]], size: int) -> list[int]:
        """The places of the rows to show, in the order to show them."""
        places = list(range(size))
        for key in reversed([key for key in self.order if key.name in columns]):
            cells = columns[key.name]
            known = [place for place in places if _comparable(cells[place])]
            missing = [place for place in places if not _comparable(cells[place])]
            known.sort(key=lambda place, cells=cells: cells[place], reverse=key.falling)  # type: ignore[misc]
            places = [*missing, *known] if key.nulls_first else [*known, *missing]
        return places if self.limit is None else places[: self.limit]

    def shown(self, name: str) -> str:
        return dict(self.names).get(name, name)


def _comparable(cell: Any) -> bool:
    """Null, a refusal and a number that is none have no place in an order."""
    return cell is not None and not isinstance(cell, Refused) and not (isinstance(cell, float) and math.isnan(cell))
