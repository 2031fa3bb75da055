"""Sums of products and sums of gradients over rows of bounded coordinates: what regression asks of a table.

A coordinate lies in [-1, 1] by the public bounds of its column and is a whole number of 2^-20, so a product has at most 40 bits and every
sum is the same on every engine, in every order of the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.summaries.request import Hidden, Request

__all__ = [
    "COARSE", "EXACT", "FINE", "GRAIN", "LARGEST", "LINK", "ONE", "Gradient", "Gram", "Lengths", "MomentTerm", "Outer", "Products",
    "Sizes", "Slope", "bent", "classed", "faded", "link", "scaled", "steep",
]  # fmt: skip

ONE = 2**20  # stands for 1: a coordinate is from -ONE to ONE
FINE = 2**24  # stands for 1 among coefficients
LARGEST = 2**31  # the absolute coefficients of a gradient add up to no more, so that every predictor is exact in a double
COARSE = 14  # bits of a coordinate in a product of two, without its sign
EXACT = 2**25  # rows whose products of such coordinates add up exactly in doubles
GRAIN = 2**14  # stands for the longest vector of an outer product
LINK = 2**10  # the logistic link is read off a table of this many points per unit, from -16 to 16

Whole = NDArray[np.object_]


@dataclass(frozen=True)
class MomentTerm:
    """One coordinate of a row: the constant 1, a column about the middle of its bounds, or 1 where frame.counted[index] is true and else 0.

    The grid integer q of a column, 0 to width, is cut to c = q >> shift, from 0 to W = width >> shift, of at most 20 bits, and becomes
    floor(2 ONE c / W) - ONE. In products it has at most 14 bits and is (2 c - W)/W exactly. With `cells`, conditions by their places, it
    is the middle of one of as many equal cells of [-1, 1]: that of the first condition that is true, the first cell where none is.
    """

    column: str | None = None
    index: int | None = None
    cells: tuple[int, ...] = ()


@dataclass(frozen=True)
class Gram(Request["Products"]):
    """Ask for the sum over rows of every product of two terms, cut down to whole units of ONE^-2; the answer is Products.

    Rows in which a column of a term is null, or a condition frame.counted[i], i in `required`, is not true, drop out.
    """

    terms: tuple[MomentTerm, ...]
    required: tuple[int, ...] = ()


@dataclass(frozen=True, repr=False)
class Products(Hidden):
    """Group keys in order, and for each group the symmetric matrix of sums of products."""

    keys: tuple[tuple[Any, ...], ...]
    values: Whole  # groups x terms x terms


@dataclass(frozen=True)
class Gradient(Request["Slope"]):
    r"""Ask for the sum over units of x w: the downhill direction of a loss at theta; the answer is a Slope.

    With z = sum_j theta_j x_j (theta in units of 1/FINE), loss "huber" has w = y - z, cut down to whole units of 1/ONE and then clamped to
    [-clip, clip]; loss "psi" has w = psi(y - z), a polygon through whole points (see `bent`); loss "logistic" has w = y - 1/(1 + e^-z) for
    a target that is 0 or 1, read off a table (see `link`); loss "softmax" has a w for each of K classes (see `classed`), and K times as
    many coefficients and sums, class by class; it has no norm of order 1. A row longer than
    `cap`, in units of 1/ONE, has its w multiplied by cap/|x| and cut towards zero. `norm`, in the same units, bounds a unit's contribution
    in the norm of this `order` (2, or 1): the w of a row unit is shrunk towards zero until |x w| fits, a person's sum over several rows is
    shrunk as a whole, and with `each` every row is shrunk by itself whoever it belongs to. The sums are in units of ONE^-2.

    With octaves J the residuals y - z of a huber loss are counted too: cell 0 counts |y - z| <= 2^-J, cell j counts
    2^(j-J-1) < |y - z| <= 2^(j-J), and the last one everything above as well.
    """

    terms: tuple[MomentTerm, ...]
    target: MomentTerm
    theta: tuple[int, ...]
    loss: str = "huber"
    clip: int = ONE
    norm: int | None = None
    order: int = 2
    octaves: int = 0
    required: tuple[int, ...] = ()
    cap: int | None = None
    each: bool = False
    psi: tuple[tuple[int, int], ...] = ()

    @property
    def size(self) -> int:
        """How many sums are asked for."""
        return len(self.theta)


@dataclass(frozen=True)
class Lengths(Request["Sizes"]):
    """Ask how many rows have a vector of each length: of x itself, or with theta of the contribution x (y - z); the answer is Sizes.

    Edges are whole units of 1/ONE, ascending. Cell 0 counts lengths up to the first edge, the last one those above the last edge.
    """

    terms: tuple[MomentTerm, ...]
    target: MomentTerm
    edges: tuple[int, ...]
    theta: tuple[int, ...] | None = None
    required: tuple[int, ...] = ()


@dataclass(frozen=True, repr=False)
class Sizes(Hidden):
    """Group keys in order, and for each group how many rows are in each cell."""

    keys: tuple[tuple[Any, ...], ...]
    values: Whole  # groups x (edges + 1)


@dataclass(frozen=True)
class Outer(Request["Products"]):
    r"""Ask for the sum over rows of v v', v a vector of the row: `of` says which; the answer is Products.

    v is x for "rows", x sqrt(p (1 - p)) with p = 1/(1 + e^-z) for "curvature", x w with the w of a Gradient of this loss for "residual";
    for "rising" and "falling" it is x times the root of the positive or of the negative part of psi' at the residual.
    It is shortened to `cap` as there, then to `norm`, and its coordinates are cut towards zero to whole units of norm/GRAIN; the sums are
    in units of (norm/GRAIN)^2.
    """

    terms: tuple[MomentTerm, ...]
    target: MomentTerm
    of: str
    norm: int
    theta: tuple[int, ...] = ()
    loss: str = "huber"
    cap: int | None = None
    required: tuple[int, ...] = ()
    psi: tuple[tuple[int, int], ...] = ()

    @property
    def size(self) -> int:
        """How long a vector is."""
        return len(self.theta) if self.loss == "softmax" else len(self.terms)


@dataclass(frozen=True, repr=False)
class Slope(Hidden):
    """Group keys in order; for each group the summed direction and, if asked, the residuals by octave."""

    keys: tuple[tuple[Any, ...], ...]
    values: Whole  # groups x terms
    octaves: Whole  # groups x (octaves + 1), or groups x 0


def scaled(total: int, first: int, second: int) -> int:
    """A sum of products of coordinates in units of 1/first and 1/second, cut down to units of ONE^-2."""
    return total * ONE**2 // (first * second)


def link(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """1/(1 + e^-z) in units of 1/ONE, for z in whole units of 1/LINK between -16 and 16, rounded to the nearest.

    No point of this table is closer than 1e-6 to a tie, so every engine with a working exponential function rounds it alike.
    """
    return np.asarray(np.floor(ONE / (1 + np.exp(-z / LINK)) + 0.5))


def faded(d: NDArray[np.float64]) -> NDArray[np.float64]:
    """e^-d in units of 1/ONE, for d in whole units of 1/LINK from 0 to 16, rounded to the nearest: as far from ties as `link`."""
    return np.asarray(np.floor(ONE * np.exp(-d / LINK) + 0.5))


def bent(r: NDArray[np.float64], psi: tuple[tuple[int, int], ...]) -> NDArray[np.float64]:
    """The polygon through (residual, height) in whole units of 1/ONE, constant beyond its ends: a whole number, never above the highest.

    Theorem. Every engine with correctly rounded division finds the same. Proof. A stretch adds floor(rise step / width), a quotient of
    numbers of at most 45 and 24 bits, which no rounding carries across a whole number. QED
    """
    out, most = np.full(np.shape(r), float(psi[0][1])), float(max(abs(height) for _, height in psi))
    for (start, low), (stop, high) in pairwise(psi):
        out = out + np.floor((high - low) * np.clip(r - start, 0.0, float(stop - start)) / float(stop - start))
    return np.asarray(np.clip(out, -most, most))


def steep(psi: tuple[tuple[int, int], ...], *, rising: bool) -> list[tuple[int, int, float]]:
    """The stretches where the polygon rises, or falls, and the root of its slope there."""
    out = []
    for (start, low), (stop, high) in pairwise(psi):
        slope = (high - low) / (stop - start) * (1 if rising else -1)
        if slope > 0:
            out.append((start, stop, slope**0.5))
    return out


def classed(predictors: NDArray[np.float64], target: NDArray[np.float64]) -> NDArray[np.float64]:
    """One w per class: 1 for the class whose cell the target is in, else 0, less e^z_k / sum e^z_j, in units of 1/ONE; rows by classes.

    Predictors are rounded to units of 1/LINK, their distances to the largest cut at 16, and the chances cut down to whole units.
    """
    many = predictors.shape[1]
    point = np.floor(predictors * (LINK / (ONE * FINE)) + 0.5)
    weight = faded(np.minimum(16.0 * LINK, point.max(axis=1, keepdims=True) - point))
    chance = np.floor(ONE * weight / weight.sum(axis=1, keepdims=True))
    cell = np.minimum(many - 1, np.floor((target + ONE) * many / (2 * ONE)))
    return np.asarray(np.where(cell[:, None] == np.arange(many), float(ONE), 0.0) - chance)
