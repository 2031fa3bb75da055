"""Products and gradients of whole coordinates held in an array: the reference every engine must equal.

Theorem. Every sum below is exact, and what one row adds to it depends on that row alone.
Proof. Products of two coordinates are whole numbers of at most 40 bits, so sums of 4,096 of them fit the 53 bits of a double in any order
and grouping; longer sums are added as integers. A predictor is bounded by LARGEST ONE < 2^52 and as exact. What follows from it row by
row uses correctly rounded operations and the table of the link, which do not look at other rows. QED
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sordino.summaries.moment import FINE, LINK, ONE, Gradient, Gram, Products, Slope, link

__all__ = ["answer", "direction", "products", "quantised"]

Floats = NDArray[np.float64]
CHUNK = 4096


def quantised(values: Floats, low: Floats | float, high: Floats | float) -> Floats:
    """Numbers clamped to public bounds, as whole coordinates from -ONE to ONE; NaN stays NaN."""
    share = (np.clip(values, low, high) - low) / (high - low)
    return np.asarray(np.clip(np.floor(share * (2 * ONE)) - ONE, -ONE, ONE))


def answer(rows: Floats, request: Gram | Gradient) -> Products | Slope:
    """What an engine without groups would answer: rows are the constant ONE, the terms in order, the target. Rows with NaN drop out."""
    whole = rows[~np.isnan(rows).any(axis=1)]
    if isinstance(request, Gram):
        return Products(((),), products(whole[:, : len(request.terms)])[None])
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
        weight, residual = _weight(x @ theta, y, request)
        if request.norm is not None:
            weight = _shrunk(x, weight, request)
        total += (weight @ x).astype(np.int64).astype(object)
        if request.octaves:
            cells += np.bincount(_octave(residual, request.octaves), minlength=len(cells)).astype(object)
    return total, cells


def _weight(predictor: Floats, y: Floats, request: Gradient) -> tuple[Floats, Floats]:
    if request.loss == "logistic":
        point = np.clip(np.floor(predictor * (LINK / (ONE * FINE))), -16 * LINK, 16 * LINK)
        weight = y - link(point)
        return weight, weight
    residual = np.floor((y * FINE - predictor) / FINE)
    return np.clip(residual, -request.clip, request.clip), residual


def _shrunk(x: Floats, weight: Floats, request: Gradient) -> Floats:
    """|w| at most norm ONE / |x|, a whole number: towards zero, so the contribution never exceeds the norm."""
    assert request.norm is not None
    size = np.sqrt(np.einsum("ij,ij->i", x, x)) if request.order == 2 else np.abs(x).sum(axis=1)  # sums of whole numbers below 2^53
    most = np.floor(request.norm * float(ONE) / np.maximum(size, 1.0))
    return np.clip(weight, -most, most)


def _octave(residual: Floats, octaves: int) -> NDArray[np.intp]:
    edges = ONE * 2.0 ** np.arange(-octaves, 1)
    return np.asarray(np.minimum(np.searchsorted(edges, np.abs(residual)), octaves))
