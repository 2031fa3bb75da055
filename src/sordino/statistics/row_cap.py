"""How many rows of a person are worth counting, chosen privately."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.mechanisms.exponential import Exponential
from sordino.privacy.certificate import Part
from sordino.statistics.port import Answer, Context, Counted, Groups, NoInterval, Plain, Step, grid_of
from sordino.statistics.reach import read_cells
from sordino.statistics.registry import registered
from sordino.summaries import Ask, Draw, Held
from sordino.summaries.totals import Item

__all__ = ["RowCap", "RowCapStep", "caps_to"]


@lru_cache(maxsize=64)
def caps_to(most: int) -> tuple[int, ...]:
    """The public caps to choose from: 1, 2, 3, 4, then a third of an octave apart, up to the declared limit."""
    found, size = [1, 2, 3, 4], 4.0
    while size < most:
        size *= 2 ** (1 / 3)
        found.append(math.ceil(size))
    return tuple(sorted({min(cap, most) for cap in found}))


@dataclass(frozen=True)
class RowCapStep(NoInterval):
    r"""A cap on the rows of a person, drawn from a public ladder of caps.

    Theorem. Scored by -|people with more rows than the cap - target|, the exponential mechanism at sensitivity 1 is epsilon-DP, however
    many rows people have; at sensitivity N where a person stands in N rows of the table that says how many.
    Proof. A person adds at most N to each number, and a replaced one changes it by at most N; the score moves no further. QED
    The error of a total clipped at a cap, in noise and lost rows, is least where about 1/epsilon people have more (Amin et al. 2019). The
    target is 2 ln(10)/epsilon of the price for the cap, below which the choice could not tell people from noise.
    """

    epsilon: Fraction
    context: Context
    caps: tuple[int, ...]
    bar: str = "none"

    def __post_init__(self) -> None:
        _ = self.mechanism  # every refusal comes before the charge

    @cached_property
    def mechanism(self) -> Exponential:
        return Exponential(self.epsilon, self.context.cells(len(self.caps)).counted, relation=self.context.unit.relation)

    @property
    def target(self) -> int:
        return math.ceil(2 * math.log(10) / float(self.epsilon))

    @property
    def name(self) -> str:
        return f"Exponential, one of {len(self.caps)} caps"

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part(self.mechanism.certificate()),)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        (cells,) = read_cells(ask, Item("rows"), groups)
        people = np.array([cells.get(place, 0) for place in range(len(self.caps))], np.int64)
        more = np.append(np.cumsum(people[::-1])[::-1][1:], 0)  # nobody counts with more than the declared limit
        return [Answer(self.caps[self.mechanism.release(Held(-np.abs(more - self.target)), draw)])]


@registered(
    "row_cap", about="a limit on the rows of one of them that is worth counting, chosen from a public ladder", verb=False,
)  # fmt: skip
@dataclass(frozen=True)
class RowCap(Plain):
    """The cap for totals of the rows of people, of a table with one row for each of them that says how many rows they have.

    `column` is that number, between 1 and one more than the declared limit; `by` are the groups of the question the cap is for.
    """

    column: str
    by: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    way = "exponential"

    @property
    def label(self) -> str:
        return "cap"

    def caps(self, context: Context) -> tuple[int, ...]:
        return caps_to(grid_of(context, self.column).width)

    def counted(self, context: Context) -> Counted:
        caps = self.caps(context)
        return Counted(self.column, tuple(range(len(caps))), (0, *caps))

    def question(self) -> dict[str, Any]:
        return {"statistic": "row_cap", "column": self.column, "by": list(self.by)}

    def step(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step:
        if context.grouped:
            raise QueryError("SRD-203", "one limit is drawn for all groups.", "Ask for it without groups.")
        return RowCapStep(epsilon, context, self.caps(context))
