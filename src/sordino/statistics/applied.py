"""A statistic of the user's own, asked of a column.

One release of a custom statistic whose sensitivity is the same on every table: Laplace or Gaussian noise of a public size.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.mechanisms.gaussian import Gaussian
from sordino.mechanisms.laplace import Laplace
from sordino.privacy.certificate import Part
from sordino.privacy.number import as_positive
from sordino.privacy.relation import Relation
from sordino.schema.column import Grid
from sordino.statistics.applied_fit import THIN, OwnStep, Resize, Thinning, as_numbers, bridge, resized_tables
from sordino.statistics.custom import Custom
from sordino.statistics.evaluation import Floats, values
from sordino.statistics.port import LEVEL, Answer, Context, Groups, Plain, Priced, Step, Ways
from sordino.statistics.reach import ReachPrice, length_grid, per_group, per_row
from sordino.statistics.smooth_fit import FITS
from sordino.summaries import Ask, Draw, Held

__all__ = ["Applied", "FixedStep", "apply", "reach_of"]

EXTRA = 1 + Fraction(1, 2**30)  # for the floats of a user's function
FARTHEST = 2**60


def reach_of(custom: Custom, moves: int) -> Fraction:
    """How far a unit that makes so many of the claimed steps moves f."""
    assert custom.global_sensitivity is not None
    return custom.global_sensitivity * moves * EXTRA


@dataclass(frozen=True)
class FixedStep(Priced):
    r"""f plus noise for a sensitivity that its author claims on every table.

    Theorem. If one row that comes or goes moves f by at most Delta, noise for m Delta is private for people of at most m rows who come and
    go, on a table that is thinned by a count at a hundredth of the price; for replaced people noise for 2 m Delta is. If one replaced row
    moves f by at most Delta at a public size, noise for m Delta is. If Delta is claimed for whole people, noise for Delta and 2 Delta is.
    Proof. In a thinned table rows still come and go; a cut one changes by at most m removals and m additions when a person is replaced.
    So a unit makes `Custom.moves` steps, each of which moves f, clipped to a range that was given, by at most Delta. The rest is the
    mechanism's own theorem for that sensitivity. QED
    """

    custom: Custom
    column: str
    way: str
    epsilon: Fraction
    delta: Fraction
    context: Context

    def __post_init__(self) -> None:
        _ = self.mechanism, self.grid  # every refusal comes before the charge

    @cached_property
    def grid(self) -> Grid:
        return length_grid(self.context, self.column)

    @cached_property
    def replaced(self) -> bool:
        return per_group(self.epsilon, Fraction(0), self.context).relation is Relation.REPLACE

    @cached_property
    def resize(self) -> Resize | Thinning | None:
        if self.custom.relation is Relation.REPLACE:
            return bridge(self.custom.relation, self.column, self.epsilon, self.context)
        return None if self.replaced else Thinning(self.column, self.epsilon * THIN, self.context)

    @cached_property
    def price(self) -> ReachPrice:
        spent = Fraction(0) if self.resize is None else self.resize.noise.epsilon
        left = self.epsilon - spent
        if self.way == "laplace" and self.custom.level == "row":  # a claim about people says nothing of a person's few rows in one group
            return per_row(left, self.context)
        return per_group(left, self.delta if self.way == "gaussian" else Fraction(0), self.context)

    @cached_property
    def mechanism(self) -> Laplace | Gaussian:
        reach = reach_of(self.custom, self.custom.moves(self.context.limits.rows, replaced=self.replaced))
        if self.way == "laplace":
            return Laplace(self.price.epsilon, reach, self.custom.dimension)
        return Gaussian(self.price.epsilon, self.price.delta, reach, self.custom.dimension)

    @property
    def bar(self) -> str:
        return "exact" if self.custom.dimension == 1 else "none"

    @property
    def name(self) -> str:
        return f"{type(self.mechanism).__name__}, {self.custom.__name__}"

    @property
    def parts(self) -> tuple[Part, ...]:
        own = self.mechanism.certificate()
        counted = () if self.resize is None else (self.resize.noise.part,)
        return (*counted, self.price.part(replace(own, assumptions=f"{own.assumptions}; {self.custom.claim}")))

    def located(self, x: Floats) -> Any:
        """What `values` finds, in whole steps."""
        steps = [math.floor(Fraction(part) / self.mechanism.step + Fraction(1, 2)) for part in values(self.custom, x)]
        whole = [min(max(step, -FARTHEST), FARTHEST) for step in steps]
        return whole[0] if self.custom.dimension == 1 else np.array(whole, np.int64)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        answers = []
        for rows in resized_tables(ask, draw, groups, resize=self.resize, column=self.column, context=self.context):
            place = self.located(as_numbers(rows, self.grid, self.custom))
            drawn = self.mechanism.release(Held(place), draw)
            answers.append(self._said(drawn))
        return answers

    def _said(self, drawn: Any, level: float = LEVEL) -> Answer:
        if self.custom.dimension > 1:
            return Answer(tuple(float(part) for part in drawn), raw=tuple(float(part) for part in drawn))
        far = self._far(level)
        return Answer(float(drawn), float(drawn) - far, float(drawn) + far, raw=(float(drawn),))

    def _far(self, level: float) -> float:
        """The half-width of the noise, a step of rounding included."""
        scale, step = float(self.mechanism.scale * self.mechanism.step), float(self.mechanism.step)
        if self.way == "laplace":
            return scale * math.log(1 / (1 - level)) + step
        from scipy.special import ndtri

        return scale * float(ndtri((1 + level) / 2)) + step

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any] | None:
        if self.bar == "none":
            return None
        again = self._said(answer.raw[0], level)
        return again.low, again.high

    def width(self, rows: int | None, level: float = LEVEL) -> float | None:
        return self._far(level) if self.custom.dimension == 1 else None

    def rmse(self, rows: int | None) -> float:
        return math.sqrt(self.mechanism.variance)


@dataclass(frozen=True)
class Applied(Plain):
    """A custom statistic of one column. `propose` and `otherwise` belong to the question: a bound to test, and what a failed test says."""

    custom: Any
    column: str
    propose: Fraction | None = None
    otherwise: str = "refuse"

    def __post_init__(self) -> None:
        if not isinstance(self.custom, Custom):
            what = f"{getattr(self.custom, '__name__', self.custom)!r} is not a statistic."
            raise QueryError("SRD-105", what, "Decorate it with @sd.statistic(bounds=..., relation=...).")
        object.__setattr__(self, "propose", None if self.propose is None else as_positive(self.propose, "propose"))
        if self.otherwise not in ("refuse", "global"):
            raise QueryError("SRD-106", f"otherwise is {self.otherwise!r}.", 'Use "refuse" or "global".')

    @property
    def label(self) -> str:
        return f"{self.custom.__name__}({self.column})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def question(self) -> dict[str, Any]:
        tested = {} if self.propose is None else {"propose": str(self.propose), "otherwise": self.otherwise}
        return {"statistic": "custom", "column": self.column, "name": self.custom.__name__, **self.custom.question(), **tested}

    @property
    def offered(self) -> tuple[str, ...]:
        """The mechanisms its author's claims suffice for, the planner's choice first."""
        custom, found = self.custom, []
        if custom.rungs is not None and custom.dimension == 1:
            found += [way for way in FITS if way != "ptr"]
        if custom.global_sensitivity is not None:
            found += ["laplace", "gaussian"] if custom.norm == 1 or custom.dimension == 1 else ["gaussian"]
        if custom.range is not None and (custom.rungs is not None or custom.measures_distance):
            found.append("ptr")
        if custom.steps_away is not None or custom.rungs is not None:
            found.append("stability")
        if not found:
            what = f"nothing is known about the sensitivity of {custom.__name__!r}."
            raise QueryError("SRD-109", what, "Add @statistic.sensitivity_at, @statistic.distance_at, or sensitivity=.")
        return tuple(found)

    def needs_delta(self, context: Context) -> bool:
        return self.offered[0] in ("gaussian", "ptr", "stability")

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        propose = self.propose if self.propose is not None else context.propose
        otherwise = self.otherwise if self.propose is not None else context.otherwise

        def build(way: str) -> Step:
            if way in ("laplace", "gaussian"):
                return FixedStep(self.custom, self.column, way, epsilon, delta, context)
            return OwnStep(self.custom, self.column, way, epsilon, delta, context, propose, otherwise)

        return {way: partial(build, way) for way in self.offered}


def apply(custom: Custom, column: str, *, propose: Any = None, otherwise: str = "refuse") -> Applied:
    """Ask a statistic of one's own of a column."""
    return Applied(custom, column, propose, otherwise)
