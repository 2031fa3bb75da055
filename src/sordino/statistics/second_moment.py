"""Correlations, covariances and lines of pairs of columns, and the whole matrix of second moments they are read off."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.moment_matrix import MomentMatrix
from sordino.privacy.certificate import Part
from sordino.privacy.relation import Relation
from sordino.statistics.port import LEVEL, Answer, Context, Groups, NoForecast, Plain, Step, length_grid
from sordino.statistics.reach import Reach, root_up
from sordino.statistics.registry import registered
from sordino.statistics.regression import placement
from sordino.summaries import Ask, Draw
from sordino.summaries.moment import COARSE, Gram, MomentTerm

__all__ = ["KINDS", "Matrix", "Pair", "SecondMoments", "gram"]

Floats = NDArray[np.float64]
KINDS = ("corr", "covar_pop", "covar_samp", "regr_slope", "regr_intercept")


@dataclass(frozen=True)
class SecondMoments:
    """A drawn matrix with its public noise, and what follows from it by algebra; columns are in half ranges of their bounds."""

    square: Floats
    noise: float

    @property
    def rows(self) -> float:
        return max(float(self.square[0, 0]), 1.0)

    @cached_property
    def mean(self) -> Floats:
        return np.asarray(np.clip(self.square[0, 1:] / self.rows, -1.0, 1.0))

    @cached_property
    def covariance(self) -> Floats:
        """Without negative eigenvalues: they are at least what noise alone makes of nothing."""
        plain = self.square[1:, 1:] / self.rows - np.outer(self.mean, self.mean)
        values, vectors = np.linalg.eigh(plain)
        least = self.noise * math.sqrt(len(plain)) / (2 * self.rows)
        return np.asarray((vectors * np.maximum(values, least)) @ vectors.T)

    @cached_property
    def correlation(self) -> Floats:
        deviation = np.sqrt(np.diag(self.covariance))
        return np.asarray(np.clip(self.covariance / np.outer(deviation, deviation), -1.0, 1.0))

    def _moved(self, i: int, j: int) -> Floats:
        """How the covariance of two columns moves with the drawn entries (1,1), (1,i), (1,j), (i,j): to first order, over the rows."""
        m = self.mean
        if i == j:
            return np.array([2 * m[i] ** 2 - self.square[1 + i, 1 + i] / self.rows, -2 * m[i], 0.0, 1.0]) / self.rows
        return np.array([2 * m[i] * m[j] - self.square[1 + i, 1 + j] / self.rows, -m[j], -m[i], 1.0]) / self.rows

    def covariance_noise(self, i: int, j: int) -> float:
        """The standard deviation that noise gives a covariance."""
        first, a, b, last = self._moved(i, j)
        if i == j:
            return self.noise * math.sqrt(2 * first**2 + a**2 + 2 * last**2)
        return self.noise * math.sqrt(2 * first**2 + a**2 + b**2 + last**2)

    def correlation_noise(self, i: int, j: int) -> float:
        """The same for a correlation: d r = d c_ij/(s_i s_j) - r/2 (d c_ii/c_ii + d c_jj/c_jj), entry by entry."""
        c, r = self.covariance, float(self.correlation[i, j])
        both, one, other = self._moved(i, j), self._moved(i, i), self._moved(j, j)
        scale, first, second = 1 / math.sqrt(c[i, i] * c[j, j]), r / (2 * c[i, i]), r / (2 * c[j, j])
        moves = [  # entry, squared noise over s^2
            (both[0] * scale - one[0] * first - other[0] * second, 2),
            (both[1] * scale - one[1] * first, 1),
            (both[2] * scale - other[1] * second, 1),
            (both[3] * scale, 1),
            (one[3] * first, 2),
            (other[3] * second, 2),
        ]
        return self.noise * math.sqrt(sum(part**2 * weight for part, weight in moves))

    def correlation_ends(self, i: int, j: int, level: float, *, population: bool = False) -> tuple[float, float]:
        """Fisher's z, with the noise of r in its variance and for the population 1/(n - 3) more."""
        r, z = float(np.clip(self.correlation[i, j], -0.999999, 0.999999)), NormalDist().inv_cdf((1 + level) / 2)
        spread = (self.correlation_noise(i, j) / (1 - r * r)) ** 2 + (1 / max(self.rows - 3, 1.0) if population else 0.0)
        return math.tanh(math.atanh(r) - z * math.sqrt(spread)), math.tanh(math.atanh(r) + z * math.sqrt(spread))


@dataclass(frozen=True)
class MatrixStep(NoForecast):
    """Second moments of every group in one pass."""

    statistic: Matrix | Pair
    epsilon: Fraction
    delta: Fraction
    context: Context
    name: str = "MomentMatrix"

    def __post_init__(self) -> None:
        _ = self.mechanism  # every refusal comes before the charge

    @property
    def bar(self) -> str:
        return "bound" if isinstance(self.statistic, Pair) else "none"

    @property
    def covers(self) -> str:
        return f"{self.statistic.label} of the clamped rows"

    @cached_property
    def mechanism(self) -> MomentMatrix:
        terms, unit, rows = (
            (MomentTerm(), *(MomentTerm(name) for name in self.statistic.columns)),
            self.context.unit,
            self.context.limits.rows,
        )
        d = len(terms)
        alone = Fraction(d * d, 2)
        own = rows * root_up(alone * (2 if unit.relation is Relation.REPLACE else 1))
        whole = Reach(alone, 2 * alone, self.context).second()
        cut = 1 + Fraction(self.context.limits.touched, 2**26)  # whole units of 2^-28 in every group a person touches
        return MomentMatrix(self.epsilon, self.delta, d, unit.relation.value, rows, max(Fraction(1), whole / own) * cut, Gram(terms))

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part(self.mechanism.certificate()),)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        question = self.mechanism.question
        assert question is not None
        found = ask(question)
        places = {key: i for i, key in enumerate(found.keys)}
        nothing = np.zeros((self.mechanism.dimension,) * 2, object)
        wanted = [()] if groups is None else groups
        drawn = (self.mechanism.around(found.values[places[key]] if key in places else nothing, draw) for key in wanted)
        return [self._answer(tuple(v for line in matrix for v in line)) for matrix in drawn]

    def _answer(self, raw: tuple[float, ...], level: float = LEVEL) -> Answer:
        if isinstance(self.statistic, Matrix):
            return Answer(raw)
        d = self.mechanism.dimension
        return self.statistic.read(SecondMoments(np.reshape(raw, (d, d)), self.mechanism.noise), self.context, level, raw)

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any] | None:
        if isinstance(self.statistic, Matrix):
            return None
        again = self._answer(answer.raw, level)
        return again.low, again.high


class _Moments(Plain):
    """What asks for second moments: always with a delta."""

    columns: tuple[str, ...]

    def needs_delta(self, context: Context) -> bool:
        return True

    @property
    def without_delta(self) -> tuple[str, str]:
        what = f"{type(self).__name__.lower()} moments are drawn with Gaussian noise, which takes a delta, and there is none."
        return what, "Give delta=1e-6 from a budget that has a delta."

    def step(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step:
        if not delta:
            raise QueryError("SRD-102", *self.without_delta)
        for name in self.columns:
            length_grid(context, name)
        return MatrixStep(self, epsilon, delta, context)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Matrix(_Moments):
    """The matrix of second moments of several columns, the constant first."""

    way = "gaussian"
    columns: tuple[str, ...]

    def __post_init__(self) -> None:
        if len(self.columns) < 1 or len(set(self.columns)) != len(self.columns):
            raise QueryError("SRD-103", "the columns are missing or repeat.", "Name each column once.")

    @property
    def label(self) -> str:
        return f"gram({', '.join(self.columns)})"

    def question(self) -> dict[str, Any]:
        return {"statistic": "gram", "columns": list(self.columns)}


@dataclass(frozen=True)
class Pair(_Moments):
    """One number of two columns: a correlation, a covariance, or the line of the first on the second."""

    way = "gaussian"
    kind: str
    first: str
    second: str

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.first == self.second:
            raise QueryError("SRD-103", f"{self.kind} of {self.first} and {self.second}.", f"Name two columns; {', '.join(KINDS)}.")

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.first, self.second)

    @property
    def label(self) -> str:
        return f"{self.kind}({self.first}, {self.second})"

    def question(self) -> dict[str, Any]:
        return {"statistic": self.kind, "columns": list(self.columns)}

    def read(self, moments: SecondMoments, context: Context, level: float, raw: tuple[float, ...]) -> Answer:
        """The number in the columns' units, with the interval that the noise gives it."""
        if self.kind == "corr":
            return Answer(float(moments.correlation[0, 1]), *moments.correlation_ends(0, 1, level), raw=raw)
        (low, high), (centre, wide) = (placement(context.columns[name], COARSE) for name in self.columns)
        z, c = NormalDist().inv_cdf((1 + level) / 2), moments.covariance
        if self.kind in ("covar_pop", "covar_samp"):
            factor = high * wide * (moments.rows / max(moments.rows - 1, 1.0) if self.kind == "covar_samp" else 1.0)
            value, far = factor * float(c[0, 1]), abs(factor) * z * moments.covariance_noise(0, 1)
            return Answer(value, value - far, value + far, raw=raw)
        slope = float(c[0, 1] / c[1, 1])
        error = math.hypot(moments.covariance_noise(0, 1), slope * moments.covariance_noise(1, 1)) / float(c[1, 1])
        if self.kind == "regr_slope":
            unit = high / wide
            return Answer(unit * slope, unit * (slope - z * error), unit * (slope + z * error), raw=raw)
        m = moments.mean
        level_of = float(m[0] - slope * m[1])
        far = z * math.hypot(error * (abs(float(m[1])) + abs(centre / wide)), moments.noise / moments.rows)
        value = low + high * (level_of - slope * centre / wide)
        return Answer(value, value - high * far, value + high * far, raw=raw)


# SQL asks for these, of two columns
for _kind, _words in (("corr", "correlation"), ("covar_pop", "covariance"), ("covar_samp", "sample covariance")):
    registered(_kind, about=f"the {_words} of {{of}}{{clamped}}", sql=(_kind.upper(),), verb=False)(partial(Pair, _kind))
for _kind in ("regr_slope", "regr_intercept"):
    registered(_kind, about=f"{_kind} of {{of}}", sql=(_kind.upper(),), verb=False)(partial(Pair, _kind))


@registered(about="the second moments of {of}{clamped}", remote=False)
def gram(columns: Sequence[str]) -> Matrix:
    """The second moments of several columns."""
    return Matrix(tuple(columns))
