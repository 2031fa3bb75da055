"""A regression with its price settled: coefficients with intervals about this table and about its population, or a robust fit in rounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Any

import numpy as np

from sordino.mechanisms.boosted_regression import BoostedRegression
from sordino.mechanisms.estimate import Estimate, root_up
from sordino.mechanisms.least_squares import LeastSquares
from sordino.mechanisms.logistic_regression import LogisticRegression
from sordino.mechanisms.m_regression import MRegression
from sordino.mechanisms.normal_equations import NormalEquations, solved
from sordino.privacy.certificate import Part
from sordino.privacy.relation import Relation
from sordino.statistics.port import LEVEL, Answer, Context, Groups, Priced
from sordino.statistics.reach import Reach
from sordino.statistics.regression_setting import Setting
from sordino.summaries import Ask, Draw
from sordino.summaries.moment import Gram

__all__ = ["FitStep", "GroupsStep", "RoundsStep"]


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
