"""M-estimation with regression terms: the root of the sum of x psi(residual) for any bounded psi, with intervals."""

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
from sordino.mechanisms.boosted_regression import BoostedRegression
from sordino.mechanisms.estimate import UNIT, Curvature, Equation, Estimate, Portions, inside, located, root_up, whole_theta
from sordino.mechanisms.listing import claim, listed
from sordino.mechanisms.normal_equations import columns
from sordino.privacy.certificate import Certificate
from sordino.privacy.number import as_delta, as_epsilon, as_positive
from sordino.privacy.relation import Relation
from sordino.summaries import Ask, Draw
from sordino.summaries.moment import FINE, GRAIN, ONE, Gradient, MomentTerm, Outer, steep

__all__ = ["MRegression"]

Floats = NDArray[np.float64]
PILOT, ROUNDS = Fraction(1, 2), 3  # of mu^2 for Huber's regression in a few rounds, which also finds the scale of the residuals
SLOPE, FIRST, SECOND, MEAT = (Fraction(part, 100) for part in (10, 10, 22, 8))  # of mu^2: psi', two gradients, the squares
LARGEST = 7  # the absolute coefficients of a request add up to no more
BEND = 0.3  # of the step from the pilot: how far from linear the first gradient may be
TURNS = 4
HUBER = 1.345


class _Pilot(BoostedRegression):
    """Huber's regression at half of mu^2."""

    @cached_property
    def scales(self) -> tuple[Fraction, Fraction, Fraction]:
        first, second, third = (scale * root_up(1 / PILOT) for scale in BoostedRegression.scales.func(self))  # type: ignore[attr-defined]
        return first, second, third


@listed("M-regression", "robust regression with intervals", note="004 M-estimators, asymptotic normality")
@dataclass(frozen=True)
class MRegression:
    r"""The b at which the sum of x psi((y - x'b)/s) s vanishes, for rows in [-1, 1] and a bounded polygon psi; s is public or drawn.

    Huber's regression in three rounds is the pilot and says how large residuals are. Then the sum of psi' xx' is drawn there, the sum
    of x psi there and at the point it leads to, and the sum of squares of x psi: estimate, noise and sandwich in one release.

    Theorem. All draws are Gaussian and their squared shifts add up to mu^2; the pilot's half of it are those of BoostedRegression. With
    |psi| <= P and |psi'| <= L a row moves the sum of x psi by at most sqrt d P, that of its squares by d P^2/sqrt 2, the sums of xx' psi'
    where psi rises and where it falls together by d L/sqrt 2. A person with m rows moves each by m times that; replaced, the first
    by twice, the others by sqrt 2 times as much.
    Proof. |x psi| <= sqrt d P; v v' for v = x sqrt|psi'| is as xx' to x, and a residual lies where psi rises or where it falls, not
    both, so one of the two sums moves. What leaves and what enters have a non-negative inner product. Requests depend on earlier
    outcomes only. The polygon that is asked for has whole corners, of which P and L are taken; its height is never above P. QED
    """

    epsilon: Fraction
    delta: Fraction
    dimension: int = 2
    relation: str = "add_remove"
    max_rows: int = 1
    knots: tuple[float, ...] = (-HUBER, HUBER)
    heights: tuple[float, ...] = (-HUBER, HUBER)
    scale: Fraction | None = None
    terms: tuple[MomentTerm, ...] | None = None
    required: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "delta", as_delta(self.delta))
        object.__setattr__(self, "scale", None if self.scale is None else as_positive(self.scale, "scale"))
        _ = self.pilot, self.scales  # noise of impossible width is refused here
        corners = [self.knots, self.heights]
        whole = all(isinstance(part, tuple) and all(isinstance(v, float) and math.isfinite(v) for v in part) for part in corners)
        if not whole or len(self.knots) != len(self.heights) or len(self.knots) < 2 or list(self.knots) != sorted(set(self.knots)):
            raise QueryError("SRD-103", "the polygon of psi is none.", "Give rising knots and as many heights, as tuples of floats.")
        if not any(self.heights):
            raise QueryError("SRD-103", "psi is zero everywhere.", "Give heights that are not all zero.")

    @cached_property
    def pilot(self) -> BoostedRegression:
        facts: dict[str, Any] = {"relation": self.relation, "max_rows": self.max_rows, "terms": self.terms, "required": self.required}
        return _Pilot(self.epsilon, self.delta, self.dimension, ROUNDS, Fraction(27, 20), **facts)

    @cached_property
    def reaches(self) -> tuple[Fraction, Fraction, Fraction]:
        """Squares of vectors in units of (longest/GRAIN)^2; gradients at a longest of 1, in units of 2^-28: of each of these draws."""
        m, d = self.max_rows, root_up(Fraction(self.dimension))
        vector, psd = (2, root_up(Fraction(2))) if Relation.of(self.relation) is Relation.REPLACE else (1, Fraction(1))
        squares = m * psd * root_up(Fraction(1, 2)) * (GRAIN + 1) ** 2
        return squares, m * vector * UNIT + d * 2**15, squares  # the longest is above 2^-14, and sums are cut to whole units

    @cached_property
    def scales(self) -> tuple[Fraction, ...]:
        """Of psi', of the two gradients, of the squares."""
        price, (slope, sums, squares) = Portions(self.epsilon, self.delta), self.reaches
        return tuple(price.scale(*pair) for pair in ((slope, SLOPE), (sums, FIRST), (sums, SECOND), (squares, MEAT)))

    @property
    def hopeless(self) -> float:
        return 2 / math.sqrt(self.dimension)

    def expected(self, rows: int) -> float:
        """The standard error that noise leaves a slope, for features spread over their bounds and residuals of a sixth of the range."""
        precision = sum(float(scale / UNIT) ** -2 for scale in self.scales[1:3])
        return 3 * math.sqrt(self.dimension / precision) * max(map(abs, self.heights)) / 3 / rows

    def certificate(self) -> Certificate:
        price, (slope, sums, squares) = Portions(self.epsilon, self.delta), self.reaches
        first, *rest = zip(self.pilot.reaches, self.pilot.scales, strict=True)
        spent = [first, *(pair for pair in rest for _ in range(ROUNDS))]
        spent += list(zip((slope, sums, sums, squares), self.scales, strict=True))
        return claim(self, price.cost, price.witness(spent), assumes=f"one unit is at most {self.max_rows} rows in [-1, 1]")

    def release(self, ask: Ask, draw: Draw) -> Estimate:
        terms = self.terms or columns(self.dimension)
        facts: dict[str, Any] = {"terms": terms[:-1], "target": terms[-1], "required": self.required}
        line = self.pilot.release(ask, draw)
        scale = min(max(float(line.scale if self.scale is None else self.scale), 2.0**-12), 2.0)
        psi = self._polygon(scale)
        longest = math.ceil(math.sqrt(self.dimension) * max(abs(height) for _, height in psi)) + 1
        theta = whole_theta(np.array(line.theta), LARGEST)
        curve = self._curve(facts, theta, psi, ask, draw)

        def told(theta: tuple[int, ...], place: int) -> Equation:
            found = ask(Gradient(**facts, theta=theta, loss="psi", norm=longest, each=True, psi=psi)).values
            wide = self.scales[place] * Fraction(longest, ONE)
            sums = located(found[0] if len(found) else np.zeros(self.dimension, object))
            return Equation(np.array(theta) / FINE, Portions.draw(draw, sums, wide) / UNIT, float(wide / UNIT))

        first = told(theta, 1)
        near = curve.solve([first], first.at, TURNS)
        theta = whole_theta(near, LARGEST)
        bent = BEND * float(np.linalg.norm(curve.square @ (np.array(theta) / FINE - first.at))) / math.sqrt(self.dimension)
        equations = [Equation(first.at, first.drawn, math.hypot(first.noise, bent)), told(theta, 2)]
        best = curve.solve(equations, near, TURNS)
        theta = whole_theta(best, LARGEST)
        drawn = self._drawn(Outer(**facts, of="residual", norm=longest, theta=theta, loss="psi", psi=psi), self.scales[3], ask, draw)
        noise, bread = curve.spread(equations, best)
        sampling = bread @ inside(drawn) @ bread.T
        return Estimate.made(best, noise, np.zeros(noise.shape), sampling, rows=line.rows, scale=scale)

    def _polygon(self, scale: float) -> tuple[tuple[int, int], ...]:
        """psi in whole units at this scale of the residuals: s psi(r/s)."""
        found: dict[int, int] = {}
        for knot, height in zip(self.knots, self.heights, strict=True):
            found.setdefault(round(knot * scale * ONE), round(height * scale * ONE))
        corners = sorted(found.items())
        return tuple(corners) if len(corners) > 1 and any(h for _, h in corners) else ((-1, -1), (1, 1))

    def _curve(self, facts: dict[str, Any], theta: tuple[int, ...], psi: tuple[tuple[int, int], ...], ask: Ask, draw: Draw) -> Curvature:
        """The sum of psi' xx', where psi rises less where it falls, as a curvature with its noise."""
        sides = {of: steep(psi, rising=of == "rising") for of in ("rising", "falling")}
        root = max(root for side in sides.values() for _, _, root in side)
        longest = math.ceil(math.sqrt(self.dimension) * root * ONE) + 1
        parts = [
            (1 if of == "rising" else -1)
            * self._drawn(Outer(**facts, of=of, norm=longest, theta=theta, loss="psi", psi=psi), self.scales[0], ask, draw)
            for of, side in sides.items()
            if side  # which sides there are is public: psi is
        ]
        blur = float(self.scales[0]) * (longest / ONE / GRAIN) ** 2 * math.sqrt(len(parts))
        return Curvature.of(np.asarray(sum(parts)), blur)

    def _drawn(self, request: Outer, scale: Fraction, ask: Ask, draw: Draw) -> Floats:
        found = ask(request).values
        whole = found[0] if len(found) else np.zeros((self.dimension,) * 2, object)
        return np.asarray(Portions.symmetric(draw, whole, scale) * (request.norm / ONE / GRAIN) ** 2)

    @classmethod
    def examples(cls) -> Sequence[MRegression]:
        one, small = Fraction(1), Fraction(1, 10**6)
        falling = cls(one, small, 3, "replace", 2, (-4.0, -1.0, 1.0, 4.0), (0.0, -1.0, 1.0, 0.0))
        return (cls(one, small), cls(Fraction(1, 10), small, 4), falling)
