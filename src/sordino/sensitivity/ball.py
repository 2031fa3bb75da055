"""All tables within some rows of one, and the kinds of steps between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from itertools import product as combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from sordino.privacy.relation import Relation
from sordino.sensitivity.enclosure import Enclosure
from sordino.sensitivity.order import Array, Order

if TYPE_CHECKING:
    from sordino.sensitivity.row_term import Row

__all__ = ["Ball", "Move", "moves"]

Ends = tuple[float, float]
SIGNED = 4  # different numbers of a row whose directions are told apart when a row is replaced
PIECES = {1: (16, 8), 2: (6, 3), 3: (3, 1)}  # of each column's bounds, for this many columns: where rows come and go, and where they change


@dataclass(frozen=True)
class Move:
    """One kind of step: what is known of the row that comes and of the one that goes, and which numbers of a row go up or down."""

    comes: Mapping[str, Ends] | None = None
    goes: Mapping[str, Ends] | None = None
    signs: Mapping[str, int] = field(default_factory=dict)


def _boxes(columns: Mapping[str, Ends], pieces: int) -> list[dict[str, Ends]]:
    """Every combination of as many equal pieces of each column's bounds."""
    cuts = [np.linspace(*ends, pieces + 1).tolist() for ends in columns.values()]
    parts = [list(pairwise(cut)) for cut in cuts]
    return [dict(zip(columns, box, strict=True)) for box in combinations(*parts)]


def moves(relation: Relation, rows: Sequence[Row]) -> tuple[Move, ...]:
    """All kinds of steps: in which piece of its bounds each column of a row is that comes, goes or changes.

    A row lies in one of the boxes, and where it is replaced each of its numbers goes up or down or stays, so that every step is of one of
    these kinds. The finer they are, the better it is known that sums of x, y and xy move together.
    """
    columns = {name: ends for row in rows for name, ends in row.columns.items()}
    swapped = relation is Relation.REPLACE
    boxes = _boxes(columns, PIECES.get(len(columns), (1, 1))[swapped])
    if not swapped:
        return tuple([Move(comes=box) for box in boxes] + [Move(goes=box) for box in boxes])
    told = rows if len(rows) <= SIGNED else ()
    return tuple(Move(new, old, signs) for new in boxes for old in boxes for signs in _directions(told, new, old))


def _directions(rows: Sequence[Row], new: Mapping[str, Ends], old: Mapping[str, Ends]) -> Iterator[dict[str, int]]:
    """Every combination of up and down that a row of one box can make when it becomes one of the other; what stays counts as either."""
    ways = []
    for row in rows:
        after, before = row.within(new), row.within(old)
        ways.append([1] if after[0] >= before[1] else [-1] if after[1] <= before[0] else [1, -1])
    yield from (dict(zip([row.text for row in rows], signs, strict=True)) for signs in combinations(*ways))


@dataclass(frozen=True, eq=False, repr=False)
class Ball:
    """All tables within K rows of one, and the kinds of moves between them."""

    columns: Mapping[str, Array]  # of the table in the middle
    size: int
    relation: Relation
    depth: int
    moves: tuple[Move, ...]
    known: dict[Any, Any] = field(default_factory=dict)  # what was computed for these tables
    public: dict[Any, Any] = field(default_factory=dict)  # what holds for all tables, kept from one to the next

    @property
    def replaces(self) -> bool:
        return self.relation is Relation.REPLACE

    @cached_property
    def steps(self) -> Array:
        return np.arange(self.depth + 1)

    @cached_property
    def possible(self) -> Array:
        """Nobody leaves an empty table or is replaced in it, and from the table itself only a row that is there."""
        found = np.ones((len(self.moves), self.depth), bool)
        boxes = {id(move.goes): move.goes for move in self.moves if move.goes is not None}
        holds = {key: self._holds(box) for key, box in boxes.items()}
        for place, move in enumerate(self.moves):
            if move.goes is not None:
                found[place, 0] = holds[id(move.goes)]
                found[place] &= bool(self.size) or not self.replaces
        return found

    def _holds(self, box: Mapping[str, Ends]) -> bool:
        inside = np.ones(self.size, bool)
        for name, (low, high) in box.items():
            inside &= (self.columns[name] >= low) & (self.columns[name] <= high)
        return bool(inside.any())

    def ordered(self, row: Row) -> Order:
        """One number of every row, sorted, between its public ends."""
        if row.text not in self.known:
            self.known[row.text] = Order.of(np.clip(np.sort(row.values(self.columns)), *row.ends), row.ends)
        found: Order = self.known[row.text]
        return found

    def each(self, made: Callable[[Move], tuple[Any, Any]]) -> tuple[Array, Array]:
        """One step for every kind of move."""
        ends = [made(move) for move in self.moves]
        flat = not any(np.ndim(end) for pair in ends[:: len(ends) - 1 or 1] for end in pair)
        down, up = np.zeros((2, len(ends), self.depth))
        if flat:
            down[:], up[:] = np.array(ends)[:, :1], np.array(ends)[:, 1:]
        else:
            for place, (low, high) in enumerate(ends):
                down[place], up[place] = low, high
        return down, up

    def summed(self, row: Row, there: Ends) -> tuple[Array, Array]:
        """How far each kind of move takes a number summed over all rows. From the table itself only a row goes that is `there`."""
        if row.text not in self.public:
            boxes = [(move.comes, move.goes) for move in self.moves]
            self.public[row.text] = [
                np.array([(0.0, 0.0) if box is None else row.within(box) for box in side]).T for side in zip(*boxes, strict=True)
            ]
        came, went = self.public[row.text]
        down, up = np.zeros((2, len(self.moves), self.depth))
        down[:], up[:] = (came[0] - went[1])[:, None], (came[1] - went[0])[:, None]
        low, high = np.maximum(went[0], there[0]), np.minimum(went[1], there[1])
        held = (low <= high) & np.array([move.goes is not None for move in self.moves])
        down[:, 0], up[:, 0] = np.where(held, came[0] - high, down[:, 0]), np.where(held, came[1] - low, up[:, 0])
        return down, up

    def enclosed(self, text: str, low: Array, high: Array, step: tuple[Array, Array]) -> Enclosure:
        """A replaced row's direction cuts the steps at zero."""
        down, up = step
        if self.replaces:
            signs = np.array([move.signs.get(text, 0) for move in self.moves])[:, None]
            down, up = np.where(signs > 0, np.maximum(down, 0.0), down), np.where(signs < 0, np.minimum(up, 0.0), up)
            down, up = np.minimum(down, up), np.maximum(down, up)
        return Enclosure(np.asarray(low, float), np.asarray(high, float), down, up, self.possible)
