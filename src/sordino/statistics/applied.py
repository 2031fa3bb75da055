"""A statistic of the user's own, asked of a column."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from sordino.errors import QueryError
from sordino.privacy.number import as_positive
from sordino.statistics.custom import Custom
from sordino.statistics.fit import FITS
from sordino.statistics.fixed import FixedStep
from sordino.statistics.own import OwnStep
from sordino.statistics.port import Context, Plain, Step, Ways

__all__ = ["Applied", "apply"]


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
