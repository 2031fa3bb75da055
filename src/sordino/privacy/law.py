"""A law of noise: density, tail and quantile of a symmetric unimodal law at unit scale, and the law placed on a grid.

A law at unit scale is described by the probability of its two-sided tail, tail(z) = P(|Z| > z), and by the inverse `magnitude`. Cdf and
quantile follow by symmetry, and small tails keep full relative precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.privacy.number import as_positive

__all__ = ["Law", "LawOutcome", "Noise", "Place", "Placed", "Symmetric", "output_grid"]

Floats = NDArray[np.float64]
Out_co = TypeVar("Out_co", covariant=True)
Place = TypeVar("Place", bound="int | NDArray[np.int64]")  # one whole number, or many


class LawOutcome(Generic[Out_co]):
    """A law that can be handed to `draw`; its parameter is what comes back. `noise.draw` samples every one there is."""


class Noise(Protocol):
    """What a certificate needs to know of a law at unit scale."""

    @property
    def name(self) -> str: ...
    @property
    def kinks(self) -> tuple[float, ...]: ...  # points z > 0 where the density is not smooth
    @property
    def turn(self) -> float: ...  # z h(z) does not increase beyond this point
    def log_density(self, z: Any) -> Floats: ...
    def tail(self, z: Any) -> Floats: ...
    def cdf(self, z: Any) -> Floats: ...


@dataclass(frozen=True)
class Placed(LawOutcome[Place]):
    """A law with its private location and scale and its public grid: what a mechanism hands to `draw`.

    The outcome is the integer grid * round((location + scale Z) / grid), clamped to [low, high]. Locations are integers, so this is a
    function of the ideal continuous draw and of public facts only.
    """

    law: Symmetric
    location: Place
    scale: Fraction | Sequence[Fraction]
    grid: int = 1
    low: int = -(2**62)
    high: int = 2**62

    def __post_init__(self) -> None:
        if not isinstance(self.scale, Sequence):
            object.__setattr__(self, "scale", as_positive(self.scale, "scale"))
        if not self.law.sampled:
            raise QueryError("SRD-108", f"the law {self.law.name} has no exact sampler.", "Certify it, or release with another noise.")
        size, steps = np.shape(self.location), self.scale
        if isinstance(steps, Sequence) and (size != (len(steps),) or not all(s > 0 for s in steps)):
            raise QueryError("SRD-103", "the scales do not fit the locations.", "Give one positive scale for each location.")
        if np.asarray(self.location).dtype.kind not in "iu":
            raise QueryError("SRD-103", "a location is not a whole number of grid steps.", "Round it onto the grid first.")
        if self.grid < 1 or self.grid & (self.grid - 1):
            raise QueryError("SRD-103", f"the output grid is {self.grid}.", "Give a power of two of at least 1.")


@dataclass(frozen=True)
class Symmetric:
    """Cdf, quantile, density and placement, shared by every law through its two-sided tail."""

    sampled = True
    strain = 1.0  # how many times the usual error its float quantile may have
    kinks: tuple[float, ...] = field(default=(), init=False, repr=False, compare=False)

    @property
    def name(self) -> str:
        raise NotImplementedError

    def log_density(self, z: Any) -> Floats:
        raise NotImplementedError

    def tail(self, z: Any) -> Floats:
        raise NotImplementedError

    def magnitude(self, v: Any) -> Floats:
        raise NotImplementedError

    @property
    def variance(self) -> float:
        raise NotImplementedError

    @property
    def turn(self) -> float:
        """Beyond this |z| stretching the law raises its density: z h(z) does not increase any more."""
        return 1.0

    def density(self, z: Any) -> Floats:
        return np.exp(self.log_density(z))

    def cdf(self, z: Any) -> Floats:
        z = np.asarray(z, float)
        half = self.tail(np.abs(z)) / 2
        return np.where(z < 0, half, 1 - half)

    def quantile(self, u: Any) -> Floats:
        u = np.asarray(u, float)
        return np.where(u < 0.5, -1.0, 1.0) * self.magnitude(2 * np.minimum(u, 1 - u))

    def at(
        self,
        location: Place,
        scale: Fraction | Sequence[Fraction],
        *,
        grid: int = 1,
        low: int = -(2**62),
        high: int = 2**62,
    ) -> Placed[Place]:
        return Placed(self, location, scale, grid, low, high)


@dataclass(frozen=True, init=False)
class Law(Symmetric):
    """A symmetric unimodal law of your own, by its density, cdf and quantile: it is certified and plotted, and never released."""

    density_of: Callable[[Any], Any]
    cdf_of: Callable[[Any], Any]
    quantile_of: Callable[[Any], Any]
    label: str
    sampled = False

    def __init__(
        self,
        density: Callable[[Any], Any],
        cdf: Callable[[Any], Any],
        quantile: Callable[[Any], Any],
        label: str = "custom",
        breaks: Sequence[float] = (),
    ) -> None:
        grid = np.linspace(0.01, 8.0, 200)
        heights, mirrored = np.asarray(density(grid), float), np.asarray(density(-grid), float)
        if not (np.allclose(heights, mirrored, rtol=1e-9) and np.all(np.diff(heights) <= 1e-12) and np.all(heights >= 0)):
            what = f"the law {label} is not symmetric and unimodal."
            raise QueryError("SRD-103", what, "The certificate needs h(z) = h(-z), non-increasing in |z|.")
        parts = {"density_of": density, "cdf_of": cdf, "quantile_of": quantile, "label": label, "kinks": tuple(float(z) for z in breaks)}
        for name, part in parts.items():
            object.__setattr__(self, name, part)

    @property
    def name(self) -> str:
        return self.label

    @property
    def turn(self) -> float:
        net = np.geomspace(1e-6, 1e6, 20_001)
        heights = self.log_density(net)
        with np.errstate(invalid="ignore"):  # a density that is 0 far out has turned already, and its last digits before that are noise
            rising = np.flatnonzero((np.diff(np.log(net) + heights) > 0) & (heights[1:] > -690))
        if len(rising) and rising[-1] + 2 >= len(net):
            return math.inf
        return float(net[int(rising[-1]) + 2]) if len(rising) else 0.0

    def log_density(self, z: Any) -> Floats:
        with np.errstate(all="ignore"):  # a density of one's own may underflow as it pleases
            return np.asarray(np.log(np.asarray(self.density_of(np.asarray(z, float)), float)))

    def tail(self, z: Any) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(2 * np.asarray(self.cdf_of(-np.abs(np.asarray(z, float))), float))

    def magnitude(self, v: Any) -> Floats:
        return np.asarray(np.abs(np.asarray(self.quantile_of(np.asarray(v, float) / 2), float)))

    @property
    def variance(self) -> float:
        from scipy.integrate import quad

        return float(2 * quad(lambda z: z * z * float(self.density_of(z)), 0, math.inf)[0])


def output_grid(largest_scale: Fraction) -> int:
    """The public output grid for a largest public scale, both in input steps: a power of two near largest_scale 2^-24, at least 1."""
    return 1 << max(0, (largest_scale.numerator // largest_scale.denominator).bit_length() - 24)
