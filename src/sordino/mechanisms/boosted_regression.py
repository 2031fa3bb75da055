"""Least squares in rounds: every round fits what the last one left over, clipped where the left-overs thin out.

How far coefficients can lie from what was drawn: an ellipsoid, from drawn sums and public noise alone, so at no price.

What the rounds of a robust regression have learnt about coefficients: a Gaussian belief, updated by noisy linear equations, for free.

The belief starts from a public guess: a line that stays inside the box of the public bounds has coefficients of about 1 over the root of
their number, so that is the unit of their standard deviation, and the constant may be anything in the box.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.estimate import UNIT, Portions, inside, located, root_up, whole_theta
from sordino.mechanisms.laplace import as_dimension
from sordino.mechanisms.listing import claim, listed
from sordino.mechanisms.normal_equations import as_rows, columns, swapped
from sordino.privacy.certificate import Certificate
from sordino.privacy.number import as_delta, as_epsilon, as_positive
from sordino.privacy.relation import Relation
from sordino.summaries import Ask, Draw
from sordino.summaries.moment import FINE, ONE, Gradient, Gram, MomentTerm, Products, Slope

__all__ = ["DEVIATIONS", "Belief", "BoostedRegression", "Margin", "PosteriorLine", "Round", "blur", "of_rounds"]

Floats = NDArray[np.float64]
RARE = 0.01  # of the 5%: for noise of X'X beyond `blur`, and again for long error vectors
NORMAL = 2.17009037758456  # two-sided 97%: what is left for the coordinate itself
EDGE = 2.43  # one half of RARE for each end of the spectrum
DEVIATIONS = 3.0  # granted to drawn variances and numbers of rows
BEND = 0.1  # granted to the share of rows that are not clipped: it is read off octaves


@dataclass(frozen=True)
class Margin:
    """For any direction v, v't lies within sqrt(v' spread v) of v'centre with at least 95%; anywhere where noise hides the curvature."""

    centre: tuple[float, ...]
    spread: tuple[tuple[float, ...], ...]
    hidden: bool

    @classmethod
    def anywhere(cls, dimension: int) -> Margin:
        return cls((0.0,) * dimension, tuple(tuple(line) for line in np.eye(dimension).tolist()), True)

    @classmethod
    def within(cls, centre: Floats, parts: Sequence[Floats]) -> Margin:
        """Half-widths add up: (sum of sqrt(v'Mv))^2 <= sum of v'Mv/p for shares p that sum to 1."""
        sizes = [math.sqrt(max(float(np.trace(part)), 0.0)) for part in parts]
        spread = np.zeros((len(centre),) * 2)
        for part, size in zip(parts, sizes, strict=True):
            spread += part * (sum(sizes) / size) if size > 0 else 0.0
        if not (np.isfinite(spread).all() and np.isfinite(centre).all()):
            return cls.anywhere(len(centre))
        return cls(tuple(centre.tolist()), tuple(tuple(line) for line in spread.tolist()), False)


def blur(dimension: int, scale: float) -> float:
    r"""What the norm of symmetric noise E exceeds with probability RARE at most: N(0, s^2) off the diagonal, N(0, 2 s^2) on it.

    The largest eigenvalue has mean at most 2 s sqrt d (Sudakov and Fernique: u'Eu - w'Ew varies no more than 2 s g'(u - w), g Gaussian);
    beyond that it follows Tracy and Widom's law of order 1 in units of s d^{-1/6}, whose 99.5% point is EDGE. It is that law's limit for
    large d; for small d, where it is no theorem, a test compares it with simulated norms.
    """
    return scale * float(2 * dimension**0.5 + EDGE * dimension ** (-1 / 6))


def _longest(dimension: int) -> float:
    """The length of a standard normal vector, exceeded with probability RARE."""
    from scipy.special import chdtri

    return math.sqrt(float(chdtri(dimension, RARE)))


def _curved(square: Floats, scale: float) -> tuple[float, float, float] | None:
    """|A^-1|, |E| at most, and their product if it is below 1: only then is the true X'X known to be curved in every direction."""
    smallest, most = float(np.linalg.eigvalsh(square)[0]), blur(len(square), scale)
    return (1 / smallest, most, most / smallest) if smallest > most else None


@dataclass(frozen=True)
class Round:
    """One drawn sum of x psi at a point: its noise, the share of rows not clipped and the mean square of psi."""

    at: Floats
    drawn: Floats
    noise: float
    share: float
    score: float


def of_rounds(square: Floats, scale: float, rounds: Sequence[Round]) -> Margin:
    r"""About the t with E[x psi(y - x't)] = 0, from the last rounds: errors independent of x, and points so near t that psi is straight.

    Theorem. Let A = X'X + E be drawn, |E| <= m, k = m |A^-1| < 1, u the mean of t - at, g the mean of drawn/share. Then A^-1 g - u is a
    normal vector with covariance c A^-2 + (1 + k) V A^-1, V = E psi^2/(E psi')^2, c the variance of the mean noise, and in a direction h
    at most m |A^-1 h| |u| more.
    Proof. Near t the sum of x psi is that at t, of covariance E psi^2 X'X, plus E psi' X'X (t - at). So g = X'X u + w and
    A^-1 g - u = A^-1 w - A^-1 E u; the noise in w is drawn after E, and X'X <= (1 + k) A. QED
    The points depend on E, so |E u| is bounded by |E| |u|, whatever the dependence.
    """
    d, curved = len(square), _curved(square, scale)
    if curved is None or not rounds:
        return Margin.anywhere(d)
    steep, most, k = curved
    inverse = np.linalg.inv(square)
    step = inverse @ np.mean([turn.drawn / turn.share for turn in rounds], axis=0)
    centre = np.mean([turn.at for turn in rounds], axis=0) + step
    noise = sum((turn.noise / turn.share) ** 2 for turn in rounds) / len(rounds) ** 2
    sampling = max(turn.score / turn.share**2 for turn in rounds) * (1 + k)
    long = _longest(d) * math.sqrt(noise * steep**2 + sampling * steep)
    rest = (float(np.linalg.norm(step)) + long) / (1 - k)  # |u| <= |A^-1 g| + |A^-1 w| + k |u|
    first = NORMAL**2 * (noise * inverse @ inverse + sampling * inverse)
    return Margin.within(centre, (first, (most * rest) ** 2 * inverse @ inverse, BEND**2 * np.outer(step, step)))


@dataclass(frozen=True)
class PosteriorLine:
    """Coefficients for rows in [-1, 1], how far off they can be, the residual's scale, the rows."""

    theta: tuple[float, ...]
    margin: Margin
    scale: float
    rows: float


@dataclass(frozen=True)
class Belief:
    """Mean and covariance of the coefficients."""

    mean: Floats
    spread: Floats

    @classmethod
    def guess(cls, dimension: int, wide: float = 1.0) -> Belief:
        return cls(np.zeros(dimension), np.diag([1.0, *[wide**2 / dimension] * (dimension - 1)]))

    def told(self, slope: Floats, value: Floats, noise: Floats) -> Belief:
        """After seeing value = slope (theta - mean) + error, error of this covariance."""
        gain = self.spread @ slope.T @ np.linalg.inv(slope @ self.spread @ slope.T + noise)
        left = np.eye(len(self.mean)) - gain @ slope
        after = left @ self.spread @ left.T + gain @ noise @ gain.T
        return Belief(self.mean + gain @ value, (after + after.T) / 2)


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
    terms: tuple[MomentTerm, ...] | None = None
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

    def release(self, ask: Ask, draw: Draw) -> PosteriorLine:
        terms = self.terms or columns(self.dimension)
        found: Products = ask(Gram(terms[:-1], self.required))
        whole = found.values[0] if len(found.values) else np.zeros((self.dimension,) * 2, object)
        square = Portions.symmetric(draw, whole, self.scales[0], cut=True) / UNIT
        spot = BoostedSpot(inside(square), max(1.0, float(square[0, 0])), Belief.guess(self.dimension, WIDE))
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
        return PosteriorLine(tuple(spot.belief.mean.tolist()), margin, spot.scale, spot.rows)

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

    def _updated(self, spot: BoostedSpot, turn: Round, scale: float) -> BoostedSpot:
        """The sum of x psi is about the share that is not clipped, times X'X, times what the coefficients lack."""
        gram, before = float(self.scales[0] / UNIT) * turn.share, Belief(turn.at, spot.belief.spread)
        noise = (turn.noise**2 + gram**2 * min(float(np.trace(before.spread)), 1.0)) * np.eye(self.dimension)
        after = before.told(turn.share * spot.square, turn.drawn, noise)
        return BoostedSpot(spot.square, spot.rows, Belief(after.mean, after.spread + DOUBT * before.spread), scale)

    @classmethod
    def examples(cls) -> Sequence[BoostedRegression]:
        one, small = Fraction(1), Fraction(1, 10**6)
        huber = cls(one, small, 3, clip=Fraction(27, 20))
        return (cls(one, small), huber, cls(Fraction(1, 10), small, 11), cls(one, small, 4, 3, relation="replace", max_rows=2))


@dataclass(frozen=True)
class BoostedSpot:
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
