"""The mean of a column.

The means of several columns, in one release.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.privacy.certificate import Part
from sordino.schema.column import Grid
from sordino.statistics.added import Added, AddedGaussian, Floats, quieter, radius
from sordino.statistics.known import Known
from sordino.statistics.mean_two_stage import StagedStep
from sordino.statistics.middle import MiddleStep
from sordino.statistics.moments import BITS, Halves, halve, inside, read_off, share_of
from sordino.statistics.port import LEVEL, Answer, Context, Groups, Plain, Priced, Shape, Ways, length_grid, public_size
from sordino.statistics.reach import Reach, read_totals, root_up
from sordino.statistics.registry import Sealed, registered
from sordino.statistics.robust import MIDDLE_WAYS
from sordino.summaries import Ask, Draw
from sordino.summaries.totals import Item

__all__ = ["METHODS", "Mean", "Means", "MeansStep", "mean", "means"]

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
    ranged = sampled = True

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
            "two_stage": {"two_stage": lambda: StagedStep(self.column, length_grid(context, self.column), epsilon, context)},
            "trimmed": {way: partial(MiddleStep, self.column, TRIM, way, epsilon, delta, context) for way in MIDDLE_WAYS},
        }
        if not self.moved and self.method in ("auto", "clamped"):
            return self._clamped(epsilon, delta, context)
        return ways["two_stage" if self.moved else self.method]

    def _clamped(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        grid, size = length_grid(context, self.column), public_size(context)
        if size is not None:
            return read_off(Known(self.column, grid, epsilon, size, delta if context.adds_rho else Fraction(0)), "mean")
        return read_off(Halves(self.column, grid, epsilon, context, delta), "mean")


def _about(sealed: Sealed) -> str:
    said, of, clamped = sealed.said, sealed.of, sealed.clamped
    method = "two_stage" if said.get("bounds") == "private" else said.get("method", "auto")
    if method == "trimmed":
        return f"the mean of {of} with a tenth of the rows at either end left out, which is not its mean{clamped}"
    if method != "two_stage":
        return f"the mean of {of}{clamped}"
    base = f"the mean of {of} after values are moved into limits drawn from the rows, which is not its mean"
    cells = (sealed.facts.get("moved") or {}).get(sealed.name)
    if cells is None:
        return base + (", with a count of how many were moved" if sealed.name in sealed.facts.get("counted", ()) else "")
    if len(cells) != 1:
        return base
    (cell,) = cells
    low, high = (f"{end:,.6g}" for end in cell["limits"])
    counted = "" if cell["at most"] is None else f": at most {cell['at most']:,} of about {cell['of about']:,} were moved (95%)"
    return f"the mean of {of} after values are moved into the drawn limits {low} to {high}, which is not its mean{counted}"


@registered(about=_about, sql=("AVG",), together=True, adds=True, menu=(4, "mean"))
def mean(column: str, method: str = "auto", bounds: str | None = None) -> Mean:
    """The mean of a column's clamped values; method="two_stage" or "trimmed" asks for another mean, bounds="private" needs no bounds."""
    if bounds not in (None, "private"):
        raise QueryError("SRD-104", f"bounds are {bounds!r}.", 'Declare bounds with the table, or say bounds="private".')
    return Mean(column, method, bounds == "private")


ROW = 2**BITS  # one row of any column, in drawn units


@dataclass(frozen=True)
class MeansStep(Priced):
    r"""Two halves per column, every column in units of its own width, and one law of noise for all of them.

    Theorem. With d columns and m rows per person Laplace noise of scale m d on every half (in rows, epsilon 1), or Gaussian noise for the
    L2 sensitivity m sqrt(d), is private under add_remove; under replace 2 m d and m sqrt(2 d).
    Proof. One row's halves (t, 1 - t) have L1 norm 1 and L2 norm at most 1; two rows' halves differ by at most 2 and sqrt(2). Columns
    are coordinates of their own, also where nulls drop out of one and not of another. Cutting to whole units of 2^-24 row adds at
    most one unit per coordinate. Where n is public under replace the lower halves alone say the means: a replaced row moves each by at
    most 1, all of them by d in L1 and sqrt(d) in L2 norm. QED
    The mean's error is d/(epsilon n) widths under Laplace noise and about sqrt(d ln(1/delta))/(epsilon n) under Gaussian noise.
    """

    names: tuple[str, ...]
    grids: tuple[Grid, ...]
    noise: Added | AddedGaussian
    size: int | None = None  # where it is public
    bar: str = "exact"

    @property
    def scale(self) -> float:
        """The noise of one half, in rows."""
        return float(self.noise.scale / ROW)

    @property
    def name(self) -> str:
        return f"{self.noise.name}, {'halves' if self.size is None else 'known'}"

    @property
    def _each(self) -> int:
        """Drawn numbers of one column."""
        return 2 if self.size is None else 1

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.noise.part,)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        items = tuple(Item(what, name) for name in self.names for what in ("rows", "sum"))
        totals = read_totals(ask, items, groups)
        halves = [halve(totals[2 * j], totals[2 * j + 1], g.width, Fraction(ROW, g.width)) for j, g in enumerate(self.grids)]
        raw = self.noise.around(np.stack(halves, axis=1)[:, :, : self._each], draw) / ROW
        value, low, high = self._estimate(raw, LEVEL)
        ends = zip(value.tolist(), low.tolist(), high.tolist(), raw.reshape(len(raw), self._each * len(self.grids)).tolist(), strict=True)
        return [Answer(tuple(v), tuple(a), tuple(b), raw=tuple(r)) for v, a, b, r in ends]

    def _estimate(self, raw: Floats, level: float) -> tuple[Floats, Floats, Floats]:
        low = np.array([float(g.low * g.step) for g in self.grids])
        span = np.array([g.length(g.width) for g in self.grids])
        if self.size is None:
            share, first, last = share_of(raw, self.noise, self.scale, (self.noise.slop + 1) / ROW, level)
        else:
            far, above = radius(self.noise.tail, (self.scale,), level) + (self.noise.slop + 1) / ROW, raw[:, :, 0]
            share, first, last = inside([part / self.size for part in (above, above - far, above + far)], 0.0, 1.0)
        return low + span * share, low + span * first, low + span * last

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any]:
        _, low, high = self._estimate(np.array(answer.raw).reshape(1, -1, self._each), level)
        return tuple(low[0].tolist()), tuple(high[0].tolist())

    def width(self, rows: int | None, level: float = LEVEL) -> float | None:
        """The half-width of the column with the widest bounds, at a mean near either bound, where it is largest."""
        if rows is None:
            return None
        span = max(g.length(g.width) for g in self.grids)
        return span * min(1.0, radius(self.noise.tail, (self.scale,), level) / max(rows, 1))

    def rmse(self, rows: int | None) -> float | None:
        """That of the column with the widest bounds, at a mean near either bound, where it is largest."""
        return None if rows is None else max(g.length(g.width) for g in self.grids) * min(1.0, self.noise.rmse / ROW / max(rows, 1))


@dataclass(frozen=True)
class Means(Plain):
    """The means of several columns as one vector: one price, and Gaussian noise from the number of columns where it is quieter."""

    columns: tuple[str, ...]
    ranged = True

    def __post_init__(self) -> None:
        if not self.columns or len(set(self.columns)) != len(self.columns):
            raise QueryError("SRD-103", "the columns are missing or repeat.", "Name each column once.")

    @property
    def label(self) -> str:
        named = self.columns if len(self.columns) <= 6 else (*self.columns[:3], f"{len(self.columns) - 4} more", self.columns[-1])
        return f"means({', '.join(named)})"

    def shape(self, label: str) -> Shape:
        return {"columns": [f"mean({name})" if label == self.label else f"{label}_{name}" for name in self.columns]}

    def question(self) -> dict[str, Any]:
        return {"statistic": "means", "columns": list(self.columns)}

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        d, grids = len(self.columns), tuple(length_grid(context, name) for name in self.columns)
        if (size := public_size(context)) is not None:
            public = Added(epsilon, d * (ROW + 1), d)
            cut = math.isqrt(d) + 1
            known = AddedGaussian(epsilon, delta, root_up(Fraction(d)) * ROW + cut, d) if delta else None
            return {name: partial(MeansStep, self.columns, grids, noise, size) for name, noise in quieter(public, known).items()}
        reach = Reach(Fraction(d), Fraction(2 * d), context)
        moved = 2 * d * reach.touched
        laplace = reach.added(epsilon, Fraction(ROW), 2 * d, 2 * d)
        cut = math.isqrt(moved) + 1
        gaussian = AddedGaussian(epsilon, delta, reach.second() * ROW + cut, moved) if delta else None
        return {name: partial(MeansStep, self.columns, grids, noise) for name, noise in quieter(laplace, gaussian).items()}


@registered(about="the means of {of}{clamped}", examples=(("", (["income", "age", "ok"],), {}),))
def means(columns: Iterable[str]) -> Means:
    """The means of several columns."""
    return Means(tuple(columns))
