"""Sums of independent privacy losses on a grid: one Fourier transform around the losses that decide delta."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.fft import irfft, rfft

from sordino.privacy.pair import DominatingPair, Floats, gaussian_dots

__all__ = ["LossCurve", "Tilt", "transform"]

UNIT = 2.0**-53
SPREAD = 1e-4  # how much of the loss's variance the grid may add
SMALLEST, LARGEST = 15, 20  # powers of two of the grid's size
REACH = 10.0  # standard deviations on either side of the window's centre


class Tilt:
    """The cumulants of the total loss under e^{theta l} dP, used only to place the grid."""

    def __init__(self, parts: Sequence[tuple[DominatingPair, int]], mu_squared: float) -> None:
        self.parts, self.mu_squared = parts, mu_squared
        nodes = [pair.nodes() for pair, _ in parts]
        sizes = np.array([losses.size for losses, _ in nodes])
        self._counts = np.array([float(count) for _, count in parts])
        self._starts, self._owner = np.cumsum(sizes) - sizes, np.repeat(np.arange(sizes.size), sizes)
        self._losses = np.concatenate([losses for losses, _ in nodes])
        self._logs = np.log(np.concatenate([masses for _, masses in nodes]))

    def __call__(self, theta: float) -> tuple[float, float, float]:
        """Cumulant, mean and variance at theta."""
        power = theta * self._losses + self._logs
        top = np.maximum.reduceat(power, self._starts)
        weight = np.exp(power - top[self._owner])
        total = np.add.reduceat(weight, self._starts)
        mean = np.add.reduceat(weight * self._losses, self._starts) / total
        spread = np.add.reduceat(weight * (self._losses - mean[self._owner]) ** 2, self._starts) / total
        return (
            float(self._counts @ (top + np.log(total))) + theta * (1 + theta) * self.mu_squared / 2,
            float(self._counts @ mean) + (0.5 + theta) * self.mu_squared,
            float(self._counts @ spread) + self.mu_squared,
        )

    def where(self, above: Callable[[float, tuple[float, float, float]], bool]) -> float:
        """The least theta at which the condition holds, up to a ceiling beyond which a tilt does no good."""
        low, high = 0.0, 40 / math.sqrt(max(self(0.0)[2], 1e-300))
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (low, middle) if above(middle, self(middle)) else (middle, high)
        return low


@dataclass(frozen=True)
class LossCurve:
    """Upper bounds on the hockey stick of a sum of losses, at every epsilon."""

    losses: Floats
    masses: Floats  # under P, from the transform
    price: Floats  # what one unit of tilted mass at each loss weighs under P
    error: float  # the most the tilted masses can be wrong by, summed
    missing: float  # P-mass above the window
    growth: float  # relative rounding
    complete: bool  # whether the window begins at the least possible loss

    def delta(self, epsilon: float) -> float:
        if epsilon < self.losses[0] and not self.complete:
            return 1.0
        above, gain, doubt = self._above(epsilon)
        return min(1.0, (float(self.masses[above] @ gain) + doubt) * (1 + self.growth))

    def doubt(self, epsilon: float) -> float:
        """How much of delta is not loss but the margin for rounding and for the window."""
        return self._above(epsilon)[2]

    def _above(self, epsilon: float) -> tuple[slice, Floats, float]:
        above = slice(int(np.searchsorted(self.losses, epsilon, side="right")), None)
        gain = -np.expm1(epsilon - self.losses[above])
        return above, gain, self.error * float(np.max(self.price[above] * gain, initial=0.0)) + self.missing

    def epsilon(self, delta: float) -> float:
        """The least epsilon whose bound is at most delta; infinite if there is none."""
        low, high = 0.0, max(0.0, float(self.losses[-1]))
        if self.delta(low) <= delta:
            return low
        if self.delta(high) > delta:
            return math.inf
        for _ in range(60):
            middle = (low + high) / 2
            if high - low < 1e-9 * high or not low < middle < high:
                break
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return high


@dataclass
class Product:
    """Tilted laws on one grid, multiplied as Fourier transforms; powers are collected bit by bit and squared up once."""

    step: float
    size: int
    theta: float
    beyond: float  # the further tilt of the Chernoff bound
    powers: list[NDArray[np.complex128]] = field(default_factory=list)
    cumulant: float = 0.0
    further: float = 0.0  # what `beyond` adds to the cumulant
    start: int = 0  # least index of the sum
    stop: int = 0  # largest index of the sum

    def take(self, first: int, masses: Floats, times: int) -> None:
        """Multiply by the law with these P-masses from grid index `first` on, this many times."""
        held = np.flatnonzero(masses)
        first, masses = first + int(held[0]), masses[held[0] : held[-1] + 1]
        last = (first + masses.size - 1) * self.step
        losses = np.arange(first, first + masses.size) * self.step - last
        tilted = masses * np.exp(self.theta * losses)
        total = float(tilted.sum())
        tilted /= total
        self.cumulant += times * (math.log(total) + self.theta * last)
        self.further += times * (math.log(max(float(tilted @ np.exp(self.beyond * losses)), 1e-300)) + self.beyond * last)
        self.start += times * first
        self.stop += times * (first + masses.size - 1)
        if masses.size > self.size:
            tilted = np.pad(tilted, (0, -masses.size % self.size)).reshape(-1, self.size).sum(axis=0)
        factor = rfft(tilted, n=self.size)
        for bit in range(times.bit_length()):
            if bit == len(self.powers):
                self.powers.append(np.ones(self.size // 2 + 1, dtype=np.complex128))
            if times >> bit & 1:
                self.powers[bit] *= factor

    def masses(self, bottom: int) -> Floats:
        """The tilted masses of the sum on the window that begins at this index."""
        product = self.powers[-1]
        for power in reversed(self.powers[:-1]):
            product = product * product * power
        around: Floats = irfft(product, n=self.size)
        return np.maximum(np.roll(around, -((bottom - self.start) % self.size)), 0.0)


def transform(tilt: Tilt, theta: float) -> LossCurve:
    r"""The composed loss near its mean under the tilt theta >= 0.

    Theorem. `Curve.delta` is never below the hockey stick of the composition, whatever theta, step and size are.
    Proof. Each part is dominated by its dots, the Gaussian by `gaussian_dots` with its upper tail counted as missing; compositions of
    dominating pairs dominate (Dong, Roth and Su 2022). With m_theta = e^{theta l - kappa} P the tilted laws convolve, and the cyclic
    convolution of length N holds at l the sum of m_theta(l + kN step) over k, which is at least m_theta(l): aliasing only adds. Losses
    above the window are bounded by Chernoff, P(l >= top) <= e^{kappa(t) - t top}; losses below epsilon do not count, and below the
    window delta is one. Rounding: a transform is off by at most 7 u log2(N) in relative 2-norm (Higham 2002, Theorem 24.2; u = 2^-53),
    so a tilted law, whose 2-norm is at most one, is off by 7 u log2(N) sqrt(N) in the frequency 2-norm; factors are at most one in
    modulus, so K factors with their products are off by (7 log2(N) + 8) u K sqrt(N), which by Cauchy-Schwarz also bounds the 1-norm
    of the masses; we double it, and claim nothing when it exceeds a hundredth. Relative errors of the masses and of the exponents are
    at most u (8 + (1 + theta) width) for each factor; we take eight times that and 1e-9. QED
    """
    _, mean, variance = tilt(theta)
    size, step = _grid(tilt, theta, variance)
    product = Product(step, size, theta, REACH / math.sqrt(max(variance, 1e-300)))
    for pair, times in tilt.parts:
        product.take(*pair.dots(step), times)
    missing = 0.0
    if tilt.mu_squared:
        low, cells, missing = gaussian_dots(math.sqrt(tilt.mu_squared), theta, step, REACH)
        product.take(low, cells, 1)
    complete = product.stop - product.start < size
    bottom = product.start if complete else math.floor(mean / step) - size // 2
    losses: Floats = np.arange(bottom, bottom + size, dtype=np.float64) * step
    if product.stop >= bottom + size:
        power = product.cumulant + product.further - (theta + product.beyond) * (bottom + size) * step
        missing += math.exp(min(0.0, power + 1e-6))
    price = np.exp(np.minimum(product.cumulant - theta * losses, 700.0))
    count = sum(times for _, times in tilt.parts) + 2
    error = 2 * (7 * math.log2(size) + 8) * UNIT * count * math.sqrt(size)
    growth = 1e-9 + 8 * UNIT * count * (8 + (1 + theta) * max(pair.width for pair, _ in tilt.parts))
    return LossCurve(losses, product.masses(bottom) * price, price, error if error < 0.01 else 1e300, missing, growth, complete)


def _grid(tilt: Tilt, theta: float, variance: float) -> tuple[int, float]:
    """Size and step: wide enough for the window, fine enough that the dots add little variance."""
    count = sum(times for _, times in tilt.parts)
    full = 2 * sum(pair.width * times for pair, times in tilt.parts)
    full += 2 * REACH * math.sqrt(tilt.mu_squared) + theta * tilt.mu_squared
    span = 1.02 * min(full, 2 * REACH * math.sqrt(variance) + 4 * max(pair.width for pair, _ in tilt.parts))
    deviation = max(math.sqrt(variance), span / 400)  # a tilt that leaves one atom has no variance; no grid is that fine
    wish = math.log2(span / deviation * math.sqrt(count / (4 * SPREAD)))
    size = 2 ** min(LARGEST, max(SMALLEST, math.ceil(wish)))
    step = span / (0.9 * size)
    heavy = max(tilt.parts, key=lambda part: part[0].width * part[1])[0].width
    return size, heavy / math.ceil(heavy / step) if heavy > 10 * step else step  # the heaviest part's atoms then fall on the grid
