"""Tests of counts: independence of two columns, equal proportions, a distribution that was foretold. One noisy table each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.inference.outcome import ALTERNATIVES, EPSILONS, SIMULATED, Outcome, Power, chance_of, laplace, multinomial, power_table
from sordino.privacy.number import shown

__all__ = ["CountsTest", "chi_square", "independence", "proportions"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CountsTest:
    r"""A test before it is paid. The counts of all cells are drawn at once, with Laplace noise of scale b.

    Theorem. (1 + #{simulated >= drawn})/(1 + B) is a valid p-value if the simulated tables have the law of the drawn one under the null
    hypothesis; they are multinomial, of the drawn total and the drawn margins (or the foretold chances), plus the same noise.
    Proof. The drawn statistic is then one of B + 1 exchangeable numbers. QED
    The total and margins are drawn, not known: the law is right to first order, and the size is measured, not assumed. The distance
    from what is expected is weighed by its whole variance, E + 2 b^2: Pearson's statistic where there is no noise.
    """

    query: Any
    shape: tuple[int, ...]
    about: str
    chances: tuple[float, ...] | None = None  # foretold, for one column

    def preview(self, *, rows: Sequence[int] | None = None, epsilons: Sequence[float] = EPSILONS, effect: float = 0.03) -> Power:
        """How often it would see cells that are off by `effect` in a checkerboard, everything else even."""
        signs = np.indices(self.shape).sum(axis=0).ravel() % 2 * -2.0 + 1
        signs -= signs.mean()
        even = np.full(signs.size, 1 / signs.size) if self.chances is None else np.array(self.chances)
        other = np.clip(even + effect * signs, 0.0, None)
        other /= other.sum()

        def test(n: int, epsilon: float) -> tuple[Floats, Floats]:
            scale = self._scale(epsilon)
            return tuple(self._statistics(n, p, scale, ALTERNATIVES) for p in (even, other))  # type: ignore[return-value]

        return power_table(f"cells off by {effect:g} of the rows", rows or self._rows(), epsilons, test)

    def _rows(self) -> tuple[int, ...] | None:
        size = self.query.table.size
        return None if size is None else (int(size),)

    def release(self, *, epsilon: Any, analyst: str | None = None, fresh: bool = False, request: str | None = None) -> Outcome:
        """Pay for the counts; the test is post-processing."""
        found = self.query.release(epsilon=epsilon, analyst=analyst, fresh=fresh, request=request)
        scale = self._scale(found.cost.exact.epsilon)
        drawn = np.array(found.answers["n"], float)
        value = float(self._distance(drawn, scale))
        return Outcome(value, float(self.p_values(drawn, scale, SIMULATED)), self.about, found)

    def p_values(self, drawn: Floats, scale: float, repeats: int) -> Floats:
        """Of a drawn table, or of lines of them; free, and for nobody's table where the counts are made up."""
        chances = np.broadcast_to(self._expected(drawn) if self.chances is None else np.array(self.chances), drawn.shape)
        chances = np.clip(chances, 0.0, None)
        total = np.rint(np.maximum(drawn.sum(axis=-1), 1.0))
        simulated = self._statistics(total, chances / chances.sum(axis=-1, keepdims=True), scale, repeats)
        return np.asarray(chance_of(self._distance(drawn, scale), simulated))

    def _scale(self, epsilon: Any) -> float:
        (step,) = self.query.settle(epsilon).steps.values()
        return float(step.noise.scale)

    def _statistics(self, total: Any, chances: Floats, scale: float, repeats: int) -> Floats:
        counts = multinomial(total, chances, repeats)
        return self._distance(counts + np.rint(laplace(scale, *counts.shape)), scale)

    def _expected(self, counts: Floats) -> Floats:
        """What every cell would hold: the foretold share of the total, or the product of its margins."""
        total = np.maximum(counts.sum(axis=-1, keepdims=True), 1.0)
        if self.chances is not None:
            return np.asarray(total * np.array(self.chances))
        cells = counts.reshape(*counts.shape[:-1], *self.shape)
        rows, columns = np.maximum(cells.sum(axis=-1), 0.5), np.maximum(cells.sum(axis=-2), 0.5)
        rows, columns = rows / rows.sum(axis=-1, keepdims=True), columns / columns.sum(axis=-1, keepdims=True)
        return np.asarray((rows[..., :, None] * columns[..., None, :]).reshape(counts.shape) * total)

    def _distance(self, counts: Floats, scale: float) -> Floats:
        expected = self._expected(counts)
        return np.asarray(((counts - expected) ** 2 / (np.maximum(expected, 0.5) + 2 * scale**2)).sum(axis=-1))

    def __repr__(self) -> str:
        return f"Test({self.about}; nothing read, nothing spent)"


def _keys(table: Any, name: str) -> tuple[Any, ...]:
    column = table._rows().asked.column(name)
    keys = (False, True) if column.type == "bool" and column.keys is None else tuple(key for key in column.keys or () if key is not None)
    if len(keys) < 2 or (column.keys is not None and None in column.keys):
        raise QueryError("SRD-203", f"{shown(name)} has no two public keys.", f"Declare keys={{{shown(name)}: [...]}}, without null.")
    return keys


def _count(table: Any, *by: str) -> Any:
    from sordino.statistics import count

    return table._rows().group_by(*by).agg(n=count())


def independence(table: Any, first: str, second: str) -> CountsTest:
    """Whether two columns with public keys are independent."""
    shape = len(_keys(table, first)), len(_keys(table, second))
    return CountsTest(_count(table, first, second), shape, f"{first} and {second} are independent")


def proportions(table: Any, outcome: str, *, by: str) -> CountsTest:
    """Whether the shares of an outcome are the same in all groups."""
    shape = len(_keys(table, by)), len(_keys(table, outcome))
    return CountsTest(_count(table, by, outcome), shape, f"the shares of {outcome} are the same for every {by}")


def chi_square(table: Any, column: str, expected: Mapping[Any, float] | None = None) -> CountsTest:
    """Whether the values of a column have these shares; equal ones unless given."""
    keys = _keys(table, column)
    shares = dict.fromkeys(keys, 1.0) if expected is None else dict(expected)
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) and 0 < v < float("inf") for v in shares.values())
    if set(shares) != set(keys) or not numbers:
        raise QueryError("SRD-103", f"expected is {shown(expected)}.", "Give a positive share for every public key, and no other.")
    total = sum(shares.values())
    return CountsTest(_count(table, column), (len(keys),), f"{column} has the expected shares", tuple(shares[key] / total for key in keys))
