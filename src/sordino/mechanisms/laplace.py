"""The Laplace mechanism, for one number or a vector."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sordino.errors import QueryError
from sordino.mechanisms.listing import claim, listed
from sordino.privacy.certificate import Certificate, LaplaceShift
from sordino.privacy.cost import Cost
from sordino.privacy.families import LaplaceLaw
from sordino.privacy.law import output_grid
from sordino.privacy.number import Given, as_epsilon, as_positive
from sordino.summaries import Ask, Draw, Value

__all__ = ["Laplace", "as_dimension", "check_scale", "default_step", "on_grid"]


def default_step(sensitivity: Fraction, resolution: Any) -> Fraction:
    """The public grid: the caller's resolution, whole numbers for a whole sensitivity, else a power of two 2^-20 below the sensitivity."""
    if resolution is not None:
        return as_positive(resolution, "resolution")
    if sensitivity.denominator == 1:
        return Fraction(1)
    return Fraction(2) ** (sensitivity.numerator.bit_length() - sensitivity.denominator.bit_length() - 20)


def check_scale(scale: Fraction) -> None:
    """Refuse noise whose tails would leave 62 bits."""
    if scale > 2**56:
        what = f"the noise has a scale of {float(scale):.1g} grid steps." if scale < 10**300 else "the noise is wider than any number."
        raise QueryError("SRD-103", what, "Use a larger epsilon or a coarser resolution.")


def as_dimension(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise QueryError("SRD-103", f"dimension is {value!r}.", "Give the public number of coordinates, at least 1.")
    return value


@listed("Laplace mechanism", "Laplacian mechanism", "vector Laplace", "noise addition", note="001 2, 3; 003; 004 Laplace mechanism")
@dataclass(frozen=True)
class Laplace:
    r"""Add Laplace noise of scale (L1 sensitivity) / epsilon to any function with a bounded sensitivity.

    Theorem. If one unit moves f by at most Delta in L1 norm, f(x) + Lap(Delta/epsilon) per coordinate is epsilon-DP, and for one
    coordinate for no smaller epsilon.
    Proof. The log-density at z changes by at most sum_i |f_i(x) - f_i(x')| epsilon / Delta <= epsilon by the triangle inequality, with
    equality beyond both centres. Rounding to the grid happens to integers f: a function with sensitivity Delta moves its rounded value
    by at most ceil(Delta/step) steps (and one more per coordinate of a vector), and the rounded draw is a function of the ideal one. QED
    """

    epsilon: Fraction
    sensitivity: Fraction = Fraction(1)
    dimension: int = 1
    resolution: Fraction | None = None

    if TYPE_CHECKING:  # it takes any number, and keeps exact ones

        def __init__(self, epsilon: Given, sensitivity: Given = 1, dimension: int = 1, resolution: Given | None = None) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "sensitivity", as_positive(self.sensitivity, "sensitivity"))
        object.__setattr__(self, "resolution", default_step(self.sensitivity, self.resolution))
        as_dimension(self.dimension)
        check_scale(self.scale)

    @property
    def step(self) -> Fraction:
        assert self.resolution is not None
        return self.resolution

    @property
    def reach(self) -> int:
        """The L1 sensitivity of the rounded statistic, in grid steps."""
        return math.ceil(self.sensitivity / self.step) + (self.dimension if self.dimension > 1 and self.step != 1 else 0)

    @property
    def scale(self) -> Fraction:
        """The noise scale in grid steps."""
        return self.reach / self.epsilon

    @property
    def variance(self) -> float:
        return 2 * float(self.scale * self.step) ** 2

    def certificate(self) -> Certificate:
        witness = LaplaceShift(float(self.reach / self.scale))
        moved = f"one unit moves the statistic by at most {float(self.sensitivity):g} in L1 norm"
        return claim(self, Cost.laplace(self.epsilon), witness, assumes=moved)

    def release(self, ask: Ask, draw: Draw) -> Any:
        steps = draw(LaplaceLaw().at(ask(Value(self.step, self.dimension)), self.scale, grid=output_grid(self.scale)))
        return on_grid(steps, self.step)

    @classmethod
    def examples(cls) -> Sequence[Laplace]:
        one = Fraction(1)
        return (cls(one), cls(Fraction(1, 10), Fraction(10**6)), cls(Fraction(2), Fraction(1, 3)), cls(one, Fraction(3), dimension=5))


def on_grid(steps: Any, step: Fraction) -> Any:
    """Grid steps as numbers: integers when the step is whole, doubles otherwise."""
    if step.denominator == 1:
        return steps * step.numerator
    return float(step * steps) if isinstance(steps, int) else steps * float(step)
