"""How far coefficients can lie from what was drawn: an ellipsoid, from drawn sums and public noise alone, so at no price."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["DEVIATIONS", "Margin", "Round", "blur", "of_rounds"]

Floats = NDArray[np.float64]
RARE = 0.01  # of the 5%: for noise of X'X beyond `blur`, and again for long error vectors
NORMAL = 2.17009037758456  # two-sided 97%: what is left for the coordinate itself
EDGE = 2.43  # one half of RARE for each end of the spectrum
DEVIATIONS = 3.0  # granted to drawn variances and numbers of rows
BEND = 0.1  # granted to the share of rows that are not clipped: it is read off octaves


@dataclass(frozen=True)
class Margin:
    """For any direction v, v't lies within sqrt(v' spread v) of v'centre with at least 95%; anywhere where noise hides the curvature."""

    centre: tuple[float, ...]
    spread: tuple[tuple[float, ...], ...]
    hidden: bool

    @classmethod
    def anywhere(cls, dimension: int) -> Margin:
        return cls((0.0,) * dimension, tuple(tuple(line) for line in np.eye(dimension).tolist()), True)

    @classmethod
    def within(cls, centre: Floats, parts: Sequence[Floats]) -> Margin:
        """Half-widths add up: (sum of sqrt(v'Mv))^2 <= sum of v'Mv/p for shares p that sum to 1."""
        sizes = [math.sqrt(max(float(np.trace(part)), 0.0)) for part in parts]
        spread = np.zeros((len(centre),) * 2)
        for part, size in zip(parts, sizes, strict=True):
            spread += part * (sum(sizes) / size) if size > 0 else 0.0
        if not (np.isfinite(spread).all() and np.isfinite(centre).all()):
            return cls.anywhere(len(centre))
        return cls(tuple(centre.tolist()), tuple(tuple(line) for line in spread.tolist()), False)


def blur(dimension: int, scale: float) -> float:
    r"""What the norm of symmetric noise E exceeds with probability RARE at most: N(0, s^2) off the diagonal, N(0, 2 s^2) on it.

    The largest eigenvalue has mean at most 2 s sqrt d (Sudakov and Fernique: u'Eu - w'Ew varies no more than 2 s g'(u - w), g Gaussian);
    beyond that it follows Tracy and Widom's law of order 1 in units of s d^{-1/6}, whose 99.5% point is EDGE. It is that law's limit for
    large d; for small d, where it is no theorem, a test compares it with simulated norms.
    """
    return scale * float(2 * dimension**0.5 + EDGE * dimension ** (-1 / 6))


def _longest(dimension: int) -> float:
    """The length of a standard normal vector, exceeded with probability RARE."""
    from scipy.special import chdtri

    return math.sqrt(float(chdtri(dimension, RARE)))


def _curved(square: Floats, scale: float) -> tuple[float, float, float] | None:
    """|A^-1|, |E| at most, and their product if it is below 1: only then is the true X'X known to be curved in every direction."""
    smallest, most = float(np.linalg.eigvalsh(square)[0]), blur(len(square), scale)
    return (1 / smallest, most, most / smallest) if smallest > most else None


@dataclass(frozen=True)
class Round:
    """One drawn sum of x psi at a point: its noise, the share of rows not clipped and the mean square of psi."""

    at: Floats
    drawn: Floats
    noise: float
    share: float
    score: float


def of_rounds(square: Floats, scale: float, rounds: Sequence[Round]) -> Margin:
    r"""About the t with E[x psi(y - x't)] = 0, from the last rounds: errors independent of x, and points so near t that psi is straight.

    Theorem. Let A = X'X + E be drawn, |E| <= m, k = m |A^-1| < 1, u the mean of t - at, g the mean of drawn/share. Then A^-1 g - u is a
    normal vector with covariance c A^-2 + (1 + k) V A^-1, V = E psi^2/(E psi')^2, c the variance of the mean noise, and in a direction h
    at most m |A^-1 h| |u| more.
    Proof. Near t the sum of x psi is that at t, of covariance E psi^2 X'X, plus E psi' X'X (t - at). So g = X'X u + w and
    A^-1 g - u = A^-1 w - A^-1 E u; the noise in w is drawn after E, and X'X <= (1 + k) A. QED
    The points depend on E, so |E u| is bounded by |E| |u|, whatever the dependence.
    """
    d, curved = len(square), _curved(square, scale)
    if curved is None or not rounds:
        return Margin.anywhere(d)
    steep, most, k = curved
    inverse = np.linalg.inv(square)
    step = inverse @ np.mean([turn.drawn / turn.share for turn in rounds], axis=0)
    centre = np.mean([turn.at for turn in rounds], axis=0) + step
    noise = sum((turn.noise / turn.share) ** 2 for turn in rounds) / len(rounds) ** 2
    sampling = max(turn.score / turn.share**2 for turn in rounds) * (1 + k)
    long = _longest(d) * math.sqrt(noise * steep**2 + sampling * steep)
    rest = (float(np.linalg.norm(step)) + long) / (1 - k)  # |u| <= |A^-1 g| + |A^-1 w| + k |u|
    first = NORMAL**2 * (noise * inverse @ inverse + sampling * inverse)
    return Margin.within(centre, (first, (most * rest) ** 2 * inverse @ inverse, BEND**2 * np.outer(step, step)))
