"""Whether two groups have the same mean: the interval of a comparison, turned round."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sordino.errors import QueryError
from sordino.inference.outcome import ALTERNATIVES, EPSILONS, Outcome, Power, laplace, normal, power_table
from sordino.session.comparison import Comparison

__all__ = ["DifferenceTest", "t"]


@dataclass(frozen=True, eq=False)
class DifferenceTest:
    """A test before it is paid: z is the difference of two drawn means over its standard error, noise and sampling together."""

    comparison: Comparison

    def preview(self, *, rows: Sequence[int] | None = None, epsilons: Sequence[float] = EPSILONS, effect: float = 0.5) -> Power:
        """How often it would see a shift of `effect` standard deviations between groups of equal size, bounds six deviations apart."""

        def test(n: int, epsilon: float) -> Any:
            each, wide = n / 2, 6.0  # in standard deviations
            noise = math.sqrt(2 * (0.25 + 0.25)) * wide * float(_source(self.comparison, epsilon).scale) / each
            error = math.sqrt(2 / each + 2 * noise**2)
            drawn = [math.sqrt(2 / each) * normal(ALTERNATIVES) + laplace(noise / math.sqrt(2), ALTERNATIVES, 2) @ [1, -1] for _ in "ab"]
            return abs(drawn[0]) / error, abs(drawn[1] + effect) / error

        size = self.comparison.query.table.size
        return power_table(f"a shift of {effect:g} deviations", rows or (None if size is None else (int(size),)), epsilons, test)

    def release(self, *, epsilon: Any, analyst: str | None = None, fresh: bool = False, request: str | None = None) -> Outcome:
        """Pay for the comparison; the test is post-processing."""
        found = self.comparison.release(epsilon=epsilon, analyst=analyst, fresh=fresh, request=request)
        ((value, error),) = found._differences().values()
        return Outcome(value / error, found.p, f"{self.comparison.column} has the same mean for every {self.comparison.by}", found.release)

    def __repr__(self) -> str:
        return f"Test({self.comparison.column} has the same mean for every {self.comparison.by}; nothing read, nothing spent)"


def _source(comparison: Comparison, epsilon: Any) -> Any:
    return comparison.query.settle(epsilon).steps["mean"].source  # type: ignore[attr-defined]


def t(table: Any, column: str, *, by: str) -> DifferenceTest:
    """Whether a column has the same mean in two groups with public keys."""
    made = table.compare(column, by=by)
    keys = [key for key in made.query.asked.columns[by].keys or () if key is not None]
    if len(keys) != 2:
        raise QueryError("SRD-203", f"{by} has {len(keys)} groups.", "Compare two: for more, table.compare has a p-value for each.")
    return DifferenceTest(made)
