"""One paid matrix of second moments: everything linear afterwards is free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.estimate import UNIT, Portions, root_up
from sordino.mechanisms.laplace import as_dimension
from sordino.mechanisms.listing import claim, listed
from sordino.mechanisms.normal_equations import as_rows, columns
from sordino.privacy.certificate import Certificate
from sordino.privacy.number import as_delta, as_epsilon, as_positive
from sordino.privacy.relation import Relation
from sordino.summaries import Ask, Draw
from sordino.summaries.moment import Gram, Products

__all__ = ["MomentMatrix"]

Floats = NDArray[np.float64]


@listed("Gram matrix", "second moments", "covariance matrix", note="000 13.1.2 linear regression")
@dataclass(frozen=True)
class MomentMatrix:
    r"""A'A of rows in [-1, 1]^d, the constant 1 first, with noise s off the diagonal and sqrt 2 s on it: the same in every rotated basis.

    Theorem. One row moves A'A by at most d/sqrt 2 in the units of that noise, a person with m rows by m times as much, so s = m d/(sqrt 2
    mu) is as private as one Gaussian with shift mu; for a replaced person sqrt 2 times that.
    Proof. sum_{i<j} x_i^2 x_j^2 + sum_i x_i^4/2 = |x|^4/2 <= d^2/2. Sums of positive semidefinite matrices of what leaves and what enters
    have a non-negative inner product. Cutting to whole units moves each sum by at most one unit more. QED
    """

    epsilon: Fraction
    delta: Fraction
    dimension: int = 3
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
        if self.question is not None and (not isinstance(self.question, Gram) or len(self.question.terms) != self.dimension):
            raise QueryError("SRD-103", "the question does not fit the dimension.", "Ask for that many terms, the constant first.")
        _ = self.scale  # noise of impossible width is refused here

    @cached_property
    def reach(self) -> Fraction:
        """The sensitivity in units of 2^-28; `stretch` says how many times that of one person all groups together have."""
        d, psd = self.dimension, root_up(Fraction(2)) if Relation.of(self.relation) is Relation.REPLACE else Fraction(1)
        whole = self.max_rows * psd * d * root_up(Fraction(1, 2)) * UNIT
        return self.stretch * (whole + root_up(Fraction(d * (d + 1), 2)))

    @cached_property
    def scale(self) -> Fraction:
        """The standard deviation off the diagonal, in units of 2^-28."""
        return Portions(self.epsilon, self.delta).scale(self.reach, Fraction(1))

    @property
    def noise(self) -> float:
        """The same in rows."""
        return float(self.scale / UNIT)

    def certificate(self) -> Certificate:
        price = Portions(self.epsilon, self.delta)
        moved = f"one unit is at most {self.max_rows} rows in [-1, 1]"
        return claim(self, price.cost, price.witness([(self.reach, self.scale)]), assumes=moved)

    def release(self, ask: Ask, draw: Draw) -> tuple[tuple[float, ...], ...]:
        found: Products = ask(self.question or Gram(columns(self.dimension - 1) if self.dimension > 1 else columns(1)[:1]))
        return self.around(found.values[0] if len(found.values) else np.zeros((self.dimension,) * 2, object), draw)

    def around(self, products: NDArray[np.object_], draw: Draw) -> tuple[tuple[float, ...], ...]:
        """The drawn matrix of one group."""
        return tuple(map(tuple, (Portions.symmetric(draw, products, self.scale, cut=True) / UNIT).tolist()))

    @classmethod
    def examples(cls) -> Sequence[MomentMatrix]:
        one, small = Fraction(1), Fraction(1, 10**6)
        return (cls(one, small), cls(Fraction(1, 10), small, 11), cls(one, small, 5, "replace", 3), cls(Fraction(20), small, 2))
