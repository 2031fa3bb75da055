"""The rows a function of one's own is given: one sorted column, or whole rows of several, from a table of public or drawn size.

A table of private size brought to a public one: the bridge for statistics that are proved for replacements only.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sordino.privacy.relation import Relation
from sordino.schema.column import Grid
from sordino.schema.expression import And, IsNull, Name, Not, Predicate
from sordino.statistics.added import Added
from sordino.statistics.custom import Custom
from sordino.statistics.port import Context, Groups, length_grid, public_size
from sordino.statistics.ranks import share
from sordino.statistics.reach import Reach, read_totals
from sordino.summaries import Ask, Draw
from sordino.summaries.records import Records, RowMatrix
from sordino.summaries.totals import MOST_ROWS, Item, Rows, Sorted

__all__ = ["COUNT", "OwnRows", "Resize", "Thinning", "bridge", "complete", "resized_tables", "thinned"]

COUNT = Fraction(2, 25)  # of epsilon, for the number of rows
THIN = Fraction(1, 100)  # of epsilon, where it only decides whether all rows fit
SAFE = 3  # scales of its noise by which fewer rows are kept, so that none is missing
Found = Sorted | RowMatrix


def complete(columns: tuple[str, ...]) -> Predicate:
    """A row that counts: none of its columns is null."""
    return And(tuple(Not(IsNull(Name(column))) for column in columns))


@dataclass(frozen=True)
class OwnRows:
    """What is asked for, and how it looks to the function. `first` is where the condition "no column is null" stands in the frame."""

    columns: tuple[str, ...]
    several: bool
    context: Context
    first: int = 0

    @cached_property
    def grids(self) -> tuple[Grid, ...]:
        return tuple(length_grid(self.context, column) for column in self.columns)

    @property
    def item(self) -> Item:
        """How many rows count."""
        return Item("counted", index=self.first) if self.several else Item("rows", self.columns[0])

    def request(self, keys: Groups, most: int = MOST_ROWS, shares: tuple[int, ...] | None = None) -> Rows | Records:
        return Records(self.columns, keys, most, shares) if self.several else Rows(self.columns[0], keys, most, shares)

    def ask(self, ask: Ask, request: Rows | Records) -> Iterator[Found]:
        return ask(request)

    def padded(self, found: Found, size: int) -> Found:
        """Filled up with rows at the lower bounds."""
        missing = max(size - found.n, 0)
        if isinstance(found, Sorted):
            return Sorted(np.concatenate([np.zeros(missing, np.int64), found.values]), size)
        return RowMatrix(np.concatenate([np.zeros((missing, len(self.columns)), np.int64), found.values]), size, found.part)

    def floats(self, values: Any) -> Any:
        """Grid steps in the columns' own units: an array, or one for each column."""
        if not self.several:
            return (values + self.grids[0].low) * float(self.grids[0].step)
        return [(values[:, i] + grid.low) * float(grid.step) for i, grid in enumerate(self.grids)]

    def numbers(self, found: Found, custom: Custom) -> Any:
        """The rows as the user's function sees them."""
        values = self.floats(found.values)
        return custom.prepared(dict(zip(custom.columns, values, strict=True)) if self.several else values)


@dataclass(frozen=True)
class Resize:
    r"""Draw n^ = n + noise less a public margin, keep the n^ rows with the smallest keyed hashes, and fill up with the lower bound.

    Theorem. For every key, one step of the relation changes at most m of the n^ rows, whether people come, go or are replaced; so a
    mechanism that is (e, d) for m replaced rows at every public size costs (e_n + e, d) in all.
    Proof. n^ is a count with noise, e_n-DP. Given n^, the hashes choose among pairs (row, how many equal rows came before), which a
    row more or less does not reorder: at most m chosen pairs are exchanged, for others or for the constant. QED
    """

    rows: OwnRows
    epsilon: Fraction

    @cached_property
    def noise(self) -> Added:
        reach = Reach(Fraction(1), Fraction(1), self.rows.context)
        return reach.added(self.epsilon)

    def sizes(self, ask: Ask, draw: Draw, groups: Groups) -> list[int]:
        (rows,) = read_totals(ask, (self.rows.item,), groups)
        margin = math.ceil(SAFE * self.noise.scale)
        return [min(max(int(n) - margin, 1), MOST_ROWS) for n in self.noise.around(rows, draw)]

    def tables(self, ask: Ask, draw: Draw, groups: Groups) -> Iterator[Found]:
        """One table of its drawn size per group."""
        sizes = self.sizes(ask, draw, groups)
        for place, size in enumerate(sizes):
            (found,) = self.rows.ask(ask, self.rows.request(None if groups is None else (groups[place],), size))
            yield self.rows.padded(found, size)


@dataclass(frozen=True)
class Thinning:
    r"""Draw a noisy number of rows and keep the share of them that fits, by keyed hashes; all of them on every table of ordinary size.

    Theorem. Given the number and the key, a row that comes or goes comes or goes in the kept table, or does nothing there.
    Proof. Whether a pair (row, how many equal rows came before) stays depends on its hash and the share alone. QED
    """

    rows: OwnRows
    epsilon: Fraction

    @cached_property
    def noise(self) -> Added:
        reach = Reach(Fraction(1), Fraction(1), self.rows.context)
        return reach.added(self.epsilon)

    def tables(self, ask: Ask, draw: Draw, groups: Groups) -> Iterator[Found]:
        (rows,) = read_totals(ask, (self.rows.item,), groups)
        shares = tuple(share(int(n)) for n in self.noise.around(rows, draw))
        keys = groups if self.rows.context.private_keys else None
        return self.rows.ask(ask, self.rows.request(keys, shares=shares))


def bridge(relation: Relation, rows: OwnRows, epsilon: Fraction) -> Resize | None:
    """The way to a public size for a statistic that is proved for this relation; None where none is needed."""
    if relation is not Relation.REPLACE or public_size(rows.context) is not None:
        return None
    return Resize(rows, epsilon * COUNT)


def thinned(relation: Relation, rows: OwnRows, epsilon: Fraction, *, replaced: bool) -> Resize | Thinning | None:
    """The same for what must not see a row exchanged where one came or went: a cut table would do that, a thinned one does not."""
    if relation is Relation.REPLACE:
        return bridge(relation, rows, epsilon)
    return None if replaced else Thinning(rows, epsilon * THIN)


def resized_tables(ask: Ask, draw: Draw, groups: Groups, *, resize: Resize | Thinning | None, rows: OwnRows) -> Iterator[Found]:
    """Every group's rows, over the bridge if there is one."""
    if resize is not None:
        return resize.tables(ask, draw, groups)
    return rows.ask(ask, rows.request(groups if rows.context.private_keys else None))
