"""The families of noise: Laplace, Gaussian, Student, generalised Cauchy, and the power law of smooth sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.privacy.law import Floats, Symmetric
from sordino.privacy.number import as_epsilon, as_positive, exact

__all__ = ["GaussianLaw", "GeneralizedCauchy", "LaplaceLaw", "PowerLaw", "StudentT"]


@dataclass(frozen=True)
class LaplaceLaw(Symmetric):
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
class GaussianLaw(Symmetric):
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
class StudentT(Symmetric):
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
class GeneralizedCauchy(Symmetric):
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
    def strain(self) -> float:  # type: ignore[override]
        return max(1.0, float(self.gamma / (self.gamma - 1)) ** 2 / 4)  # z is the power 1/(gamma-1) of a probability

    @property
    def sampled(self) -> bool:  # type: ignore[override]
        return Fraction(101, 100) <= self.gamma <= 1000

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
        rest = float((self.gamma - 1) / self.gamma)
        far = betaincinv(rest, 1 / g, v)  # w: precise where z is large
        near = betaincinv(1 / g, rest, 1 - v)  # 1 - w: precise where z is small
        with np.errstate(divide="ignore", over="ignore"):
            odds = np.where(far < 0.5, (1 - far) / far, near / (1 - near))
            flat = (1 - v) * math.pi / (g * math.sin(math.pi / g))  # where near may underflow, the density has not begun to fall
            return np.asarray(np.where(near < 1e-20, flat, odds ** (1 / g)))


@dataclass(frozen=True)
class PowerLaw(Symmetric):
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
