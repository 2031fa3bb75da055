"""One quantile with noise that fits the data: smooth sensitivity, a published bound, or propose-test-release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from sordino.errors import QueryError
from sordino.mechanisms.propose_test_release import ProposeTestRelease
from sordino.mechanisms.published_bound import Published, PublishedBound
from sordino.mechanisms.smooth import Smooth
from sordino.privacy.certificate import Certificate
from sordino.privacy.cost import Cost
from sordino.privacy.number import exp_up, round_down
from sordino.privacy.relation import Relation
from sordino.schema.column import Grid
from sordino.sensitivity.glimpse import Glimpse
from sordino.sensitivity.ladder import Ladder
from sordino.sensitivity.order import rank
from sordino.sensitivity.position import quantile
from sordino.sensitivity.scale import ScaleLadder
from sordino.statistics.port import LEVEL, Answer, Context, Groups
from sordino.statistics.reach import LARGEST, Price, grid_of, per_group, public_size
from sordino.summaries import Ask, Draw, Near, Nearness, Refused, Rung, Stair, Window
from sordino.summaries.totals import Ranks

__all__ = ["FITTED", "FittedStep", "fitted_price"]

FITTED = ("smooth", "published", "ptr")
FARTHEST = 1_000_000  # steps to instability beyond this are not told apart; the distance stays 1-Lipschitz


def fitted_price(epsilon: Fraction, delta: Fraction, context: Context) -> Price:
    r"""What a mechanism proved for add_remove, or for replace at a public n, may spend in one group.

    Theorem. Where a replacement may change n, running the add_remove mechanism at e = epsilon/2 and delta/(1 + e^e) costs (epsilon,
    delta) under replace.
    Proof. A replacement is a removal and an addition: group privacy for two steps. QED
    """
    price = per_group(epsilon, delta, context)
    if price.relation is not Relation.REPLACE or public_size(context) is not None:
        return price
    each = min(price.epsilon / 2, Fraction(LARGEST)) if delta else price.epsilon / 2
    return Price(each, round_down(price.delta / (1 + exp_up(each)), 40) if delta else delta, Relation.ADD_REMOVE)


@dataclass(frozen=True)
class FittedStep:
    r"""The order statistic of rank max(1, ceil(q n)) plus noise scaled to the data.

    Theorem. The window of ranks that is read determines the first K rungs of the ladder exactly, and with public K the truncated smooth
    bound is smooth and the truncated distance moves by at most one between neighbours.
    Proof. Rung k of any ladder of a quantile looks no further than 2 (k + 2) m ranks from q n. Beyond K the global sensitivity stands
    for the rungs, and a distance of K stands for all larger ones: the minimum with a constant keeps Lipschitz constants. QED
    """

    column: str
    q: Fraction
    way: str
    epsilon: Fraction
    delta: Fraction
    context: Context

    def __post_init__(self) -> None:
        if self.way != "smooth" and not self.delta:
            raise QueryError("SRD-102", f"mechanism {self.way!r} needs a delta.", 'Give delta=, or use mechanism="smooth".')
        if self.way == "ptr" and self.context.propose is None:
            what = "propose-test-release needs a proposed bound."
            raise QueryError("SRD-103", what, "Give propose=, a guess at the local sensitivity in the column's unit.")
        _ = self.radius, self.name  # every refusal comes before the charge

    @cached_property
    def grid(self) -> Grid:
        return grid_of(self.context, self.column)

    @cached_property
    def price(self) -> Price:
        return fitted_price(self.epsilon, self.delta, self.context)

    @cached_property
    def mechanism(self) -> Smooth | PublishedBound | ProposeTestRelease:
        if self.way == "smooth":
            return Smooth(self.price.epsilon)
        if self.way == "published":
            return PublishedBound(self.price.epsilon, self.price.delta)
        assert self.context.propose is not None
        bound, otherwise = self.context.propose / self.grid.step, self.context.otherwise
        return ProposeTestRelease(self.price.epsilon, self.price.delta, bound, otherwise=otherwise)

    @cached_property
    def scales(self) -> ScaleLadder:
        beta = getattr(self.mechanism, "beta", None)
        return ScaleLadder(beta if beta is not None else 1, self.grid.width)

    @cached_property
    def window(self) -> int:
        """K: how many rungs are looked at."""
        if isinstance(self.mechanism, ProposeTestRelease):
            return min(len(self.mechanism.table), FARTHEST)
        return self.scales.least_window

    @cached_property
    def radius(self) -> int:
        far = 2 * (self.window + 4) * self.context.unit.max_rows
        if far > 4 * FARTHEST:
            what = f"at this price {far:,} ranks around the quantile would be read in every group."
            raise QueryError("SRD-110", what, "Ask with a larger epsilon, or leave mechanism= to the planner.")
        return far

    @property
    def bar(self) -> str:
        return "published" if self.way == "published" else "none"

    @property
    def cost(self) -> Cost:
        return Cost.approximate(self.epsilon, self.delta if self.way != "smooth" else Fraction(0))

    @property
    def name(self) -> str:
        match self.mechanism:
            case Smooth(noise=noise):
                return f"Smooth, {noise}"
            case PublishedBound():
                return "PublishedBound"
        return f"ProposeTestRelease, otherwise {self.context.otherwise}"

    def certificates(self) -> Sequence[Certificate]:
        return (self.mechanism.certificate(),)

    def ladder(self, window: Window) -> tuple[int, Ladder]:
        """The quantile in steps, and its ladder as far as the window determines it."""
        seen = Glimpse(window.values, 0, self.grid.width, exact=True, first=window.first, size=window.n)
        unit = self.context.unit.max_rows
        ladder = quantile(seen, q=self.q, bounds=(0, self.grid.width), relation=self.price.relation.value, max_rows=unit)
        return int(seen.at(rank(self.q, window.n))) if window.n else 0, ladder

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        named = groups if self.context.private_keys else None
        return [self._answer(window, draw) for (window,) in ask(Ranks(self.column, (self.q,), self.radius, named))]

    def _answer(self, window: Window, draw: Draw) -> Answer:
        value, ladder = self.ladder(window)

        def reply(request: Any) -> Any:
            if isinstance(request, Stair):
                index = self.scales.index(ladder.rungs(self.window))
                public = tuple(self.scales.scale(j) for j in range(self.scales.last + 1))
                return Rung(value, index, public, 0, self.grid.width)
            assert isinstance(request, Nearness)
            assert request.above is not None
            above = ladder.rungs(self.window) > math.floor(request.above)
            return Near(int(above.argmax()) if above.any() else self.window, value, self.grid.width, 0, self.grid.width)

        drawn = self.mechanism.release(reply, draw)
        if isinstance(drawn, Refused):
            return Answer(drawn)
        if isinstance(drawn, Published):
            return self._published(round(drawn.value), drawn.scale)
        if isinstance(drawn, tuple):  # which branch it was is part of the answer
            return Answer(self.grid.value(round(drawn[0])), raw=(drawn[0],))
        return Answer(self.grid.value(round(drawn)), raw=(drawn,))

    def _published(self, drawn: int, scale: float, level: float = LEVEL) -> Answer:
        """Laplace noise of a published scale: the interval is exact, cut to the public range."""
        far = math.ceil(scale * math.log(1 / (1 - level))) + 1
        low, high = self.grid.value(max(drawn - far, 0)), self.grid.value(min(drawn + far, self.grid.width))
        return Answer(self.grid.value(drawn), low, high, raw=(float(drawn), scale))

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any] | None:
        if self.way != "published":
            return None
        again = self._published(int(answer.raw[0]), answer.raw[1], level)
        return again.low, again.high

    def width(self, rows: int | None, level: float = LEVEL) -> None:
        return None

    def rmse(self, rows: int | None) -> None:
        return None
