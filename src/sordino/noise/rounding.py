"""One exact sampler for every law with a quantile function: round an ideal draw onto the grid, refining only when the rounding is in doubt.

Theorem. The outcome has exactly the law of grid * round((f + b Z)/grid) for a real-valued Z, so it is post-processing of the ideal
continuous mechanism and costs no extra epsilon or delta.
Proof. U is a uniform real whose bits are drawn lazily. The first 52 bits leave U in a cell; the quantile is monotone, so |Z| lies between
its values at the ends, each widened by a slack that covers the float error. If both ends round alike, every U in the cell gives that
integer; otherwise 64 more bits are drawn and the question is asked again in higher precision. The rounding boundary has probability
zero, so this ends. f is an integer, so f/grid has an exact remainder. QED

Exact draws of spherical t vectors: all coordinates are rounded together, and all bits are refined together while one is in doubt.

Theorem. The outcome has exactly the law of grid round((f + b Z)/grid) for an ideal Z = G sqrt(nu / (-2 ln prod U)).
Proof. Each Gaussian and each uniform number is known up to a cell of its bits; quotient, root and product are monotone in each, so every
coordinate of Z lies between its values at the ends of the cells, widened by a slack that covers the rounding. If both ends of every
coordinate round alike, every vector in the cell gives that outcome; otherwise every number gets 64 more bits. QED
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sordino.noise.ideal import SLACK, exactly, in_floats, magnitude, self_check
from sordino.privacy.families import GaussianLaw
from sordino.privacy.law import Placed
from sordino.privacy.sphere import PlacedVector

if TYPE_CHECKING:
    from sordino.noise.discrete import Stream

__all__ = ["rounded", "spherical"]

CHUNK = 2**14  # two dozen arrays of this size stay in the cache
FIRST = 52
ABSOLUTE = 2.0**-44  # covers the additions of remainder and one half
UNIT = 2.0**-FIRST
FARTHEST = 2**62  # locations stop here, so that no sum overflows


def rounded(law: Placed[Any], stream: Stream) -> int | NDArray[np.int64]:
    """One outcome per location."""
    self_check(law.law)
    scalar = np.ndim(law.location) == 0
    location = np.clip(np.atleast_1d(np.asarray(law.location, dtype=np.int64)), -FARTHEST, FARTHEST)  # moves neighbours closer, if at all
    shared = isinstance(law.scale, Fraction)
    scale: Sequence[Fraction] = [law.scale] if isinstance(law.scale, Fraction) else law.scale
    scales = np.array([in_floats(s / law.grid) for s in scale])
    out = np.empty(len(location), np.int64)
    for start in range(0, len(location), CHUNK):
        stop = min(start + CHUNK, len(location))
        words = stream.words(stop - start)
        b = scales[0] if shared else scales[start:stop]
        doubt = _float_pass(law, words, location[start:stop], b, out[start:stop])
        for i in doubt.tolist():
            exact = scale[0] if shared else scale[start + i]
            out[start + i] = _refine(law, int(words[i]), int(location[start + i]), exact, stream)
    return int(out[0]) if scalar else out


def _float_pass(
    law: Placed[Any], words: NDArray[np.uint64], location: NDArray[np.int64], b: Any, out: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Fill `out` where the cell decides the rounding; return the indices where it does not."""
    shift = law.grid.bit_length() - 1
    cell = (words >> np.uint64(64 - FIRST)).astype(np.float64)
    near = law.law.magnitude((cell + 1) * UNIT)
    far = law.law.magnitude(cell * UNIT)
    slack = SLACK * law.law.strain
    near *= b * (1 - slack)
    far *= b * (1 + slack)
    sign = 1.0 - 2.0 * (words & np.uint64(1)).astype(np.float64)
    half: Any = 0.5 if shift == 0 else 0.5 + (location & (law.grid - 1)).astype(np.float64) / law.grid
    near *= sign
    far *= sign
    # widen outwards: far moves away from zero, near towards it
    lower = np.floor(near + half - sign * ABSOLUTE)
    upper = np.floor(far + half + sign * ABSOLUTE)
    sure = (lower == upper) & (np.abs(upper) < 2.0**52)
    whole = np.where(sure, lower, 0.0).astype(np.int64)
    whole += location >> shift if shift else location
    low, high = -((-law.low) >> shift), law.high >> shift
    np.clip(whole, low, high, out=whole)
    np.left_shift(whole, shift, out=out)
    return np.flatnonzero(~sure)


def _refine(law: Placed[Any], word: int, location: int, scale: Fraction, stream: Stream) -> int:
    grid = law.grid
    negative, cell, bits = word & 1, word >> (64 - FIRST), FIRST
    low, high = -((-law.low) // grid), law.high // grid
    while True:
        cell, bits = (cell << 64) | stream.bits(64), bits + 64
        with exactly(3 * bits + 120) as mp:
            step = mp.mpf(scale.numerator) / (scale.denominator * grid)
            base = mp.mpf(location) / grid + mp.mpf(1) / 2
            near, far = (end * step for end in magnitude(law.law, cell, bits))
            ends = (base - far, base - near) if negative else (base + near, base + far)
            if not (mp.isinf(ends[0]) or mp.isinf(ends[1])):
                lower, upper = (min(max(int(mp.floor(end)), low), high) for end in ends)
                if lower == upper:
                    return grid * lower


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
