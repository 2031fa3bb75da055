"""Exact draws of spherical t vectors: all coordinates are rounded together, and all bits are refined together while one is in doubt.

Theorem. The outcome has exactly the law of grid round((f + b Z)/grid) for an ideal Z = G sqrt(nu / (-2 ln prod U)).
Proof. Each Gaussian and each uniform number is known up to a cell of its bits; quotient, root and product are monotone in each, so every
coordinate of Z lies between its values at the ends of the cells, widened by a slack that covers the rounding. If both ends of every
coordinate round alike, every vector in the cell gives that outcome; otherwise every number gets 64 more bits. QED
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from sordino.noise.ideal import SLACK, exactly, in_floats, magnitude, self_check
from sordino.noise.stream import Stream
from sordino.privacy.families import GaussianLaw
from sordino.privacy.sphere import PlacedVector

__all__ = ["spherical"]

FIRST = 52
ABSOLUTE = 2.0**-44
FARTHEST = 2**62


def spherical(law: PlacedVector, stream: Stream) -> NDArray[np.int64]:
    """One vector of outcomes."""
    self_check(GaussianLaw())
    d, half = law.law.dimension, law.law.nu // 2
    words = stream.words(d + half)
    negative = (words[:d] & np.uint64(1)).astype(bool)
    found = _in_floats(law, words >> np.uint64(64 - FIRST), negative)
    cells, bits = [int(word) >> (64 - FIRST) for word in words], FIRST
    while found is None:
        cells, bits = [(cell << 64) | stream.bits(64) for cell in cells], bits + 64
        found = _exactly(law, cells, bits, negative.tolist())
    grid = law.grid
    low, high = -((-law.low) // grid), law.high // grid
    return np.array([grid * min(max(whole, low), high) for whole in found], np.int64)


def _in_floats(law: PlacedVector, cells: NDArray[np.uint64], negative: NDArray[np.bool_]) -> list[int] | None:
    d, nu = law.law.dimension, law.law.nu
    b = in_floats(law.scale / law.grid)
    cell = cells.astype(np.float64)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        near, far = (GaussianLaw().magnitude((cell[:d] + end) * 2.0**-FIRST) for end in (1, 0))
        least, most = (-2 * np.log((cell[d:] + end) * 2.0**-FIRST).sum() for end in (1, 0))
        near, far = near * (b * np.sqrt(nu / most) * (1 - 4 * SLACK)), far * (b * np.sqrt(nu / least) * (1 + 4 * SLACK))
        sign = np.where(negative, -1.0, 1.0)
        base = 0.5 + (law.location & (law.grid - 1)) / law.grid
        ends = np.floor(sign * near + base - sign * ABSOLUTE), np.floor(sign * far + base + sign * ABSOLUTE)
    if not (np.all(ends[0] == ends[1]) and np.all(np.abs(ends[1]) < 2.0**52)):
        return None
    return [int(whole) + (int(f) // law.grid) for whole, f in zip(ends[0], law.location, strict=True)]


def _exactly(law: PlacedVector, cells: list[int], bits: int, negative: list[bool]) -> list[int] | None:
    d, nu, out = law.law.dimension, law.law.nu, []
    if 0 in cells:
        return None  # an end at infinity
    with exactly(3 * bits + 120) as mp:
        wide = mp.mpf(2) ** -(bits + 20)
        step = mp.mpf(law.scale.numerator) / (law.scale.denominator * law.grid)
        least, most = (-2 * sum(mp.log(mp.mpf(cell + end) / 2**bits) for cell in cells[d:]) for end in (1, 0))
        if least <= wide:
            return None
        shrunk, grown = step * mp.sqrt(nu / (most * (1 + wide))) * (1 - wide), step * mp.sqrt(nu / (least * (1 - wide))) * (1 + wide)
        for cell, minus, location in zip(cells[:d], negative, law.location.tolist(), strict=True):
            near, far = magnitude(GaussianLaw(), cell, bits)
            near, far = near * shrunk, far * grown
            base = mp.mpf(location) / law.grid + mp.mpf(1) / 2
            ends = (base - far, base - near) if minus else (base + near, base + far)
            lower, upper = (min(max(int(mp.floor(end)), -FARTHEST), FARTHEST) for end in ends)
            if lower != upper:
                return None
            out.append(lower)
    return out
