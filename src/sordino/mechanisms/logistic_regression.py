"""Logistic regression from a few noisy gradients that are never clipped: each is a full estimate, and all of them are pooled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.estimate import UNIT, Estimate, LaplacePortions, Portions, located, portions, root_up, whole_theta
from sordino.mechanisms.laplace import as_dimension
from sordino.mechanisms.listing import claim, listed
from sordino.mechanisms.moment_model import MomentModel, weighed
from sordino.mechanisms.normal_equations import as_rows, columns
from sordino.privacy.certificate import Certificate
from sordino.privacy.number import as_delta, as_epsilon
from sordino.privacy.relation import Relation
from sordino.summaries import Ask, Draw
from sordino.summaries.moment import FINE, GRAIN, LINK, ONE, Gradient, Lengths, MomentTerm, Outer

__all__ = ["LogisticRegression"]

Floats = NDArray[np.float64]
ROUNDS, HESSIAN = 8, 3  # gradients in all, and before which of them the curvature is drawn
PARTS = tuple(Fraction(part, 100) for part in (3, 7, 7, 5))  # shares of mu^2: lengths, xx', curvature, squares of contributions
PURE, LAST = tuple(Fraction(part, 100) for part in (4, 10, 10, 6)), (1, 2, 7)  # of epsilon where there is no delta, and of its gradients
BINS = 16
CONSTANT, SEARCH, SLOPE = 5.0, 3.0, 2.0  # deviations of the prior: log odds of the constant, of slopes per half range, and at last
MANY = 9  # features from which on a slope is believed to be smaller
STEP = 1.5  # the longest step of the mode
LARGEST = 64  # absolute log odds of a request


@listed("logistic regression", "pooled gradients", "Newton's method in rounds", note="004 M-estimators, private noisy gradient descent")
@dataclass(frozen=True)
class LogisticRegression:
    r"""Coefficients of log odds for rows in [-1, 1]: eight gradients at points that draw nearer, each moved to the last point and pooled.

    A gradient g at b says what the sum of x y is: g plus the sum of x sigmoid(x'b), which a model of the rows' moments moves to any other
    point. So no round is lost, and one drawn curvature makes the model agree with the rows. Rows longer than a drawn cap C count with
    weight C/|x|, which depends on x alone: where the model holds the root is the true coefficient for every C.

    Theorem. At a public b a row moves the gradient by at most C s, s = sigmoid(|b|_1), C <= sqrt d; the counts of lengths by 1, the sum of
    capped xx' by C^2/sqrt 2, that of curvatures by a quarter of it, that of squared contributions by (C s)^2/sqrt 2. All draws are
    Gaussian and their squared shifts add up to mu^2. A person with m rows moves everything m times as far; replaced, gradients twice,
    counts and squares sqrt 2 times.
    Without a delta there are three gradients, all draws are Laplace and their shifts add up to epsilon; in L1 norm a vector moves by sqrt d
    times as far, squares of vectors of length C by (d + 1) C^2/2, and everything twice as far for a replaced person.
    Proof. |y - sigmoid(t)| <= sigmoid(|t|) for y in [0, 1] and |x'b| <= |b|_1 on the box; p (1 - p) <= 1/4. C and each b are drawn before
    they are used, so given the past each step is one Gaussian draw whose noise grows with its own sensitivity, and these compose by
    squares, Laplace draws by sums. |v|_1 <= sqrt d |v|, and the products of v on and above the diagonal sum to (|v|_1^2 + |v|^2)/2. The
    link is read off a table whose error the bound includes; cutting moves each sum by at most one unit more. QED
    """

    epsilon: Fraction
    delta: Fraction
    dimension: int = 2
    relation: str = "add_remove"
    max_rows: int = 1
    capped: bool = True
    terms: tuple[MomentTerm, ...] | None = None
    required: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "delta", as_delta(self.delta, zero=True))
        as_dimension(self.dimension)
        as_rows(self.max_rows)
        Relation.of(self.relation)
        if not isinstance(self.capped, bool):
            raise QueryError("SRD-103", f"capped is {self.capped!r}.", "Give True or False.")
        if self.terms is not None and (not isinstance(self.terms, tuple) or len(self.terms) != self.dimension + 1):
            raise QueryError("SRD-103", "the terms do not fit the dimension.", "Give the terms and then the target.")
        if not isinstance(self.required, tuple):
            raise QueryError("SRD-103", "required is not a tuple.", "Give the conditions that must hold, by their places.")
        _ = self.scales  # noise of impossible width is refused here

    @cached_property
    def reaches(self) -> tuple[Fraction, Fraction, Fraction, Fraction]:
        """Counts; squares of rows and of contributions in units of (longest/GRAIN)^2; gradients at a bound of 1, in units of 2^-28."""
        m, size, d = self.max_rows, self.length, self.dimension
        vector, psd = (2, root_up(Fraction(2))) if Relation.of(self.relation) is Relation.REPLACE else (1, Fraction(1))
        # a sum is cut to whole units whatever its bound, and the least bound is one half
        if self.delta:
            squares = m * psd * root_up(Fraction(1, 2)) * (GRAIN + 1) ** 2
            return m * psd, squares, squares, m * vector * UNIT + 4 * root_up(Fraction(size))
        rows, contributions = (m * vector * Fraction(long + 1, 2) * (GRAIN + 1) ** 2 for long in (d, size))
        return Fraction(m * vector), rows, contributions, m * vector * root_up(Fraction(size)) * UNIT + 4 * size

    @property
    def price(self) -> Portions | LaplacePortions:
        return portions(self.epsilon, self.delta)

    @property
    def length(self) -> int:
        """Of a gradient."""
        return self.dimension

    @property
    def turns(self) -> int:
        """How many gradients are drawn."""
        return ROUNDS if self.delta else len(LAST)

    @cached_property
    def shares(self) -> tuple[Fraction, ...]:
        """Of mu^2: lengths, squares, curvature, squared contributions, then the gradients, the later ones more: their points are nearer."""
        parts, weights = (PARTS, tuple(range(1, ROUNDS + 1))) if self.delta else (PURE, LAST)
        return (*parts, *((1 - sum(parts)) * Fraction(weight, sum(weights)) for weight in weights))

    @cached_property
    def scales(self) -> tuple[Fraction, ...]:
        return tuple(self.price.scale(reach, share) for reach, share in zip(self._asked, self.shares, strict=True))

    @property
    def _asked(self) -> tuple[Fraction, ...]:
        """The reach of every draw."""
        counts, rows, contributions, sums = self.reaches
        return (counts, rows, contributions, contributions, *[sums] * self.turns)

    @property
    def hopeless(self) -> float:
        """An error of one in log odds per half range says nothing."""
        return 1.0

    def expected(self, rows: int) -> float:
        """The standard error that noise leaves a slope, from public facts: features spread over their bounds, p (1 - p) of a fifth."""
        precision = sum(self.price.deviation(scale / UNIT) ** -2 for scale in self.scales[4:])
        return math.sqrt(self.dimension / precision) / (rows * 0.2 / 3)

    def certificate(self) -> Certificate:
        spent = zip(self._asked, self.scales, strict=True)
        return claim(self, self.price.cost, self.price.witness(spent), assumes=f"one unit is at most {self.max_rows} rows in [-1, 1]")

    def release(self, ask: Ask, draw: Draw) -> Estimate:
        terms = self.terms or columns(self.dimension)
        facts: dict[str, Any] = {"terms": terms[:-1], "target": terms[-1], "required": self.required}
        cap, over = self._cap(facts, ask, draw)
        square, blur = self._squares(Outer(**facts, of="rows", norm=cap, cap=cap), self.scales[1], ask, draw)
        model, b, rounds = MomentModel.of(square, blur), np.zeros(self.dimension), Rounds(self.dimension, blur)
        for turn in range(self.turns):
            theta = whole_theta(b, LARGEST)
            if turn == min(HESSIAN, self.turns - 1):
                wanted = Outer(**facts, of="curvature", norm=-(-cap // 2), theta=theta, loss="logistic", cap=cap)
                model = model.told(*self._squares(wanted, self.scales[2], ask, draw), np.array(theta) / FINE)
            bound = _bound(cap, theta)
            found = ask(Gradient(**facts, theta=theta, loss="logistic", norm=bound, cap=cap, each=True)).values
            wide = self.scales[4 + turn] * Fraction(bound, ONE)
            drawn = self.price.draw(draw, located(_first(found, self.dimension)), wide) / UNIT
            rounds.add(np.array(theta) / FINE, drawn, self.price.deviation(wide / UNIT))
            b = rounds.mode(model, b, SEARCH)
        theta = whole_theta(b, LARGEST)
        wanted = Outer(**facts, of="residual", norm=_bound(cap, theta), theta=theta, loss="logistic", cap=cap)
        meat, doubt = self._squares(wanted, self.scales[3], ask, draw)
        best = rounds.mode(model, b, SLOPE)
        careful = replace(model, points=MomentModel.of(square, blur, careful=True).points).curvature(b)
        weight, prior = rounds.weight(model, b), rounds.prior(SEARCH)
        noise = np.linalg.inv(careful @ careful * weight + prior)
        bread = noise @ careful * weight
        curve = model.curvature(b)
        sampling = bread @ weighed(curve, meat, doubt, 0.25) @ bread.T
        pulled = np.outer(best - b, best - b)  # by the narrower prior, which an interval must not lean on
        return Estimate.made(best, noise, pulled, sampling, rows=model.rows, clipped=over)

    def _cap(self, facts: dict[str, Any], ask: Ask, draw: Draw) -> tuple[int, float]:
        """The smallest edge above which every drawn tail of row lengths is within two deviations of nobody, and how many are longer."""
        top = math.ceil(math.sqrt(self.dimension) * ONE) + 1
        edges = tuple(ONE + (top - ONE) * j // BINS for j in range(1, BINS + 1))
        found = _first(ask(Lengths(**facts, edges=edges[:-1])).values, BINS)
        counts = self.price.draw(draw, found.astype(np.int64), self.scales[0]).astype(float)
        if not self.capped:
            return top, 0.0
        tails = np.cumsum(counts[::-1])
        near = tails <= 2 * self.price.deviation(self.scales[0]) * np.sqrt(np.arange(1, BINS + 1))
        place = BINS - (int(np.argmin(near)) if not near.all() else BINS)
        return edges[max(place, 1) - 1], float(np.maximum(counts[place:], 0.0).sum())

    def _squares(self, request: Outer, scale: Fraction, ask: Ask, draw: Draw) -> tuple[Floats, float]:
        """A drawn sum of squares of vectors, and the noise of its entries."""
        found, d = ask(request).values, request.size
        unit = (request.norm / ONE / GRAIN) ** 2
        whole = found[0] if len(found) else np.zeros((d, d), object)
        return self.price.symmetric(draw, whole, scale) * unit, self.price.deviation(scale) * unit

    @classmethod
    def examples(cls) -> Sequence[LogisticRegression]:
        one, small = Fraction(1), Fraction(1, 10**6)
        plain, pure = cls(Fraction(20), small, 2, capped=False), cls(one, Fraction(0), 3, "replace", 2)
        return (cls(one, small), cls(Fraction(1, 10), small, 11), cls(one, small, 5, "replace", 3), plain, cls(one, Fraction(0)), pure)


class Rounds:
    """The gradients drawn so far, and what they say together."""

    def __init__(self, terms: int, blur: float, blocks: int = 1) -> None:
        self._at: list[Floats] = []
        self._drawn: list[Floats] = []
        self._noise: list[float] = []
        self._dimension, self._blur, self._terms, self._blocks = terms * blocks, blur, terms, blocks

    def add(self, at: Floats, drawn: Floats, noise: float) -> None:
        self._at.append(at)
        self._drawn.append(drawn)
        self._noise.append(noise)

    def prior(self, slope: float) -> Floats:
        """With many features each moves the odds less: their sum over the box is believed to vary no more than that of nine."""
        features = self._terms - 1
        width = slope * min(1.0, math.sqrt(MANY / max(features, 1)))
        alone = [CONSTANT**-2, *[width**-2] * features]
        return np.diag(alone if self._blocks == 1 else [2 * part for _ in range(self._blocks) for part in alone])

    def _weights(self, model: MomentModel, b: Floats) -> list[float]:
        """One over the variance of each round's say at b: its own noise, and the model's error on the way from its point."""
        curve, out = model.curvature(b), []
        for at, noise in zip(self._at, self._noise, strict=True):
            far = b - at
            relative = model.doubt + 0.3 * min(1.0, float(np.abs(far).sum()))
            moved = relative**2 * float(np.sum((curve @ far) ** 2)) / self._dimension + (self._blur / 4) ** 2 * float(far @ far)
            out.append(1 / (noise**2 + moved))
        return out

    def weight(self, model: MomentModel, b: Floats) -> float:
        return sum(self._weights(model, b))

    def mode(self, model: MomentModel, start: Floats, slope: float) -> Floats:
        """The most likely coefficients under a normal prior, weights and Gauss-Newton steps in turn."""
        b, prior = start, self.prior(slope)
        told = [drawn + model.total(at) for at, drawn in zip(self._at, self._drawn, strict=True)]
        for _ in range(3):
            weights = self._weights(model, b)
            total = sum(weights)
            goal = sum(weight * one for weight, one in zip(weights, told, strict=True)) / total
            for _ in range(4):
                curve = model.curvature(b)
                step = np.linalg.solve(total * curve @ curve + prior, total * curve @ (goal - model.total(b)) - prior @ b)
                b = b + step * min(1.0, STEP / max(float(np.linalg.norm(step)), 1e-300))
                if float(np.abs(step).max()) < 1e-5:
                    break
        return b


def _bound(cap: int, theta: tuple[int, ...]) -> int:
    """cap sigmoid(|b|_1) for the b that is sent, from above: the table of the link is off by less than 1/(8 LINK)."""
    size = sum(map(abs, theta)) / FINE
    return math.ceil(cap * min(1.0, 1 / (1 + math.exp(-size)) + 1 / (4 * LINK))) + 1


def _first(values: NDArray[np.object_], size: int) -> NDArray[np.object_]:
    """The sums of the one group; zeros where nobody is there."""
    return values[0] if len(values) else np.zeros(size, object)
