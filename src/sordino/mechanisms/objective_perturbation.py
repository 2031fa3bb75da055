"""Logistic regression as the minimum of a penalised loss with a random linear term: one look at all rows, one point, no interval."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.gaussian import largest_mu
from sordino.mechanisms.laplace import as_dimension, check_scale
from sordino.mechanisms.listing import claim, listed
from sordino.mechanisms.normal_equations import as_rows
from sordino.mechanisms.penalised_minimum import minimum
from sordino.privacy.certificate import Certificate, Closed
from sordino.privacy.cost import Cost, gaussian_delta
from sordino.privacy.families import GaussianLaw, LaplaceLaw
from sordino.privacy.law import output_grid
from sordino.privacy.number import as_delta, as_epsilon
from sordino.privacy.relation import Relation
from sordino.summaries import Ask, Draw
from sordino.summaries.moment import ONE, Lengths, MomentTerm
from sordino.summaries.records import Records
from sordino.summaries.totals import ALL, MOST_ROWS

__all__ = ["NoisyMinimum", "ObjectivePerturbation", "several"]

Floats = NDArray[np.float64]
COUNT, LAST = Fraction(1, 100), Fraction(1, 50)  # shares of epsilon: how many rows there are, and the noise around the minimum
RARE = Fraction(1, 100)  # of delta, for each of them
NEAR = 2.0**-44  # the length of a gradient that counts as none, in units of what its rounding errors grow with
BITS = 36  # of the deviation of the pull, in the units it is drawn in
FAR = 64  # deviations beyond which the pull is cut
BELIEVED = 1.5  # length of the coefficients the penalty is chosen for
FARTHEST = 2**61  # steps
SUBSETS = 40  # rows of a unit up to which all sets of them are counted


@dataclass(frozen=True)
class NoisyMinimum:
    """Coefficients for rows in [-1, 1], about how many rows there are, and the penalty that pulls them towards zero."""

    theta: tuple[float, ...]
    rows: float
    penalty: float


@listed("objective perturbation", "approximate minima perturbation", note="004 M-estimators, private noisy gradient descent")
@dataclass(frozen=True)
class ObjectivePerturbation:
    r"""The t that minimises sum_i l(x_i't, y_i) + L|t|^2/2 + b't with b Gaussian, l the logistic loss; then a little noise around it.

    Theorem. Let b have deviation s in each of d coordinates, |x| <= R = sqrt d, mu = R/s. If one row comes or goes, the exact minimum is
    (e, delta)-DP with delta = G(mu, e - ln(1 + R^2/4L)), G(m, e) = Phi(m/2 - e/m) - e^e Phi(-m/2 - e/m). If K rows come or go, m of them
    at most on one side, delta = sum_k C(K, k) G(k mu, e'), or K G(K mu, e') where e' >= (K mu)^2/2, with e' = e - r ln(1 + m R^2/4rL),
    r = min(m, d). What is released is a point within a certified near/L of it with Gaussian noise of deviation 2 near/(L mu_2) around it,
    which adds (e_2, G(mu_2, e_2)), near following from a drawn number of rows, which adds e_0 and the chance that there are more.
    Proof. F(t) = sum l'(x_i't) x_i + L t is one to one and b = -F(t), so t has the density phi(F(t)) det F'(t). Rows that come add
    g = sum l'_j x_j to F, those that go take it away. From either side the loss is (|g|^2 +- 2 b'g)/2s^2 plus the logarithm of the
    determinants' ratio, and b is Gaussian on the side that is drawn from. All l'_j have a sign that follows from y_j alone: with v_j the
    rows so signed g = sum c_j v_j, 0 <= c_j <= 1, and the first part is convex in c although c depends on b. So it is at most 0 or that of
    a set of the v_j, which does not depend on b: the loss of a Gaussian moved by at most k mu, k the rows in the set. The hockey stick
    of a maximum is at most their sum, and for one row there is one set. (With z_j the pulls along v_j all of them are at most
    (K mu)^2/2 + K mu max(z_j)+: the second form.) The determinant: rows that go lower it; those that come multiply it by
    det(1 + A^-1/2 M A^-1/2), A >= L, M of rank r and trace at most m R^2/4 because l'' <= 1/4. Given the minimum, both sides draw noise
    around points at most 2 near/L apart: the gradient of the point found is at most near long whatever the rows (`minimum`), b's
    rounding included, and the objective is L-strongly convex. The parts compose adaptively, by sums. QED
    (Chaudhuri, Monteleoni and Sarwate 2011; Kifer, Smith and Thakurta 2012; Iyengar et al. 2019; Redberg, Koskela and Wang 2023 have 2 G,
    for losses whose derivative may change its sign.)
    """

    epsilon: Fraction
    delta: Fraction
    dimension: int = 2
    relation: str = "add_remove"
    max_rows: int = 1
    columns: tuple[str, ...] | None = None  # the features, then the target
    widths: tuple[int | None, ...] | None = None  # of their grids; None: a column of 0 and 1 that means itself

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        object.__setattr__(self, "delta", as_delta(self.delta))
        as_dimension(self.dimension)
        as_rows(self.max_rows)
        Relation.of(self.relation)
        if (self.columns is None) != (self.widths is None) or len(self.held) != self.dimension or len(self.grids) != self.dimension:
            raise QueryError(
                "SRD-103", "the columns do not fit the dimension.", "Give the features and then the target, each with a width."
            )
        for scale in (self.counting, self.pulling, self.finishing(0)[0]):
            check_scale(scale)

    @property
    def held(self) -> tuple[str, ...]:
        return self.columns if self.columns is not None else (*(f"x{i}" for i in range(1, self.dimension)), "y")

    @property
    def grids(self) -> tuple[int | None, ...]:
        return self.widths if self.widths is not None else (*[2 * ONE] * (self.dimension - 1), None)

    @property
    def moved(self) -> int:
        """How many rows of one unit come or go at once."""
        return self.max_rows * (2 if Relation.of(self.relation) is Relation.REPLACE else 1)

    @cached_property
    def settings(self) -> tuple[float, float]:
        """The penalty and mu: those at which noise and shrinkage together are least, for coefficients of an ordinary length."""
        left = float(self.epsilon * (1 - COUNT - LAST)), float(self.delta * (1 - 2 * RARE))
        return chosen(*left, self.dimension, self.moved, self.max_rows)

    @property
    def penalty(self) -> float:
        return self.settings[0]

    def bent(self, penalty: float) -> float:
        """What the determinant tells at most."""
        return bent(penalty, self.dimension, self.max_rows)

    @cached_property
    def deviation(self) -> float:
        """Of each coordinate of the pull b."""
        return math.sqrt(self.dimension) / self.settings[1] * (1 + 1e-12)

    @property
    def unit(self) -> float:
        """b is drawn in whole multiples of this power of two."""
        return 2.0 ** (math.frexp(self.deviation)[1] - BITS)

    @property
    def pulling(self) -> Fraction:
        """The deviation of b in these units."""
        return Fraction(self.deviation) / Fraction(self.unit)

    @property
    def counting(self) -> Fraction:
        """The scale of the noise around the number of rows."""
        return self.max_rows / (self.epsilon * COUNT)

    @property
    def margin(self) -> int:
        """So many rows more than drawn there are at most, but for a chance of RARE delta: on both of two neighbours."""
        return (
            math.ceil(float(self.counting) * math.log(1 / (2 * float(self.delta * RARE)))) + 2 * self.max_rows + output_grid(self.counting)
        )

    def near(self, rows: int) -> float:
        """The length of a gradient that counts as none where there are at most so many rows: far above what rounding, b's too, can do."""
        d = math.sqrt(self.dimension)
        return d * (NEAR * (rows + FAR * self.deviation * d + self.penalty + 1) + 2 * self.unit)

    def apart(self, rows: int) -> tuple[float, float]:
        """How far two points found for one minimum can lie apart where so many rows were drawn, in units, and the unit, a power of two."""
        found, d = 2 * self.near(rows + self.margin) / self.penalty, math.sqrt(self.dimension)
        unit = 2.0 ** (math.frexp(found / d)[1] - 6)
        return found / unit + 2 * d, unit

    def finishing(self, rows: int) -> tuple[Fraction, float]:
        """The deviation of the noise around the minimum in units, and the unit."""
        found, unit = self.apart(rows)
        return Fraction(found * (1 + 1e-9)) / largest_mu(self.epsilon * LAST, self.delta * RARE), unit

    @property
    def hopeless(self) -> float:
        return 1.0

    def expected(self, rows: int) -> float:
        """The error of a slope, from public facts: features spread over their bounds, p (1 - p) of a fifth, a coefficient of one."""
        return math.hypot(self.deviation, self.penalty) / (max(rows, 1) * 0.2 / 3 + self.penalty)

    def hockey(self, epsilon: float) -> float:
        """The theorem's sum, with what penalty and deviations really are."""
        mu, last = math.sqrt(self.dimension) / self.deviation, float(self.epsilon * LAST)
        around = gaussian_delta(self.apart(0)[0] / float(self.finishing(0)[0]), last)
        more = math.exp(-(self.margin - 2 * self.max_rows - output_grid(self.counting)) / float(self.counting)) / 2
        rest = epsilon - float(self.max_rows / self.counting) - last - self.bent(self.penalty)
        return min(1.0, several(mu, rest, self.moved) + around + more)

    def certificate(self) -> Certificate:
        unit = f"one unit is at most {self.max_rows} rows in [-1, 1]"
        return claim(self, Cost.approximate(self.epsilon, self.delta), Closed(self.hockey), assumes=unit)

    def counted(self, ask: Ask) -> int:
        """How many complete rows there are."""
        terms = (MomentTerm(), *(MomentTerm(name) for name in self.held[:-1]))
        found = ask(Lengths(terms, MomentTerm(self.held[-1]), (math.ceil(2 * math.sqrt(self.dimension)) * ONE,))).values
        return int(sum(found[0])) if len(found) else 0

    def rows(self, ask: Ask, drawn: int) -> tuple[Floats, Floats]:
        """Complete rows as coordinates behind a constant, and their labels; of a table too large to hold a share, by keyed hashes."""
        share = ALL if drawn <= MOST_ROWS else ALL * MOST_ROWS // drawn
        (found,) = ask(Records(self.held, shares=(share,)))
        x = np.ones((len(found.values), self.dimension))
        for place, width in enumerate(self.grids[:-1]):
            q = found.values[:, place].astype(float)
            x[:, place + 1] = np.clip(q, 0.0, 1.0) if width is None else np.clip(np.rint(q / width * (2 * ONE)) / ONE - 1, -1.0, 1.0)
        return x, (found.values[:, -1] > 0).astype(float)

    def release(self, ask: Ask, draw: Draw) -> NoisyMinimum:
        many = self.counted(ask)
        drawn = max(int(draw(LaplaceLaw().at(many, self.counting, grid=output_grid(self.counting)))), 0)
        x, y = self.rows(ask, drawn)
        pulled = np.asarray(draw(GaussianLaw().at(np.zeros(self.dimension, np.int64), self.pulling)), float) * self.unit
        pull = np.clip(pulled, -FAR * self.deviation, FAR * self.deviation)
        near = self.near(max(drawn + self.margin, len(x)))  # that there are more has been paid for
        high, low = minimum(x, y, self.penalty, pull, near)
        scale, unit = self.finishing(drawn)
        whole = [round(one / unit) + round(other / unit) for one, other in zip(high.tolist(), low.tolist(), strict=True)]
        place = np.array([min(max(steps, -FARTHEST), FARTHEST) for steps in whole], np.int64)
        told = np.asarray(draw(GaussianLaw().at(place, scale, grid=output_grid(scale))), float) * unit
        return NoisyMinimum(tuple(told.tolist()), float(drawn), self.penalty)

    def neighbours(self) -> Sequence[tuple[Any, ...]]:
        """Rows with the target last: somebody pulls with the whole length of a row where nobody else does, or against a crowd."""
        width, m, replaced = self.dimension - 1, self.max_rows, Relation.of(self.relation) is Relation.REPLACE
        one, other = [[1.0] * width + [1.0]] * m, [[-1.0] * width + [1.0]] * m
        crowd = [[side] * width + [0.0] for side in (-1.0, 1.0)] * math.ceil(40 * self.deviation)  # holds on where the pull is long
        gone, nobody = (other, [[1.0] * width + [0.0]] * m) if replaced else ([], [])
        return (
            ("a crowd without, and a corner with", [*crowd, *gone], [*crowd, *one]),
            ("nobody, and a corner", nobody, one),
            ("a corner of its own kind", [*one * 9, *gone], [*one * 9, *one]),
        )

    @classmethod
    def examples(cls) -> Sequence[ObjectivePerturbation]:
        one, small = Fraction(1), Fraction(1, 10**6)
        alone, several = (cls(one, small), cls(Fraction(1, 10), small, 4), cls(Fraction(5), small, 1)), cls(one, small, 3, max_rows=2)
        return (*alone, several, cls(one, small, 5, "replace"))


def bent(penalty: float, dimension: int, rows: int) -> float:
    """r ln(1 + m R^2/4rL): what the curvature of m rows can change the logarithm of the determinant by."""
    rank = min(rows, dimension)
    return rank * math.log1p(rows * dimension / (4 * rank * penalty))


def several(mu: float, epsilon: float, rows: int) -> float:
    """The hockey stick of the pull where so many rows, each of mu, come or go."""
    if epsilon < 0:
        return 1.0
    if rows == 1:
        return gaussian_delta(mu, epsilon)
    found = 1.0
    if rows <= SUBSETS:
        found = math.fsum(math.comb(rows, k) * gaussian_delta(k * mu, epsilon) for k in range(1, rows + 1))
    if epsilon >= (rows * mu) ** 2 / 2:
        found = min(found, rows * gaussian_delta(rows * mu, epsilon))
    return min(found, 1.0)


def largest(epsilon: float, delta: float, rows: int) -> float:
    """The largest mu of one row that keeps (epsilon, delta) where so many come or go; rounded down."""
    low, high = 0.0, 1.0
    while several(high, epsilon, rows) <= delta:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if several(middle, epsilon, rows) <= delta else (low, middle)
    return low


@lru_cache(maxsize=1024)
def chosen(epsilon: float, delta: float, dimension: int, moved: int, rows: int) -> tuple[float, float]:
    """The penalty L and the mu that goes with it, where d s^2 + (L |t|)^2 is least: the noise and the shrinkage of t, both over n/12."""

    def made(power: float) -> tuple[float, float, float]:
        penalty = 2.0**power
        left = epsilon - bent(penalty, dimension, rows)
        if left <= 0 or (mu := largest(left, delta, moved)) <= 0:
            return math.inf, penalty, 0.0
        return dimension**2 / mu**2 + (BELIEVED * penalty) ** 2, penalty, mu

    floor = max(math.log2(dimension * rows / 4 / math.expm1(min(epsilon, 100.0))), -10.0)  # about where nothing is left for the noise
    grid = [floor + step / 2 for step in range(-4, 40)]
    best = min(grid, key=lambda power: made(power)[0])
    fine = min((best + step / 16 for step in range(-8, 9)), key=lambda power: made(power)[0])
    cost, penalty, mu = made(fine)
    if not math.isfinite(cost):
        raise QueryError("SRD-103", "this price leaves nothing for noise.", "Use a larger epsilon or a larger delta.")
    return penalty, mu
