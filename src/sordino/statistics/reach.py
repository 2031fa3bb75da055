"""How far one step of the neighbour relation reaches into the totals of a grouped table.

Reading summaries: totals lined up with the groups that will be answered, and tallies of a counted column.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.privacy.relation import Limits, Relation
from sordino.statistics.added import Added, AddedGaussian, TotalNoise, quieter
from sordino.statistics.port import Context, Groups
from sordino.summaries import Ask, Tally
from sordino.summaries.totals import GroupTotals, Item, Totals

__all__ = [
    "Reach",
    "Whole",
    "key_order",
    "line_up",
    "read_cells",
    "read_totals",
    "tally",
]


@dataclass(frozen=True)
class Reach:
    r"""The sensitivity of a vector of totals, from the largest contribution of one row.

    `add` bounds the norm of one row's contribution to its group, `swap` the distance of two rows' contributions (or of a row and none).

    Theorem. With N rows of a person that count, in J groups, Q their largest sum of squares, one step moves all totals by at most:
    ungrouped, N add under add_remove and N swap under replace; grouped, in L1 norm N add and 2 N add; in L2 norm sqrt(Q) add, and under
    replace sqrt(Q) max(sqrt(2) add, swap) where full groups use up all rows, sqrt(2 Q (add^2 + (swap - add)^2)) otherwise.
    Proof. An added person contributes at most N rows, r_i of them to group i, and coordinates of different groups are different. A
    replaced person leaves and enters: where both touch a group with a and b rows it moves by at most min(a, b) swap + |a - b| add <=
    max(a, b) add + min(a, b) (swap - add), whose square is at most (a^2 + b^2) (add^2 + (swap - add)^2) by Cauchy and Schwarz; sum over
    groups. As swap <= 2 add, that move is convex in (a, b), so both people may be taken at vertices; with all groups of both full, j of
    them in common, the squares sum to r^2 (j swap^2 + 2 (k - j) add^2), largest at j = 0 or j = k. QED
    """

    add: Fraction
    swap: Fraction
    context: Context

    @property
    def limits(self) -> Limits:
        return self.context.limits

    @property
    def _replaced(self) -> bool:
        return self.context.unit.relation is Relation.REPLACE

    @property
    def touched(self) -> int:
        """How many groups one step can change."""
        return self.limits.touched * (2 if self._replaced and self.context.grouped else 1)

    def first(self, scale: Fraction = Fraction(1), rounded: int = 0) -> int:
        """The L1 sensitivity of totals multiplied by `scale`, `rounded` of whose coordinates per group are then cut to whole numbers.

        Cutting to whole numbers moves a coordinate that moved by d at most by ceil(d): one more per coordinate that moved.
        """
        return math.ceil(self.limits.counted * self._row * scale) + self.touched * rounded

    def one(self, scale: Fraction = Fraction(1), rounded: int = 0) -> int:
        """How much of that can fall on one group."""
        return min(math.ceil(self.limits.rows * self._row * scale) + rounded, self.first(scale, rounded))

    @property
    def _row(self) -> Fraction:
        if not self._replaced:
            return self.add
        return 2 * self.add if self.context.grouped else self.swap

    def second(self) -> Fraction:
        """The L2 sensitivity, rounded up; here `add` and `swap` are squared norms."""
        limits = self.limits
        if not self._replaced:
            return root_up(limits.squares * self.add)
        if not self.context.grouped:
            return root_up(limits.squares * self.swap)
        if not limits.rest:
            return root_up(limits.squares * max(2 * self.add, self.swap))
        apart = max(Fraction(0), root_up(self.swap) - root_up(self.add) + Fraction(2, 10**12))
        return root_up(2 * limits.squares * (self.add + apart**2))

    def added(self, epsilon: Fraction, scale: Fraction = Fraction(1), rounded: int = 0, coordinates: int = 1) -> Added:
        """Laplace noise for totals multiplied by `scale`, `coordinates` of them per group."""
        return Added(epsilon, self.first(scale, rounded), coordinates * self.touched, self.one(scale, rounded))

    def noises(
        self, epsilon: Fraction, delta: Fraction, squared: tuple[Fraction, Fraction], *, scale: Fraction = Fraction(1), rounded: int = 0,
        coordinates: int = 1,
    ) -> dict[str, TotalNoise]:  # fmt: skip
        r"""Laplace noise, and Gaussian noise where a delta is offered, the narrower first; `squared` are add and swap as squared L2 norms.

        Theorem. Gaussian noise for the L2 sensitivity of the totals times `scale`, and sqrt(k) more where k of the coordinates that move
        are then cut to whole numbers, is (epsilon, delta)-DP.
        Proof. Cutting moves a coordinate that moved by d by at most |d| + 1, and leaves alone one that did not move: the triangle
        inequality. QED
        One person's rows in one group give Laplace noise the same norm, and there Gaussian noise has nothing to gain: it is offered
        where rows may fall on several groups, and on ledgers that add rho.
        """
        laplace, limits = self.added(epsilon, scale, rounded, coordinates), self.limits
        if not delta or not (self.context.adds_rho or limits.counted**2 > limits.squares):
            return {"laplace": laplace}
        cut = root_up(Fraction(rounded * self.touched)) if rounded else Fraction(0)
        far = Reach(*squared, self.context).second() * scale + cut
        return quieter(laplace, AddedGaussian(epsilon, delta, far, coordinates * self.touched))


def root_up(square: Fraction) -> Fraction:
    """A rational just above the square root."""
    scaled = math.ceil(square * 10**24)
    root = math.isqrt(scaled)
    return Fraction(root if root * root == scaled else root + 1, 10**12)


Whole = NDArray[np.object_]


def read_totals(ask: Ask, items: tuple[Item, ...], groups: Groups) -> list[Whole]:
    """For each item one exact Python integer per group, in the order of `groups`; a group the engine did not meet has totals of 0."""
    return line_up(ask(Totals(items)), items, groups)


def line_up(answer: GroupTotals, items: tuple[Item, ...], groups: Groups) -> list[Whole]:
    """Totals an engine gave, in the order of `groups`."""
    columns = [np.array([int(v) for v in answer.values[item]], object) for item in items]
    if groups is None or answer.keys == groups:
        return columns
    place = {key: i for i, key in enumerate(answer.keys)}
    where = [place.get(key, -1) for key in groups]
    return [np.array([column[i] if i >= 0 else 0 for i in where], object) for column in columns]


def read_cells(ask: Ask, item: Item, groups: Groups) -> list[dict[Any, int]]:
    """The item of every value of a counted column, one dict per group of the query."""
    answer: GroupTotals = ask(Totals((item,)))
    found: dict[tuple[Any, ...], dict[Any, int]] = {group: {} for group in groups or ((),)}
    for key, value in zip(answer.keys, answer.values[item], strict=True):
        if key[:-1] in found:
            found[key[:-1]][key[-1]] = int(value)
    return list(found.values())


def key_order(key: Any) -> list[Any]:
    """The canonical place of a key, or of a group of them."""
    from sordino.sensitivity.distance import canonical

    return [canonical(part) for part in key] if isinstance(key, tuple) else [canonical(key)]


def tally(cells: dict[Any, int]) -> Tally:
    """Cells that occur, as a mechanism wants them: in canonical byte order, so that the order of rows cannot show."""
    keys = tuple(sorted((key for key, count in cells.items() if count > 0), key=key_order))
    return Tally(keys, np.array([cells[key] for key in keys], np.int64))
