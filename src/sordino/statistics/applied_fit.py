"""One release of a custom statistic with noise that fits the data, or of its exact value where that is stable.

A table of private size brought to a public one: the bridge for statistics that are proved for replacements only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.mechanisms.stability import Stability
from sordino.privacy.certificate import Part
from sordino.privacy.relation import Relation
from sordino.schema.column import Grid
from sordino.statistics.added import Added
from sordino.statistics.custom import Custom
from sordino.statistics.evaluation import Evaluation, Floats, called, plain
from sordino.statistics.port import LEVEL, Answer, Context, Groups, Priced
from sordino.statistics.ranks import share
from sordino.statistics.reach import Reach, ReachPrice, length_grid, per_group, public_size, read_totals
from sordino.statistics.smooth_fit import Drawn, SmoothFit, smoothness
from sordino.summaries import Ask, Draw, Held, Near, Refused
from sordino.summaries.totals import MOST_ROWS, Item, Rows, Sorted

__all__ = ["COUNT", "THIN", "OwnStep", "Resize", "Thinning", "as_numbers", "bridge", "resized_tables"]

COUNT = Fraction(2, 25)  # of epsilon, for the number of rows
THIN = Fraction(1, 100)  # of epsilon, where it only decides whether all rows fit
SAFE = 3  # scales of its noise by which fewer rows are kept, so that none is missing


@dataclass(frozen=True)
class Resize:
    r"""Draw n^ = n + noise less a public margin, keep the n^ rows with the smallest keyed hashes, and fill up with the lower bound.

    Theorem. For every key, one step of the relation changes at most m of the n^ rows, whether people come, go or are replaced; so a
    mechanism that is (e, d) for m replaced rows at every public size costs (e_n + e, d) in all.
    Proof. n^ is a count with noise, e_n-DP. Given n^, the hashes choose among pairs (value, how many equal values came before), which a
    row more or less does not reorder: at most m chosen pairs are exchanged, for others or for the constant. QED
    """

    column: str
    epsilon: Fraction
    context: Context

    @cached_property
    def noise(self) -> Added:
        reach = Reach(Fraction(1), Fraction(1), self.context)
        return reach.added(self.epsilon)

    def sizes(self, ask: Ask, draw: Draw, groups: Groups) -> list[int]:
        (rows,) = read_totals(ask, (Item("rows", self.column),), groups)
        margin = math.ceil(SAFE * self.noise.scale)
        return [min(max(int(n) - margin, 1), MOST_ROWS) for n in self.noise.around(rows, draw)]

    def tables(self, ask: Ask, draw: Draw, groups: Groups) -> Iterator[Sorted]:
        """One table of its drawn size per group."""
        sizes = self.sizes(ask, draw, groups)
        for place, size in enumerate(sizes):
            (found,) = ask(Rows(self.column, None if groups is None else (groups[place],), size))
            padded = np.concatenate([np.zeros(max(size - found.n, 0), np.int64), found.values])
            yield Sorted(padded, size)


@dataclass(frozen=True)
class Thinning:
    r"""Draw a noisy number of rows and keep the share of them that fits, by keyed hashes; all of them on every table of ordinary size.

    Theorem. Given the number and the key, a row that comes or goes comes or goes in the kept table, or does nothing there.
    Proof. Whether a pair (value, how many equal values came before) stays depends on its hash and the share alone. QED
    """

    column: str
    epsilon: Fraction
    context: Context

    @cached_property
    def noise(self) -> Added:
        reach = Reach(Fraction(1), Fraction(1), self.context)
        return reach.added(self.epsilon)

    def tables(self, ask: Ask, draw: Draw, groups: Groups) -> Iterator[Sorted]:
        (rows,) = read_totals(ask, (Item("rows", self.column),), groups)
        shares = tuple(share(int(n)) for n in self.noise.around(rows, draw))
        found: Iterator[Sorted] = ask(Rows(self.column, groups if self.context.private_keys else None, shares=shares))
        return found


def bridge(relation: Relation, column: str, epsilon: Fraction, context: Context) -> Resize | None:
    """The way to a public size for a statistic that is proved for this relation; None where none is needed."""
    if relation is not Relation.REPLACE or public_size(context) is not None:
        return None
    return Resize(column, epsilon * COUNT, context)


def resized_tables(
    ask: Ask, draw: Draw, groups: Groups, *, resize: Resize | Thinning | None, column: str, context: Context
) -> Iterator[Sorted]:
    """Every group's sorted rows, over the bridge if there is one."""
    if resize is not None:
        return resize.tables(ask, draw, groups)
    found: Iterator[Sorted] = ask(Rows(column, groups if context.private_keys else None))
    return found


MOST_RUNGS = 1_000_000


def as_numbers(rows: Sorted, grid: Grid, custom: Custom) -> Floats:
    """The rows as the user's function sees them."""
    return custom.prepared((rows.values + grid.low) * float(grid.step))


@dataclass(frozen=True)
class OwnStep(Priced):
    r"""A custom statistic by smooth sensitivity, a published bound, propose-test-release or stability.

    Theorem. If the author's claims hold, the release costs what it says: claims about rows that come and go for people of m rows, as m
    steps, and for replaced people as 2 m; claims about people as one step, or as two; a statistic claimed for replacements directly
    where n is public, and otherwise on a table of a drawn size, for m replaced rows, in m steps or at once.
    Proof. `Custom.moves` counts the steps: a cut table loses at most m rows and gains at most m when a person is replaced. `Evaluation`
    makes of the claims a ladder that is legal for whole units, and a distance that moves by at most one between them; `Resize` makes a
    table of public size at a price of its own. QED
    """

    custom: Custom
    column: str
    way: str
    epsilon: Fraction
    delta: Fraction
    context: Context
    propose: Fraction | None = None
    otherwise: str = "refuse"

    def __post_init__(self) -> None:
        _ = self.mechanism, self.grid, self.evaluation  # every refusal comes before the charge
        if isinstance(self.mechanism, SmoothFit) and self.mechanism.window(self.evaluation.top) * self.evaluation.moves > MOST_RUNGS:
            what = "at this price the sensitivity would have to be asked for too many distances."
            raise QueryError("SRD-110", what, "Ask with a larger epsilon.")

    @cached_property
    def grid(self) -> Grid:
        return length_grid(self.context, self.column)

    @cached_property
    def resize(self) -> Resize | None:
        return bridge(self.custom.relation, self.column, self.epsilon, self.context)

    @cached_property
    def price(self) -> ReachPrice:
        return per_group(self.epsilon * (1 if self.resize is None else 1 - COUNT), self.delta, self.context)

    @cached_property
    def evaluation(self) -> Evaluation:
        replaced = self.price.relation is Relation.REPLACE
        moves = self.custom.moves(self.context.limits.rows, replaced=replaced)
        swaps = replaced or self.custom.relation is Relation.REPLACE  # covered by the count of steps, whether a table was cut or not
        return Evaluation(self.custom, moves, None if swaps else Rows(self.column).most)

    @cached_property
    def mechanism(self) -> SmoothFit | Stability:
        if self.way == "stability":
            return Stability(self.price.epsilon, self.price.delta)
        bound = None if self.propose is None else self.evaluation.bound(self.propose)
        beta = smoothness(self.way, self.price.epsilon, None, 0.0) if self.way == "published" else None
        return SmoothFit(self.way, self.price.epsilon, self.price.delta, beta, bound, self.otherwise)

    @property
    def bar(self) -> str:
        return self.mechanism.bar if isinstance(self.mechanism, SmoothFit) else "none"

    @property
    def name(self) -> str:
        resized = "" if self.resize is None else f", resized to a number of rows drawn at {float(100 * COUNT):g}% of epsilon"
        return f"{self.mechanism.name if isinstance(self.mechanism, SmoothFit) else 'Stability'}, {self.custom.__name__}{resized}"

    @property
    def parts(self) -> tuple[Part, ...]:
        own = self.mechanism.certificate()
        said = f"{own.assumptions}; {self.custom.claim}" if own.assumptions else self.custom.claim
        counted = () if self.resize is None else (self.resize.noise.part,)
        return (*counted, self.price.part(replace(own, assumptions=said)))

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        tables = resized_tables(ask, draw, groups, resize=self.resize, column=self.column, context=self.context)
        return [self._answer(as_numbers(rows, self.grid, self.custom), draw) for rows in tables]

    def _answer(self, x: Floats, draw: Draw) -> Answer:
        if isinstance(self.mechanism, Stability):
            value = plain(called(self.custom.function, x))
            near = Near(self.evaluation.distance(x, most=self.mechanism.least_distance * 4), value)
            return Answer(self.mechanism.release(Held(near), draw))
        drawn = self.mechanism.release(self.evaluation.located(x, self.propose), draw)
        return Answer(drawn) if isinstance(drawn, Refused) else self._said(drawn)

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

    def width(self, rows: int | None, level: float = LEVEL) -> None:
        return None

    def rmse(self, rows: int | None) -> None:
        return None
