"""Two copies of one law, slid and dilated against each other: hockey sticks, loss tails and largest log-ratio.

In units of the narrower copy, N = Z and W = slide + e^lambda Z. Everything about noise scaled by a smooth sensitivity is a statement
about such pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.privacy.families import GaussianLaw, LaplaceLaw
from sordino.privacy.law import Noise

__all__ = ["Dilation", "largest_ratio"]

Floats = NDArray[np.float64]
BEYOND = 1e9  # no Gaussian mass out there, and its square is still a number
INSIDE = np.array([1e-15, 1e-12, 1e-9, 1e-6, 1e-3, 0.5, 1 - 1e-3, 1 - 1e-6, 1 - 1e-9, 1 - 1e-12])


class Dilation:
    """N = Z against W = slide + e^dilation Z; `wide_first` asks about W over N instead of N over W."""

    def __init__(self, law: Noise, slide: float, dilation: float, *, wide_first: bool = True) -> None:
        self.law, self.slide, self.dilation, self.wide_first = law, slide, dilation, wide_first
        self.shrink = math.exp(-dilation)

    def log_ratio(self, z: Any) -> Floats:
        """ln of first density over second at z."""
        z = np.asarray(z, float)
        wide = self.law.log_density((z - self.slide) * self.shrink) - self.dilation
        with np.errstate(invalid="ignore"):  # where both densities underflow there is no mass to compare, and nan says so
            gap = wide - self.law.log_density(z)
        return np.asarray(gap if self.wide_first else -gap)

    def _mass(self, low: Floats, high: Floats, *, wide: bool) -> Floats:
        """Probability of the intervals under W or N, exact in the tails."""
        if wide:
            low, high = (low - self.slide) * self.shrink, (high - self.slide) * self.shrink
        upper = (self.law.tail(np.maximum(low, 0)) - self.law.tail(np.maximum(high, 0))) / 2
        lower = (self.law.tail(np.maximum(-high, 0)) - self.law.tail(np.maximum(-low, 0))) / 2
        return np.asarray(upper + lower)

    def _sets(self, epsilon: float) -> tuple[Floats, Floats]:
        """The intervals where the log-ratio exceeds epsilon."""

        def above(z: Any) -> Floats:
            gap = self.log_ratio(z) - epsilon
            return np.where(np.isnan(gap), -np.inf, gap)  # the end of both supports must count as a crossing

        closed = _closed_crossings(self, epsilon)
        return _positive(_crossings(above, self.landmarks()) if closed is None else closed, above)

    def delta(self, epsilon: float) -> float:
        """The hockey stick sup_E P(E) - e^epsilon Q(E)."""
        low, high = self._sets(epsilon)
        first, second = self._mass(low, high, wide=self.wide_first), self._mass(low, high, wide=not self.wide_first)
        return float(np.maximum(first - math.exp(min(epsilon, 700.0)) * second, 0.0).sum())

    def loss_tail(self, epsilon: float) -> float:
        """The probability, under the first law, that the privacy loss exceeds epsilon."""
        low, high = self._sets(epsilon)
        return float(self._mass(low, high, wide=self.wide_first).sum())

    def landmarks(self) -> Floats:
        """Where something may happen: both centres, both sets of kinks, and a net reaching far into the tails."""
        return np.unique(_net(self.law, self.slide, np.array([self.dilation])))

    def sup(self, cell: float = 0.0) -> float:
        """The largest log-ratio; see `largest_ratio`."""
        return largest_ratio(self.law, self.slide, np.array([self.dilation]), np.array([self.wide_first]), cell)


def _net(law: Noise, slide: float, dilation: Floats) -> Floats:
    """One row of points per dilation, in rising order; `Dilation.landmarks` says which."""
    spread = np.exp(dilation)[:, None]
    still, wide = np.array([0.0, slide]), [np.zeros((len(spread), 0))]
    for kink in law.kinks:
        still = np.append(still, [kink, -kink])
        wide += [slide + spread * kink, slide - spread * kink]
    unit = max(slide, 1e-3)
    reach = np.geomspace(1e-6 * unit, 1e13 * spread[:, 0] * max(1.0, slide, *law.kinks), 260, axis=1)
    near = np.append(still, np.linspace(-4.0, 5.0, 361) * unit)
    rows = np.broadcast_to(near, (len(spread), len(near)))
    runs = [rows, *wide, reach, slide + reach, -reach[:, ::-1], slide - reach[:, ::-1]]  # a stable sort merges runs that rise
    return np.sort(np.concatenate(runs, axis=1), axis=1, kind="stable")


def largest_ratio(
    law: Noise, slide: float, dilation: Floats, wide_first: NDArray[np.bool_], cell: float = 0.0, *, most: float = math.inf
) -> float:
    """The largest log-ratio of several pairs, by a fine net and local refinement around its best points; infinite if it has no end.

    Where the net alone shows more than `most` nothing is refined: that much is attained, and more than that is not asked.

    With a cell the answer covers every dilation of the cell a pair stands at the end of: moving inside the cell raises the
    ratio by at most its width, and not at all where the stretched point lies beyond the law's turn.
    """
    shrink, sign = np.exp(-dilation)[:, None], np.where(wide_first, 1.0, -1.0)[:, None]
    widest = np.exp(-np.where(wide_first, dilation, dilation + cell))[:, None]

    def ratio(z: Floats) -> Floats:
        with np.errstate(invalid="ignore"):  # where both densities underflow there is no mass to compare, and nan says so
            gap = law.log_density((z - slide) * shrink) - dilation[:, None] - law.log_density(z)
        return np.asarray(sign * gap)

    def height(z: Floats) -> Floats:
        found = ratio(z) + cell * (np.abs(z - slide) * widest < law.turn)
        return np.where(np.isnan(found), -np.inf, found)

    if _diverges(law, slide, dilation, ratio):
        return math.inf
    if isinstance(law, LaplaceLaw) and not dilation.any() and cell == 0:
        return slide  # |z| - |z - slide|; the net below would lose digits far out
    net = _net(law, slide, dilation)
    values = height(net)
    best = float(values.max())
    if best == math.inf or best > most:
        return best
    peaks = np.argpartition(values, -6, axis=1)[:, -6:]
    lows = np.take_along_axis(net, np.maximum(peaks - 1, 0), 1)
    highs = np.take_along_axis(net, np.minimum(peaks + 1, net.shape[1] - 1), 1)
    for _ in range(4):
        mesh = lows[:, :, None] + (highs - lows)[:, :, None] * np.linspace(0, 1, 65)
        heights = height(mesh.reshape(len(mesh), -1)).reshape(mesh.shape)
        best = max(best, float(heights.max()))
        top = heights.argmax(axis=2)[:, :, None]
        lows, highs = (np.take_along_axis(mesh, np.clip(top + side, 0, 64), 2)[:, :, 0] for side in (-1, 1))
    return best


def _diverges(law: Noise, slide: float, dilation: Floats, ratio: Callable[[Floats], Floats]) -> bool:
    """True for laws whose log-ratio keeps growing in the tail: light-tailed noise under dilation, Gaussian noise under a slide."""
    if isinstance(law, GaussianLaw):
        return slide > 0 or bool(np.any(dilation > 0))
    far = np.array([1e5, 1e6]) * (1 + slide) * np.exp(dilation)[:, None]
    growth = np.concatenate([np.diff(ratio(side), axis=1) for side in (far, -far)])
    return bool(np.any(np.nan_to_num(growth, nan=np.inf) > 5.0))


def _positive(crossings: Floats, sign: Callable[[Any], Any]) -> tuple[Floats, Floats]:
    """The intervals between consecutive crossings on which `sign` is positive.

    Each is judged by points throughout: its middle alone may lie so far out that the sign there is rounding noise.
    """
    edges = np.concatenate([[-np.inf], np.sort(crossings), [np.inf]])
    low, high = edges[:-1], edges[1:]
    away = 1e6 * (1 + np.abs(edges[np.isfinite(edges)]).max(initial=0.0))
    left, right = np.maximum(low, -away), np.minimum(high, away)
    inner = left[:, None] + (right - left)[:, None] * INSIDE[None, :]
    keep = np.clip(sign(inner), -1e3, 1e3).sum(axis=1) > 0
    return low[keep], high[keep]


def _crossings(function: Callable[[Any], Any], net: Floats) -> Floats:
    """The roots of a function between the points of a net, by vectorised bisection."""
    values = np.asarray(function(net))
    change = np.flatnonzero(np.sign(values[:-1]) * np.sign(values[1:]) < 0)
    low, high = net[change], net[change + 1]
    rising = values[change] < 0
    for _ in range(90):
        middle = (low + high) / 2
        left = (np.asarray(function(middle)) < 0) == rising
        low, high = np.where(left, middle, low), np.where(left, high, middle)
    return np.asarray(np.concatenate([(low + high) / 2, net[values == 0]]))


def _closed_crossings(pair: Dilation, epsilon: float) -> Floats | None:
    """Laplace ratios are piecewise linear and Gaussian ones quadratic, so their crossings are closed forms."""
    shrink, slide = pair.shrink, pair.slide
    level = epsilon if pair.wide_first else -epsilon
    if isinstance(pair.law, LaplaceLaw):  # -lambda - |z - slide| shrink + |z| = level
        roots = [0.0, slide]  # a root that falls on a kink may be rounded out of both its pieces; a needless edge does no harm
        for z_sign, w_sign, low, high in ((-1, -1, -math.inf, 0.0), (1, -1, 0.0, slide), (1, 1, slide, math.inf)):
            slope = z_sign - w_sign * shrink
            if slope:
                root = (level + pair.dilation - w_sign * slide * shrink) / slope
                if low <= root <= high:
                    roots.append(root)
        return np.unique(np.array(roots))
    if isinstance(pair.law, GaussianLaw):  # -lambda - ((z - slide) shrink)^2/2 + z^2/2 = level
        square, linear = (1 - shrink**2) / 2, slide * shrink**2
        constant = -pair.dilation - (slide * shrink) ** 2 / 2 - level
        if square == 0:
            return np.clip([-constant / linear], -BEYOND, BEYOND) if linear else np.array([])
        inside = linear**2 - 4 * square * constant
        if inside < 0:
            return np.array([])
        big = -(linear + math.copysign(math.sqrt(inside), linear)) / 2
        return np.clip([big / square, constant / big] if big else [0.0], -BEYOND, BEYOND)
    return None
