"""Logistic regression by objective perturbation, as a question to a table: whole rows of numbers, one look, a point without an interval."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.mechanisms.objective_perturbation import ObjectivePerturbation
from sordino.privacy.certificate import Part
from sordino.schema.column import Column
from sordino.schema.expression import And, Case, Constant, Predicate
from sordino.schema.interval import derive
from sordino.statistics.port import LEVEL, Answer, Context, Groups, Priced
from sordino.statistics.regression_formula import Coefficient, RegressionFormula
from sordino.summaries import Ask, Draw

__all__ = ["METHODS", "WITHOUT_DELTA", "MinimumStep", "in_numbers", "one_of", "pulled"]

METHODS = ("auto", "objective")
SEVERAL = "objective perturbation knows two classes."
WITHOUT_DELTA = (
    'method="objective" is released by ObjectivePerturbation, whose Gaussian pull takes a delta, and there is none.',
    "Give delta=1e-6 from a budget that has a delta; without one leave method= out: the default then has Laplace noise.",
)


def one_of(method: Any, loss: str, formula: RegressionFormula | None = None) -> str:
    """The method, if it can be asked for with this loss and these classes."""
    if method not in METHODS:
        raise QueryError("SRD-106", f"method {method!r:.80} is unknown.", f"Use one of {', '.join(METHODS)}.")
    if method == "objective" and loss != "logistic":
        raise QueryError("SRD-106", f'method="objective" is for logistic regression, not for loss="{loss}".', 'Add loss="logistic".')
    if method == "objective" and formula is not None and formula.target.classes:
        raise QueryError("SRD-208", f"{SEVERAL} {formula.target.name} has {len(formula.target.classes)}.", "Leave method= out.")
    return str(method)


def in_numbers(formula: RegressionFormula, columns: Mapping[str, Column]) -> RegressionFormula:
    """The same formula with every condition as a column of 0 and 1; a row that does not meet what is required has no target."""
    made: dict[str, Column] = {column.name: column for column in formula.derived}

    def number(part: Coefficient, required: tuple[Predicate, ...] = ()) -> Coefficient:
        if part.predicate is None:
            return part
        if not required:
            expression = Case(((part.predicate, Constant(1)),), Constant(0))
        else:
            known = required[0] if len(required) == 1 else And(required)
            expression = Case(((And((*required, part.predicate)), Constant(1)), (known, Constant(0))))
        column = derive(expression, columns)
        made[column.name] = column
        return replace(part, column=column.name, predicate=None)

    parts = tuple(number(part) for part in formula.parts)
    target = number(formula.target, formula.required)
    return replace(formula, target=target, parts=parts, required=(), derived=tuple(made.values()))


@dataclass(frozen=True)
class MinimumStep(Priced):
    """One table's regression as a pulled minimum: a count, whole rows, one point."""

    setting: Any
    mechanism: ObjectivePerturbation
    bar: str = "none"

    @property
    def name(self) -> str:
        return "ObjectivePerturbation"

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part(self.mechanism.certificate()),)

    @property
    def covers(self) -> str:
        half, price = self.mechanism.penalty / 2, float(self.mechanism.epsilon)
        added = f"at epsilon {price:.4g} the log loss has {half:.3g} times the squared coefficients per half range added to it"
        return f"a point, shrunk towards zero: {added}"

    @property
    def said_without_bar(self) -> bool:
        return True

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        return [Answer(self.setting.named(self.setting.placed(self.mechanism.release(ask, draw).theta)))]

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any] | None:
        return None

    def rmse(self, rows: int | None) -> float | None:
        """Of the coefficient that noise and shrinkage move farthest, in its own unit, for features that are spread over their bounds."""
        return None if rows is None else self.mechanism.expected(rows) * float(np.linalg.norm(self.setting.back[0], axis=1).max())

    def width(self, rows: int | None, level: float = LEVEL) -> float | None:
        far = self.rmse(rows)
        return None if far is None else NormalDist().inv_cdf((1 + level) / 2) * far

    def warning(self, rows: int | None) -> str:
        """What the preview says before anything is paid."""
        said = f"a point without an interval, {self.covers.removeprefix('a point, ')}."
        if rows is None or (spread := self.mechanism.expected(rows)) <= self.mechanism.hopeless:
            return said
        enough = 10 ** math.ceil(math.log10(rows * spread / self.mechanism.hopeless))
        return f"{said} warning: {rows:,} rows are not enough at this price. About {enough:,} rows would do."


def pulled(setting: Any, epsilon: Fraction, delta: Fraction, context: Context) -> MinimumStep:
    """The step at this price; a condition is a column of 0 and 1 that means itself, a number lies on the grid of its bounds."""
    parts = (*setting.formula.parts, setting.formula.target)
    grids = tuple(None if part.key is not None else context.columns[part.column].grid().width for part in parts)
    facts = (context.unit.relation.value, context.unit.max_rows, tuple(part.column for part in parts), grids)
    return MinimumStep(setting, ObjectivePerturbation(epsilon, delta, len(parts), *facts))
