"""Linear regression of a column on others, as a question to a table.

The terms of a formula on a grid, and the way back from coordinates to the columns' own units.

A regression with its price settled: coefficients with intervals about this table and about its population, or a robust fit in rounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.boosted_regression import BoostedRegression
from sordino.mechanisms.estimate import Estimate, root_up
from sordino.mechanisms.least_squares import LeastSquares
from sordino.mechanisms.logistic_regression import LogisticRegression
from sordino.mechanisms.m_regression import MRegression
from sordino.mechanisms.multinomial_regression import MultinomialRegression
from sordino.mechanisms.normal_equations import NormalEquations, solved
from sordino.privacy.certificate import Part
from sordino.privacy.number import as_positive
from sordino.privacy.relation import Relation
from sordino.schema.column import Column
from sordino.schema.expression import canonical
from sordino.schema.spelling import spell
from sordino.sensitivity.location import read_bounded
from sordino.statistics.custom import fingerprint
from sordino.statistics.port import LEVEL, Answer, Context, Groups, Plain, Priced, Shape, Ways
from sordino.statistics.reach import Reach
from sordino.statistics.registry import Sealed, registered
from sordino.statistics.regression_formula import Coefficient, RegressionFormula, parse
from sordino.statistics.regression_objective import WITHOUT_DELTA, in_numbers, one_of, pulled
from sordino.summaries import Ask, Draw
from sordino.summaries.moment import COARSE, Gram, MomentTerm

__all__ = ["INTERCEPT", "LOSSES", "FitStep", "GroupsStep", "Regression", "RoundsStep", "Setting", "m_regress", "placement", "regress"]

INTERCEPT = "intercept"
Floats = NDArray[np.float64]


def placement(column: Column, bits: int) -> tuple[float, float]:
    """Middle and half width of a coordinate in the column's unit: what -1 to 1 means.

    Cutting low bits moves a value down by half a coarse step on average, and the middle with it.
    """
    grid = column.grid()
    shift = max(0, grid.width.bit_length() - bits)
    half = Fraction((grid.width >> shift) << shift) * grid.step / 2
    return float(grid.low * grid.step + half + ((1 << shift) - 1) * grid.step / 2), float(half)


def _placed(part: Coefficient, columns: Mapping[str, Column], bits: int) -> tuple[float, float]:
    """The same for one coefficient; an indicator means itself."""
    return (0.0, 1.0) if part.predicates or part.key is not None else placement(columns[part.column], bits)


@dataclass(frozen=True)
class Setting:
    """The terms of a formula, and the way back from coordinates in [-1, 1] to the columns' units."""

    formula: RegressionFormula
    columns: Mapping[str, Column]
    first: int = 0
    bits: int = 20  # of a coordinate: COARSE in products

    @property
    def names(self) -> tuple[str, ...]:
        """Of the coefficients; with several classes those of each class against the first."""
        alone = (INTERCEPT, *(part.name for part in self.formula.parts))
        return tuple(f"{key}: {name}" for key in self.formula.target.classes[1:] for name in alone) or alone

    @property
    def constants(self) -> tuple[bool, ...]:
        """Which of them are intercepts."""
        return tuple(i % (len(self.formula.parts) + 1) == 0 for i in range(len(self.names)))

    @cached_property
    def predicates(self) -> tuple[Any, ...]:
        """One per indicator, then the conditions a row must meet."""
        parts = (predicate for part in (*self.formula.parts, self.formula.target) for predicate in part.predicates)
        return (*parts, *self.formula.required)

    @property
    def required(self) -> tuple[int, ...]:
        held = len(self.predicates) - len(self.formula.required)
        return tuple(self.first + held + i for i in range(len(self.formula.required)))

    @cached_property
    def terms(self) -> tuple[MomentTerm, ...]:
        """The constant, the coefficients' terms, the target."""
        places, terms = iter(range(self.first, self.first + len(self.predicates))), [MomentTerm()]
        for part in (*self.formula.parts, self.formula.target):
            if part.classes:
                terms.append(MomentTerm(cells=tuple(next(places) for _ in part.classes)))
            else:
                terms.append(MomentTerm(part.column) if part.predicate is None else MomentTerm(index=next(places)))
        return tuple(terms)

    @cached_property
    def back(self) -> tuple[Floats, float]:
        """A matrix and an offset of the intercept: coefficients in units of the columns from those of coordinates."""
        placed = [_placed(part, self.columns, self.bits) for part in self.formula.parts]
        middles, halves = (np.array(ends) for ends in zip(*placed, strict=True))
        level, height = _placed(self.formula.target, self.columns, self.bits)
        matrix = np.diag([height, *(height / halves)])
        matrix[0, 1:] = -height * middles / halves
        return np.asarray(np.kron(np.eye(max(len(self.formula.target.classes) - 1, 1)), matrix), np.float64), level

    @property
    def height(self) -> float:
        """What 1 means among coordinates of the target."""
        return _placed(self.formula.target, self.columns, self.bits)[1]

    def named(self, values: Floats) -> dict[str, float]:
        return dict(zip(self.names, values.tolist(), strict=True))

    def placed(self, theta: Sequence[float]) -> Floats:
        """Coefficients in the columns' units."""
        matrix, level = self.back
        value = matrix @ np.array(theta)
        value[0] += level
        return np.asarray(value)


class _Mechanical(Priced):
    """A step that is one mechanism, and costs what that costs."""

    setting: Setting
    mechanism: Any

    @property
    def name(self) -> str:
        return type(self.mechanism).__name__

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part(self.mechanism.certificate()),)

    def width(self, rows: int | None, level: float = LEVEL) -> float | None:
        return None

    def rmse(self, rows: int | None) -> float | None:
        return None

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any] | None:
        """About this table's own coefficients."""
        return self._ends(answer, level, population=False) if answer.raw else None

    def population(self, answer: Answer, level: float) -> tuple[Any, Any] | None:
        """About the coefficients of the population these rows are a sample of, whatever the variance of its errors."""
        return self._ends(answer, level, population=True) if answer.raw else None

    def _ends(self, answer: Answer, level: float, *, population: bool) -> tuple[Any, Any]:
        half = Estimate.of(answer.raw).half(self.setting.back[0], level, population=population)
        value = np.array(list(answer.value.values()))
        return self.setting.named(value - half), self.setting.named(value + half)

    def _answer(self, found: Estimate) -> Answer:
        answer = Answer(self.setting.named(self.setting.placed(found.theta)), raw=found.numbers())
        return Answer(answer.value, *self._ends(answer, LEVEL, population=False), raw=answer.raw)


@dataclass(frozen=True)
class FitStep(_Mechanical):
    """One table's regression: several passes over its bounded rows."""

    setting: Setting
    mechanism: LeastSquares | LogisticRegression | MRegression
    covers: str = ""
    bar: str = "bound"

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        return [self._answer(self.mechanism.release(ask, draw))]

    def said(self, answers: Sequence[Answer]) -> str:
        """What the draws say about shortened rows, and which coefficients they leave to what was believed before."""
        found = Estimate.of(answers[0].raw)
        about = f"about {min(max(found.clipped, 0), found.rows):,.0f} of {found.rows:,.0f} rows"
        if isinstance(self.mechanism, MRegression):
            about = f"residuals are measured in units of {found.scale * self.setting.height:.3g}"
        elif isinstance(self.mechanism, LogisticRegression):
            about += " count less because they are long; where the model holds that moves no coefficient"
        else:
            about += " were shortened, which the intervals allow for"
        spread = np.sqrt(np.maximum(np.diag(np.array(found.noise)), 0.0))
        named = zip(self.setting.names, self.setting.constants, spread, strict=True)
        unknown = [name for name, constant, wide in named if not constant and wide > self.mechanism.hopeless / 2]
        return about + (f"; these rows and this price say nothing about {', '.join(unknown)}" if unknown else "")

    def rmse(self, rows: int | None) -> float | None:
        """Of the coefficient that the noise moves farthest, in its own unit, for features that are spread over their bounds."""
        return None if rows is None else self.mechanism.expected(rows) * float(np.linalg.norm(self.setting.back[0], axis=1).max())

    def width(self, rows: int | None, level: float = LEVEL) -> float | None:
        wide = self.rmse(rows)
        return None if wide is None else NormalDist().inv_cdf((1 + level) / 2) * wide

    def warning(self, rows: int | None) -> str:
        """What the preview says where so many rows cannot show a slope at this price."""
        if rows is None or (spread := self.mechanism.expected(rows)) <= self.mechanism.hopeless:
            return ""
        enough = 10 ** math.ceil(math.log10(rows * spread / self.mechanism.hopeless))
        what = f"warning: {rows:,} rows are not enough at this price: a coefficient is predicted to be off by {spread:.2g} per half range"
        return f"{what}, and its interval will be as wide as what was believed before. About {enough:,} rows would do."


@dataclass(frozen=True)
class GroupsStep(_Mechanical):
    """Least squares of every group by noisy normal equations: one pass, one Gaussian draw for every sum of every group."""

    setting: Setting
    epsilon: Fraction
    delta: Fraction
    context: Context
    covers: str = ""
    bar: str = "bound"

    def __post_init__(self) -> None:
        _ = self.mechanism  # every refusal comes before the charge

    @cached_property
    def mechanism(self) -> NormalEquations:
        terms, unit = self.setting.terms, self.context.unit
        rows = self.context.limits.rows
        facts = (self.epsilon, self.delta, len(terms) - 1, unit.relation.value, rows)
        alone = NormalEquations(*facts)
        own = rows * root_up(alone.squares[unit.relation is Relation.REPLACE])
        whole = Reach(*alone.squares, self.context).second()
        cut = 1 + Fraction(self.context.limits.touched, 2**26)  # whole units of 2^-28 in every group a person touches
        return NormalEquations(*facts, max(Fraction(1), whole / own) * cut, Gram(terms, self.setting.required))

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        question = self.mechanism.question
        assert question is not None
        found = ask(question)
        places = {key: i for i, key in enumerate(found.keys)}
        size = len(self.setting.terms)
        nothing = np.zeros((size, size), object)
        products = (found.values[places[key]] if key in places else nothing for key in groups or ())
        return [self._answer(solved(self.mechanism.around(product, draw))) for product in products]


@dataclass(frozen=True)
class RoundsStep(_Mechanical):
    """Huber's regression in rounds: several passes over one bounded table."""

    setting: Setting
    mechanism: BoostedRegression
    bar: str = "none"

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        return [Answer(self.setting.named(self.setting.placed(self.mechanism.release(ask, draw).theta)))]


LOSSES = ("squares", "huber", "logistic")
ROOT = "this table's clamped rows where the sum of x psi(residual) vanishes"
SQUARES = "this table's least squares of the clamped rows"  # what is estimated
ODDS = "the log odds of this table's clamped rows, unusually long rows counting less"


@dataclass(frozen=True)
class Regression(Plain):
    """The coefficients of a linear predictor of one column, by least squares, Huber's loss, or for a bool target the logistic loss."""

    formula: RegressionFormula
    loss: str = "squares"
    first: int = 0
    psi: Any = None  # of an M-estimate, loss "psi"
    scale: Fraction | None = None
    method: str = "auto"

    def __post_init__(self) -> None:
        one_of(self.method, self.loss, self.formula)
        object.__setattr__(self, "scale", None if self.scale is None else as_positive(self.scale, "scale"))
        object.__setattr__(self, "curve", None if self.psi is None and self.loss != "psi" else read_bounded(self.psi))

    @property
    def label(self) -> str:
        return f"{'regress' if self.psi is None else 'm_regress'}({self.formula.text})"

    @property
    def columns(self) -> tuple[str, ...]:
        parts = (*self.formula.parts, self.formula.target)
        return tuple(dict.fromkeys(part.column for part in parts if not part.predicates))

    @property
    def predicates(self) -> tuple[Any, ...]:  # type: ignore[override]
        return Setting(self.formula, {}).predicates

    @property
    def derived(self) -> tuple[Column, ...]:
        """The columns a formula makes: they join the declared ones of the question."""
        return self.formula.derived

    def shape(self, label: str) -> Shape:
        return {"cells": "term", "count": "coefficient" if label == self.label else label}

    def question(self) -> dict[str, Any]:
        names = [part.name for part in self.formula.parts]
        keys = [canonical(p) for p in self.predicates]
        said: dict[str, Any] = {"statistic": "regress", "target": self.formula.target.name, "terms": names, "keys": keys, "loss": self.loss}
        if self.psi is not None:
            psi = self.psi if isinstance(self.psi, str) else fingerprint(self.psi)
            said |= {"psi": psi, "scale": None if self.scale is None else str(self.scale)}
        return said if self.method == "auto" else {**said, "method": self.method, "columns": list(self.columns)}

    def needs_delta(self, context: Context) -> bool:
        """Where every draw is Gaussian: in groups, and where residuals are clipped in rounds."""
        return context.grouped or self.loss in ("huber", "psi") or self.method == "objective"

    @property
    def takes_delta(self) -> bool:
        return True

    @property
    def without_delta(self) -> tuple[str, str]:
        """What to say where there is no delta, and what to do instead."""
        if self.method == "objective":
            return WITHOUT_DELTA
        mechanism = {"huber": "BoostedRegression", "psi": "MRegression"}.get(self.loss, "NormalEquations in groups")
        what = f'a regression with loss="{self.loss}" is released by {mechanism}, whose Gaussian noise takes a delta, and there is none.'
        buys = "A delta buys noise that grows with the root of the number of sums instead of with their number."
        pure = "Without one: least squares and logistic regression of one group, which are then drawn with Laplace noise."
        return what, f"Give delta=1e-6 from a budget that has a delta. {buys} {pure}"

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        if not delta and self.needs_delta(context):
            raise QueryError("SRD-102", *self.without_delta)
        setting = Setting(self.formula, context.columns, self.first)
        if self.loss == "squares" and context.grouped:
            return {"gaussian": lambda: GroupsStep(replace(setting, bits=COARSE), epsilon, delta, context, SQUARES)}
        if context.grouped:
            raise QueryError("SRD-208", f'loss="{self.loss}" has no groups.', "Use where(...) for one group at a time, or least squares.")
        unit, d = context.unit, len(setting.terms) - 1
        facts: dict[str, Any] = {"relation": unit.relation.value, "max_rows": unit.max_rows}
        facts |= {"terms": setting.terms, "required": setting.required}
        if self.method == "objective":
            return {"objective": lambda: pulled(replace(setting, bits=63), epsilon, delta, context)}
        way = "gaussian" if delta else "laplace"
        if self.loss == "squares":
            return {way: lambda: FitStep(setting, LeastSquares(epsilon, delta, d, **facts), SQUARES)}
        if self.loss == "huber":
            rounds = BoostedRegression(epsilon, delta, d, clip=Fraction(27, 20), **facts)
            return {"gaussian": lambda: RoundsStep(setting, rounds)}
        if self.loss == "psi":
            return {"gaussian": lambda: FitStep(setting, self._rooted(setting, epsilon, delta, d, facts), ROOT)}
        if classes := self.formula.target.classes:
            many = MultinomialRegression(epsilon, delta, d, **facts, classes=len(classes))
            return {way: lambda: FitStep(setting, many, f"{ODDS}, each class against {classes[0]}")}
        return {way: lambda: FitStep(setting, LogisticRegression(epsilon, delta, d, **facts), ODDS)}

    def _rooted(self, setting: Setting, epsilon: Fraction, delta: Fraction, dimension: int, facts: dict[str, Any]) -> MRegression:
        knots, heights = self.curve  # type: ignore[attr-defined]
        scale = None if self.scale is None else self.scale / Fraction(setting.height)
        return MRegression(epsilon, delta, dimension, knots=knots, heights=heights, scale=scale, **facts)


def _about(sealed: Sealed) -> str:
    terms, target = ", ".join(map(str, sealed.said["terms"])), spell(str(sealed.said["target"]))
    left = f", without rows whose {target} is none of its classes" if sealed.said.get("loss") == "logistic" else ""
    return f"the coefficients of {target} on {terms}, values clamped to their bounds{left}"


@registered(
    about=_about,
    examples=(
        ("", ("income ~ age + C(sex)",), {}),
        (" by Huber's loss", ("income ~ age",), {"loss": "huber"}),
        (" by logistic loss", ("ok ~ age",), {"loss": "logistic"}),
        (" of several classes", ("sex ~ age",), {"loss": "logistic"}),
        (" by objective perturbation", ("ok ~ age",), {"loss": "logistic", "method": "objective"}),
    ),
)
def regress(formula: str, columns: Mapping[str, Column], *, loss: str = "squares", method: str = "auto") -> Regression:
    """A linear predictor, by a formula such as "cost ~ age + C(sex)"; method="objective" is a second way to logistic regression."""
    if loss not in LOSSES:
        raise QueryError("SRD-106", f"loss {loss!r} is unknown.", f"Use one of {', '.join(LOSSES)}.")
    one_of(method, loss)
    found = parse(formula, columns, binary=loss == "logistic")
    one_of(method, loss, found)
    return Regression(in_numbers(found, columns) if method == "objective" else found, loss, method=method)


@registered(about=_about, examples=(("", ("income ~ age",), {}), (" of a falling psi", ("income ~ age",), {"psi": "tukey"})))
def m_regress(formula: str, columns: Mapping[str, Column], psi: Any = "huber", scale: Any = None) -> Regression:
    """A linear predictor at which the sum of x psi((y - x'b)/scale) vanishes, for "huber", "logcosh", "tukey" or a bounded function.

    `scale` is public, about one standard deviation of the errors; without one it is found privately.
    """
    return Regression(parse(formula, columns), "psi", psi=psi, scale=scale)
