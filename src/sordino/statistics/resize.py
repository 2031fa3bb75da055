"""A table of private size brought to a public one: the bridge for statistics that are proved for replacements only."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from sordino.privacy.relation import Relation
from sordino.statistics.added import Added
from sordino.statistics.halving import share
from sordino.statistics.port import Context, Groups
from sordino.statistics.reach import Reach, public_size
from sordino.statistics.read import read_totals
from sordino.summaries import Ask, Draw
from sordino.summaries.totals import MOST_ROWS, Item, Rows, Sorted

__all__ = ["COUNT", "THIN", "Resize", "Thinning", "bridge", "resized_tables"]

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
