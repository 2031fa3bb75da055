"""A custom statistic by inverse sensitivity: points of a public grid, each scored by how many rows would have to change to get there."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sordino.mechanisms.exponential import Exponential
from sordino.privacy.certificate import Part
from sordino.privacy.relation import Relation
from sordino.statistics.custom import Custom
from sordino.statistics.evaluation import Evaluation
from sordino.statistics.own_rows import COUNT, OwnRows, Resize, Thinning, resized_tables, thinned
from sordino.statistics.port import LEVEL, Answer, Groups, ReachPrice, Redrawn, per_group
from sordino.summaries import Ask, Draw, Held

__all__ = ["GoalStep"]

LONGEST = 1_000_000  # the public K: rows further away are not told apart
SURE = 40  # of the exponent, beyond which nobody looks along a path
POINTS = 1_000  # of the public grid, where its author names no other number


@dataclass(frozen=True)
class GoalStep(Redrawn):
    r"""The exponential mechanism over a public grid, scored by the claimed distance to each point.

    Theorem. If d(x, y) = `distance_to(x, y)` moves by at most one in a step of the claim, for every y of the grid, choosing y with
    weight e^{-epsilon min(d(x, y), K)/(2 j)} is epsilon-DP for units of j steps, whatever f is; if d is the true distance, then with
    probability 1 - eta the answer can be had by changing at most (2 j/epsilon) ln(points/eta) rows.
    Proof. A unit moves every score by at most j; clipping at K keeps that. A point further than that has at most the weight eta/points
    of a point at distance 0, which the grid point next to f(x) is if f reaches it (Asi and Duchi 2020). QED
    """

    custom: Custom
    rows: OwnRows
    epsilon: Fraction

    def __post_init__(self) -> None:
        _ = self.mechanism, self.rows.grids  # every refusal comes before the charge

    @cached_property
    def replaced(self) -> bool:
        return per_group(self.epsilon, Fraction(0), self.rows.context).relation is Relation.REPLACE

    @cached_property
    def resize(self) -> Resize | Thinning | None:
        return thinned(self.custom.relation, self.rows, self.epsilon, replaced=self.replaced)

    @cached_property
    def price(self) -> ReachPrice:
        spent = Fraction(0) if self.resize is None else self.resize.noise.epsilon
        return per_group(self.epsilon - spent, Fraction(0), self.rows.context)

    @cached_property
    def evaluation(self) -> Evaluation:
        return Evaluation(self.custom, self.custom.moves(self.rows.context.limits.rows, replaced=self.replaced))

    @cached_property
    def mechanism(self) -> Exponential:
        return Exponential(self.price.epsilon, self.evaluation.moves)

    @cached_property
    def points(self) -> tuple[float, ...]:
        low, high = self.evaluation.range
        many = self.custom.points or POINTS
        return tuple(float(low + (high - low) * i / (many - 1)) for i in range(many))

    @property
    def bar(self) -> str:
        return "none"

    @property
    def name(self) -> str:
        resized = f", resized to a number of rows drawn at {float(100 * COUNT):g}% of epsilon" if isinstance(self.resize, Resize) else ""
        return f"Exponential, {self.custom.__name__} by inverse sensitivity{resized}"

    @property
    def covers(self) -> str:
        rows = math.ceil(2 * self.evaluation.moves / float(self.price.epsilon) * math.log(len(self.points) / (1 - LEVEL)))
        return f"with 95% a value of the statistic after {rows:,} rows have changed at most, if the claimed distance is the true one"

    @property
    def parts(self) -> tuple[Part, ...]:
        own = self.mechanism.certificate()
        counted = () if self.resize is None else (self.resize.noise.part,)
        return (*counted, self.price.part(replace(own, assumptions=f"{own.assumptions}; {self.custom.claim}")))

    def repeated(self, ask: Ask, draw: Draw, groups: Groups, copies: int) -> list[list[Answer]]:
        """Per group several draws from one list of scores, for a forecast on public rows; one draw is the release."""
        tables = resized_tables(ask, draw, groups, resize=self.resize, rows=self.rows)
        return [self._answers(self.rows.numbers(found, self.custom), draw, copies) for found in tables]

    def _answers(self, x: Any, draw: Draw, copies: int) -> list[Answer]:
        scores = -self.distances(x)
        return [Answer(self.points[self.mechanism.release(Held(scores), draw)]) for _ in range(copies)]

    def distances(self, x: Any) -> Any:
        """Steps to every point: as claimed, or the first of the claimed path that reaches the point's half of the gap to the next."""
        if self.custom.reached is None:
            return np.array([self.evaluation.steps_to(x, point, LONGEST) for point in self.points], np.int64)
        near = (self.points[1] - self.points[0]) / 2
        return self.evaluation.walked(x, np.array(self.points), near, self.longest)

    @property
    def longest(self) -> int:
        """The public K of a path: points further away weigh e^-40 of the nearest, all of them together."""
        return math.ceil(2 * self.evaluation.moves / float(self.price.epsilon) * (math.log(len(self.points)) + SURE))

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any] | None:
        return None
