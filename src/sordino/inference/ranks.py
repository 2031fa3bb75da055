"""Rank tests: two groups against each other, and pairs. Outliers and bounds do not matter to them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.inference.outcome import ALTERNATIVES, EPSILONS, SIMULATED, Outcome, Power, chance_of, laplace, normal, power_table
from sordino.privacy.number import shown
from sordino.statistics.rank_test import RankTest

__all__ = ["RanksTest", "mann_whitney", "signed_rank"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class RanksTest:
    r"""A test before it is paid: sizes and a rank statistic are drawn, and its null law is simulated, noise and sizes included.

    Theorem. Under the null hypothesis (the groups have one law; the differences are symmetric about zero) the doubled statistic has mean
    0 and variance n1 n2 (n1 + n2 + 1)/3 (2 n (n + 1)(2 n + 1)/3), less with ties, and is nearly normal.
    Proof. Mann and Whitney (1947), Wilcoxon (1945); each for twice the statistic about its mean. QED
    The numbers of rows are drawn, so each simulated law has sizes of its own.
    """

    query: Any
    about: str
    paired: bool

    def preview(self, *, rows: Sequence[int] | None = None, epsilons: Sequence[float] = EPSILONS, effect: float = 0.5) -> Power:
        """How often it would see a shift of `effect` standard deviations of normal values; of pairs, of their differences."""

        def test(n: int, epsilon: float) -> tuple[Floats, Floats]:
            each, groups = float(n if self.paired else n // 2), 1 if self.paired else 2
            drawn = [np.maximum(each + laplace(float(self._step(epsilon).sizes.scale), ALTERNATIVES), 1.0) for _ in range(2 * groups)]
            noise = self._scale(epsilon, 1) * np.max(drawn[:groups], axis=0)
            null = np.sqrt(self._variance(drawn[groups:])) * normal(ALTERNATIVES) + noise * laplace(1.0, ALTERNATIVES)
            deviation = np.sqrt(self._variance([np.array(each)] * groups))
            other = self._moved(each, effect) + deviation * normal(ALTERNATIVES) + noise * laplace(1.0, ALTERNATIVES)
            return np.abs(null), np.abs(other)

        size = self.query.table.size
        return power_table(f"a shift of {effect:g} deviations", rows or (None if size is None else (int(size),)), epsilons, test)

    def _moved(self, each: float, effect: float) -> float:
        """Where the doubled statistic lies for normal values shifted by so many deviations."""
        pairs = NormalDist().cdf(effect * math.sqrt(2 if self.paired else 0.5))
        if not self.paired:
            return each**2 * (2 * pairs - 1)
        return each * (each - 1) * (2 * pairs - 1) + 2 * each * (2 * NormalDist().cdf(effect) - 1)

    def _scale(self, epsilon: Any, most: int) -> float:
        step = self._step(epsilon)
        return float(step.reach(most) / step.parts[1].certificate.cost.epsilon)

    def _step(self, epsilon: Any) -> Any:
        (step,) = self.query.settle(epsilon).steps.values()
        return step

    def release(self, *, epsilon: Any, analyst: str | None = None, fresh: bool = False, request: str | None = None) -> Outcome:
        """Pay for sizes and ranks; the test is post-processing."""
        found = self.query.release(epsilon=epsilon, analyst=analyst, fresh=fresh, request=request)
        answers = found.answers["ranks"]
        value, most, price = float(answers[0][0]), int(answers[0][2]), found.cost.exact.epsilon
        sizes = np.array([float(n) for _, n, _ in answers])
        wide = float(self._step(price).sizes.scale)
        return Outcome(value / 2, float(self.p_values(value, sizes, wide, self._scale(price, most), SIMULATED)), self.about, found)

    def p_values(self, value: Any, sizes: Floats, wide: float, scale: Any, repeats: int) -> Floats:
        """For a drawn statistic and drawn sizes of groups, or lines of them; `wide` is the noise of a size, `scale` the statistic's."""
        drawn = [np.maximum(n[..., None] + laplace(wide, *n.shape, repeats), 1.0) for n in np.moveaxis(sizes, -1, 0)]
        noise = np.asarray(scale)[..., None] * laplace(1.0, *sizes.shape[:-1], repeats)
        simulated = normal(*sizes.shape[:-1], repeats) * np.sqrt(self._variance(drawn)) + noise
        return np.asarray(chance_of(np.abs(value), np.abs(simulated)))

    def _variance(self, sizes: Sequence[Floats]) -> Floats:
        if self.paired:
            (n,) = sizes
            return np.asarray(2 * n * (n + 1) * (2 * n + 1) / 3)
        first, second = sizes
        return np.asarray(first * second * (first + second + 1) / 3)

    def __repr__(self) -> str:
        return f"Test({self.about}; nothing read, nothing spent)"


def mann_whitney(table: Any, column: str, *, by: str) -> RanksTest:
    """Whether a column has one law in two groups with public keys, or one of them tends to larger values."""
    rows = table._rows()
    keys = rows.asked.column(by).keys or ()
    if len(keys) != 2 or None in keys:
        raise QueryError("SRD-203", f"{shown(by)} has no two public keys.", f"Declare two: keys={{{shown(by)}: [...]}}.")
    asked = rows.group_by(by).agg(ranks=RankTest(column, by))
    return RanksTest(asked, f"{column} has one law for both {by}", paired=False)


def signed_rank(table: Any, column: str) -> RanksTest:
    """Whether a column of differences is symmetric about zero, or leans to one side."""
    return RanksTest(table._rows().agg(ranks=RankTest(column)), f"{column} is symmetric about zero", paired=True)
