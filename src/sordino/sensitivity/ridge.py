"""Ridge regression in a ball: its solution, and how far one row can move it on this table and near it."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.privacy.relation import Relation
from sordino.sensitivity.ladder import Ladder
from sordino.sensitivity.order import whole

__all__ = ["Ridge"]

Floats = NDArray[np.float64]
DOUBT = 1e-3  # of Bx^2: far above the rounding of an eigenvalue, for any table below 10^9 rows


@dataclass(frozen=True)
class Ridge:
    r"""theta minimises |X theta - y|^2/2 + penalty |theta|^2/2 over |theta| <= radius, for rows with |x| <= Bx = sqrt(dimension), |y| <= 1.

    Theorem. Adding or removing a row moves theta by at most L/(penalty + lmin(X'X)), L = Bx (1 + Bx radius), replacing one by at most twice
    that; with c = 1 or 2 and l = lmin(X'X), A(k) = min(c L/(penalty + max(0, l - k Bx^2)), 2 radius) is a legal ladder.
    Proof. Let F be the objective, m = penalty + l its strong convexity, g the difference of the two objectives, with |grad g| <= c L in
    the ball. Both solutions are optimal against each other: <grad F(t) - grad F(t'), t - t'> <= <grad g(t'), t - t'>, and the left side is
    at least m |t - t'|^2. A step changes X'X by rows x x', so l by at most Bx^2: what is left of l after k steps here is at least what is
    left after k + 1 steps at a neighbour. QED
    """

    dimension: int
    radius: float = 1.0
    penalty: float = 1.0
    relation: str = "add_remove"

    def __post_init__(self) -> None:
        whole("dimension", self.dimension, 1)
        for name in ("radius", "penalty"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
                raise QueryError("SRD-103", f"{name} is {value!r}.", f"Give a positive {name}.")
        Relation.of(self.relation)

    @property
    def lipschitz(self) -> float:
        """c L: how long the gradient of one row's loss can get in the ball, both rows of a replacement counted."""
        reach = math.sqrt(self.dimension)
        both = 2 if Relation.of(self.relation) is Relation.REPLACE else 1
        return both * reach * (1 + reach * self.radius)

    @property
    def worst_case(self) -> float:
        return min(self.lipschitz / self.penalty, 2 * self.radius)

    def local(self, smallest: float) -> float:
        """The bound at a table whose X'X has this smallest eigenvalue."""
        return min(self.lipschitz / (self.penalty + max(0.0, smallest)), 2 * self.radius)

    def ladder(self, smallest: float) -> Ladder:
        """A(k); the eigenvalue is granted a rounding error of DOUBT Bx^2 here and at every neighbour."""
        step = self.dimension * (1 + 2 * DOUBT)
        start = smallest - self.dimension * DOUBT

        def block(k0: int, k1: int) -> Floats:
            left = np.maximum(0.0, start - step * np.arange(k0, k1))
            return np.asarray(np.minimum(self.lipschitz / (self.penalty + left), 2 * self.radius))

        return Ladder(block, self.worst_case, max(0, math.ceil(start / step)))

    def smooth(self, smallest: float, *, beta: float) -> float:
        """max_k e^(-beta k) A(k): the larger of its value here and where the smallest eigenvalue is used up, up to rounding."""
        return self.ladder(smallest).smooth(beta)

    def solution(self, square: Floats, moment: Floats) -> Floats:
        """The minimiser from X'X and X'y: along the curve of larger penalties until it lies in the ball."""
        values, vectors = np.linalg.eigh(square)
        along, curve = vectors.T @ moment, np.maximum(values, 0.0) + self.penalty
        low, high = 0.0, float(np.linalg.norm(along)) / self.radius + 1.0
        if np.linalg.norm(along / curve) > self.radius:
            for _ in range(200):
                middle = (low + high) / 2
                low, high = (middle, high) if np.linalg.norm(along / (curve + middle)) > self.radius else (low, middle)
        else:
            high = 0.0
        return np.asarray(vectors @ (along / (curve + high)))
