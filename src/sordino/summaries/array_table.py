"""Bounded rows in arrays, which answer every request as an engine would: rehearsals, simulations, fits and small worlds ask here.

Products and gradients of whole coordinates held in an array: the reference every engine must equal.

Theorem. Every sum below is exact, and what one row adds to it depends on that row alone.
Proof. Products of two coordinates are whole numbers of at most 40 bits, so sums of 4,096 of them fit the 53 bits of a double in any order
and grouping; longer sums, and those of contributions, are added as integers. A predictor is bounded by LARGEST ONE < 2^52 and as exact.
What follows from it row by row uses correctly rounded operations and the table of the link, which do not look at other rows. QED
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.summaries.marginal import Crossed, Marginals
from sordino.summaries.moment import (
    FINE,
    GRAIN,
    LINK,
    ONE,
    Gradient,
    Gram,
    Lengths,
    Outer,
    Products,
    Sizes,
    Slope,
    bent,
    classed,
    link,
    steep,
)
from sordino.summaries.records import Records, of_coordinates
from sordino.summaries.request import Hidden, KeyWeights, Tally, rank_window
from sordino.summaries.totals import Clipped, GroupTotals, Item, Middles, Ranks, Rows, Sorted, Totals, exact_sum, middle

__all__ = ["ArrayColumn", "ArrayTable", "Asked", "answer", "direction", "lengths", "outer", "products", "quantised"]

Asked = Gram | Gradient | Lengths | Outer  # what rows of coordinates answer

Floats = NDArray[np.float64]
CHUNK = 4096


def quantised(values: Floats, low: Floats | float, high: Floats | float) -> Floats:
    """Numbers clamped to public bounds, as whole coordinates from -ONE to ONE; NaN stays NaN."""
    share = (np.clip(values, low, high) - low) / (high - low)
    return np.asarray(np.clip(np.floor(share * (2 * ONE)) - ONE, -ONE, ONE))


def answer(rows: Floats, request: Asked) -> Products | Slope | Sizes:
    """What an engine without groups would answer: rows are the constant ONE, the terms in order, the target. Rows with NaN drop out."""
    whole = rows[~np.isnan(rows).any(axis=1)]
    if isinstance(request, Gram):
        return Products(((),), products(whole[:, : len(request.terms)])[None])
    if isinstance(request, Lengths):
        return Sizes(((),), lengths(whole[:, :-1], whole[:, -1], request)[None])
    if isinstance(request, Outer):
        return Products(((),), outer(whole[:, :-1], whole[:, -1], request)[None])
    vector, cells = direction(whole[:, :-1], whole[:, -1], request)
    return Slope(((),), vector[None], cells[None])


def products(rows: Floats) -> NDArray[np.object_]:
    """The matrix of sums of products of whole coordinates, as Python integers."""
    width = rows.shape[1]
    total = np.zeros((width, width), object)
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK]
        total += (part.T @ part).astype(np.int64).astype(object)
    return total


def direction(rows: Floats, target: Floats, request: Gradient) -> tuple[NDArray[np.object_], NDArray[np.object_]]:
    """The summed direction of row units, and their residuals by octave."""
    theta = np.array(request.theta, float)
    total, cells = np.zeros(len(theta), object), np.zeros(request.octaves + 1 if request.octaves else 0, object)
    for start in range(0, len(rows), CHUNK):
        x, y = rows[start : start + CHUNK], target[start : start + CHUNK]
        if request.loss == "softmax":
            total += _classes(x, y, request)
            continue
        weight, residual = _weight(x @ theta, y, request.loss)
        weight = bent(weight, request.psi) if request.loss == "psi" else weight
        weight = np.clip(weight, -request.clip, request.clip) if request.loss == "huber" else weight
        if request.cap is not None:
            weight = np.trunc(weight * _share(_length(x), request.cap))
        if request.norm is not None:
            weight = _shrunk(x, weight, request)
        total += (weight.astype(np.int64) @ x.astype(np.int64)).astype(object)
        if request.octaves:
            cells += np.bincount(_octave(residual, request.octaves), minlength=len(cells)).astype(object)
    return total, cells


def lengths(rows: Floats, target: Floats, request: Lengths) -> NDArray[np.object_]:
    """How many rows have a vector of each length."""
    size = _length(rows)
    if request.theta is not None:
        _, residual = _weight(rows @ np.array(request.theta, float), target, "huber")
        size = size * (np.abs(residual) / ONE)
    return np.bincount(np.searchsorted(np.array(request.edges, float), size), minlength=len(request.edges) + 1).astype(object)


def outer(rows: Floats, target: Floats, request: Outer) -> NDArray[np.object_]:
    """The matrix of sums of products of the rows' vectors, as Python integers."""
    size = _length(rows)
    factor = np.ones(len(rows)) if request.cap is None else _share(size, request.cap)
    if request.loss == "softmax" and request.of == "residual":
        return _class_outer(rows, target, request, size, factor)
    if request.of == "curvature":
        chance = link(_point(rows @ np.array(request.theta, float)))
        factor = factor * (np.sqrt(chance * (ONE - chance)) / ONE)
    elif request.of == "residual":
        weight = _weight(rows @ np.array(request.theta, float), target, request.loss)[0]
        factor = factor * ((bent(weight, request.psi) if request.loss == "psi" else weight) / ONE)
    elif request.of in ("rising", "falling"):
        residual = _weight(rows @ np.array(request.theta, float), target, "huber")[0]
        factor = factor * sum(
            (np.where((residual >= a) & (residual < b), root, 0.0) for a, b, root in steep(request.psi, rising=request.of == "rising")),
            np.zeros(len(rows)),
        )
    scale = factor * (GRAIN / request.norm)
    scale = scale * np.minimum(1.0, GRAIN / np.maximum(size * np.abs(scale), 1.0))
    return products(np.trunc(rows * scale[:, None]))


def _predictors(x: Floats, request: Gradient | Outer) -> Floats:
    return np.asarray(x @ np.reshape(np.array(request.theta, float), (-1, x.shape[1])).T)


def _classes(x: Floats, y: Floats, request: Gradient) -> NDArray[np.object_]:
    """What these rows add to every class's sums."""
    weight = classed(_predictors(x, request), y)
    size = _length(x)
    if request.cap is not None:
        weight = np.trunc(weight * _share(size, request.cap)[:, None])
    if request.norm is not None:
        long = size * _length(weight)
        weight = np.trunc(weight * np.minimum(1.0, request.norm * float(ONE) / np.maximum(long, 1.0))[:, None])
    return (weight.T.astype(np.int64) @ x.astype(np.int64)).ravel().astype(object)


def _class_outer(x: Floats, y: Floats, request: Outer, size: Floats, factor: Floats) -> NDArray[np.object_]:
    weight = classed(_predictors(x, request), y)
    factor = factor * (GRAIN / request.norm)
    long = size * (_length(weight) / ONE)
    factor = factor * np.minimum(1.0, GRAIN / np.maximum(long * factor, 1.0))
    held = (weight / ONE) * factor[:, None]
    return products(np.trunc((held[:, :, None] * x[:, None, :]).reshape(len(x), request.size)))


def _length(rows: Floats) -> Floats:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)))  # the root of a sum of whole numbers below 2^53


def _share(size: Floats, cap: int) -> Floats:
    return np.asarray(np.minimum(1.0, cap / np.maximum(size, 1.0)))


def _point(predictor: Floats) -> Floats:
    return np.asarray(np.clip(np.floor(predictor * (LINK / (ONE * FINE)) + 0.5), -16 * LINK, 16 * LINK))


def _weight(predictor: Floats, y: Floats, loss: str) -> tuple[Floats, Floats]:
    if loss == "logistic":
        weight = y - link(_point(predictor))
        return weight, weight
    residual = np.floor((y * FINE - predictor) / FINE)
    return residual, residual


def _shrunk(x: Floats, weight: Floats, request: Gradient) -> Floats:
    """|w| at most norm ONE / |x|, a whole number: towards zero, so the contribution never exceeds the norm."""
    assert request.norm is not None
    size = _length(x) if request.order == 2 else np.abs(x).sum(axis=1)
    most = np.floor(request.norm * float(ONE) / np.maximum(size, 1.0))
    return np.clip(weight, -most, most)


def _octave(residual: Floats, octaves: int) -> NDArray[np.intp]:
    edges = ONE * 2.0 ** np.arange(-octaves, 1)
    return np.asarray(np.minimum(np.searchsorted(edges, np.abs(residual)), octaves))


Integers = NDArray[np.int64]
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
