"""Noise for a vector scaled by a smooth sensitivity: the multivariate t law, and products of Laplace or Gaussian laws."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.privacy.cost import gaussian_delta
from sordino.privacy.law import Floats, LawOutcome
from sordino.privacy.number import as_positive, round_up

__all__ = ["PlacedVector", "ProductSpread", "SphericalSpread", "SphericalT", "least_spread"]

MARGIN = 1e-9  # the rounding of closed forms, relative


@dataclass(frozen=True)
class PlacedVector(LawOutcome[NDArray[np.int64]]):
    """A spherical law at a private place: grid round((location + scale Z) / grid), each coordinate clamped to [low, high]."""

    law: SphericalT
    location: NDArray[np.int64]
    scale: Fraction
    grid: int = 1
    low: int = -(2**62)
    high: int = 2**62

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", as_positive(self.scale, "scale"))
        place = np.asarray(self.location)
        if place.dtype.kind not in "iu" or place.shape != (self.law.dimension,):
            raise QueryError("SRD-103", "the location is not one whole number per coordinate.", "Round it onto the grid first.")
        if self.grid < 1 or self.grid & (self.grid - 1):
            raise QueryError("SRD-103", f"the output grid is {self.grid}.", "Give a power of two of at least 1.")


@dataclass(frozen=True)
class SphericalT:
    r"""The d-dimensional t law: a standard Gaussian vector times sqrt(nu / chi^2_nu). Density proportional to (1 + |z|^2/nu)^{-(nu+d)/2}.

    With an even nu it is sampled exactly: chi^2_nu is -2 times the logarithm of a product of nu/2 uniform numbers.
    """

    dimension: int
    nu: int = 4

    def __post_init__(self) -> None:
        for name, value in (("dimension", self.dimension), ("nu", self.nu)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise QueryError("SRD-103", f"{name} is {value!r}.", f"Give {name} as a whole number of at least 1.")
        if self.nu % 2:
            raise QueryError("SRD-108", f"the law with nu = {self.nu} has no exact sampler.", "Give an even nu.")

    @property
    def name(self) -> str:
        return f"spherical_t({self.nu}, d={self.dimension})"

    def log_density(self, z: Any) -> Floats:
        """Of vectors along the last axis."""
        nu, d = self.nu, self.dimension
        constant = math.lgamma((nu + d) / 2) - math.lgamma(nu / 2) - d / 2 * math.log(nu * math.pi)
        return np.asarray(constant - (nu + d) / 2 * np.log1p(np.sum(np.asarray(z, float) ** 2, axis=-1) / nu))

    def at(self, location: Any, scale: Fraction, *, grid: int = 1, low: int = -(2**62), high: int = 2**62) -> PlacedVector:
        return PlacedVector(self, np.asarray(location), scale, grid, low, high)


@dataclass(frozen=True)
class SphericalSpread:
    r"""Spherical t noise s S(x) Z with a beta-smooth S: every slide up to 1/s in L2 norm and every dilation up to beta.

    Theorem. The largest log-ratio of N = Z and W = slide + e^lambda Z is, with D = |slide|,
    e(lambda) = (nu + d)/2 arcosh(cosh lambda + D^2 e^-lambda/(2 nu)) + |nu - d| lambda/2; over 0 <= lambda <= beta an end is the worst.
    Proof. ln N/W = d lambda - (nu + d)/2 lambda + (nu + d)/2 ln[(nu e^{2 lambda} + |y - slide|^2)/(e^lambda (nu + |y|^2))]; the bracket
    is a quotient of Poisson kernels of the upper half space, whose logarithm ranges over plus and minus the hyperbolic distance of the
    points (0, sqrt nu) and (slide, e^lambda sqrt nu). e(lambda) <= E means D^2 <= 2 nu G, 2 G = e^a u^{1-b} + e^-a u^{1+b} - u^2 - 1 with
    u = e^lambda, a = 2E/(nu + d), b = |nu - d|/(nu + d) < 1, and G is concave in u because (1 + b) b < 2. QED
    """

    law: SphericalT
    s: float
    beta: float

    def at(self, lam: float) -> float:
        nu, d = self.law.nu, self.law.dimension
        inside = math.cosh(lam) + math.exp(-lam) / (2 * nu * self.s**2)
        return (nu + d) / 2 * math.acosh(inside) + abs(nu - d) / 2 * lam

    def sup(self) -> float:
        return max(self.at(0.0), self.at(self.beta)) * (1 + MARGIN)

    def delta(self, epsilon: float) -> float:
        """The bound that holds for every pure guarantee."""
        largest = self.sup()
        return 0.0 if epsilon >= largest else -math.expm1(epsilon - largest) / (1 + math.exp(-largest))


@dataclass(frozen=True)
class ProductSpread:
    r"""Independent Laplace (L1) or Gaussian (L2) coordinates, s S(x) Z with a beta-smooth S.

    Theorem. With epsilon = e1 + e2 and d beta <= e2 the release is (epsilon, delta)-DP for
    delta = min(ds + e^e1 dd, dd + e^e2 ds): Laplace: e1 = 1/s, ds = 0, dd = P[Gamma(d) > (e2 + d beta)/(e^beta - 1)]; Gaussian: ds is the
    profile of the mu-Gaussian at e1, mu = 1/s, and dd = P[chi^2_d > 2 (e2 + d beta)/(e^{2 beta} - 1)].
    Proof. Slide at one scale, then dilate at one place, in either order. The narrow law over the wide one never exceeds e^{d lambda}. The
    wide law over the narrow one has the loss -d lambda + (e^lambda - 1) Gamma(d), or -d lambda + (e^{2 lambda} - 1) chi^2_d / 2, which
    exceeds e2 most often at lambda = beta. QED
    """

    kind: str
    dimension: int
    s: float
    beta: float

    def sup(self) -> float:
        return math.inf

    def _dilated(self, e2: float) -> float:
        from scipy.special import chdtrc, gammaincc

        if self.dimension * self.beta > e2:
            return 1.0
        level = e2 + self.dimension * self.beta
        if self.kind == "laplace":
            return float(gammaincc(self.dimension, level / math.expm1(self.beta)))
        return float(chdtrc(self.dimension, 2 * level / math.expm1(2 * self.beta)))

    def delta(self, epsilon: float) -> float:
        if self.kind == "laplace":
            return self._dilated(epsilon - 1 / self.s) * (1 + MARGIN) if epsilon > 1 / self.s else 1.0
        best = 1.0
        for share in np.linspace(0.02, 0.98, 97).tolist():
            e1, e2 = share * epsilon, (1 - share) * epsilon
            slide, dilate = gaussian_delta(1 / self.s, e1), self._dilated(e2)
            best = min(best, slide + math.exp(min(e1, 700.0)) * dilate, dilate + math.exp(min(e2, 700.0)) * slide)
        return best * (1 + MARGIN)


@lru_cache(maxsize=256)
def least_spread(kind: str, dimension: int, nu: int, *, beta: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The least s, from above, at which noise of this kind keeps (epsilon, delta); in closed form for the t law."""
    e, d, b = float(epsilon), float(delta), float(beta)
    refusal = QueryError("SRD-110", f"no scale makes {kind} noise private at beta {b:g}, epsilon {e:g}.", "Use a smaller beta.")
    if kind == "student_t":
        a, share = 2 * e / (nu + dimension), abs(nu - dimension) / (nu + dimension)
        room = min(math.exp(lam) * (math.cosh(a - share * lam) - math.cosh(lam)) for lam in (0.0, b))
        if room <= 1e-12:
            raise refusal
        return round_up((2 * nu * room) ** -0.5 * (1 + 1e-6), 9)

    def holds(s: float) -> bool:
        return ProductSpread(kind, dimension, s, b).delta(e) <= d

    low, high = 0.0, 1.0
    while not holds(high):
        low, high = high, 2 * high
        if high > 1e12:
            raise refusal
    while high - low > 1e-5 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return round_up(high, 9)
