"""Private noisy gradient descent: a fixed number of steps, each along a noisy sum of clipped gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.estimate import UNIT, Portions, located, root_up, whole_theta
from sordino.mechanisms.laplace import as_dimension, check_scale
from sordino.mechanisms.listing import claim, listed
from sordino.mechanisms.normal_equations import as_rows, columns
from sordino.privacy.certificate import Certificate, LaplaceShift
from sordino.privacy.cost import Cost
from sordino.privacy.families import LaplaceLaw
from sordino.privacy.law import output_grid
from sordino.privacy.number import as_delta, as_epsilon, as_positive
from sordino.privacy.relation import Relation
from sordino.summaries import Ask, Draw
from sordino.summaries.moment import FINE, ONE, Gradient, Gram, MomentTerm

__all__ = ["NoisyDescent"]

Floats = NDArray[np.float64]
COUNT = Fraction(1, 50)  # of the price, for the number of rows where it is not public
PLANNED = 10_000  # rows that steps are planned for where their number is not public
MOST = 100_000
LOSSES = ("huber", "logistic")


@listed("noisy gradient descent", "private stochastic gradient descent", "noisy descent", note="004 private noisy gradient descent")
@dataclass(frozen=True)
class NoisyDescent:
    r"""theta_k = theta_{k-1} + (rate/n) (sum over people of clipped downhill directions at theta_{k-1} + noise), a fixed number of times.

    The loss is Huber's (a 1-dimensional location when the constant is the only term) or logistic. A person's direction is clipped to norm
    `bound`: L2 for Gaussian noise (delta > 0), L1 for Laplace noise. n is public, or drawn first from a fiftieth of the price.
    Unless `rounds` are given there are as many as public facts ask for: T = ceil(ln(R/target)/-ln(1 - rate m)), R the `radius` within which
    the optimum is looked for, m the `curvature` of the mean loss, target the error that the noise of T steps leaves in any case.

    Theorem. One person moves a sum by at most B, a replaced person by 2B. T steps with Gaussian noise sigma are as private as one Gaussian
    with mu = B sqrt(T)/sigma (2B sqrt(T)/sigma), and T steps with Laplace noise of scale b are epsilon-DP with epsilon = B T/b (2 B T/b).
    Proof. Given the earlier outcomes theta_{k-1} is public, so a step is one Gaussian or Laplace draw with that sensitivity; compose over T
    steps, whose number does not depend on the data. Cutting to whole units moves each coordinate by at most one unit more. QED
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    rounds: int | None = None
    bound: Fraction = Fraction(1)
    rate: Fraction = Fraction(1)
    dimension: int = 1
    size: int | None = None
    loss: str = "huber"
    relation: str = "add_remove"
    max_rows: int = 1
    terms: tuple[MomentTerm, ...] | None = None
    required: tuple[int, ...] = ()
    curvature: Fraction = Fraction(1, 2)
    radius: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "delta", as_delta(self.delta, zero=True))
        for name in ("bound", "rate", "curvature", "radius"):
            object.__setattr__(self, name, as_positive(getattr(self, name), name))
        as_dimension(self.dimension)
        as_rows(self.max_rows)
        if self.loss not in LOSSES:
            raise QueryError("SRD-106", f"loss {self.loss!r} is unknown.", f"Use one of {', '.join(LOSSES)}.")
        Relation.of(self.relation)
        if self.size is not None and (isinstance(self.size, bool) or not isinstance(self.size, int) or self.size < 1):
            raise QueryError("SRD-103", f"size is {self.size!r}.", "Give the public number of rows, or leave it out.")
        if self.terms is not None and (not isinstance(self.terms, tuple) or len(self.terms) != self.dimension + 1):
            raise QueryError("SRD-103", "the terms do not fit the dimension.", "Give the terms and then the target.")
        if not isinstance(self.required, tuple):
            raise QueryError("SRD-103", "required is not a tuple.", "Give the conditions that must hold, by their places.")
        if self.rounds is None:
            object.__setattr__(self, "rounds", self._planned())
        if isinstance(self.rounds, bool) or not isinstance(self.rounds, int) or not 1 <= self.rounds <= MOST:
            raise QueryError("SRD-103", f"rounds is {self.rounds!r}.", f"Give the number of steps beforehand, from 1 to {MOST:,}, or none.")
        _ = self.scales  # noise of impossible width is refused here

    def fall(self, steps: int) -> float:
        """How far from the optimum the descent still is without noise, at most, if radius and curvature are as said."""
        return float(self.radius) * max(1 - float(self.rate * self.curvature), 0.0) ** steps

    def target(self, steps: int) -> float:
        """The standard error that noise leaves after this many steps: rate sigma/n per step, and older steps fade."""
        _, each = self._scaled(steps)
        noise = float(each) / UNIT * (1 if self.delta else math.sqrt(2))
        faded = min(max(1 - float(self.rate * self.curvature), 0.0) ** 2, 1 - 1e-9)
        return float(self.rate) * noise / (self.size or PLANNED) * math.sqrt(self.dimension / (1 - faded))

    def _planned(self) -> int:
        """The least number of steps after which what is left to fall is below the error of the noise; more steps only add noise."""
        low, high = 1, MOST  # the one falls with the steps and the other rises
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if self.fall(middle) <= self.target(middle) else (middle + 1, high)
        return low

    @cached_property
    def reaches(self) -> tuple[Fraction, Fraction]:
        """The sensitivities of the count, and of a sum in units of 2^-28."""
        both = 2 if Relation.of(self.relation) is Relation.REPLACE else 1
        cut = root_up(Fraction(self.dimension)) if self.delta else Fraction(self.dimension)
        return Fraction(self.max_rows), both * self.bound * UNIT + 2 * cut

    @property
    def steps(self) -> int:
        assert self.rounds is not None
        return self.rounds

    @cached_property
    def scales(self) -> tuple[Fraction, Fraction]:
        """The noise of the count and of one step's sum."""
        return self._scaled(self.steps)

    def _scaled(self, steps: int) -> tuple[Fraction, Fraction]:
        count = COUNT if self.size is None else Fraction(0)
        each = (1 - count) / steps
        if self.delta:
            price = Portions(self.epsilon, self.delta)
            return (price.scale(self.reaches[0], count) if count else Fraction(1)), price.scale(self.reaches[1], each)
        scales = (self.reaches[0] / (self.epsilon * count) if count else Fraction(1)), self.reaches[1] / (self.epsilon * each)
        check_scale(max(scales))
        return scales

    def certificate(self) -> Certificate:
        pairs = list(zip(self.reaches, self.scales, strict=True))
        spent = [*([pairs[0]] if self.size is None else []), *[pairs[1]] * self.steps]
        unit = f"a person's direction is clipped to {float(self.bound):g}; {self.relation}"
        if self.delta:
            price = Portions(self.epsilon, self.delta)
            return claim(self, price.cost, price.witness(spent), assumes=unit)
        shift = float(sum(reach / scale for reach, scale in spent))
        return claim(self, Cost.pure(self.epsilon), LaplaceShift(shift, scalar=False), assumes=unit)

    def release(self, ask: Ask, draw: Draw) -> tuple[float, ...]:
        terms = self.terms or columns(self.dimension)
        rows = float(self.size) if self.size is not None else self._rows(ask, draw)
        theta, path = np.zeros(self.dimension), []
        norm, order = int(self.bound * ONE), 2 if self.delta else 1
        for _ in range(self.steps):
            at = whole_theta(theta)
            request = Gradient(terms[:-1], terms[-1], at, self.loss, norm=norm, order=order, required=self.required)
            found = ask(request).values
            drawn = self._noisy(located(found[0]) if len(found) else np.zeros(self.dimension, np.int64), self.scales[1], draw)
            theta = np.array(at) / FINE + float(self.rate) / rows * (drawn / UNIT)
            path.append(theta)
        tail = path[len(path) // 2 :] if self.loss == "logistic" else path[-1:]  # a rate that circles the optimum is averaged out
        return tuple(np.mean(tail, axis=0).tolist())

    def _rows(self, ask: Ask, draw: Draw) -> float:
        found = ask(Gram((MomentTerm(),), self.required)).values
        count = np.array([int(found[0][0, 0]) >> 40 if len(found) else 0], np.int64)
        drawn = float(self._noisy(count, self.scales[0], draw)[0])
        return max(drawn, 2 * float(self.scales[0]), 1.0)  # a count that is nearly all noise must not make the steps large

    def _noisy(self, location: NDArray[np.int64], scale: Fraction, draw: Draw) -> NDArray[np.int64]:
        if self.delta:
            return Portions.draw(draw, location, scale)
        return np.asarray(draw(LaplaceLaw().at(location, scale, grid=output_grid(scale))), np.int64)

    @classmethod
    def examples(cls) -> Sequence[NoisyDescent]:
        one, small = Fraction(1), Fraction(1, 10**6)
        return (
            cls(one, rounds=10, size=100),
            cls(one, small, 40, Fraction(1, 2), dimension=3, loss="logistic"),
            cls(Fraction(1, 2), rounds=5, dimension=2, relation="replace"),
            cls(Fraction(2), small, 8, dimension=4, size=1000, relation="replace"),
        )
