"""One release of a custom statistic with noise that fits the data, or of its exact value where that is stable."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from sordino.errors import QueryError
from sordino.mechanisms.propose_ladder import ProposeLadder
from sordino.mechanisms.stability import Stability
from sordino.privacy.certificate import Part
from sordino.privacy.relation import Relation
from sordino.statistics.custom import Custom
from sordino.statistics.evaluation import SLACK, Evaluation, called, plain
from sordino.statistics.own_rows import COUNT, OwnRows, Resize, bridge, resized_tables
from sordino.statistics.port import LEVEL, Answer, Groups, ReachPrice, Redrawn, per_group
from sordino.statistics.smooth_fit import Drawn, SmoothFit, smoothness
from sordino.summaries import Ask, Draw, Held, Near, Refused
from sordino.summaries.totals import MOST_ROWS

__all__ = ["OwnStep"]

MOST_RUNGS = 1_000_000
PROPOSALS = 16


@dataclass(frozen=True)
class OwnStep(Redrawn):
    r"""A custom statistic by smooth sensitivity, a published bound, propose-test-release or stability.

    Theorem. If the author's claims hold, the release costs what it says: claims about rows that come and go for people of m rows, as m
    steps, and for replaced people as 2 m; claims about people as one step, or as two; a statistic claimed for replacements directly
    where n is public, and otherwise on a table of a drawn size, for m replaced rows, in m steps or at once.
    Proof. `Custom.moves` counts the steps: a cut table loses at most m rows and gains at most m when a person is replaced. `Evaluation`
    makes of the claims a ladder that is legal for whole units, and a distance that moves by at most one between them; `Resize` makes a
    table of public size at a price of its own. QED
    """

    custom: Custom
    rows: OwnRows
    way: str
    epsilon: Fraction
    delta: Fraction
    propose: Fraction | None = None
    otherwise: str = "refuse"

    def __post_init__(self) -> None:
        _ = self.mechanism, self.rows.grids, self.evaluation  # every refusal comes before the charge
        if isinstance(self.mechanism, SmoothFit) and self.mechanism.window(self.evaluation.top) * self.evaluation.moves > MOST_RUNGS:
            what = "at this price the sensitivity would have to be asked for too many distances."
            raise QueryError("SRD-110", what, "Ask with a larger epsilon.")

    @cached_property
    def resize(self) -> Resize | None:
        return bridge(self.custom.relation, self.rows, self.epsilon)

    @cached_property
    def price(self) -> ReachPrice:
        return per_group(self.epsilon * (1 if self.resize is None else 1 - COUNT), self.delta, self.rows.context)

    @cached_property
    def evaluation(self) -> Evaluation:
        replaced = self.price.relation is Relation.REPLACE
        moves = self.custom.moves(self.rows.context.limits.rows, replaced=replaced)
        swaps = replaced or self.custom.relation is Relation.REPLACE  # covered by the count of steps, whether a table was cut or not
        return Evaluation(self.custom, moves, None if swaps else MOST_ROWS)

    @cached_property
    def mechanism(self) -> SmoothFit | Stability | ProposeLadder:
        if self.way == "ladder":
            return ProposeLadder(self.price.epsilon, self.price.delta, self.proposals)
        if self.way == "stability":
            return Stability(self.price.epsilon, self.price.delta)
        bound = None if self.propose is None else self.evaluation.bound(self.propose)
        beta = smoothness(self.way, self.price.epsilon, None, 0.0) if self.way == "published" else None
        return SmoothFit(self.way, self.price.epsilon, self.price.delta, beta, bound, self.otherwise)

    @property
    def proposals(self) -> tuple[Fraction, ...]:
        """Bounds in steps, each twice the one before, up to half the range; with otherwise="global" up to all of it."""
        top = self.evaluation.top
        last = top if self.otherwise == "global" else Fraction(top, 2)
        return tuple(Fraction(last) / 2**i for i in reversed(range(PROPOSALS)))

    @property
    def bar(self) -> str:
        return self.mechanism.bar if isinstance(self.mechanism, SmoothFit) else "none"

    @property
    def name(self) -> str:
        resized = "" if self.resize is None else f", resized to a number of rows drawn at {float(100 * COUNT):g}% of epsilon"
        own = self.mechanism.name if isinstance(self.mechanism, SmoothFit) else type(self.mechanism).__name__
        return f"{own}, {self.custom.__name__}{resized}"

    @property
    def parts(self) -> tuple[Part, ...]:
        own = self.mechanism.certificate()
        said = f"{own.assumptions}; {self.custom.claim}" if own.assumptions else self.custom.claim
        counted = () if self.resize is None else (self.resize.noise.part,)
        return (*counted, self.price.part(replace(own, assumptions=said)))

    def repeated(self, ask: Ask, draw: Draw, groups: Groups, copies: int) -> list[list[Answer]]:
        """Per group several draws around one ladder, for a forecast on public rows; one draw is the release."""
        tables = resized_tables(ask, draw, groups, resize=self.resize, rows=self.rows)
        return [self._answers(self.rows.numbers(found, self.custom), draw, copies) for found in tables]

    def _answers(self, x: Any, draw: Draw, copies: int) -> list[Answer]:
        if isinstance(self.mechanism, Stability):
            value = plain(called(self.custom.function, x))
            near = Near(self.evaluation.distance(x, most=self.mechanism.least_distance * 4), value)
            return [Answer(self.mechanism.release(Held(near), draw)) for _ in range(copies)]
        if isinstance(self.mechanism, ProposeLadder):
            nearness = self._nearness(x)
            told = [self.mechanism.release(nearness, draw) for _ in range(copies)]
            return [Answer(found) if isinstance(found, Refused) else self._said(Drawn(round(found[0]))) for found in told]
        drawn = self.mechanism.releases(self.evaluation.located(x, self.propose), draw, copies)
        return [Answer(found) if isinstance(found, Refused) else self._said(found) for found in drawn]

    def _nearness(self, x: Any) -> Ask:
        """The distance to each proposed bound, from one ladder, or as its author says for the part of it a step may take."""
        made, most = self.evaluation, self.mechanism.longest  # type: ignore[union-attr]
        value, known = made.value(x), self.custom.rungs is not None
        rungs = made.ladder(x).rungs(most) if known else None

        def reply(request: Any) -> Near:
            if rungs is None:
                allowed = max(request.above - SLACK * made.moves, Fraction(0)) * made.step
                return Near(made.distance(x, allowed, most) if allowed else 0, value, made.top, 0, made.top)
            above = rungs > math.floor(request.above)
            return Near(int(above.argmax()) if above.any() else most, value, made.top, 0, made.top)

        return reply  # type: ignore[return-value]

    def _said(self, drawn: Drawn, level: float = LEVEL) -> Answer:
        def value(steps: int) -> float:
            return float(self.evaluation.range[0] + steps * self.evaluation.step)

        if drawn.scale is None:
            return Answer(value(drawn.value), raw=(drawn.value,))
        low, high = drawn.ends(0, self.evaluation.top, level)
        return Answer(value(drawn.value), value(low), value(high), raw=(drawn.value, drawn.scale))

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any] | None:
        if self.bar == "none":
            return None
        again = self._said(Drawn(int(answer.raw[0]), answer.raw[1]), level)
        return again.low, again.high
