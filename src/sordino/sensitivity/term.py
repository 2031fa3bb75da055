"""A number of a table as it is written down: its value, and what it can be within k rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sordino.errors import QueryError
from sordino.sensitivity import leaf
from sordino.sensitivity.ball import Ball
from sordino.sensitivity.enclosure import Enclosure, product, ratio
from sordino.sensitivity.order import rank

if TYPE_CHECKING:
    from sordino.sensitivity.row_term import Row

__all__ = ["Ends", "Term", "corners", "finite", "said", "spelled", "square"]

Ends = tuple[float, float]
FREE = (-np.inf, np.inf)


def finite(value: Any) -> float:
    try:
        found = float(value)
    except (TypeError, ValueError):
        what = f"{value!r} is neither a number nor built of the columns."
        raise QueryError("SRD-105", what, "Use numbers, columns, and sum, mean, median, quantile, rank, count of them.") from None
    if not np.isfinite(found):
        raise QueryError("SRD-103", f"{value!r} is not a finite number.", "Use finite numbers.")
    return found


def corners(kind: str, a: Ends, b: Ends) -> Ends:
    """The ends of a sum, difference, product or quotient, or of the smaller or larger of two numbers."""
    one, two = ((np.float64(low), np.float64(high)) for low, high in (a, b))
    match kind:
        case "+":
            return a[0] + b[0], a[1] + b[1]
        case "-":
            return a[0] - b[1], a[1] - b[0]
        case "min" | "max":
            pick = min if kind == "min" else max
            return pick(a[0], b[0]), pick(a[1], b[1])
    low, high = product(one, two) if kind == "*" else ratio(one, two)
    return float(low), float(high)


def spelled(value: float) -> str:
    """A number to its last digit: two statistics that differ in it are two."""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def square(power: Any) -> None:
    """Refuse every power but the second."""
    if power != 2:
        raise QueryError("SRD-103", f"the power is {power!r}.", "Only squares are known; multiply for more.")


def said(kind: str, one: str, two: str) -> str:
    return f"{kind}({one}, {two})" if kind in ("min", "max") else f"({one} {kind} {two})"


def _constant(value: float) -> Term:
    return Term("number", spelled(value), option=value, limits=(value, value))


@dataclass(frozen=True, eq=False)
class Term:
    """A number of a table: of its rows (`rows`), or computed from other numbers of it (`parts`), between public `limits`."""

    kind: str
    text: str
    parts: tuple[Term, ...] = ()
    rows: tuple[Row, ...] = ()
    option: Any = None
    limits: Ends = FREE

    def __repr__(self) -> str:
        return self.text

    def _with(self, kind: str, other: Any, *, turned: bool = False) -> Term:
        two = other if isinstance(other, Term) else _constant(finite(other))
        one, two = (two, self) if turned else (self, two)
        return Term(kind, said(kind, one.text, two.text), (one, two), limits=corners(kind, one.limits, two.limits))

    def __add__(self, other: Any) -> Term:
        return self._with("+", other)

    def __sub__(self, other: Any) -> Term:
        return self._with("-", other)

    def __rsub__(self, other: Any) -> Term:
        return self._with("-", other, turned=True)

    def __mul__(self, other: Any) -> Term:
        return self**2 if other is self else self._with("*", other)

    def __truediv__(self, other: Any) -> Term:
        return self._with("/", other)

    def __rtruediv__(self, other: Any) -> Term:
        return self._with("/", other, turned=True)

    __radd__, __rmul__ = __add__, __mul__

    def __neg__(self) -> Term:
        return -1 * self

    def __pow__(self, power: int) -> Term:
        square(power)
        low, high = sorted(end**2 for end in self.limits)
        return Term("square", f"{self.text}^2", (self,), limits=(0.0 if self.limits[0] <= 0 <= self.limits[1] else low, high))

    def __abs__(self) -> Term:
        return self.at_least(-self)

    def sqrt(self) -> Term:
        """The square root, 0 below zero."""
        low, high = (float(np.sqrt(max(end, 0.0))) for end in self.limits)
        return Term("root", f"sqrt({self.text})", (self,), limits=(low, high))

    def at_most(self, other: Any) -> Term:
        return self._with("min", other)

    def at_least(self, other: Any) -> Term:
        return self._with("max", other)

    def clip(self, low: Any, high: Any) -> Term:
        return self.at_least(low).at_most(high)

    def walk(self) -> Iterator[Term]:
        """Everything it is built of, and itself last."""
        for part in self.parts:
            yield from part.walk()
        yield self

    @property
    def numbers(self) -> tuple[Row, ...]:
        """The numbers of a row that matter, each once."""
        return tuple({row.text: row for part in self.walk() for row in part.rows}.values())

    def value(self, ball: Ball) -> float:
        """The number of the table in the middle. What is divided by zero is zero, so that there is always a number."""
        if self.parts:
            with np.errstate(all="ignore"):
                return float(self._computed([part.value(ball) for part in self.parts]))
        if self.kind == "number":
            return float(self.option)
        if self.kind == "count":
            return float(ball.size)
        return self._summed(ball)

    def _computed(self, parts: list[float]) -> float:
        first, last = parts[0], parts[-1]
        match self.kind:
            case "+":
                return first + last
            case "*":
                return first * last
            case "/":
                if self.option is not None and last <= 0:
                    return float(self.option)
                return first / last if last else 0.0
            case "-":
                return first - last
            case "min" | "max":
                return min(first, last) if self.kind == "min" else max(first, last)
            case "square":
                return first**2
        return float(np.sqrt(max(first, 0.0)))

    def _summed(self, ball: Ball) -> float:
        (row,) = self.rows
        order, n = ball.ordered(row), ball.size
        match self.kind:
            case "sum":
                return float(order.span(self.option + 1, n - self.option).astype(np.longdouble).sum()) if n > 2 * self.option else 0.0
            case "quantile":
                return float(order.at(rank(self.option, n) if n else 0))
            case "rank":
                return float(order.at(self.option if self.option > 0 else n + 1 + self.option))
        values = order.span(1, n).astype(np.longdouble)
        return float(((2 * np.arange(1, n + 1) - n - 1) * values).sum())

    def enclosure(self, ball: Ball) -> Enclosure:
        """What it can be within k rows, and what one more row can do there; each part is computed once."""
        if (self.kind, self.text) not in ball.known:
            ball.known[self.kind, self.text] = self._enclosed(ball).tight(self.limits)
        found: Enclosure = ball.known[self.kind, self.text]
        return found

    def _enclosed(self, ball: Ball) -> Enclosure:
        parts = [part.enclosure(ball) for part in self.parts]
        match self.kind:
            case "number":
                return Enclosure.constant(self.option, leaf.count(ball))
            case "count":
                return leaf.count(ball)
            case "+":
                return parts[0] + parts[1]
            case "*":
                return parts[0] * parts[1]
            case "/":
                return parts[0].over(parts[1] if self.option is None else parts[1].or_nobody(), self.limits)
            case "-":
                return parts[0] + -parts[1]
            case "min":
                return parts[0].least(parts[1])
            case "max":
                return -((-parts[0]).least(-parts[1]))
            case "square":
                return parts[0].squared()
            case "root":
                return parts[0].root()
        (row,) = self.rows
        match self.kind:
            case "sum":
                return leaf.total(ball, row, self.option)
            case "quantile":
                return leaf.quantile(ball, row, self.option)
            case "rank":
                return leaf.order(ball, row, self.option)
        return leaf.differences(ball, row)
