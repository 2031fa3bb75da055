"""One quantile with noise that fits the data: smooth sensitivity, a published bound, or propose-test-release."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from sordino.errors import QueryError
from sordino.privacy.certificate import Part
from sordino.privacy.number import exp_up, round_down
from sordino.privacy.relation import Relation
from sordino.schema.column import Grid
from sordino.sensitivity.ladder import Ladder
from sordino.sensitivity.order import Glimpse, rank
from sordino.sensitivity.position import quantile
from sordino.statistics.port import LARGEST, LEVEL, Answer, Context, Groups, ReachPrice, Redrawn, grid_of, per_group, public_size
from sordino.statistics.smooth_fit import FARTHEST, Drawn, Located, SmoothFit
from sordino.summaries import Ask, Draw, Refused, Window
from sordino.summaries.totals import Ranks

__all__ = ["FITTED", "FittedStep", "fitted_price"]

FITTED = ("smooth", "published", "ptr")


def fitted_price(epsilon: Fraction, delta: Fraction, context: Context) -> ReachPrice:
    r"""What a mechanism proved for add_remove, or for replace at a public n, may spend in one group.

    Theorem. Where a replacement may change n, running the add_remove mechanism at e = epsilon/2 and delta/(1 + e^e) costs (epsilon,
    delta) under replace.
    Proof. A replacement is a removal and an addition: group privacy for two steps. QED
    """
    price = per_group(epsilon, delta, context)
    if price.relation is not Relation.REPLACE or public_size(context) is not None:
        return price
    each = min(price.epsilon / 2, Fraction(LARGEST)) if delta else price.epsilon / 2
    return ReachPrice(each, round_down(price.delta / (1 + exp_up(each)), 40) if delta else delta, Relation.ADD_REMOVE, price.full, steps=2)


@dataclass(frozen=True)
class FittedStep(Redrawn):
    r"""The order statistic of rank max(1, ceil(q n)) plus noise scaled to the data.

    Theorem. The window of ranks that is read determines the first K rungs of the ladder exactly, and with public K the truncated smooth
    bound is smooth and the truncated distance moves by at most one between neighbours.
    Proof. Rung k of any ladder of a quantile looks no further than 2 (k + 2) m ranks from q n. Beyond K the global sensitivity stands
    for the rungs, and a distance of K stands for all larger ones: the minimum with a constant keeps Lipschitz constants. QED

    Theorem. At a public n the release also holds for a replaced row that cannot be read and vanishes.
    Proof. Without one of n rows x'_(i) lies between x_(i) and x_(i+1), and the rank falls by one or stays. So both values lie at most one
    place apart in either table, within the first rung of both; and a gap of k + 1 places in one table is inside one of k + 2 places in the
    other. The empty table, which nothing can be replaced in, is given the full width, above every rung; it stands for the lower bound,
    as x_(0) does. QED
    """

    column: str
    q: Fraction
    way: str
    epsilon: Fraction
    delta: Fraction
    context: Context

    def __post_init__(self) -> None:
        _ = self.radius, self.name  # every refusal comes before the charge

    @cached_property
    def grid(self) -> Grid:
        return grid_of(self.context, self.column)

    @cached_property
    def price(self) -> ReachPrice:
        return fitted_price(self.epsilon, self.delta, self.context)

    @cached_property
    def fit(self) -> SmoothFit:
        bound = None if self.context.propose is None else self.context.propose / self.grid.step
        return SmoothFit(self.way, self.price.epsilon, self.price.delta, propose=bound, otherwise=self.context.otherwise)

    @cached_property
    def window(self) -> int:
        """K: how many rungs are looked at."""
        return self.fit.window(self.grid.width)

    @cached_property
    def radius(self) -> int:
        far = 2 * (self.window + 4) * self.context.limits.rows
        if far > 4 * FARTHEST:
            what = f"at this price {far:,} ranks around the quantile would be read in every group."
            raise QueryError("SRD-110", what, "Ask with a larger epsilon, or leave mechanism= to the planner.")
        return far

    @property
    def bar(self) -> str:
        return self.fit.bar

    @property
    def name(self) -> str:
        return self.fit.name

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.price.part(self.fit.certificate()),)

    def ladder(self, window: Window) -> tuple[int, Ladder]:
        """The quantile in steps, and its ladder as far as the window determines it."""
        seen = Glimpse(window.values, 0, self.grid.width, exact=True, first=window.first, size=window.n)
        unit = self.context.limits.rows
        if not window.n and self.price.relation is Relation.REPLACE:
            return 0, Ladder.flat(self.grid.width)
        ladder = quantile(seen, q=self.q, bounds=(0, self.grid.width), relation=self.price.relation.value, max_rows=unit)
        return int(seen.at(rank(self.q, window.n))) if window.n else 0, replace(ladder, top=self.grid.width)  # the scales are public

    def repeated(self, ask: Ask, draw: Draw, groups: Groups, copies: int) -> list[list[Answer]]:
        """Per group several draws of the noise around one quantile, for a forecast on public rows; one draw is the release."""
        named = groups if self.context.private_keys else None
        return [self._answers(window, draw, copies) for (window,) in ask(Ranks(self.column, (self.q,), self.radius, named))]

    def _answers(self, window: Window, draw: Draw, copies: int) -> list[Answer]:
        value, ladder = self.ladder(window)
        drawn = self.fit.releases(Located(value, ladder, 0, self.grid.width), draw, copies)
        return [Answer(one) if isinstance(one, Refused) else self._said(one) for one in drawn]

    def _said(self, drawn: Drawn, level: float = LEVEL) -> Answer:
        value = self.grid.value(drawn.value)
        if drawn.scale is None:
            return Answer(value, raw=(drawn.value,))
        low, high = (self.grid.value(end) for end in drawn.ends(0, self.grid.width, level))
        return Answer(value, low, high, raw=(float(drawn.value), drawn.scale))

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any] | None:
        if self.way != "published":
            return None
        again = self._said(Drawn(int(answer.raw[0]), answer.raw[1]), level)
        return again.low, again.high
