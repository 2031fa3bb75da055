"""Bounded rows in arrays, which answer every request as an engine would: rehearsals, simulations, fits and small worlds ask here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.summaries.marginal import Crossed, Marginals
from sordino.summaries.moment import Gradient, Gram, Lengths, Outer, Products, Sizes, Slope
from sordino.summaries.product import answer
from sordino.summaries.records import Records, of_coordinates
from sordino.summaries.request import Hidden, KeyWeights, Tally
from sordino.summaries.totals import Clipped, GroupTotals, Item, Middles, Ranks, Rows, Sorted, Totals, exact_sum, middle, rank_window

__all__ = ["ArrayColumn", "ArrayTable"]

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Key = tuple[Any, ...]
COARSE = 20  # bits of a number that is squared
NOTHING = np.empty(0, np.int64)


@dataclass(frozen=True, repr=False)
class ArrayColumn(Hidden):
    """Whole grid steps above the lower bound without nulls: in rising order, one array per group of the table; `width` is the last step."""

    width: int
    values: tuple[Integers, ...] = ()

    @classmethod
    def of(cls, width: int, groups: Iterable[Any]) -> ArrayColumn:
        """From the values of each group in any order."""
        return cls(width, tuple(np.sort(np.asarray(values, np.int64)) for values in groups))

    def total(self, what: str, place: int) -> int:
        x = self.values[place]
        if what == "rows":
            return len(x)
        if what == "sum":
            return exact_sum(x)
        coarse = x >> max(0, self.width.bit_length() - COARSE)
        return exact_sum(coarse if what == "coarse" else coarse * coarse)


@dataclass(frozen=True, repr=False, eq=False)
class ArrayTable(Hidden):
    """Groups by key; of each its columns, and how often each other item is there ("rows", "units", "counted"), in the order of the keys.

    `coordinates` are the rows of a regression, one array per group: the constant, the terms, the target. Nothing
    has to be given that is not asked for. A group that is asked for and is not there has no rows.
    """

    keys: tuple[Key, ...] = ((),)
    columns: Mapping[str, ArrayColumn] = field(default_factory=dict)
    counts: Mapping[Item, Sequence[int]] = field(default_factory=dict)
    coordinates: tuple[Floats, ...] = ()

    def ask(self, request: Any) -> Any:
        match request:
            case Totals():
                return GroupTotals(self.keys, {item: self._total(item) for item in request.items})
            case Clipped():
                return self._clipped(request)
            case Ranks():
                width = self.columns[request.column].width
                return self._each(request, lambda x, _: tuple(rank_window(x, q, request.radius, 0, width) for q in request.q))
            case Middles():
                width = self.columns[request.column].width
                return self._each(request, lambda x, place: middle(x, request.kept[place], request.radius, width))
            case Rows():
                return self._each(request, lambda x, _: Sorted(x[: request.most], min(len(x), request.most)))
            case Gram() | Gradient() | Lengths() | Outer():
                return self._sums(request)
            case Records() if len(self.coordinates) == 1:
                return of_coordinates(self.coordinates[0])
            case KeyWeights() if self._nobody:
                return Tally((), NOTHING)
            case Marginals() if self._nobody:
                return Crossed(tuple(np.zeros(request.shape(chosen), np.int64) for chosen in request.sets))
        raise QueryError("SRD-106", f"rows in memory do not answer {type(request).__name__}.", "Ask for another statistic.")

    @property
    def _nobody(self) -> bool:
        return not any(len(x) for column in self.columns.values() for x in column.values) and not any(map(len, self.coordinates))

    def _total(self, item: Item) -> NDArray[np.object_]:
        if item.what in ("units", "counted", "people") or item.column is None:
            return np.array(self.counts[item] if self.keys else (), object)
        column = self.columns[item.column]
        return np.array([column.total(item.what, place) for place in range(len(self.keys))], object)

    def _values(self, column: str, keys: Iterable[Key] | None) -> Iterator[Integers]:
        held = self.columns[column].values
        if keys is None:
            return iter(held)
        places = {key: place for place, key in enumerate(self.keys)}
        return (held[places[key]] if key in places else NOTHING for key in keys)

    def _each(self, request: Ranks | Middles | Rows, of: Callable[[Integers, int], Any]) -> Iterator[Any]:
        return (of(x, place) for place, x in enumerate(self._values(request.column, request.keys)))

    def _clipped(self, request: Clipped) -> GroupTotals:
        keys = self.keys if request.keys is None else request.keys
        found = []
        for x, (low, high) in zip(self._values(request.column, request.keys), request.limits, strict=True):
            first, last = np.searchsorted(x, low, "left"), np.searchsorted(x, high, "right")
            moved = int(first) + len(x) - int(last)
            found.append((len(x), exact_sum(x[first:last]) + int(first) * low + (len(x) - int(last)) * high, moved))
        cells = zip(*found, strict=True) if found else ((), (), ())
        return GroupTotals(keys, {item: np.array(values, object) for item, values in zip(request.items, cells, strict=True)})

    def _sums(self, request: Gram | Gradient | Lengths | Outer) -> Products | Slope | Sizes:
        found: list[Any] = [answer(rows, request) for rows in self.coordinates]
        if isinstance(request, Gradient):
            octaves = _stacked(found, "octaves", (request.octaves + 1 if request.octaves else 0,))
            return Slope(self.keys, _stacked(found, "values", (request.size,)), octaves)
        if isinstance(request, Lengths):
            return Sizes(self.keys, _stacked(found, "values", (len(request.edges) + 1,)))
        size = request.size if isinstance(request, Outer) else len(request.terms)
        return Products(self.keys, _stacked(found, "values", (size, size)))


def _stacked(found: Sequence[Any], name: str, shape: tuple[int, ...]) -> NDArray[np.object_]:
    """One array with a place for each group, also if there is none."""
    return np.concatenate([np.zeros((0, *shape), object), *(getattr(one, name) for one in found)])
