"""Order statistics by the exponential mechanism: one draw per level and group."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from sordino.mechanisms.quantile_exponential import QuantileExponential
from sordino.privacy.certificate import Certificate
from sordino.privacy.cost import Cost
from sordino.privacy.relation import Relation
from sordino.schema.column import Grid
from sordino.statistics.port import LEVEL, Answer, Context, Groups
from sordino.statistics.reach import grid_of, per_group
from sordino.summaries import Ask, Draw
from sordino.summaries.totals import Ranks

__all__ = ["RankStep", "quantile_mechanism", "rank_reach"]

WIDE = 2**32  # bounds this many units of the column apart say little about where the rows are


def quantile_mechanism(grid: Grid, q: Fraction, epsilon: Fraction, context: Context) -> QuantileExponential:
    """The mechanism of one level in one group.

    Uniform over the grid, or, where the bounds are very wide, with mass falling like one over the distance from zero: by the bounds alone.
    """
    price = per_group(epsilon, Fraction(0), context)
    rows = context.unit.max_rows
    if grid.kind in ("date", "timestamp") or grid.width * grid.step < WIDE:
        return QuantileExponential(price.epsilon, q, 0, grid.width, rows, price.relation)
    origin = min(max(-grid.low, 0), grid.width)
    one = max(1, math.floor(1 / grid.step))
    return QuantileExponential(price.epsilon, q, 0, grid.width, rows, price.relation, "arsinh", origin, one)


def rank_reach(mechanism: QuantileExponential, rare: float) -> float:
    r"""How many rows beyond its rank a released quantile lies at most, but with probability `rare`.

    Theorem. With M the mass of all points, in units of the least mass of a point, and r the rate of the score, t = ln(M (1-rare)/rare)/r
    is such a bound, on every table.
    Proof. The value of rank ceil(q n) has score 0, so the weights sum to at least 1 + B, with B <= (M - 1) e^{-r t} the weight of the
    points more than t ranks away; they are drawn with probability at most B/(1 + B) <= rare. QED
    """
    mass = int(mechanism.measure.total(mechanism.high)) / mechanism.measure.least - 1
    far = math.log(max(mass, 1.0) * (1 - rare) / rare) / float(mechanism.rate)
    return far if far < mechanism.radius else math.inf


@dataclass(frozen=True)
class RankStep:
    """Quantiles of one column at several levels, each at an equal share of the price; `shape` says what is made of them."""

    column: str
    levels: tuple[Fraction, ...]
    shape: str  # one | many | range
    epsilon: Fraction
    context: Context
    bar: str = "rank"

    def __post_init__(self) -> None:
        _ = self.rank_width()  # every refusal comes before the charge

    @cached_property
    def grid(self) -> Grid:
        return grid_of(self.context, self.column)

    @cached_property
    def mechanisms(self) -> tuple[QuantileExponential, ...]:
        each = self.epsilon / len(self.levels)
        return tuple(quantile_mechanism(self.grid, q, each, self.context) for q in self.levels)

    @property
    def cost(self) -> Cost:
        """Bounded range where one draw alone can change; otherwise the sum of the draws that can."""
        alone = not self.context.grouped or (self.context.groups_per_person == 1 and self.context.unit.relation is not Relation.REPLACE)
        return Cost.bounded_range(self.epsilon) if alone and len(self.levels) == 1 else Cost.pure(self.epsilon)

    @property
    def name(self) -> str:
        base = "arsinh" if self.mechanisms[0].base == "arsinh" else "uniform"
        return f"QuantileExponential, {base}, q = {', '.join(f'{float(q):.4g}' for q in self.levels)}"

    def certificates(self) -> Sequence[Certificate]:
        return tuple(mechanism.certificate() for mechanism in self.mechanisms)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        radius = max(mechanism.radius for mechanism in self.mechanisms)
        named = groups if self.context.private_keys else None
        far = self.rank_width(LEVEL)
        answers = []
        for windows in ask(Ranks(self.column, self.levels, radius, named)):
            pairs = zip(self.mechanisms, windows, strict=True)
            drawn = [mechanism.release(lambda _, window=window: window, draw) for mechanism, window in pairs]  # type: ignore[misc]
            answers.append(Answer(self._value(drawn), ranks=(-far, far), raw=tuple(drawn)))
        return answers

    def _value(self, drawn: list[int]) -> Any:
        if self.shape == "range":
            return self.grid.length(max(drawn[1] - drawn[0], 0))
        ordered = [self.grid.value(v) for v in sorted(drawn)]
        return ordered[0] if self.shape == "one" else tuple(ordered)

    def interval(self, answer: Answer, level: float) -> None:
        return None

    def width(self, rows: int | None, level: float = LEVEL) -> None:
        return None

    def rank_width(self, level: float = LEVEL) -> float:
        """Rows within which every level's rank is met at once with probability `level`: sorting the answers keeps a common bound."""
        rare = (1 - level) / len(self.levels)
        return max(rank_reach(mechanism, rare) for mechanism in self.mechanisms)
