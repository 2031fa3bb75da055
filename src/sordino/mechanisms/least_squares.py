"""Least squares from noisy sums: a pilot from the normal equations, then one refinement on what the pilot leaves over."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.estimate import (
    UNIT,
    Curvature,
    Equation,
    Estimate,
    LaplacePortions,
    Portions,
    inside,
    located,
    portions,
    root_up,
    whole_theta,
)
from sordino.mechanisms.laplace import as_dimension
from sordino.mechanisms.listing import claim, listed
from sordino.mechanisms.normal_equations import as_rows, columns
from sordino.privacy.certificate import Certificate
from sordino.privacy.number import as_delta, as_epsilon
from sordino.privacy.relation import Relation
from sordino.summaries import Ask, Draw
from sordino.summaries.moment import FINE, GRAIN, ONE, Gradient, Gram, Lengths, MomentTerm, Outer

__all__ = ["LeastSquares"]

Floats = NDArray[np.float64]
MEAT = Fraction(7, 100)  # of mu^2: for the squares of contributions, which say how far a population may lie from its sample
SHARES = tuple((1 - MEAT) * Fraction(part, 100) for part in (25, 12, 10, 53))  # X'X, X'y, counts of lengths, the refinement
PURE = tuple(Fraction(part, 100) for part in (25, 15, 5, 50, 5))  # of epsilon where there is no delta, the squares last
BINS = 24  # half octaves below the longest contribution
LARGEST = 7  # the absolute coefficients of the pilot add up to no more; the refinement may go anywhere
TURNS, LAST = 6, 4  # fixed points of the pilot, and of both equations together


@listed("least squares", "linear regression", "one-step refinement", note="000 13.1.2 linear regression")
@dataclass(frozen=True)
class LeastSquares:
    r"""The least squares of rows in [-1, 1]: X'X and X'y, then the sum of x (y - x'b) at the pilot b, rows shortened where they thin out.

    The noise of X'X multiplies the distance from the pilot, which is small, and the noise of the refinement is as large as the longest
    contribution x (y - x'b) that is not rare, not as the range of y. No residual is clipped by its own size: a skewed or a 0/1 target keeps
    its mean. What was shortened is counted and stands in the interval.

    Theorem. The five draws are Gaussian and their squared shifts add up to mu^2. A row moves X'X by d/sqrt 2 (off-diagonal products count
    once, squares half), X'y by sqrt d, the counts of lengths by 1, the sum of contributions shortened to C by C, the sum of their squares
    by C^2/sqrt 2; a person with m rows by m times that. A replaced person moves vectors by twice, counts and squares by sqrt 2 times it.
    Without a delta all draws are Laplace and their shifts add up to epsilon: in L1 norm X'X moves by d (d + 1)/2, X'y by d, contributions
    by sqrt d C, their squares by (d + 1) C^2/2, and everything twice as far for a replaced person.
    Proof. |xx'| in this metric is |x|^2/sqrt 2 <= d/sqrt 2, |x y| <= sqrt d, a row is in one cell, and z z' is to |z| <= C as xx' is to x.
    Sums of positive semidefinite matrices, and counts, of what leaves and what enters have a non-negative inner product, so their
    difference is at most sqrt 2 times the longer. C and b are drawn before they are used; given them each step is one Gaussian draw, and
    these compose by squares, Laplace draws by sums; |z|_1 <= sqrt d |z|, and the products of z on and above the diagonal sum to
    (|z|_1^2 + |z|^2)/2. Cutting to whole units moves each sum by at most one unit more. QED
    """

    epsilon: Fraction
    delta: Fraction
    dimension: int = 2
    relation: str = "add_remove"
    max_rows: int = 1
    terms: tuple[MomentTerm, ...] | None = None
    required: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "delta", as_delta(self.delta, zero=True))
        as_dimension(self.dimension)
        as_rows(self.max_rows)
        Relation.of(self.relation)
        if self.terms is not None and (not isinstance(self.terms, tuple) or len(self.terms) != self.dimension + 1):
            raise QueryError("SRD-103", "the terms do not fit the dimension.", "Give the terms and then the target.")
        if not isinstance(self.required, tuple):
            raise QueryError("SRD-103", "required is not a tuple.", "Give the conditions that must hold, by their places.")
        _ = self.scales  # noise of impossible width is refused here

    @cached_property
    def reaches(self) -> tuple[Fraction, ...]:
        """X'X and X'y in units of 2^-28, counts, contributions at C = 1 in units of 2^-28, their squares in units of (C/GRAIN)^2."""
        d, m = Fraction(self.dimension), self.max_rows
        if not self.delta:
            both = m * (2 if Relation.of(self.relation) is Relation.REPLACE else 1)
            whole, cut = both * d * (d + 1) / 2 * UNIT + d * (d + 1) / 2, 2 * Fraction(2**12) * root_up(d)
            contributions = both * root_up(d) * UNIT + cut
            return whole, both * d * UNIT + d, Fraction(both), contributions, both * (d + 1) / 2 * (GRAIN + 1) ** 2
        vector, psd = (2, root_up(Fraction(2))) if Relation.of(self.relation) is Relation.REPLACE else (1, Fraction(1))
        half = root_up(Fraction(1, 2))
        square = m * psd * self.dimension * half * UNIT + root_up(d * (d + 1) / 2)
        moment = m * vector * root_up(d) * UNIT + root_up(d)
        least = Fraction(2**12)  # C is at least 2^-12 of the longest contribution, and that is at least sqrt d
        return square, moment, m * psd, m * vector * UNIT + 2 * least, m * psd * half * (GRAIN + 1) ** 2

    @cached_property
    def scales(self) -> tuple[Fraction, ...]:
        shares = (*SHARES, MEAT) if self.delta else PURE
        return tuple(self.price.scale(reach, share) for reach, share in zip(self.reaches, shares, strict=True))

    @property
    def price(self) -> Portions | LaplacePortions:
        return portions(self.epsilon, self.delta)

    def _noise(self, place: int) -> float:
        """The standard deviation of a sum, in rows."""
        return self.price.deviation(self.scales[place] / UNIT)

    @property
    def hopeless(self) -> float:
        """The deviation of the prior of a slope: an error as large says nothing."""
        return 2 / math.sqrt(self.dimension)

    def expected(self, rows: int) -> float:
        """The standard error that noise leaves a slope, from public facts: features spread over their bounds, residuals of a third."""
        noise = self._noise(3) * math.sqrt(self.dimension) / 3
        return 3 * math.hypot(noise, self._noise(0) * self.hopeless) / rows

    def certificate(self) -> Certificate:
        moved = f"one unit is at most {self.max_rows} rows in [-1, 1]"
        return claim(self, self.price.cost, self.price.witness(zip(self.reaches, self.scales, strict=True)), assumes=moved)

    def release(self, ask: Ask, draw: Draw) -> Estimate:
        terms = self.terms or columns(self.dimension)
        facts: dict[str, Any] = {"terms": terms[:-1], "target": terms[-1], "required": self.required}
        d = self.dimension
        curve, first = self._pilot(_first(ask(Gram(terms, self.required)).values, (d + 1, d + 1)), draw)
        theta = whole_theta(curve.solve([first], first.at, TURNS), LARGEST)
        at = np.array(theta) / FINE
        edges = self._edges(at)
        found = _first(ask(Lengths(**facts, edges=edges[:-1], theta=theta)).values, (BINS + 1,))
        clip, over, mass = self._clip(self.price.draw(draw, found.astype(np.int64), self.scales[2]).astype(float), edges)
        found = _first(ask(Gradient(**facts, theta=theta, clip=(LARGEST + 1) * ONE, norm=clip, each=True)).values, (d,))
        wide = self.scales[3] * Fraction(clip, ONE)
        equations = [first, Equation(at, self.price.draw(draw, located(found), wide) / UNIT, self.price.deviation(wide / UNIT))]
        best = curve.solve(equations, at, LAST)
        found = _first(ask(Outer(**facts, of="residual", norm=clip, theta=whole_theta(best, LARGEST))).values, (d, d))
        meat = inside(self.price.symmetric(draw, found, self.scales[4])) * (clip / ONE / GRAIN) ** 2
        noise, bread = curve.spread(equations, best)
        rows = max(float(curve.square[0, 0]), 1.0)
        return Estimate.made(best, noise, mass**2 * bread @ bread.T, bread @ meat @ bread.T, rows=rows, clipped=over)

    def _pilot(self, whole: NDArray[np.object_], draw: Draw) -> tuple[Curvature, Equation]:
        d, (first, second) = self.dimension, self.scales[:2]
        square = self.price.symmetric(draw, whole[:d, :d], first, cut=True) / UNIT
        moment = self.price.draw(draw, located(whole[:d, d]), second) / UNIT
        return Curvature.of(square, self._noise(0)), Equation(np.zeros(d), moment, self._noise(1))

    def _edges(self, at: Floats) -> tuple[int, ...]:
        """Half octaves up to the longest contribution that is possible: |x| |y - x'b| <= sqrt d (1 + |b|_1)."""
        top = math.sqrt(self.dimension) * (1 + float(np.abs(at).sum())) * ONE
        return tuple(math.ceil(top * 2 ** (-j / 2)) + 1 for j in range(BINS, -1, -1))

    def _clip(self, counts: Floats, edges: tuple[int, ...]) -> tuple[int, float, float]:
        """Where contributions are shortened: the lowest edge above which drawn counts look like noise; how many, and by how much, at most.

        Never by a fitted variance: the noise of y'y would hide it. At large epsilon the edge rises to the longest contribution.
        """
        place = len(counts)
        deviation = self.price.deviation(self.scales[2])
        while place > 1 and counts[place - 1 :].sum() <= deviation * math.sqrt(len(counts) - place + 1):
            place -= 1
        clip, above = edges[place - 1], np.maximum(counts[place:], 0.0)
        over = [(edge - clip) / ONE for edge in edges[place:]]
        return clip, float(above.sum()), float(above @ np.array(over))

    @classmethod
    def examples(cls) -> Sequence[LeastSquares]:
        one, small = Fraction(1), Fraction(1, 10**6)
        dear, pure = cls(Fraction(20), small, 2), cls(one, Fraction(0), 3, "replace", 2)
        return (cls(one, small), cls(Fraction(1, 10), small, 11), cls(one, small, 5, "replace", 3), dear, cls(one, Fraction(0)), pure)


def _first(values: NDArray[np.object_], shape: tuple[int, ...]) -> NDArray[np.object_]:
    """The sums of the one group; zeros where nobody is there."""
    return np.asarray(values[0] if len(values) else np.zeros(shape, object), object)
