"""Noise for a whole vector, scaled by a smooth sensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.mechanisms.laplace import as_dimension
from sordino.mechanisms.listing import claim, listed
from sordino.privacy.certificate import Certificate
from sordino.privacy.cost import Cost
from sordino.privacy.families import GaussianLaw, LaplaceLaw
from sordino.privacy.law import output_grid
from sordino.privacy.number import as_delta, as_epsilon, as_positive
from sordino.privacy.sphere import ProductSpread, SphericalSpread, SphericalT, least_spread
from sordino.summaries import Ask, Draw, Rung, Stair

__all__ = ["NOISES", "SmoothVector"]

NOISES = ("student_t", "laplace", "gaussian")
LARGEST_BETA = Fraction(10)  # a smooth bound that may change by e^10 between neighbours is the local one


@listed("vector smooth sensitivity", "smooth sensitivity of a vector", note="000 13.3.3 Lemmas 13.2-13.4; 004 smooth sensitivity, p-D")
@dataclass(frozen=True)
class SmoothVector:
    r"""Release f(x) + s S(x) Z for a vector f: S is a beta-smooth bound on how far one step moves f, in L2 norm (L1 for Laplace noise).

    Theorem. With the spherical t law of even nu and beta < epsilon/max(nu, d) this is epsilon-DP for
    s = (2 nu min(G(0), G(beta)))^{-1/2}, G(l) = e^l (cosh((2 epsilon - |nu - d| l)/(nu + d)) - cosh l); with independent Laplace or
    Gaussian coordinates it is (epsilon, delta)-DP for every s at which sliding by 1/s and dilating by beta cost no more together.
    Proof. |f(x) - f(x')| <= min(S(x), S(x')), so in units of the narrower scale neighbours differ by a slide of at most 1/s and a dilation
    of at most e^beta. The log-ratio of t laws is a hyperbolic distance; Laplace and Gaussian laws are slid first and dilated then. S stands
    on a public ladder, f is a vector of whole grid steps, and rounding the draw is post-processing. QED
    """

    epsilon: Fraction
    dimension: int = 2
    beta: Fraction | None = None
    noise: str = "student_t"
    delta: Fraction = Fraction(0)
    nu: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "delta", as_delta(self.delta, zero=True))
        as_dimension(self.dimension)
        if self.noise not in NOISES:
            raise QueryError("SRD-106", f"noise {self.noise!r} is unknown.", f"Use one of {', '.join(NOISES)}.")
        if (self.noise != "student_t") != bool(self.delta):
            need = "needs a delta" if self.noise != "student_t" else "is pure and takes no delta"
            raise QueryError("SRD-102", f"{self.noise} noise {need}.", "Give delta= with laplace or gaussian noise, none with student_t.")
        nu = max(4, 2 * -(-self.dimension // 2)) if self.nu is None else self.nu
        object.__setattr__(self, "nu", SphericalT(self.dimension, nu).nu)
        object.__setattr__(self, "beta", self._default_beta() if self.beta is None else as_positive(self.beta, "beta"))
        _ = self.s  # a beta that no scale can serve is refused here

    def _default_beta(self) -> Fraction:
        """Half of what the tail can bear at all, or the notes' share of epsilon."""
        assert self.nu is not None
        if self.noise == "student_t":
            return min(self.epsilon / (2 * max(self.nu, self.dimension)), LARGEST_BETA)
        bits = self.delta.denominator.bit_length() - self.delta.numerator.bit_length() + 2  # about log2(2/delta), more than ln(2/delta)
        return self.epsilon / (4 * (self.dimension + bits))

    @property
    def law(self) -> SphericalT:
        assert self.nu is not None
        return SphericalT(self.dimension, self.nu)

    @property
    def s(self) -> Fraction:
        """The least certified multiple of the smooth sensitivity."""
        assert self.beta is not None
        return least_spread(self.noise, self.dimension, self.law.nu, beta=self.beta, epsilon=self.epsilon, delta=self.delta)

    def certificate(self) -> Certificate:
        assert self.beta is not None
        s, beta = float(self.s), float(self.beta)
        witness = SphericalSpread(self.law, s, beta) if self.noise == "student_t" else ProductSpread(self.noise, self.dimension, s, beta)
        cost = Cost.approximate(self.epsilon, self.delta)
        loose = "the slide and the dilation are priced one after the other" if self.noise != "student_t" else ""
        return claim(self, cost, witness, assumes="the bound on the local sensitivity of the vector is beta-smooth", loose=loose)

    def release(self, ask: Ask, draw: Draw) -> tuple[float, ...]:
        assert self.beta is not None
        rung: Rung = ask(Stair(self.beta))
        grid, scale = output_grid(self.s * rung.scales[-1]), self.s * rung.scales[rung.index]
        place: Any = np.asarray(rung.location, np.int64)
        if self.noise == "student_t":
            steps = draw(self.law.at(place, scale, grid=grid, low=rung.low, high=rung.high))
        else:
            law = LaplaceLaw() if self.noise == "laplace" else GaussianLaw()
            steps = draw(law.at(place, scale, grid=grid, low=rung.low, high=rung.high))
        return tuple(float(step * rung.step) for step in np.asarray(steps).tolist())

    @classmethod
    def examples(cls) -> Sequence[SmoothVector]:
        one, small = Fraction(1), Fraction(1, 10**6)
        return (
            cls(one, 2),
            cls(one, 11),
            cls(Fraction(1, 10), 3, nu=4),
            cls(one, 5, noise="laplace", delta=small),
            cls(one, 5, noise="gaussian", delta=small),
        )
