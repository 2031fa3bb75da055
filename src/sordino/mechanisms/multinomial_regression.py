"""Logistic regression of several public classes: the rounds of the binary one, with a gradient for every class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.estimate import UNIT, Estimate, located, whole_theta
from sordino.mechanisms.listing import listed
from sordino.mechanisms.logistic_regression import HESSIAN, LARGEST, SEARCH, SLOPE, LogisticRegression, Rounds
from sordino.mechanisms.moment_model import MomentModel, weighed
from sordino.mechanisms.normal_equations import columns
from sordino.summaries import Ask, Draw
from sordino.summaries.moment import FINE, LINK, ONE, Gradient, Outer

__all__ = ["MOST", "ClassModel", "MultinomialRegression", "farthest"]

Floats = NDArray[np.float64]
MOST = 10  # classes: the bound of a gradient is looked for among 2^(classes - 1) corners


@listed("multinomial regression", "logistic regression of several classes", note="004 M-estimators, private noisy gradient descent")
@dataclass(frozen=True)
class MultinomialRegression(LogisticRegression):
    r"""Log odds of each class against the first, for rows in [-1, 1] whose target is in one of K equal cells of [-1, 1], a cell per class.

    The class k of a row has chance p_k = e^{x'b_k}/sum_j e^{x'b_j}, and its gradient is x (e_y - p), K blocks. Gradients are pooled as in
    the binary regression; in place of the curvature the squares of gradients are drawn at the fourth point, which have the same mean
    where the model holds. That is a preconditioner and moves no root; the intervals lean on it.

    Theorem. At public b a row moves the gradient by at most C f(b), C <= sqrt d the cap of its length, with f(b)^2 the largest of
    ((W - 1)^2 + sum w_j^2)/W^2, W = 1 + sum w_j, over classes y and w_j in {e^-D, e^D}, D = |b_j - b_y|_1; the sum of its squares by
    (C f)^2/sqrt 2. The rest is as in LogisticRegression.
    Proof. |e_y - p|^2 = (1 - p_y)^2 + sum_{j != y} p_j^2 is that number for w_j = e^{x'(b_j - b_y)}, and |x'(b_j - b_y)| <= D on the box.
    Its derivative in w_j has the sign of (W - 1) + w_j W - sum w^2 = c - 1 - s + w_j (1 + c), with c and s the sums of the others' w and
    squares, 1 + among the first: increasing in w_j, so the number falls and then rises, and its maximum over a box is at a corner. The
    table of the exponential, rounding and cutting are in the bound. QED
    """

    classes: int = 3

    def __post_init__(self) -> None:
        if isinstance(self.classes, bool) or not isinstance(self.classes, int) or not 2 <= self.classes <= MOST:
            raise QueryError("SRD-103", f"classes is {self.classes!r}.", f"Give the number of public classes, from 2 to {MOST}.")
        super().__post_init__()

    @property
    def length(self) -> int:
        return self.classes * self.dimension

    @property
    def coefficients(self) -> int:
        return (self.classes - 1) * self.dimension

    def release(self, ask: Ask, draw: Draw) -> Estimate:
        terms, d = self.terms or columns(self.dimension), self.dimension
        facts: dict[str, Any] = {"terms": terms[:-1], "target": terms[-1], "required": self.required}
        cap, over = self._cap(facts, ask, draw)
        square, blur = self._squares(Outer(**facts, of="rows", norm=cap, cap=cap), self.scales[1], ask, draw)
        turn = contrasts(self.classes)
        spread, rounds = np.kron(turn, np.eye(d)), Rounds(d, blur, self.classes - 1)  # from contrasts to classes
        model, c = ClassModel.about(MomentModel.of(square, blur), turn), np.zeros(self.coefficients)
        for place in range(self.turns):
            theta = whole_theta(spread @ c, LARGEST)
            at = spread.T @ np.array(theta) / FINE
            bound = self._bound(cap, theta)
            if place == min(HESSIAN, self.turns - 1):
                wanted = Outer(**facts, of="residual", norm=bound, theta=theta, loss="softmax", cap=cap)
                drawn, doubt = self._squares(wanted, self.scales[2], ask, draw)
                model = model.told(spread.T @ drawn @ spread, doubt, at)
            found = ask(Gradient(**facts, theta=theta, loss="softmax", norm=bound, cap=cap, each=True)).values
            wide = self.scales[4 + place] * Fraction(bound, ONE)
            whole = located(found[0] if len(found) else np.zeros(self.classes * d, object))
            rounds.add(at, spread.T @ (self.price.draw(draw, whole, wide) / UNIT), self.price.deviation(wide / UNIT))
            c = rounds.mode(model, c, SEARCH)
        theta = whole_theta(spread @ c, LARGEST)
        wanted = Outer(**facts, of="residual", norm=self._bound(cap, theta), theta=theta, loss="softmax", cap=cap)
        meat, doubt = self._squares(wanted, self.scales[3], ask, draw)
        best = rounds.mode(model, c, SLOPE)
        careful = replace(model, points=MomentModel.of(square, blur, careful=True).points).curvature(c)
        weight = rounds.weight(model, c)
        noise = np.linalg.inv(careful @ careful * weight + rounds.prior(SEARCH))
        bread = noise @ careful * weight
        sampling = bread @ weighed(model.curvature(c), spread.T @ meat @ spread, doubt, 0.25) @ bread.T
        first = np.kron(turn[1:] - turn[:1], np.eye(d))  # against the first class
        parts = (first @ part @ first.T for part in (noise, np.outer(best - c, best - c), sampling))
        return Estimate.made(first @ best, *parts, rows=model.rows, clipped=over)

    def _bound(self, cap: int, theta: tuple[int, ...]) -> int:
        """cap f(b) for the b that is sent, from above, with what tables, rounding and cutting may add."""
        slack = math.sqrt(self.classes) * (self.classes + 4) / ONE
        return math.ceil(cap * min(math.sqrt(2), farthest(np.reshape(theta, (self.classes, -1)) / FINE, 2 / LINK) + slack)) + 1

    @classmethod
    def examples(cls) -> Sequence[MultinomialRegression]:
        one, small = Fraction(1), Fraction(1, 10**6)
        return (cls(one, small), cls(one, small, 3, "replace", 2, classes=4), cls(Fraction(1), Fraction(0), 2))


@dataclass(frozen=True)
class ClassModel(MomentModel):
    """The same rows, and the sums of x (Q'p) over them: coefficients are contrasts of classes, block by block."""

    turn: Floats = None  # type: ignore[assignment]

    @classmethod
    def about(cls, model: MomentModel, turn: Floats) -> ClassModel:
        size = turn.shape[1] * model.points.shape[1]
        return cls(model.points, model.rows, np.zeros(size), np.zeros((size, size)), model.doubt, turn)

    def _chances(self, c: Floats) -> Floats:
        z = self.points @ np.reshape(c, (self.turn.shape[1], -1)).T @ self.turn.T
        e = np.exp(z - z.max(axis=1, keepdims=True))
        return np.asarray(e / e.sum(axis=1, keepdims=True))

    def total(self, b: Floats) -> Floats:
        held = self._chances(b) @ self.turn
        return np.asarray(self.rows / len(self.points) * (held.T @ self.points).ravel() + self.extra @ (b - self.at))

    def plain(self, b: Floats) -> Floats:
        p = self._chances(b)
        held = p @ self.turn
        width, d = self.turn.shape[1], self.points.shape[1]
        whole = np.zeros((width, d, width, d))
        for a in range(width):
            for e in range(a, width):
                share = p @ (self.turn[:, a] * self.turn[:, e]) - held[:, a] * held[:, e]
                whole[a, :, e] = whole[e, :, a] = (self.points.T * share) @ self.points
        return np.asarray(self.rows / len(self.points) * whole.reshape(width * d, width * d))


@lru_cache(maxsize=MOST)
def contrasts(classes: int) -> Floats:
    """An orthonormal basis of the vectors that sum to zero: what a softmax can tell apart."""
    basis, _ = np.linalg.qr(np.eye(classes)[:, 1:] - 1 / classes)
    return np.asarray(basis)


def farthest(b: Floats, more: float = 0.0) -> float:
    """f(b): the longest e_y - p on the box, one line of coefficients per class; `more` is added to every distance."""
    worst, many = 0.0, len(b)
    corners = np.array(np.meshgrid(*[[-1.0, 1.0]] * (many - 1))).reshape(many - 1, -1)
    for y in range(many):
        far = np.abs(np.delete(b, y, axis=0) - b[y]).sum(axis=1) + more
        w = np.exp(np.minimum(far, 300.0)[:, None] * corners)
        # over W^2 from the largest down, so that nothing overflows
        whole = 1 + w.sum(axis=0)
        worst = max(worst, float((((whole - 1) / whole) ** 2 + ((w / whole) ** 2).sum(axis=0)).max()))
    return math.sqrt(worst)
