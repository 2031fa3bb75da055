"""Least squares from noisy sums: the normal equations of a regression with one joint Gaussian calibration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.estimate import UNIT, Curvature, Equation, Estimate, Portions, inside, located, root_up
from sordino.mechanisms.laplace import as_dimension
from sordino.mechanisms.listing import claim, listed
from sordino.privacy.certificate import Certificate
from sordino.privacy.number import as_delta, as_epsilon, as_positive
from sordino.privacy.relation import Relation
from sordino.summaries import Ask, Draw
from sordino.summaries.moment import Gram, MomentTerm, Products

__all__ = ["Equations", "NormalEquations", "as_rows", "columns", "solved", "swapped"]

TURNS = 6  # of the fixed point between coefficients and the noise they meet
DEVIATIONS = 3.0  # granted to a drawn variance
SQUARE, MOMENT = Fraction(36, 100), Fraction(58, 100)  # of mu^2: products of two terms, products with the target; the rest is for y'y


@dataclass(frozen=True)
class Equations:
    """The drawn sums for rows in [-1, 1]: X'X, X'y and y'y, and the standard deviations of their noise (sqrt 2 larger on the diagonal)."""

    square: tuple[tuple[float, ...], ...]
    moment: tuple[float, ...]
    total: float
    noise: tuple[float, float, float]


def columns(dimension: int) -> tuple[MomentTerm, ...]:
    """The terms of rows that are held in an array: the constant, the others by number, and the target last."""
    return (MomentTerm(), *(MomentTerm(f"x{i}") for i in range(1, dimension)), MomentTerm("y"))


def as_rows(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise QueryError("SRD-103", f"max_rows is {value!r}.", "Give the most rows one person may have, at least 1.")
    return value


def swapped(dimension: int, first: Fraction, second: Fraction = Fraction(0)) -> Fraction:
    r"""How far two rows' products lie apart, squared: `first` per product of two different terms, first/2 per square, `second` per product
    with the target.

    Theorem. 4 first k (d - k) + 4 second max(k, d - k) + first d/2, maximised over k, is a bound for rows in [-1, 1]^d.
    Proof. (x_i x_j - x'_i x'_j)^2 is convex in each coordinate, so the sum over i < j is largest where all are +-1, and there it is 4 for
    each pair of which exactly one factor changed sign, k coordinates did; in the same way for products with y. Squares lie in [0, 1]. QED
    """
    both = max(first * k * (dimension - k) + second * max(k, dimension - k) for k in range(dimension + 1))
    return 4 * both + first * Fraction(dimension, 2)


@listed("sufficient statistics perturbation", "normal equations", "AdaSSP", note="000 13.1.2 linear regression")
@dataclass(frozen=True)
class NormalEquations:
    r"""Release X'X, X'y and y'y of rows in [-1, 1] with Gaussian noise of one joint price; what is computed from them is free.

    Theorem. With d terms let sigma be the noise on products of two terms (sqrt 2 sigma on squares), sigma/a on products with the target and
    sigma/b on y'y. One row moves the sums by at most R = sqrt(d^2/2 + a^2 d + b^2) in these units, a person with m rows by m R, so sigma =
    m R/mu makes the release as private as one Gaussian with shift mu. For replaced rows R^2 is `swapped` with b^2 more.
    Proof. sum_{i<j} x_i^2 x_j^2 + sum_i x_i^4/2 = |x|^4/2 <= d^2/2, y^2 |x|^2 <= d, y^4 <= 1. Cutting to whole units moves each sum by at
    most one unit more. QED
    """

    epsilon: Fraction
    delta: Fraction
    dimension: int = 2
    relation: str = "add_remove"
    max_rows: int = 1
    stretch: Fraction = Fraction(1)
    question: Gram | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "delta", as_delta(self.delta))
        object.__setattr__(self, "stretch", as_positive(self.stretch, "stretch"))
        as_dimension(self.dimension)
        as_rows(self.max_rows)
        Relation.of(self.relation)
        if self.question is not None and (not isinstance(self.question, Gram) or len(self.question.terms) != self.dimension + 1):
            raise QueryError("SRD-103", "the question does not fit the dimension.", "Ask for the terms and then the target.")
        _ = self.scales  # noise of impossible width is refused here

    @cached_property
    def weights(self) -> tuple[Fraction, Fraction]:
        """a^2 and b^2: so that the three parts spend their shares of mu^2 when a row is added."""
        whole = Fraction(self.dimension**2, 2) / SQUARE
        return MOMENT * whole / self.dimension, (1 - SQUARE - MOMENT) * whole

    @cached_property
    def squares(self) -> tuple[Fraction, Fraction]:
        """How far one row that joins, and one that is replaced, moves the sums: squared, in the noise of products of two terms."""
        (a, b), d = self.weights, self.dimension
        return Fraction(d * d, 2) + a * d + b, swapped(d, Fraction(1), a) + b

    @cached_property
    def reach(self) -> Fraction:
        """The sensitivity in units of 2^-28; `stretch` says how many times that of one person all groups together have."""
        (a, b), d = self.weights, self.dimension
        row = root_up(self.squares[Relation.of(self.relation) is Relation.REPLACE])
        cut = root_up(Fraction(d * (d - 1) // 2) + Fraction(d, 2) + a * d + b)
        return self.stretch * (self.max_rows * row * UNIT + 2 * cut)

    @cached_property
    def scales(self) -> tuple[Fraction, Fraction, Fraction]:
        """The standard deviations of products of two terms, with the target, and of y'y, in units of 2^-28."""
        sigma = Portions(self.epsilon, self.delta).scale(self.reach, Fraction(1))
        a, b = self.weights
        return sigma, sigma * root_up(1 / a), sigma * root_up(1 / b)

    def certificate(self) -> Certificate:
        price = Portions(self.epsilon, self.delta)
        moved = f"one unit is at most {self.max_rows} rows in [-1, 1]"
        return claim(self, price.cost, price.witness([(self.reach, self.scales[0])]), assumes=moved)

    def release(self, ask: Ask, draw: Draw) -> Equations:
        answer: Products = ask(self.question or Gram(columns(self.dimension)))
        return self.around(answer.values[0] if len(answer.values) else np.zeros((self.dimension + 1,) * 2, object), draw)

    def around(self, products: NDArray[np.object_], draw: Draw) -> Equations:
        """The drawn sums of one group."""
        d = self.dimension
        rows, cols = np.triu_indices(d + 1)
        diagonal = root_up(Fraction(2))
        kinds = [2 if i == d else 1 if j == d else 0 for i, j in zip(rows, cols, strict=True)]
        scale = [self.scales[kind] * (diagonal if kind == 0 and i == j else 1) for kind, i, j in zip(kinds, rows, cols, strict=True)]
        drawn = Portions.draw(draw, located(products[rows, cols]), scale) / UNIT
        full = np.zeros((d + 1, d + 1))
        full[rows, cols] = full[cols, rows] = drawn
        noise = tuple(float(s / UNIT) for s in self.scales)
        square = tuple(tuple(line) for line in full[:d, :d].tolist())
        return Equations(square, tuple(full[:d, d].tolist()), float(full[d, d]), (noise[0], noise[1], noise[2]))

    @classmethod
    def examples(cls) -> Sequence[NormalEquations]:
        one, small = Fraction(1), Fraction(1, 10**6)
        return (cls(one, small), cls(Fraction(1, 10), small, 11), cls(one, small, 5, "replace", 3), cls(Fraction(20), small, 2))


def solved(drawn: Equations) -> Estimate:
    """Least squares from drawn sums alone; the error of sampling as for errors of one variance, which y'y says three deviations up."""
    square, moment = np.array(drawn.square), np.array(drawn.moment)
    blur, noise, last = drawn.noise
    curve, equation = Curvature.of(square, blur), Equation(np.zeros(len(moment)), moment, noise)
    t = curve.solve([equation], equation.at, TURNS)
    size, rows = float(t @ t), max(float(square[0, 0]), 1.0)
    doubt = DEVIATIONS * math.sqrt(last**2 + 4 * size * noise**2 + 2 * size**2 * blur**2)
    variance = min(max(float(drawn.total - 2 * t @ moment + t @ square @ t) + doubt, 0.0) / rows, 1.0)
    spread, bread = curve.spread([equation], t)
    return Estimate.made(t, spread, np.zeros(square.shape), variance * bread @ inside(square) @ bread.T, rows=rows)
