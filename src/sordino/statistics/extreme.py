"""The smallest and the largest value of a column, as near to the ends as privacy allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from sordino.mechanisms.rank_exponential import RankExponential
from sordino.privacy.certificate import Part
from sordino.statistics.port import LEVEL, Answer, Context, Groups, Plain, Step
from sordino.statistics.ranks import Ordered, placed, rank_reach
from sordino.statistics.registry import registered
from sordino.summaries import Ask, Draw, Held
from sordino.summaries.totals import Ranks

__all__ = ["Extreme", "ExtremeStep", "max", "min"]


@dataclass(frozen=True)
class ExtremeStep(Ordered):
    """The value of the least rank from an end that the mechanism can still tell from beyond the data, by public facts.

    A point beyond the extreme is r ranks off, and there may be as many such points as the grid has: they are outweighed from
    r = ln(mass)/rate on. At r = 0 the answer would be uniform beyond the extreme.
    """

    @property
    def upper(self) -> bool:
        return self.levels == (Fraction(1),)

    @cached_property
    def mechanism(self) -> RankExponential:
        price = self.price
        facts = {"max_rows": self.context.limits.rows, "relation": price.relation, "upper": self.upper, **placed(self.grid)}
        least = RankExponential(price.epsilon, **facts)
        rank = math.ceil(math.log(int(least.measure.total(least.high))) / float(least.rate))
        return RankExponential(price.epsilon, rank=rank, **facts)

    @property
    def name(self) -> str:
        end = "largest" if self.upper else "smallest"
        return f"RankExponential, {self.base}, row {self.mechanism.rank:,} from the {end}"

    @property
    def covers(self) -> str:
        """What the answer stands for: the extreme itself is out of reach."""
        return f"the value of row {self.mechanism.rank:,} from the {'largest' if self.upper else 'smallest'}"

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.price.part(self.mechanism.certificate()),)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        named, far, wanted = groups if self.context.private_keys else None, self.rank_width(LEVEL), self.mechanism.request
        asked = ask(Ranks(self.column, (wanted.q,), wanted.radius, named))
        return [self._answer([self.mechanism.release(Held(window), draw)], far) for (window,) in asked]

    def rank_width(self, level: float = LEVEL) -> float:
        """Rows between the extreme and the answer at most, with probability `level`."""
        return self.mechanism.rank + rank_reach(self.mechanism, 1 - level)


@dataclass(frozen=True)
class Extreme(Plain):
    """The minimum or the maximum: both are out of reach of privacy itself, so the answer is the nearest value that is not.

    How many rows it is from the end is a public fact and part of the mechanism's name.
    """

    column: str
    upper: bool
    way = "exponential"
    ranged = True

    @property
    def kind(self) -> str:
        return "max" if self.upper else "min"

    @property
    def label(self) -> str:
        return f"{self.kind}({self.column})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def question(self) -> dict[str, Any]:
        return {"statistic": self.kind, "column": self.column}

    def step(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step:
        return ExtremeStep(self.column, (Fraction(int(self.upper)),), "one", epsilon, context)


@registered(
    about="a low quantile of {of} that stands for its minimum{clamped}", sql=("MIN",), together=True, menu=(10, "minimum"),
    examples=(("", ("age",), {}),),
)  # fmt: skip
def min(column: str) -> Extreme:
    """The smallest value of a column, as far as privacy can tell."""
    return Extreme(column, upper=False)


@registered(about="a high quantile of {of} that stands for its maximum{clamped}", sql=("MAX",), together=True, menu=(11, "maximum"))
def max(column: str) -> Extreme:
    """The largest value of a column, as far as privacy can tell."""
    return Extreme(column, upper=True)
