"""The Gaussian mechanism, calibrated exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sordino.errors import QueryError
from sordino.mechanisms.laplace import as_dimension, check_scale, default_step, on_grid
from sordino.mechanisms.listing import claim, listed
from sordino.privacy.certificate import Certificate, GaussianShift
from sordino.privacy.cost import Cost, gaussian_delta
from sordino.privacy.families import GaussianLaw
from sordino.privacy.law import output_grid
from sordino.privacy.number import Given, as_delta, as_epsilon, as_positive, round_down
from sordino.summaries import Ask, Draw, Value

__all__ = ["Gaussian", "largest_mu"]


@lru_cache(maxsize=1024)
def largest_mu(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest shift, in standard deviations, that keeps (epsilon, delta); rounded down."""
    if float(delta) < 1e-300:
        raise QueryError("SRD-102", f"delta is {delta}.", "Give a delta that is not below 1e-300.")
    low, high = 0.0, 1.0
    while gaussian_delta(high, float(epsilon)) <= float(delta):
        low, high = high, 2 * high
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, float(epsilon)) <= float(delta) else (low, middle)
    found = round_down(low * (1 - 1e-12), 30)
    while gaussian_delta(math.sqrt(found**2), float(epsilon)) > float(delta):  # as a cost checks it; the closed form is rough for small mu
        found = round_down(float(found) * (1 - 1e-10), 30)
    return found


@listed("Gaussian mechanism", "vector Gaussian", note="001 5; 003 Gaussian mechanism; 004")
@dataclass(frozen=True)
class Gaussian:
    r"""Add Gaussian noise with the least standard deviation that (epsilon, delta) allows, for every epsilon.

    Theorem. If one unit moves f by at most Delta in L2 norm and mu = Delta/sigma, the release is (epsilon, delta)-DP exactly when
    delta >= Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).
    Proof. By rotation the worst pair is N(0,1) against N(mu,1), whose loss is N(mu^2/2, mu^2); integrate (1 - e^{epsilon - loss})_+
    (Balle and Wang 2018). Rounding is post-processing, as for Laplace noise. QED
    """

    epsilon: Fraction
    delta: Fraction
    sensitivity: Fraction = Fraction(1)
    dimension: int = 1
    resolution: Fraction | None = None

    if TYPE_CHECKING:  # it takes any number, and keeps exact ones

        def __init__(
            self, epsilon: Given, delta: Given, sensitivity: Given = 1, dimension: int = 1, resolution: Given | None = None
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "delta", as_delta(self.delta))
        object.__setattr__(self, "sensitivity", as_positive(self.sensitivity, "sensitivity"))
        object.__setattr__(self, "resolution", default_step(self.sensitivity, self.resolution))
        as_dimension(self.dimension)
        check_scale(self.scale)

    @property
    def step(self) -> Fraction:
        assert self.resolution is not None
        return self.resolution

    @property
    def reach(self) -> Fraction:
        """The L2 sensitivity of the rounded statistic, in grid steps."""
        steps = self.sensitivity / self.step
        if self.dimension > 1 and self.step != 1:
            return steps + math.isqrt(self.dimension) + 1
        return Fraction(math.ceil(steps)) if self.dimension == 1 else steps

    @property
    def scale(self) -> Fraction:
        """The standard deviation in grid steps."""
        return self.reach / largest_mu(self.epsilon, self.delta)

    @property
    def variance(self) -> float:
        return float(self.scale * self.step) ** 2

    def certificate(self) -> Certificate:
        mu = self.reach / self.scale
        cost = Cost.gaussian(largest_mu(self.epsilon, self.delta) ** 2, self.epsilon, self.delta)
        moved = f"one unit moves the statistic by at most {float(self.sensitivity):g} in L2 norm"
        return claim(self, cost, GaussianShift(float(mu)), assumes=moved)

    def release(self, ask: Ask, draw: Draw) -> Any:
        steps = draw(GaussianLaw().at(ask(Value(self.step, self.dimension)), self.scale, grid=output_grid(self.scale)))
        return on_grid(steps, self.step)

    @classmethod
    def examples(cls) -> Sequence[Gaussian]:
        small = Fraction(1, 10**6)
        return (cls(Fraction(1), small), cls(Fraction(1, 10), Fraction(1, 10**5), Fraction(100)), cls(Fraction(20), small, dimension=10))
