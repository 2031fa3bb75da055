"""A number of every row: a column between its bounds, or what is computed from columns row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.sensitivity.order import Array, share, whole
from sordino.sensitivity.term import Ends, Term, corners, finite, said, spelled, square

__all__ = ["Row", "column"]

Box = Mapping[str, Ends]  # what is known of the columns of a row
Cells = Mapping[str, Array]


@dataclass(frozen=True, eq=False)
class Row:
    """A number of every row: its values, and between which ends they lie where the columns lie in a box."""

    text: str
    values: Callable[[Cells], Array]
    within: Callable[[Box], Ends]
    columns: Box  # those it is computed from, with their bounds

    def __repr__(self) -> str:
        return self.text

    @cached_property
    def ends(self) -> Ends:
        """Of every row there may be."""
        return self.within(self.columns)

    def _with(self, sign: str, other: Any, made: Callable[[Array, Array], Array], *, turned: bool = False) -> Row:
        two = other if isinstance(other, Row) else _same(finite(other))
        one, two = (two, self) if turned else (self, two)
        if sign == "/" and two.ends[0] <= 0 <= two.ends[1]:
            what = f"{two.text} may be zero in some row."
            raise QueryError("SRD-104", what, "Divide by a column whose bounds exclude zero, or keep it away with at_least.")
        return Row(
            said(sign, one.text, two.text),
            lambda rows: made(one.values(rows), two.values(rows)),
            lambda box: corners(sign, one.within(box), two.within(box)),
            {**one.columns, **two.columns},
        )

    def __add__(self, other: Any) -> Row:
        return self._with("+", other, np.add)

    def __sub__(self, other: Any) -> Row:
        return self._with("-", other, np.subtract)

    def __rsub__(self, other: Any) -> Row:
        return self._with("-", other, np.subtract, turned=True)

    def __mul__(self, other: Any) -> Row:
        return self**2 if other is self else self._with("*", other, np.multiply)

    def __truediv__(self, other: Any) -> Row:
        return self._with("/", other, np.divide)

    def __rtruediv__(self, other: Any) -> Row:
        return self._with("/", other, np.divide, turned=True)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Row:
        return -1 * self

    def __pow__(self, power: int) -> Row:
        square(power)
        return Row(f"{self.text}^2", lambda rows: self.values(rows) ** 2, lambda box: _away(self.within(box), 2), self.columns)

    def __abs__(self) -> Row:
        return Row(f"|{self.text}|", lambda rows: np.abs(self.values(rows)), lambda box: _away(self.within(box), 1), self.columns)

    def _beside(self, sign: str, other: Any, made: Callable[[Any, float], Any]) -> Row:
        mark = finite(other)

        def within(box: Box) -> Ends:
            ends = [float(made(np.float64(end), mark)) for end in self.within(box)]
            return min(ends), max(ends)

        return Row(f"[{self.text} {sign} {spelled(mark)}]", lambda rows: made(self.values(rows), mark).astype(float), within, self.columns)

    def __gt__(self, other: Any) -> Row:
        return self._beside(">", other, np.greater)

    def __ge__(self, other: Any) -> Row:
        return self._beside(">=", other, np.greater_equal)

    def __lt__(self, other: Any) -> Row:
        return self._beside("<", other, np.less)

    def __le__(self, other: Any) -> Row:
        return self._beside("<=", other, np.less_equal)

    def at_most(self, other: Any) -> Row:
        return self._with("min", other, np.minimum)

    def at_least(self, other: Any) -> Row:
        return self._with("max", other, np.maximum)

    def clip(self, low: Any, high: Any) -> Row:
        return self.at_least(low).at_most(high)

    def _leaf(self, kind: str, written: str, option: Any = None, limits: Ends | None = None) -> Term:
        return Term(kind, written, rows=(self,), option=option, limits=self.ends if limits is None else limits)

    def count(self) -> Term:
        """How many rows there are."""
        return Term("count", "count", limits=(0.0, np.inf))

    def sum(self, *, trim: int = 0) -> Term:
        """Over all rows, without the `trim` smallest and largest."""
        cut, (low, high) = whole("trim", trim, 0), self.ends
        limits = (0.0 if low >= 0 else -np.inf, 0.0 if high <= 0 else np.inf)
        return self._leaf("sum", f"sum({self.text}{f', trim={cut}' if cut else ''})", cut, limits)

    def mean(self, *, trim: int = 0) -> Term:
        """The sum over the number of rows; the middle of the bounds where there are none."""
        cut = whole("trim", trim, 0)
        rows = self.count() - 2 * cut if cut else self.count()
        return Term(
            "/",
            f"mean({self.text}{f', trim={cut}' if cut else ''})",
            (self.sum(trim=cut), rows),
            option=sum(self.ends) / 2,
            limits=self.ends,
        )

    def median(self) -> Term:
        return self.quantile("0.5")

    def quantile(self, q: Any) -> Term:
        """The order statistic of rank max(1, ceil(q n)); the lower bound where there are no rows."""
        level = share(q)
        return self._leaf("quantile", f"median({self.text})" if level == Fraction(1, 2) else f"quantile({self.text}, {level})", level)

    def min(self) -> Term:
        return self.quantile(0)

    def max(self) -> Term:
        return self.quantile(1)

    def rank(self, place: int) -> Term:
        """The `place`-th smallest, or for -1, -2, ... largest; where there are fewer rows, the bound beyond them."""
        if isinstance(place, bool) or not isinstance(place, int) or not place:
            raise QueryError("SRD-103", f"the rank is {place!r}.", "Give 1 for the smallest, -1 for the largest.")
        return self._leaf("rank", f"rank({self.text}, {place})", place)

    def differences(self) -> Term:
        """The sum of |x_i - x_j| over all pairs of rows."""
        return self._leaf("differences", f"differences({self.text})", limits=(0.0, np.inf))


def column(name: str, ends: Ends) -> Row:
    """A column by its name, between its bounds. A name that could be taken for something computed is written in quotes."""
    return Row(
        name if name.isidentifier() else repr(name),
        lambda rows: rows[name],
        lambda box: box[name],
        {name: (float(ends[0]), float(ends[1]))},
    )


def _same(value: float) -> Row:
    return Row(spelled(value), lambda rows: np.float64(value), lambda box: (value, value), {})  # type: ignore[arg-type, return-value]


def _away(ends: Ends, power: int) -> Ends:
    """The ends of |x|, or of its square."""
    low, high = sorted(abs(end) ** power for end in ends)
    return (0.0 if ends[0] <= 0 <= ends[1] else low), high
