"""Products and gradients by their definitions, in plain Python integers and fractions: the oracle of `summaries.moment`."""

from __future__ import annotations

import math
from collections import defaultdict
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from sordino.schema.column import coarse_shift
from sordino.schema.frame import Frame
from sordino.summaries.moment import COARSE, FINE, GRAIN, LINK, ONE, Gradient, Gram, Lengths, MomentTerm, Outer, Products, Sizes, Slope

__all__ = ["naive_moment"]


def coordinate(frame: Frame, term: MomentTerm, row: Any) -> int | None:
    if term.cells:
        place = next((k for k, index in enumerate(term.cells) if row[3][index]), 0)
        return (2 * place + 1) * ONE // len(term.cells) - ONE
    if term.index is not None:
        return ONE if row[3][term.index] else 0
    if term.column is None:
        return ONE
    at = [column.name for column in frame.columns].index(term.column)
    grid, value = frame.columns[at].grid(), row[2][at]
    if value is None:
        return None
    shift, whole = coarse_shift(grid), int(value)
    return (whole >> shift) * 2 * ONE // (grid.width >> shift) - ONE


def coarse(frame: Frame, term: MomentTerm, row: Any) -> tuple[Any, int]:
    """A coordinate of a product, and what stands for 1 in it."""
    if term.column is None:
        return (1 if term.index is None else int(row[3][term.index])), 1
    at = [column.name for column in frame.columns].index(term.column)
    grid, value = frame.columns[at].grid(), row[2][at]
    shift = max(0, grid.width.bit_length() - COARSE)
    return None if value is None else 2 * (value >> shift) - (grid.width >> shift), grid.width >> shift


def product_sums(frame: Frame, request: Gram, rows: list[Any]) -> list[list[int]]:
    made = [[coarse(frame, term, row) for term in request.terms] for row in rows if all(row[3][i] for i in request.required)]
    whole = [row for row in made if all(value is not None for value, _ in row)]
    size = range(len(request.terms))
    exact = [[sum((Fraction(r[i][0] * r[j][0], r[i][1] * r[j][1]) for r in whole), Fraction(0)) for j in size] for i in size]
    return [[math.floor(value * ONE**2) for value in line] for line in exact]


def kept(frame: Frame, terms: tuple[MomentTerm, ...], required: tuple[int, ...], rows: list[Any]) -> list[tuple[Any, list[int]]]:
    made = [(row[0], [coordinate(frame, term, row) for term in terms]) for row in rows if all(row[3][i] for i in required)]
    return [(unit, [c for c in x if c is not None]) for unit, x in made if None not in x]


def predicted(theta: tuple[int, ...], x: list[int]) -> int:
    return sum(t * c for t, c in zip(theta, x, strict=True))


def chance(z: int) -> int:
    """The logistic link on the nearest point of its table."""
    point = max(-16 * LINK, min(16 * LINK, math.floor(Fraction(z * LINK, ONE * FINE) + Fraction(1, 2))))
    return math.floor(ONE / (1 + math.exp(-point / LINK)) + 0.5)


def weight(request: Gradient, x: list[int], y: int) -> tuple[int, int]:
    z = predicted(request.theta, x)
    if request.loss == "logistic":
        w, residual = y - chance(z), 0
    elif request.loss == "psi":
        residual = (y * FINE - z) // FINE
        w = polygon(residual, request.psi)
    else:
        residual = (y * FINE - z) // FINE
        w = max(-request.clip, min(request.clip, residual))
    return (w if request.cap is None else math.trunc(w * min(1.0, request.cap / max(1.0, length(x, 2))))), residual


def polygon(r: int, psi: tuple[tuple[int, int], ...]) -> int:
    """The height of a polygon, in whole numbers."""
    out = psi[0][1]
    for (start, low), (stop, high) in pairwise(psi):
        out += (high - low) * max(0, min(stop - start, r - start)) // (stop - start)
    most = max(abs(height) for _, height in psi)
    return max(-most, min(most, out))


def class_weights(theta: tuple[int, ...], x: list[int], y: int) -> list[int]:
    """Each class's w: whether the row is of that class less its chance."""
    many = len(theta) // len(x)
    own = [predicted(theta[k * len(x) : (k + 1) * len(x)], x) for k in range(many)]
    points = [math.floor(Fraction(z * LINK, ONE * FINE) + Fraction(1, 2)) for z in own]
    weights = [math.floor(ONE * math.exp(-min(16 * LINK, max(points) - point) / LINK) + 0.5) for point in points]
    cell = min(many - 1, (y + ONE) * many // (2 * ONE))
    return [(ONE if k == cell else 0) - ONE * weight // sum(weights) for k, weight in enumerate(weights)]


def class_told(frame: Frame, request: Gradient, rows: list[Any]) -> list[int]:
    total = [0] * len(request.theta)
    for _, (*x, y) in kept(frame, (*request.terms, request.target), request.required, rows):
        w = class_weights(request.theta, x, y)
        if request.cap is not None:
            w = [math.trunc(one * min(1.0, request.cap / max(1.0, length(x, 2)))) for one in w]
        if request.norm is not None:
            share = min(1.0, request.norm * ONE / max(1.0, length(x, 2) * length(w, 2)))
            w = [math.trunc(one * share) for one in w]
        total = [held + one for held, one in zip(total, (wk * c for wk in w for c in x), strict=True)]
    return total


def length(vector: list[int], order: int) -> float:
    return math.sqrt(sum(v * v for v in vector)) if order == 2 else sum(map(abs, vector))


def octave(residual: int, octaves: int) -> int:
    return next((j for j in range(octaves) if abs(residual) <= ONE >> (octaves - j)), octaves)


def told(frame: Frame, request: Gradient, rows: list[Any]) -> tuple[list[int], list[int]]:
    if request.loss == "softmax":
        return class_told(frame, request, rows), []
    people: dict[Any, list[tuple[int, list[int]]]] = defaultdict(list)
    cells = [0] * (request.octaves + 1 if request.octaves else 0)
    for place, (unit, (*x, y)) in enumerate(kept(frame, (*request.terms, request.target), request.required, rows)):
        w, residual = weight(request, x, y)
        people[unit if frame.unit_column is not None else place].append((w, x))
        if request.octaves:
            cells[octave(residual, request.octaves)] += 1
    total = [0] * len(request.terms)
    for mine in people.values():
        limits: list[int | None] = [None] * len(mine)
        if request.norm is not None and (frame.unit_column is None or request.each):
            limits = [math.floor(request.norm * ONE / max(1.0, length(x, request.order))) for _, x in mine]
        weights = [w if most is None else max(-most, min(most, w)) for most, (w, _) in zip(limits, mine, strict=True)]
        vector = [sum(w * x[j] for w, (_, x) in zip(weights, mine, strict=True)) for j in range(len(total))]
        if request.norm is not None and frame.unit_column is not None and not request.each:
            share = min(1.0, request.norm * ONE / max(1.0, length(vector, request.order)))
            vector = [math.trunc(v * share) for v in vector]
        total = [a + b for a, b in zip(total, vector, strict=True)]
    return total, cells


def measured(frame: Frame, request: Lengths, rows: list[Any]) -> list[int]:
    cells = [0] * (len(request.edges) + 1)
    for _, (*x, y) in kept(frame, (*request.terms, request.target), request.required, rows):
        size = length(x, 2)
        if request.theta is not None:
            size *= abs((y * FINE - predicted(request.theta, x)) // FINE) / ONE
        cells[next((j for j, edge in enumerate(request.edges) if size <= edge), len(request.edges))] += 1
    return cells


def vector(request: Outer, x: list[int], y: int) -> list[int]:
    z = predicted(request.theta, x) if request.theta and request.loss != "softmax" else 0
    factor = 1.0 if request.cap is None else min(1.0, request.cap / max(1.0, length(x, 2)))
    if request.of == "curvature":
        factor *= math.sqrt(chance(z) * (ONE - chance(z))) / ONE
    elif request.loss == "softmax" and request.of == "residual":
        w = class_weights(request.theta, x, y)
        factor *= GRAIN / request.norm
        factor *= min(1.0, GRAIN / max(1.0, length(x, 2) * (length(w, 2) / ONE) * factor))
        return [math.trunc((wk / ONE) * factor * c) for wk in w for c in x]
    elif request.of in ("rising", "falling"):
        residual, sign = (y * FINE - z) // FINE, 1 if request.of == "rising" else -1
        steps = [(high - low) / (stop - start) for (start, low), (stop, high) in pairwise(request.psi) if start <= residual < stop]
        slopes = [sign * step for step in steps]
        factor *= math.sqrt(max([0.0, *slopes]))
    elif request.of == "residual" and request.loss == "psi":
        factor *= polygon((y * FINE - z) // FINE, request.psi) / ONE
    elif request.of == "residual":
        factor *= (y - chance(z) if request.loss == "logistic" else (y * FINE - z) // FINE) / ONE
    factor *= GRAIN / request.norm
    factor *= min(1.0, GRAIN / max(1.0, length(x, 2) * abs(factor)))
    return [math.trunc(c * factor) for c in x]


def outer_sums(frame: Frame, request: Outer, rows: list[Any]) -> list[list[int]]:
    made = [vector(request, x, y) for _, (*x, y) in kept(frame, (*request.terms, request.target), request.required, rows)]
    size = range(request.size)
    return [[sum(v[i] * v[j] for v in made) for j in size] for i in size]


def naive_moment(frame: Frame, request: Any, keys: tuple[Any, ...], groups: list[list[Any]]) -> Any:
    size = request.size if isinstance(request, Gradient | Outer) else len(request.terms)
    if isinstance(request, Gram | Outer):
        values = np.zeros((len(keys), size, size), object)
        for g, rows in enumerate(groups):
            values[g] = product_sums(frame, request, rows) if isinstance(request, Gram) else outer_sums(frame, request, rows)
        return Products(keys, values)
    if isinstance(request, Lengths):
        return Sizes(keys, np.array([measured(frame, request, rows) for rows in groups], object).reshape(len(keys), len(request.edges) + 1))
    found = [told(frame, request, rows) for rows in groups]
    shapes = (size, request.octaves + 1 if request.octaves else 0)
    return Slope(keys, *(np.array([pair[i] for pair in found], object).reshape(len(keys), n) for i, n in enumerate(shapes)))
