"""The sum of a column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

from sordino.privacy.certificate import Part
from sordino.schema.column import Grid
from sordino.statistics.added import TotalNoise
from sordino.statistics.known import Known
from sordino.statistics.moments import read_off, scaled, unit_of
from sordino.statistics.port import LEVEL, Answer, Context, Groups, Plain, Priced, Ways, length_grid, public_size
from sordino.statistics.reach import Reach, Whole, read_totals
from sordino.statistics.registry import registered
from sordino.summaries import Ask, Draw
from sordino.summaries.totals import Item

__all__ = ["Sum", "SumStep", "sum"]


@dataclass(frozen=True)
class SumStep(Priced):
    r"""The sum of the grid values.

    Theorem. Noise of scale m max(|L|, |U|)/epsilon is epsilon-DP under add_remove; m max(|L|, |U|, U - L)/epsilon under replace without
    groups, a filter included.
    Proof. An added row moves the sum by at most max(|L|, |U|), a replaced one by at most U - L, a row that a replacement takes out of the
    filtered table or puts into it by max(|L|, |U|). QED
    """

    column: str
    grid: Grid
    epsilon: Fraction
    context: Context
    delta: Fraction = Fraction(0)
    way: str | None = None
    bar: str = "exact"

    def __post_init__(self) -> None:
        _ = self.noise  # every refusal comes before the charge

    @cached_property
    def row(self) -> int:
        """The most one row adds, in steps."""
        return max(abs(self.grid.low), abs(self.grid.high), 1)

    @cached_property
    def unit(self) -> Fraction:
        """Whole steps stay whole up to 2^24 of them; above that the sum is cut to a public power of two."""
        return unit_of(self.row, refine=self.grid.kind not in ("int", "bool"))

    @cached_property
    def noises(self) -> Mapping[str, TotalNoise]:
        add, swap = Fraction(self.row), Fraction(max(self.row, self.grid.width))
        cut = 0 if self.unit.denominator == 1 else 1
        return Reach(add, swap, self.context).noises(self.epsilon, self.delta, (add**2, swap**2), scale=self.unit, rounded=cut)

    @property
    def noise(self) -> TotalNoise:
        return self.noises[self.way or next(iter(self.noises))]

    @property
    def name(self) -> str:
        return self.noise.name

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.noise.part,)

    def locations(self, rows: Whole, total: Whole) -> Whole:
        return scaled(total + self.grid.low * rows, self.unit)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        rows, total = read_totals(ask, (Item("rows", self.column), Item("sum", self.column)), groups)
        drawn = self.noise.around(self.locations(rows, total), draw).tolist()
        far = self.noise.radius(LEVEL)
        return [Answer(self._number(v), *self._ends(v, far), raw=(v,)) for v in drawn]

    def _ends(self, drawn: int, far: int) -> tuple[Any, Any]:
        cut = 0 if self.unit.denominator == 1 else 1
        return self._number(drawn - far), self._number(drawn + far + cut)

    @cached_property
    def _one(self) -> tuple[int, int]:
        """One drawn unit in the column's own, as a fraction of whole numbers: there may be a million groups."""
        value = self.grid.step / self.unit
        return value.numerator, value.denominator

    def _number(self, drawn: int) -> Any:
        top, bottom = self._one
        if self.grid.kind in ("int", "bool"):
            return abs(drawn) * top // bottom * (1 if drawn >= 0 else -1)
        return drawn * top / bottom

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any]:
        return self._ends(int(answer.raw[0]), self.noise.radius(level))

    def width(self, rows: int | None, level: float = LEVEL) -> float:
        return float(self.noise.radius(level) / self.unit * self.grid.step)

    def rmse(self, rows: int | None) -> float:
        return self.noise.rmse / float(self.unit) * float(self.grid.step)


@dataclass(frozen=True)
class Sum(Plain):
    """The sum of a bounded column."""

    column: str

    @property
    def label(self) -> str:
        return f"sum({self.column})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def question(self) -> dict[str, Any]:
        return {"statistic": "sum", "column": self.column}

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        grid, size = length_grid(context, self.column), public_size(context)
        if size is not None:
            return read_off(Known(self.column, grid, epsilon, size, delta if context.adds_rho else Fraction(0)), "sum")
        step = SumStep(self.column, grid, epsilon, context, delta)
        return {name: partial(replace, step, way=name) for name in step.noises}


@registered(
    about="the sum of {of}{sets}{clamped}", sql=("SUM",), together=True, adds=True, menu=(5, "sum"),
    examples=(("", ("income",), {}), (" of whole numbers", ("age",), {})),
)  # fmt: skip
def sum(column: str) -> Sum:
    """The sum of a column."""
    return Sum(column)
