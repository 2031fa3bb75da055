"""Linear regression of a column on others, as a question to a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from sordino.errors import QueryError
from sordino.mechanisms.boosted_regression import BoostedRegression
from sordino.mechanisms.least_squares import LeastSquares
from sordino.mechanisms.logistic_regression import LogisticRegression
from sordino.mechanisms.m_regression import MRegression
from sordino.mechanisms.multinomial_regression import MultinomialRegression
from sordino.privacy.number import as_positive
from sordino.schema.column import Column
from sordino.schema.normal import canonical
from sordino.sensitivity.location import read_bounded
from sordino.statistics.fingerprint import fingerprint
from sordino.statistics.port import Context, Plain, Ways
from sordino.statistics.regression_formula import Formula, parse
from sordino.statistics.regression_setting import Setting
from sordino.statistics.regression_step import FitStep, GroupsStep, RoundsStep
from sordino.summaries.moment import COARSE

__all__ = ["LOSSES", "Regression", "m_regress", "regress"]

LOSSES = ("squares", "huber", "logistic")
ROOT = "this table's clamped rows where the sum of x psi(residual) vanishes"
SQUARES = "this table's least squares of the clamped rows"  # what is estimated
ODDS = "the log odds of this table's clamped rows, unusually long rows counting less"


@dataclass(frozen=True)
class Regression(Plain):
    """The coefficients of a linear predictor of one column, by least squares, Huber's loss, or for a bool target the logistic loss."""

    formula: Formula
    loss: str = "squares"
    first: int = 0
    psi: Any = None  # of an M-estimate, loss "psi"
    scale: Fraction | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", None if self.scale is None else as_positive(self.scale, "scale"))
        object.__setattr__(self, "curve", None if self.psi is None else read_bounded(self.psi))

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

    def question(self) -> dict[str, Any]:
        names = [part.name for part in self.formula.parts]
        keys = [canonical(p) for p in self.predicates]
        said: dict[str, Any] = {"statistic": "regress", "target": self.formula.target.name, "terms": names, "keys": keys, "loss": self.loss}
        if self.psi is not None:
            psi = self.psi if isinstance(self.psi, str) else fingerprint(self.psi)
            said |= {"psi": psi, "scale": None if self.scale is None else str(self.scale)}
        return said

    def needs_delta(self, context: Context) -> bool:
        """Where every draw is Gaussian: in groups, and where residuals are clipped in rounds."""
        return context.grouped or self.loss in ("huber", "psi")

    @property
    def takes_delta(self) -> bool:
        return True

    @property
    def without_delta(self) -> tuple[str, str]:
        """What to say where there is no delta, and what to do instead."""
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


def regress(formula: str, columns: Mapping[str, Column], *, loss: str = "squares") -> Regression:
    """A linear predictor, by a formula such as "cost ~ age + C(sex)"."""
    if loss not in LOSSES:
        raise QueryError("SRD-106", f"loss {loss!r} is unknown.", f"Use one of {', '.join(LOSSES)}.")
    found = parse(formula, columns, binary=loss == "logistic")
    return Regression(found, loss)


def m_regress(formula: str, columns: Mapping[str, Column], psi: Any = "huber", scale: Any = None) -> Regression:
    """A linear predictor at which the sum of x psi((y - x'b)/scale) vanishes, for "huber", "logcosh", "tukey" or a bounded function.

    `scale` is public, about one standard deviation of the errors; without one it is found privately.
    """
    return Regression(parse(formula, columns), "psi", psi=psi, scale=scale)
