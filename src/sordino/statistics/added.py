"""Noise added to whole totals: the quietest integer law that fits, its interval, its certificate.

Tails of sums of independent noises in closed form, and the intervals one gets by turning them round.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.mechanisms.gaussian import Gaussian
from sordino.mechanisms.laplace import Laplace
from sordino.privacy.certificate import Certificate, LaplaceShift, Part
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import DiscreteLaplace
from sordino.privacy.law import output_grid
from sordino.summaries import Draw, Held

__all__ = [
    "Added",
    "AddedGaussian",
    "Floats",
    "Tail",
    "TotalNoise",
    "boundary",
    "discrete_radius",
    "gaussian_radius",
    "gaussian_tail",
    "laplace_tail",
    "quieter",
    "radius",
    "ratio_interval",
]

Floats = NDArray[np.float64]
Tail = Callable[[Sequence[Any], Any], Floats]
APART = 1.001  # neighbouring scales are pulled apart by a thousandth: the closed form divides by differences of their squares
SMALLEST = 1e-6


def laplace_tail(scales: Sequence[Any], w: Any) -> Floats:
    r"""P(|sum_i s_i Z_i| > w) for independent Laplace Z_i.

    Theorem. For distinct scales it is sum_i A_i e^{-w/s_i} with A_i = prod_{j != i} s_i^2/(s_i^2 - s_j^2). Raising a scale raises it.
    Proof. The characteristic function prod 1/(1 + s_i^2 u^2) splits into partial fractions A_i/(1 + s_i^2 u^2), each A_i times that of
    a Laplace law. A symmetric unimodal law spread out by a factor puts less mass on every centred interval, also after adding an
    independent symmetric unimodal law (Wintner). QED
    Equal or vanishing scales are therefore replaced by slightly larger ones: the tail is never understated.
    """
    w = np.maximum(np.asarray(w, float), 0.0)
    s = np.sort(np.stack(np.broadcast_arrays(*(np.abs(np.asarray(scale, float)) for scale in scales))), axis=0)
    s[:-1] = np.maximum(s[:-1], SMALLEST * s[-1])
    for i in range(1, len(s)):
        s[i] = np.maximum(s[i], APART * s[i - 1])
    total = np.zeros(np.broadcast_shapes(s.shape[1:], w.shape))
    for i in range(len(s)):
        weight = np.ones(s.shape[1:])
        for j in range(len(s)):
            if j != i:
                weight = weight * s[i] ** 2 / (s[i] ** 2 - s[j] ** 2)
        total = total + weight * np.exp(-w / s[i])
    return np.clip(total, 0.0, 1.0)


def gaussian_tail(scales: Sequence[Any], w: Any) -> Floats:
    """P(|sum_i s_i Z_i| > w) for independent standard normal Z_i."""
    from scipy.special import erfc

    spread = np.sqrt(sum(np.asarray(s, float) ** 2 for s in scales))
    return np.asarray(erfc(np.maximum(np.asarray(w, float), 0.0) / spread / math.sqrt(2)))


def radius(tail: Tail, scales: Sequence[float], level: float) -> float:
    """The least w with P(|sum s_i Z_i| > w) <= 1 - level."""
    low, high = 0.0, max(abs(s) for s in scales)
    while float(tail(scales, high)) > 1 - level:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float(tail(scales, middle)) > 1 - level else (low, middle)
    return high


def boundary(accept: Callable[[Floats], Any], inside: Floats, outside: Floats) -> Floats:
    """Walk from an accepted point towards a rejected one, in every coordinate at once; where the far end is accepted, go there."""
    far = np.asarray(accept(outside), bool)
    near, away = inside.copy(), outside.copy()
    for _ in range(36):
        middle = (near + away) / 2
        held = np.asarray(accept(middle), bool)
        near, away = np.where(held, middle, near), np.where(held, away, middle)
    return np.where(far, outside, np.where(np.asarray(accept(inside), bool), away, inside))


def ratio_interval(
    up: Floats, down: Floats, scales: Callable[[Floats], Sequence[Any]], tail: Tail, *, slop: float, level: float
) -> tuple[Floats, Floats, Floats]:
    r"""The share t = up/(up + down) of two noisy non-negative totals, with the interval of all t that the data do not contradict.

    Theorem. At the true share t the number (1 - t) up - t down is pure noise, with the public law of `scales(t)`; the t whose tail is
    at least 1 - level therefore cover the truth with probability `level`.
    Proof. (1 - t) A - t B = 0 for the totals A = t N, B = (1 - t) N. QED
    A total that was drawn negative is read as 0 here: |(1 - t) up - t down| becomes no larger for any t, so no t is lost, and an interval
    at the edge is never shorter than the noise around it; without this one in twenty would be a single point.
    """
    share = np.clip(up / np.maximum(up + down, 1.0), 0.0, 1.0)
    above, below = np.maximum(up, 0.0), np.maximum(down, 0.0)

    def accept(t: Floats) -> Any:
        return tail(scales(t), np.abs((1 - t) * above - t * below) - slop) >= 1 - level

    return share, boundary(accept, share, np.zeros_like(share)), boundary(accept, share, np.ones_like(share))


COARSE = 64  # below this scale whole steps are felt, and the discrete law is quieter than the rounded one
FARTHEST = 2**62

THEOREM = (
    "If one unit moves whole totals by at most Delta in L1 norm, adding discrete Laplace noise of scale Delta/epsilon to each is "
    "epsilon-DP, and for no smaller epsilon."
)


def located(totals: Any) -> NDArray[np.int64]:
    """Totals of any size as 64-bit locations; a clamp moves nothing further apart."""
    whole = np.asarray(totals)
    return whole.astype(np.int64) if whole.dtype != object else np.clip(whole, -FARTHEST, FARTHEST).astype(np.int64)


def discrete_radius(scale: Fraction, level: float) -> int:
    """The least k with P(|K| > k) <= 1 - level for the discrete Laplace law."""
    b = float(scale)
    return max(0, math.ceil(b * math.log(2 / (1 + math.exp(-1 / b)) / (1 - level)) - 1e-9) - 1)


def gaussian_radius(scale: Fraction, level: float) -> int:
    """The least k with P(|round(sigma Z)| > k) <= 1 - level; one output step more where the grid is coarser than 1."""
    from scipy.special import ndtri

    far, grid = float(scale) * float(ndtri((1 + level) / 2)), output_grid(scale)
    return max(0, math.ceil(far - 0.5)) if grid == 1 else math.ceil(far) + grid


@dataclass(frozen=True)
class Added:
    r"""Laplace noise on whole totals that one step of the relation moves by at most `reach` in L1 norm, at most `most` in one group.

    `moved` is how many totals can move at most; `most` is the whole reach if it is not given.

    Theorem. Noise of scale reach/epsilon is epsilon-DP; where the scale is small the discrete Laplace law is used, whose tail is below
    that of the rounded law at every distance.
    Proof. Either law's log-ratio under an integer shift d is at most |d|/scale. With b the scale, P(|K| >= k) is 2 e^{-k/b}/(1 + e^{-1/b})
    for the discrete and e^{-(k - 1/2)/b} for the rounded law; their ratio is 1/cosh(1/(2b)) <= 1. QED
    """

    epsilon: Fraction
    reach: int
    moved: int = 1
    most: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", self.reach if self.most is None else min(self.most, self.reach))
        if not self.discrete:
            _ = self.mechanism  # refuses noise of impossible width before anything is charged

    @cached_property
    def scale(self) -> Fraction:
        return self.reach / self.epsilon

    @cached_property
    def discrete(self) -> bool:
        return self.scale < COARSE

    @cached_property
    def mechanism(self) -> Laplace:
        """One group's noise: the same scale, at its share of the price."""
        assert self.most is not None
        return Laplace(self.epsilon * self.most / self.reach, Fraction(self.most), self.moved, Fraction(1))

    @cached_property
    def part(self) -> Part:
        assert self.most is not None
        full, rest = divmod(self.reach, self.most)
        return Part(self.certificate(), full, Fraction(rest, self.most))

    @property
    def name(self) -> str:
        return "discrete Laplace" if self.discrete else "Laplace"

    @property
    def tail(self) -> Tail:
        return laplace_tail

    @property
    def slop(self) -> int:
        """How far an outcome may lie from location + scale Z for a continuous Z: half a grid step, one step for the discrete law."""
        return 1 if self.discrete else output_grid(self.scale)

    def certificate(self) -> Certificate:
        """Of the noise in one group, moved by as much as one unit can move it."""
        if not self.discrete:
            return self.mechanism.certificate()
        assert self.most is not None
        witness = LaplaceShift(float(self.most / self.scale), scalar=False)
        cost = Cost.discrete_laplace(self.epsilon * self.most / self.reach, self.epsilon / self.reach)
        where = f", {self.most} in one group" if self.most < self.reach else ""
        return Certificate(THEOREM, cost, (witness,), f"one unit moves the totals by at most {self.reach} in L1 norm{where}")

    @property
    def rmse(self) -> float:
        """The root mean square of the drawn noise: of the discrete law, or of the continuous one and its rounding."""
        if self.discrete:
            return 1 / (math.sqrt(2) * math.sinh(min(float(1 / self.scale) / 2, 700.0)))
        return math.sqrt(2 * float(self.scale) ** 2 + output_grid(self.scale) ** 2 / 12)

    def around(self, totals: Any, draw: Draw) -> NDArray[np.int64]:
        """One outcome per total, in the shape given."""
        location = located(totals)
        if self.discrete:
            drawn = draw(DiscreteLaplace(self.scale, location.ravel()))
        else:
            drawn = self.mechanism.release(Held(location.ravel()), draw)
        return np.asarray(drawn, np.int64).reshape(location.shape)

    def radius(self, level: float) -> int:
        """The least whole number within which an outcome lies with probability at least `level`."""
        if self.discrete:
            return discrete_radius(self.scale, level)
        far, grid = float(self.scale) * math.log(1 / (1 - level)), output_grid(self.scale)
        return max(0, math.ceil(far - 0.5)) if grid == 1 else math.ceil(far) + grid


@dataclass(frozen=True)
class AddedGaussian:
    """Gaussian noise on whole totals that one step of the relation moves by at most `reach` in L2 norm."""

    epsilon: Fraction
    delta: Fraction
    reach: Fraction
    moved: int = 2

    def __post_init__(self) -> None:
        _ = self.mechanism.scale

    @property
    def mechanism(self) -> Gaussian:
        return Gaussian(self.epsilon, self.delta, self.reach, self.moved, Fraction(1))

    @property
    def scale(self) -> Fraction:
        return self.mechanism.scale

    @cached_property
    def part(self) -> Part:
        return Part(self.certificate())

    @property
    def name(self) -> str:
        return "Gaussian"

    @property
    def tail(self) -> Tail:
        return gaussian_tail

    @property
    def slop(self) -> int:
        return output_grid(self.scale)

    @property
    def rmse(self) -> float:
        return math.sqrt(float(self.scale) ** 2 + output_grid(self.scale) ** 2 / 12)

    def certificate(self) -> Certificate:
        return self.mechanism.certificate()

    def around(self, totals: Any, draw: Draw) -> NDArray[np.int64]:
        location = located(totals)
        drawn = self.mechanism.release(Held(location.ravel()), draw)
        return np.asarray(drawn, np.int64).reshape(location.shape)

    def radius(self, level: float) -> int:
        return gaussian_radius(self.scale, level)


TotalNoise = Added | AddedGaussian
WIDER = Fraction("1.528")  # ln 20 over the normal law's 97.5% point, rounded down: 95% half-widths at equal scales


def quieter(laplace: Added, gaussian: AddedGaussian | None) -> dict[str, TotalNoise]:
    """Both by name, first the one with the narrower 95% interval: within 3.00 scales for Laplace noise, 1.96 for Gaussian noise."""
    if gaussian is None:
        return {"laplace": laplace}
    if gaussian.scale < WIDER * laplace.scale:
        return {"gaussian": gaussian, "laplace": laplace}
    return {"laplace": laplace, "gaussian": gaussian}
