"""The mean of a column."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from sordino.errors import QueryError
from sordino.statistics.halves import Halves
from sordino.statistics.known import Known
from sordino.statistics.middle import MiddleStep
from sordino.statistics.moments import MomentsStep
from sordino.statistics.port import Context, Plain, Step, Ways
from sordino.statistics.reach import length_grid, public_size
from sordino.statistics.staged import StagedStep
from sordino.statistics.trimming import MIDDLE_WAYS

__all__ = ["METHODS", "Mean", "mean"]

METHODS = ("auto", "clamped", "two_stage", "trimmed")
TRIM = Fraction(1, 10)


@dataclass(frozen=True)
class Mean(Plain):
    """The mean of a column: of its values clamped to the declared bounds, whatever else is declared.

    Halves where n is private, the sum over n where n is public. Another estimand only by name: method="two_stage", or bounds="private",
    is the mean of values moved into limits drawn from private quantiles; method="trimmed" that of the middle rows.
    """

    column: str
    method: str = "auto"
    unbounded: bool = False

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise QueryError("SRD-106", f"method {self.method!r} is unknown.", f"Use one of {', '.join(METHODS)}.")
        if self.unbounded and self.method not in ("auto", "two_stage"):
            what = f"private bounds are found in two stages, not by method {self.method!r}."
            raise QueryError("SRD-106", what, "Leave method= out, or declare bounds.")

    @property
    def label(self) -> str:
        return f"{'mean_of_moved' if self.moved else 'mean'}({self.column})"

    @property
    def moved(self) -> bool:
        """Whether it is the mean of values moved into drawn limits, which is another number than the mean."""
        return self.unbounded or self.method == "two_stage"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def shared(self) -> bool:
        """Whether it may be read off one draw together with counts and sums of the same column."""
        return self.method in ("auto", "clamped") and not self.unbounded

    def question(self) -> dict[str, Any]:
        said = {} if self.method == "auto" else {"method": self.method}
        return {"statistic": "mean", "column": self.column, **said, **({"bounds": "private"} if self.unbounded else {})}

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        ways: dict[str, Ways] = {
            "clamped": {"laplace": lambda: self._clamped(epsilon, context)},
            "two_stage": {"two_stage": lambda: StagedStep(self.column, length_grid(context, self.column), epsilon, context)},
            "trimmed": {way: partial(MiddleStep, self.column, TRIM, way, epsilon, delta, context) for way in MIDDLE_WAYS},
        }
        return ways["two_stage" if self.moved else "clamped" if self.method == "auto" else self.method]

    def _clamped(self, epsilon: Fraction, context: Context) -> Step:
        grid, size = length_grid(context, self.column), public_size(context)
        if size is not None:
            return MomentsStep(Known(self.column, grid, epsilon, size), "mean")
        return MomentsStep(Halves(self.column, grid, epsilon, context), "mean")


def mean(column: str, method: str = "auto", bounds: str | None = None) -> Mean:
    """The mean of a column's clamped values; method="two_stage" or "trimmed" asks for another mean, bounds="private" needs no bounds."""
    if bounds not in (None, "private"):
        raise QueryError("SRD-104", f"bounds are {bounds!r}.", 'Declare bounds with the table, or say bounds="private".')
    return Mean(column, method, bounds == "private")
