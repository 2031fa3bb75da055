"""Least squares in rounds: every round fits what the last one left over, clipped where the left-overs thin out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.estimate import inside, whole_theta
from sordino.mechanisms.laplace import as_dimension
from sordino.mechanisms.listing import claim, listed
from sordino.mechanisms.margin import DEVIATIONS, Round, of_rounds
from sordino.mechanisms.normal_equations import as_rows, columns, swapped
from sordino.mechanisms.portion import UNIT, Portions, located, root_up
from sordino.mechanisms.posterior import Belief, Line
from sordino.privacy.certificate import Certificate
from sordino.privacy.number import as_delta, as_epsilon, as_positive
from sordino.privacy.relation import Relation
from sordino.summaries import Ask, Draw
from sordino.summaries.moment import FINE, ONE, Gradient, Gram, Products, Slope, Term

__all__ = ["BoostedRegression"]

Floats = NDArray[np.float64]
SQUARE, COUNTS = Fraction(1, 4), Fraction(1, 10)  # of mu^2: for X'X, and for the sizes of left-overs over all rounds
OCTAVES = 14  # left-overs are told apart by factors of two, down to 2^-14 of the target's range
MIDDLE = 0.6827  # a Gaussian lies this often within one standard deviation
WIDE = 2.0  # how far coefficients may lie outside the box, in the guess the rounds begin with
DOUBT = 0.05  # of the variance before a round is kept after it: a clipped gradient is not quite linear


@listed("boosted regression", "clipped residual rounds", "Huber regression", note="004 M-estimators, private noisy gradient descent")
@dataclass(frozen=True)
class BoostedRegression:
    r"""Fit a linear predictor in rounds: X'X once, then per round the sizes of the residuals by octaves and the sum of x psi(residual).

    The residuals are clipped at c times their own 68% point, found from the drawn octaves: large c is least squares, c = 1.35 is Huber's
    estimator. Noise shrinks with the residuals, not with the range of the target.

    Theorem. The draws are Gaussian, and their squared shifts add up to mu^2. With rows in [-1, 1]^d a person with m rows moves X'X by
    m d/sqrt 2 (replaced: by m times the root of `swapped`), the octave counts by m (sqrt 2 m), the clipped sum by m sqrt(d) clip (twice).
    Proof. |x x'|, squares halved, is |x|^2/sqrt 2; a row is in one octave; |x psi| <= sqrt(d) clip because |psi| <= clip. Later requests
    depend on earlier outcomes only, and Gaussian draws compose by squares. Cutting to whole units moves each sum by one unit more. QED
    """

    epsilon: Fraction
    delta: Fraction
    dimension: int = 2
    rounds: int = 6
    clip: Fraction = Fraction(3)
    relation: str = "add_remove"
    max_rows: int = 1
    terms: tuple[Term, ...] | None = None
    required: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "delta", as_delta(self.delta))
        object.__setattr__(self, "clip", as_positive(self.clip, "clip"))
        as_dimension(self.dimension)
        as_rows(self.max_rows)
        if isinstance(self.rounds, bool) or not isinstance(self.rounds, int) or not 1 <= self.rounds <= 1000:
            raise QueryError("SRD-103", f"rounds is {self.rounds!r}.", "Give the number of rounds from 1 to 1000; 6 is a good choice.")
        Relation.of(self.relation)
        if self.terms is not None and (not isinstance(self.terms, tuple) or len(self.terms) != self.dimension + 1):
            raise QueryError("SRD-103", "the terms do not fit the dimension.", "Give the terms and then the target.")
        if not isinstance(self.required, tuple):
            raise QueryError("SRD-103", "required is not a tuple.", "Give the conditions that must hold, by their places.")
        _ = self.scales  # noise of impossible width is refused here

    @cached_property
    def reaches(self) -> tuple[Fraction, Fraction, Fraction]:
        """The sensitivities of X'X and of the sum of x psi at clip 1, in units of 2^-28, and of the counts."""
        d, m, replaced = self.dimension, self.max_rows, Relation.of(self.relation) is Relation.REPLACE
        square = m * root_up(swapped(d, Fraction(1)) if replaced else Fraction(d * d, 2)) * UNIT
        counts = m * root_up(Fraction(2)) if replaced else Fraction(m)
        slope = m * (2 if replaced else 1) * root_up(Fraction(d)) * UNIT
        # a sum is cut to whole units whatever its clip, and the least clip is 2^-14
        return square + root_up(Fraction(d * (d + 1), 2)), counts, slope + root_up(Fraction(d)) * 2**OCTAVES

    @cached_property
    def scales(self) -> tuple[Fraction, Fraction, Fraction]:
        """The standard deviations of products of two terms, of counts, and of the sum at clip 1."""
        price = Portions(self.epsilon, self.delta)
        shares = (SQUARE, COUNTS / self.rounds, (1 - SQUARE - COUNTS) / self.rounds)
        first, second, third = (price.scale(reach, share) for reach, share in zip(self.reaches, shares, strict=True))
        return first, second, third

    def certificate(self) -> Certificate:
        price, pairs = Portions(self.epsilon, self.delta), list(zip(self.reaches, self.scales, strict=True))
        spent = [pairs[0], *(pair for pair in pairs[1:] for _ in range(self.rounds))]
        return claim(self, price.cost, price.witness(spent), assumes=f"one unit is at most {self.max_rows} rows in [-1, 1]")

    def release(self, ask: Ask, draw: Draw) -> Line:
        terms = self.terms or columns(self.dimension)
        found: Products = ask(Gram(terms[:-1], self.required))
        whole = found.values[0] if len(found.values) else np.zeros((self.dimension,) * 2, object)
        square = Portions.symmetric(draw, whole, self.scales[0], cut=True) / UNIT
        spot = Spot(inside(square), max(1.0, float(square[0, 0])), Belief.guess(self.dimension, WIDE))
        turns: list[Round] = []
        for _ in range(self.rounds):
            theta = whole_theta(spot.belief.mean)

            def slope(clip: int, octaves: int, theta: tuple[int, ...] = theta) -> Slope:
                found: Slope = ask(Gradient(terms[:-1], terms[-1], theta, clip=clip, octaves=octaves, required=self.required))
                return found

            counts = Portions.draw(draw, _first(slope(ONE, OCTAVES).octaves, OCTAVES + 1).astype(np.int64), self.scales[1])
            scale, clip, share, score = self._sizes(counts)
            scale_of_sum = self.scales[2] * Fraction(clip, ONE)
            drawn = Portions.draw(draw, located(_first(slope(clip, 0).values, self.dimension)), scale_of_sum)
            turns.append(Round(np.array(theta) / FINE, drawn / UNIT, float(scale_of_sum / UNIT), share, score))
            spot = self._updated(spot, turns[-1], scale)
        margin = of_rounds(square, float(self.scales[0] / UNIT), turns[self.rounds // 2 :])
        return Line(tuple(spot.belief.mean.tolist()), margin, spot.scale, spot.rows)

    def _sizes(self, counts: NDArray[np.int64]) -> tuple[float, int, float, float]:
        """From drawn octaves: the 68% point of the residuals, where to clip them, the share that is not clipped, and the mean of psi^2."""
        edges: Floats = np.asarray(2.0 ** np.arange(-OCTAVES - 1, 1), np.float64)
        below = np.maximum.accumulate(np.concatenate([[0.0], np.cumsum(counts, dtype=float)]))
        rows = max(below[-1], 1.0)
        below /= rows
        scale = 2.0 ** float(np.interp(MIDDLE, below, np.log2(edges)))
        clip = min(max(math.ceil(float(self.clip) * scale * ONE), ONE >> OCTAVES), ONE)
        share = min(max(float(np.interp(math.log2(clip / ONE), np.log2(edges), below)), 0.5), 1.0)
        doubt = DEVIATIONS * float(self.scales[1]) / rows
        return scale, clip, share, _score(edges, np.diff(below), clip / ONE) + doubt * (clip / ONE) ** 2

    def _updated(self, spot: Spot, turn: Round, scale: float) -> Spot:
        """The sum of x psi is about the share that is not clipped, times X'X, times what the coefficients lack."""
        gram, before = float(self.scales[0] / UNIT) * turn.share, Belief(turn.at, spot.belief.spread)
        noise = (turn.noise**2 + gram**2 * min(float(np.trace(before.spread)), 1.0)) * np.eye(self.dimension)
        after = before.told(turn.share * spot.square, turn.drawn, noise)
        return Spot(spot.square, spot.rows, Belief(after.mean, after.spread + DOUBT * before.spread), scale)

    @classmethod
    def examples(cls) -> Sequence[BoostedRegression]:
        one, small = Fraction(1), Fraction(1, 10**6)
        huber = cls(one, small, 3, clip=Fraction(27, 20))
        return (cls(one, small), huber, cls(Fraction(1, 10), small, 11), cls(one, small, 4, 3, relation="replace", max_rows=2))


@dataclass(frozen=True)
class Spot:
    """Where the rounds stand: drawn X'X, drawn rows, the belief about the coefficients, the last residual scale."""

    square: Floats
    rows: float
    belief: Belief
    scale: float = 1.0


def _score(edges: Floats, shares: Floats, clip: float) -> float:
    """The mean of min(|r|, clip)^2 with |r| spread evenly in each octave: too large for errors that thin out, and for the last octave."""
    low, high = edges[:-1], edges[1:]
    bent = np.clip(clip, low, high)
    held = ((bent**3 - low**3) / 3 + clip**2 * (high - bent)) / (high - low)
    held[-1] = clip**2
    return float(shares @ np.minimum(held, clip**2))


def _first(values: NDArray[np.object_], size: int) -> NDArray[np.object_]:
    """The sums of the one group; zeros where nobody is there."""
    return values[0] if len(values) else np.zeros(size, object)
