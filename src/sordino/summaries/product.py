"""Products and gradients of whole coordinates held in an array: the reference every engine must equal.

Theorem. Every sum below is exact, and what one row adds to it depends on that row alone.
Proof. Products of two coordinates are whole numbers of at most 40 bits, so sums of 4,096 of them fit the 53 bits of a double in any order
and grouping; longer sums, and those of contributions, are added as integers. A predictor is bounded by LARGEST ONE < 2^52 and as exact.
What follows from it row by row uses correctly rounded operations and the table of the link, which do not look at other rows. QED
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

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

__all__ = ["Asked", "answer", "direction", "lengths", "outer", "products", "quantised"]

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
