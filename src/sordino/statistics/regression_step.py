"""A regression with its price settled: least squares in one pass, or a robust or logistic fit in several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sordino.mechanisms.boosted_regression import BoostedRegression
from sordino.mechanisms.noisy_descent import NoisyDescent
from sordino.mechanisms.normal_equations import Equations, NormalEquations
from sordino.mechanisms.portion import UNIT, root_up
from sordino.mechanisms.posterior import Line, solved
from sordino.privacy.certificate import Part
from sordino.privacy.relation import Relation
from sordino.statistics.port import LEVEL, Answer, Context, Groups, Priced
from sordino.statistics.reach import Reach
from sordino.statistics.regression_bar import extent
from sordino.statistics.regression_setting import Setting
from sordino.summaries import Ask, Draw
from sordino.summaries.moment import Gram

__all__ = ["RoundsStep", "SquaresStep"]


@dataclass(frozen=True)
class SquaresStep(Priced):
    """Least squares by noisy normal equations: one pass, one Gaussian draw for every sum of every group."""

    setting: Setting
    epsilon: Fraction
    delta: Fraction
    context: Context
    bar: str = "bound"
    name: str = "NormalEquations"

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

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part(self.mechanism.certificate()),)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        question = self.mechanism.question
        assert question is not None
        found = ask(question)
        places = {key: i for i, key in enumerate(found.keys)}
        size = len(self.setting.terms)
        nothing = np.zeros((size, size), object)
        wanted = [()] if groups is None else groups
        products = (found.values[places[key]] if key in places else nothing for key in wanted)
        return [self._answer(self.mechanism.around(product, draw)) for product in products]

    def _answer(self, drawn: Equations) -> Answer:
        matrix, level = self.setting.back
        value = matrix @ np.array(solved(drawn).theta)
        value[0] += level
        raw = (*(v for line in drawn.square for v in line), *drawn.moment, drawn.total)
        answer = Answer(self.setting.named(value), raw=raw)
        return Answer(answer.value, *self.interval(answer, LEVEL), raw=raw)

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any]:
        """All coefficients at once, about the table's own least squares; the value counts as possible."""
        d = len(self.setting.terms) - 1
        square, moment = np.reshape(answer.raw[: d * d], (d, d)), answer.raw[d * d : d * d + d]
        noise = [float(scale / UNIT) for scale in self.mechanism.scales]
        drawn = Equations(tuple(map(tuple, square.tolist())), tuple(moment), answer.raw[-1], (noise[0], noise[1], noise[2]))
        matrix, offset = self.setting.back
        low, high = extent(drawn, matrix, level)
        low[0], high[0] = low[0] + offset, high[0] + offset
        value = np.array(list(answer.value.values()))
        return self.setting.named(np.minimum(low, value)), self.setting.named(np.maximum(high, value))

    def width(self, rows: int | None, level: float = LEVEL) -> None:
        return None

    def rmse(self, rows: int | None) -> None:
        return None


@dataclass(frozen=True)
class RoundsStep(Priced):
    """Huber's regression in rounds, or logistic regression by descent: several passes over one bounded table."""

    setting: Setting
    mechanism: BoostedRegression | NoisyDescent
    bar: str = "none"

    @property
    def name(self) -> str:
        return type(self.mechanism).__name__

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part(self.mechanism.certificate()),)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        found = self.mechanism.release(ask, draw)
        matrix, level = self.setting.back
        value = matrix @ np.array(found.theta if isinstance(found, Line) else found)
        value[0] += level
        return [Answer(self.setting.named(value))]

    def interval(self, answer: Answer, level: float) -> None:
        return None

    def width(self, rows: int | None, level: float = LEVEL) -> None:
        return None

    def rmse(self, rows: int | None) -> None:
        return None
