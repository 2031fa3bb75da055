"""A regression with its price settled: coefficients with intervals about this table and about its population, or a robust fit in rounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sordino.mechanisms.boosted_regression import BoostedRegression
from sordino.mechanisms.estimate import Estimate
from sordino.mechanisms.least_squares import LeastSquares
from sordino.mechanisms.noisy_descent import NoisyDescent
from sordino.mechanisms.normal_equations import NormalEquations, solved
from sordino.mechanisms.portion import root_up
from sordino.mechanisms.posterior import Line
from sordino.privacy.certificate import Part
from sordino.privacy.relation import Relation
from sordino.statistics.port import LEVEL, Answer, Context, Groups, Priced
from sordino.statistics.reach import Reach
from sordino.statistics.regression_setting import Setting
from sordino.summaries import Ask, Draw
from sordino.summaries.moment import Gram, Products

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

    def width(self, rows: int | None, level: float = LEVEL) -> None:
        return None

    def rmse(self, rows: int | None) -> None:
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
    mechanism: LeastSquares
    covers: str
    bar: str = "bound"

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        return [self._answer(self.mechanism.release(ask, draw))]

    def said(self, answers: Sequence[Answer]) -> str:
        """What the draws say about shortened rows."""
        found = Estimate.of(answers[0].raw)
        return f"about {max(found.clipped, 0):,.0f} of {found.rows:,.0f} rows were shortened, which the intervals allow for"


@dataclass(frozen=True)
class GroupsStep(_Mechanical):
    """Least squares of every group by noisy normal equations: one pass, one Gaussian draw for every sum of every group."""

    setting: Setting
    epsilon: Fraction
    delta: Fraction
    context: Context
    covers: str
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
        found: Products = ask(self.mechanism.question)
        places = {key: i for i, key in enumerate(found.keys)}
        size = len(self.setting.terms)
        nothing = np.zeros((size, size), object)
        products = (found.values[places[key]] if key in places else nothing for key in groups or ())
        return [self._answer(solved(self.mechanism.around(product, draw))) for product in products]


@dataclass(frozen=True)
class RoundsStep(_Mechanical):
    """Huber's regression in rounds: several passes over one bounded table."""

    setting: Setting
    mechanism: BoostedRegression | NoisyDescent
    bar: str = "none"

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        found = self.mechanism.release(ask, draw)
        return [Answer(self.setting.named(self.setting.placed(found.theta if isinstance(found, Line) else found)))]
