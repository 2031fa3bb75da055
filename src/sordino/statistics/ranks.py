"""Order statistics of a column from windows of ranks: every level drawn alone, or all of them in one draw.

Very many quantiles of a column, by splitting its rows again and again.

Several quantiles at once: which of the three ways comes first, by public facts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from sordino.errors import QueryError
from sordino.mechanisms.approximate_quantiles import ApproximateQuantiles
from sordino.mechanisms.joint_exponential import JointExponential
from sordino.mechanisms.quantile_exponential import QuantileExponential
from sordino.privacy.certificate import Part
from sordino.schema.column import Grid
from sordino.statistics.added import Added
from sordino.statistics.port import LEVEL, Answer, Context, Groups, NoInterval, ReachPrice, Step, Ways, grid_of, per_row
from sordino.statistics.reach import read_totals
from sordino.summaries import Ask, Draw, Held, Window
from sordino.summaries.totals import ALL, MOST_ROWS, Item, Ranks, Rows

__all__ = ["SPELT", "HalvingStep", "JointStep", "Ordered", "RankStep", "placed", "quantile_mechanism", "rank_reach", "several"]

SPELT = 12  # more levels than this are not all named
WIDE = 2**32  # bounds this many units of the column apart say little about where the rows are
DOUBTFUL = 2**20  # where the caller says the bounds are of no use, these already do


def placed(grid: Grid, *, private: bool = False) -> dict[str, Any]:
    """The grid and base measure of a quantile mechanism, by the bounds alone.

    Uniform over the grid, or, where the bounds are very wide, with mass falling like one over the distance from zero.
    """
    if grid.kind in ("date", "timestamp") or grid.width * grid.step < (DOUBTFUL if private else WIDE):
        return {"low": 0, "high": grid.width}
    origin = min(max(-grid.low, 0), grid.width)
    return {"low": 0, "high": grid.width, "base": "arsinh", "origin": origin, "unit": max(1, math.floor(1 / grid.step))}


def quantile_mechanism(grid: Grid, q: Fraction, epsilon: Fraction, context: Context, *, private: bool = False) -> QuantileExponential:
    """The mechanism of one level in one group."""
    price, rows = per_row(epsilon, context), context.limits.rows
    return QuantileExponential(price.epsilon, q, max_rows=rows, relation=price.relation, **placed(grid, private=private))


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
class Ordered(NoInterval):
    """What all ways to draw the quantiles of one column share: the grid, the price, and what is made of the drawn points."""

    column: str
    levels: tuple[Fraction, ...]
    shape: str  # one | many | range
    epsilon: Fraction
    context: Context
    private: bool = False  # the caller says the bounds are of no use
    why: str = ""  # what to say before paying
    bar = "rank"

    def __post_init__(self) -> None:
        _ = self.rank_width()  # every refusal comes before the charge

    @cached_property
    def grid(self) -> Grid:
        return grid_of(self.context, self.column)

    @cached_property
    def price(self) -> ReachPrice:
        """Of one group; a quantile's loss is linear in the rows of a person there."""
        return per_row(self.epsilon, self.context)

    @property
    def base(self) -> str:
        return str(placed(self.grid, private=self.private).get("base", "uniform"))

    def _answer(self, drawn: Sequence[int], far: float) -> Answer:
        return Answer(self._value(drawn), ranks=(-far, far), raw=tuple(drawn))

    def _value(self, drawn: Sequence[int]) -> Any:
        if self.shape == "range":
            return self.grid.length(max(drawn[1] - drawn[0], 0))
        ordered = [self.grid.value(v) for v in sorted(drawn)]
        return ordered[0] if self.shape == "one" else tuple(ordered)

    def _called(self, name: str) -> str:
        said = [f"{float(q):.4g}" for q in self.levels]
        return f"{name}, {self.base}, q = {', '.join(said if len(said) <= SPELT else [*said[:2], '...', said[-1]])}"

    @property
    def name(self) -> str:
        raise NotImplementedError

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        raise NotImplementedError

    def rank_width(self, level: float = LEVEL) -> float:
        raise NotImplementedError

    def warning(self, rows: int | None) -> str:
        return self.why


@dataclass(frozen=True)
class RankStep(Ordered):
    """Every level by a draw of its own, at an equal share of the price."""

    @cached_property
    def mechanisms(self) -> tuple[QuantileExponential, ...]:
        each = self.epsilon / len(self.levels)
        return tuple(quantile_mechanism(self.grid, q, each, self.context, private=self.private) for q in self.levels)

    @property
    def name(self) -> str:
        return self._called("QuantileExponential")

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(self.price.part(mechanism.certificate()) for mechanism in self.mechanisms)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        radius, far = max(mechanism.radius for mechanism in self.mechanisms), self.rank_width(LEVEL)
        answers = []
        for windows in ask(Ranks(self.column, self.levels, radius, groups if self.context.private_keys else None)):
            pairs = zip(self.mechanisms, windows, strict=True)
            drawn = [mechanism.release(Held(window), draw) for mechanism, window in pairs]
            answers.append(self._answer(drawn, far))
        return answers

    def rank_width(self, level: float = LEVEL) -> float:
        """Rows within which every level's rank is met at once with probability `level`: sorting the answers keeps a common bound."""
        rare = (1 - level) / len(self.levels)
        return max(rank_reach(mechanism, rare) for mechanism in self.mechanisms)


@dataclass(frozen=True)
class JointStep(Ordered):
    """All levels in one draw."""

    @cached_property
    def mechanism(self) -> JointExponential:
        rows, where = self.context.limits.rows, placed(self.grid, private=self.private)
        return JointExponential(self.price.epsilon, self.levels, max_rows=rows, relation=self.price.relation, **where)

    @property
    def name(self) -> str:
        return self._called("JointExponential")

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.price.part(self.mechanism.certificate()),)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        named, far = groups if self.context.private_keys else None, self.rank_width(LEVEL)
        asked = ask(Ranks(self.column, self.levels, self.mechanism.radius + 1, named))
        return [self._answer(self._drawn(windows, draw), far) for windows in asked]

    def _drawn(self, windows: Sequence[Window], draw: Draw) -> tuple[int, ...]:
        of = dict(zip(self.levels, windows, strict=True))

        def held(request: Any) -> Any:
            return of[request.q]

        return self.mechanism.release(held, draw)

    def rank_width(self, level: float = LEVEL) -> float:
        return self.mechanism.rank_reach(1 - level)

    @property
    def work(self) -> int:
        """A public measure of how long the sums over all tuples of one group take."""
        return self.mechanism.radius * len(self.levels) ** 2


COUNTED = Fraction(1, 100)  # of the price, for counting the rows first


@dataclass(frozen=True)
class HalvingStep(Ordered):
    r"""All levels by recursive halving, on all rows of a group, or on a random share of them where they are more than fit.

    Theorem. Drawing a noisy count first, and keeping each row by its keyed hash with a share that follows from it, costs no more than
    the count and the halving together.
    Proof. Given the count and the key the share is a constant, and an added row is an added row or nothing. QED
    """

    @cached_property
    def count(self) -> Added:
        return Added(self.price.epsilon * COUNTED, self.context.limits.rows)

    @cached_property
    def mechanism(self) -> ApproximateQuantiles:
        rows, where = self.context.limits.rows, placed(self.grid, private=self.private)
        return ApproximateQuantiles(self.price.epsilon * (1 - COUNTED), self.levels, max_rows=rows, relation=self.price.relation, **where)

    @property
    def name(self) -> str:
        return self._called("ApproximateQuantiles")

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.price.part(self.count.certificate()), self.price.part(self.mechanism.certificate()))

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        (rows,) = read_totals(ask, (Item("rows", self.column),), groups)
        shares = tuple(share(int(n)) for n in self.count.around(rows, draw))
        far = self.rank_width(LEVEL)
        answers = []
        for table in ask(Rows(self.column, groups if self.context.private_keys else None, shares=shares)):
            drawn = self.mechanism.release(Held(table), draw)
            answers.append(self._answer(drawn, far))
        return answers

    def rank_width(self, level: float = LEVEL) -> float:
        """Where all rows are kept, as they are if no more are declared than fit; ranks of a share say less, and nothing is promised."""
        thinned = (self.context.size or 0) * self.context.unit.max_rows > MOST_ROWS
        return math.inf if thinned else self.mechanism.rank_reach(1 - level)


def share(rows: int) -> int:
    """How many rows out of 2^32 may stay for a group of about so many to fit."""
    return ALL if rows <= MOST_ROWS else ALL * MOST_ROWS // rows


GROUP_WORK = 1_000_000  # a few seconds for one group of a large table
WORK = 10_000_000
GROUPS = 20  # how many private groups to expect


def several(column: str, levels: tuple[Fraction, ...], shape: str, epsilon: Fraction, context: Context, *, private: bool) -> Ways:
    """One draw for all levels is best where its sums are short enough; then halving, which from three levels on beats single draws."""
    facts = (column, levels, shape, epsilon, context, private)
    ways: dict[str, Callable[[], Step]] = {
        "joint_exponential": lambda: JointStep(*facts),
        "approximate": lambda: HalvingStep(*facts),
        "exponential": lambda: RankStep(*facts),
    }
    if len(levels) == 1:
        order = ["exponential", "joint_exponential", "approximate"]
    elif quick(JointStep, *facts):
        order = ["joint_exponential", "approximate", "exponential"]
    else:
        order = ["approximate", "exponential"] if len(levels) > 2 else ["exponential", "approximate"]
        order.append("joint_exponential")
    return {way: ways[way] for way in order}


def quick(make: type[JointStep], *facts: Any) -> bool:
    """Whether the joint draw is possible here and short enough, whatever the table holds."""
    try:
        work = make(*facts).work
    except QueryError:
        return False
    context: Context = facts[4]
    groups = 1 if not context.grouped else len(context.keys) if context.keys is not None else GROUPS
    return work <= GROUP_WORK and work * groups <= WORK
