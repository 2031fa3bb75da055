"""The laws of the noise: density, tail and quantile of each symmetric unimodal law at unit scale, and the law placed on a grid.

A law at unit scale is described by the probability of its two-sided tail, tail(z) = P(|Z| > z), and by the inverse `magnitude`. Cdf and
quantile follow by symmetry, and small tails keep full relative precision.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.privacy.number import as_epsilon, as_positive, exact

__all__ = ["GaussianLaw", "GeneralizedCauchy", "LaplaceLaw", "Law", "Noise", "Placed", "PowerLaw", "StudentT"]

Floats = NDArray[np.float64]


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
class Placed:
    """A law with its private location and scale and its public grid: what a mechanism hands to `draw`.

    The outcome is the integer grid * round((location + scale Z) / grid), clamped to [low, high]. Locations are integers, so this is a
    function of the ideal continuous draw and of public facts only.
    """

    law: _Symmetric
    location: int | NDArray[np.int64]
    scale: Fraction | Sequence[Fraction]
    grid: int = 1
    low: int = -(2**62)
    high: int = 2**62

    def __post_init__(self) -> None:
        if not isinstance(self.scale, Sequence):
            object.__setattr__(self, "scale", as_positive(self.scale, "scale"))
        if not self.law.sampled:
            raise QueryError("SRD-108", f"the law {self.law.name} has no exact sampler.", "Certify it, or release with another noise.")
        if self.grid < 1 or self.grid & (self.grid - 1):
            raise QueryError("SRD-103", f"the output grid is {self.grid}.", "Give a power of two of at least 1.")


@dataclass(frozen=True)
class _Symmetric:
    """Cdf, quantile, density and placement, shared by every law through its two-sided tail."""

    sampled = True
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
        location: int | NDArray[np.int64],
        scale: Fraction | Sequence[Fraction],
        *,
        grid: int = 1,
        low: int = -(2**62),
        high: int = 2**62,
    ) -> Placed:
        return Placed(self, location, scale, grid, low, high)


@dataclass(frozen=True)
class LaplaceLaw(_Symmetric):
    """Density e^{-|z|}/2: mean of |Z| is 1, variance 2; b times a Laplace(1) draw is a Laplace(b) draw."""

    name = "laplace"
    variance = 2.0

    def log_density(self, z: Any) -> Floats:
        return np.asarray(-np.abs(np.asarray(z, float)) - math.log(2))

    def tail(self, z: Any) -> Floats:
        return np.asarray(np.exp(-np.asarray(z, float)))

    def magnitude(self, v: Any) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.abs(np.log(v)))


@dataclass(frozen=True)
class GaussianLaw(_Symmetric):
    """The standard normal."""

    name = "gaussian"
    variance = 1.0

    def log_density(self, z: Any) -> Floats:
        return np.asarray(-(np.asarray(z, float) ** 2) / 2 - math.log(2 * math.pi) / 2)

    def tail(self, z: Any) -> Floats:
        from scipy.special import erfc

        return np.asarray(erfc(np.asarray(z, float) / math.sqrt(2)))

    def magnitude(self, v: Any) -> Floats:
        from scipy.special import ndtri

        return np.asarray(np.abs(ndtri(np.asarray(v, float) / 2)))


@dataclass(frozen=True)
class StudentT(_Symmetric):
    """Student's t. Degrees of freedom 1 (Cauchy), 2 and 4 have closed quantiles and can be sampled exactly."""

    nu: int = 4

    def __post_init__(self) -> None:
        as_positive(self.nu, "nu")

    @property
    def sampled(self) -> bool:  # type: ignore[override]
        return self.nu in (1, 2, 4)

    @property
    def name(self) -> str:
        return "cauchy" if self.nu == 1 else f"student_t({self.nu})"

    @property
    def variance(self) -> float:
        return self.nu / (self.nu - 2) if self.nu > 2 else math.inf

    def log_density(self, z: Any) -> Floats:
        nu = float(self.nu)
        constant = math.lgamma((nu + 1) / 2) - math.lgamma(nu / 2) - math.log(nu * math.pi) / 2
        return np.asarray(constant - (nu + 1) / 2 * np.log1p(np.asarray(z, float) ** 2 / nu))

    def tail(self, z: Any) -> Floats:
        from scipy.special import stdtr

        return np.asarray(2 * stdtr(float(self.nu), -np.asarray(z, float)))

    def magnitude(self, v: Any) -> Floats:
        v = np.asarray(v, float)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            if self.nu == 1:
                return np.asarray(np.where(v < 0.5, 1 / np.tan(np.pi / 2 * v), np.tan(np.pi / 2 * (1 - v))))
            root = np.sqrt(v * (2 - v))
            if self.nu == 2:
                return np.asarray(math.sqrt(2) * (1 - v) / root)
            if self.nu == 4:  # q - 1 in product form, so that z near 0 keeps its digits
                third = np.arctan2(1 - v, root) / 3
                return np.asarray(2 * np.sqrt(2 * np.sin(2 * third) * np.sin(third) / root))
        from scipy.special import stdtrit

        return np.asarray(np.abs(stdtrit(float(self.nu), v / 2)))


@dataclass(frozen=True)
class GeneralizedCauchy(_Symmetric):
    r"""Density proportional to 1/(1+|z|^gamma) for any gamma > 1.

    With w = 1/(1+z^gamma) the tail is the regularised incomplete beta function I_w(1 - 1/gamma, 1/gamma).
    """

    gamma: Fraction = Fraction(2)

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", exact(self.gamma, "gamma"))
        if self.gamma <= 1:
            raise QueryError("SRD-103", f"gamma is {self.gamma}.", "Give gamma above 1; the density has no finite mass otherwise.")

    @property
    def name(self) -> str:
        return f"generalized_cauchy({float(self.gamma):g})"

    @property
    def variance(self) -> float:
        g = float(self.gamma)
        return math.sin(math.pi / g) / math.sin(3 * math.pi / g) if g > 3 else math.inf

    @property
    def turn(self) -> float:
        return float((1 / (self.gamma - 1)) ** (1 / self.gamma)) * (1 + 1e-9)

    def log_density(self, z: Any) -> Floats:
        g = float(self.gamma)
        with np.errstate(divide="ignore"):
            power = g * np.log(np.abs(np.asarray(z, float)))
        return np.asarray(math.log(math.sin(math.pi / g) * g / (2 * math.pi)) - np.logaddexp(0.0, power))

    def tail(self, z: Any) -> Floats:
        from scipy.special import betainc

        g = float(self.gamma)
        z = np.asarray(z, float)
        with np.errstate(over="ignore"):
            inside = np.minimum(z, 1.0) ** g  # 1 - w without cancellation for z below 1
            outside = 1 / (1 + np.maximum(z, 1.0) ** g)
        return np.asarray(np.where(z < 1, 1 - betainc(1 / g, 1 - 1 / g, inside / (1 + inside)), betainc(1 - 1 / g, 1 / g, outside)))

    def magnitude(self, v: Any) -> Floats:
        from scipy.special import betaincinv

        g = float(self.gamma)
        v = np.asarray(v, float)
        far = betaincinv(1 - 1 / g, 1 / g, v)  # w: precise where z is large
        near = betaincinv(1 / g, 1 - 1 / g, 1 - v)  # 1 - w: precise where z is small
        with np.errstate(divide="ignore", over="ignore"):
            odds = np.where(far < 0.5, (1 - far) / far, near / (1 - near))
            return np.asarray(odds ** (1 / g))


@dataclass(frozen=True)
class PowerLaw(_Symmetric):
    r"""The quietest noise for a beta-smooth scale at pure epsilon: a bent peak, then a power tail.

    With a = epsilon/beta > 1 the density is proportional to (1 - beta|z|)^{a-1} up to |z| = 1/epsilon and to C (1 + beta|z|)^{-(a+1)}
    beyond, C = (1-1/a)^{a-1} (1+1/a)^{a+1}; beta -> 0 is Laplace(1/epsilon).

    Theorem. f(x) + S(x) Z is epsilon-DP for every beta-smooth bound S of the local sensitivity of f.
    Proof. Move from one neighbour to the other along the affine flow z -> z + t (slide + dilation z), slide <= 1, dilation <= beta. The
    log-density changes at rate -lambda + psi(|z|) (lambda |z| + slide), psi = -(ln h)'. Keeping this rate within epsilon for all
    lambda in [-beta, beta] forces psi <= (epsilon - beta)/(1 - beta|z|) before the kink and psi <= (epsilon + beta)/(1 + beta|z|) after
    it, and the density above has equality. QED (The idea is Hladik and Tetek's, FORC 2025.)
    """

    epsilon: Fraction = Fraction(1)
    beta: Fraction = Fraction(3, 10)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "beta", as_positive(self.beta, "beta"))
        if self.beta > self.epsilon * Fraction(999, 1000):
            what = f"beta is {float(self.beta):g} at epsilon {float(self.epsilon):g}."
            raise QueryError("SRD-103", what, "Give beta below epsilon; 0.3 epsilon is a good choice.")
        object.__setattr__(self, "kinks", (float(1 / self.epsilon),))

    @property
    def name(self) -> str:
        return "power_law"

    @property
    def a(self) -> Fraction:
        return self.epsilon / self.beta

    @property
    def turn(self) -> float:
        return float(1 / self.epsilon)

    def _constants(self) -> tuple[float, float, float, float]:
        a = float(self.a)
        peak = math.exp(a * math.log1p(-1 / a))  # (1-1/a)^a
        beyond = peak / (1 - 1 / a) * (1 + 1 / a)  # tail mass past the kink, before normalising
        log_c = (a - 1) * math.log1p(-1 / a) + (a + 1) * math.log1p(1 / a)
        return a, 1 - peak + beyond, beyond, log_c

    @property
    def variance(self) -> float:
        from scipy.integrate import quad

        if self.a <= 2:
            return math.inf
        kink = self.kinks[0]
        inner = quad(lambda z: z * z * float(self.density(z)), 0, kink)[0]
        return float(2 * (inner + quad(lambda z: z * z * float(self.density(z)), kink, math.inf)[0]))

    def log_density(self, z: Any) -> Floats:
        a, mass, _, log_c = self._constants()
        x = float(self.beta) * np.abs(np.asarray(z, float))
        inner = (a - 1) * np.log1p(-np.minimum(x, 1 / a))
        outer = log_c - (a + 1) * np.log1p(np.maximum(x, 1 / a))
        return np.asarray(np.where(x <= 1 / a, inner, outer) + math.log(a * float(self.beta) / (2 * mass)))

    def tail(self, z: Any) -> Floats:
        a, mass, _, log_c = self._constants()
        x = float(self.beta) * np.asarray(z, float)
        inner = 1 + np.expm1(a * np.log1p(-np.minimum(x, 1 / a))) / mass
        outer = np.exp(log_c - a * np.log1p(np.maximum(x, 1 / a))) / mass
        return np.asarray(np.where(x <= 1 / a, inner, outer))

    def magnitude(self, v: Any) -> Floats:
        a, mass, beyond, log_c = self._constants()
        v = np.asarray(v, float)
        far = v * mass <= beyond
        with np.errstate(divide="ignore"):
            exponent = np.where(far, log_c - np.log(v * mass), np.log1p(np.maximum(-(1 - v) * mass, math.expm1(a * math.log1p(-1 / a)))))
        with np.errstate(over="ignore"):
            return np.asarray(np.abs(np.expm1(exponent / a)) / float(self.beta))


@dataclass(frozen=True)
class Law(_Symmetric):
    """A symmetric unimodal law of your own, by its density, cdf and quantile: it is certified and plotted, and never released."""

    density_of: Callable[[Any], Any] = lambda z: z
    cdf_of: Callable[[Any], Any] = lambda z: z
    quantile_of: Callable[[Any], Any] = lambda z: z
    label: str = "custom"
    breaks: tuple[float, ...] = ()
    sampled = False

    def __post_init__(self) -> None:
        grid = np.linspace(0.01, 8.0, 200)
        density = np.asarray(self.density_of(grid), float)
        mirrored = np.asarray(self.density_of(-grid), float)
        if not (np.allclose(density, mirrored, rtol=1e-9) and np.all(np.diff(density) <= 1e-12) and np.all(density >= 0)):
            what = f"the law {self.label} is not symmetric and unimodal."
            raise QueryError("SRD-103", what, "The certificate needs h(z) = h(-z), non-increasing in |z|.")
        object.__setattr__(self, "kinks", tuple(float(z) for z in self.breaks))

    @property
    def name(self) -> str:
        return self.label

    @property
    def turn(self) -> float:
        net = np.geomspace(1e-6, 1e6, 20_001)
        with np.errstate(invalid="ignore"):  # a density that is 0 far out has turned already
            rising = np.flatnonzero(np.diff(np.log(net) + self.log_density(net)) > 0)
        return float(net[min(int(rising[-1]) + 2, len(net) - 1)]) if len(rising) else 0.0

    def log_density(self, z: Any) -> Floats:
        with np.errstate(all="ignore"):  # a density of one's own may underflow as it pleases
            return np.asarray(np.log(np.asarray(self.density_of(np.asarray(z, float)), float)))

    def tail(self, z: Any) -> Floats:
        return np.asarray(2 * np.asarray(self.cdf_of(-np.abs(np.asarray(z, float))), float))

    def magnitude(self, v: Any) -> Floats:
        return np.asarray(np.abs(np.asarray(self.quantile_of(np.asarray(v, float) / 2), float)))

    @property
    def variance(self) -> float:
        from scipy.integrate import quad

        return float(2 * quad(lambda z: z * z * float(self.density_of(z)), 0, math.inf)[0])
