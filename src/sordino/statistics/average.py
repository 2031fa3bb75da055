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
from sordino.statistics.reach import column_of, length_grid, one_unit, public_size
from sordino.statistics.staged import StagedStep, staging_pays
from sordino.statistics.trimming import MIDDLE_WAYS

__all__ = ["METHODS", "Mean", "mean"]

METHODS = ("auto", "clamped", "two_stage", "trimmed")
TRIM = Fraction(1, 10)
WIDE = 2**32  # units of the column: beyond it the smooth bound of a trimmed mean costs the answer its resolution


@dataclass(frozen=True)
class Mean(Plain):
    """The mean of a column, by an estimator that fits what is public about it.

    "clamped": values between the bounds, the two halves where n is private, the sum over n where n is public. "two_stage": values moved
    into limits drawn from private quartiles. "trimmed": the mean of the middle rows, which for a column declared symmetric is the same
    number. "auto": trimmed where the owner declared shape="symmetric" and the rows suffice, two stages where they suffice and tight
    bounds would lose little by it, clamped otherwise: by public facts, and the card says which.
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
        return f"mean({self.column})"

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
        if self.unbounded:
            return ways["two_stage"]
        if self.method != "auto":
            return ways[self.method]
        return {**ways[self._choice(epsilon, context)], **ways["clamped"], **ways["two_stage"]}

    def _choice(self, epsilon: Fraction, context: Context) -> str:
        grid = length_grid(context, self.column)
        if not staging_pays(grid, epsilon, context):
            return "clamped"
        symmetric = column_of(context, self.column).shape == "symmetric" and grid.width / one_unit(grid) < WIDE
        return "trimmed" if symmetric else "two_stage"

    def _clamped(self, epsilon: Fraction, context: Context) -> Step:
        grid, size = length_grid(context, self.column), public_size(context)
        if size is not None:
            return MomentsStep(Known(self.column, grid, epsilon, size), "mean")
        return MomentsStep(Halves(self.column, grid, epsilon, context), "mean")


def mean(column: str, method: str = "auto", bounds: str | None = None) -> Mean:
    """The mean of a column; method is "auto", "clamped", "two_stage" or "trimmed". bounds="private" needs no declared bounds."""
    if bounds not in (None, "private"):
        raise QueryError("SRD-104", f"bounds are {bounds!r}.", 'Declare bounds with the table, or say bounds="private".')
    return Mean(column, method, bounds == "private")
