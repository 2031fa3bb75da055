"""Pairs of neighbouring tables to try a claim on: random, structured, changed a little, grown, and made simpler."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Neighbourhood", "RowPair"]

Row = tuple[float, ...]  # one number per column
Rows = tuple[Row, ...]
SIZES = (0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 12, 20, 31)
LONGEST = 128  # rows of a table that was grown
MOVES = 11


@dataclass(frozen=True)
class RowPair:
    """The rows two tables share, those only one of them has, a distance k and a share of the range to ask about."""

    common: Rows
    mine: Rows
    other: Rows
    k: int = 1
    share: float = 0.0

    @property
    def x(self) -> Rows:
        return (*self.common, *self.mine)

    @property
    def neighbour(self) -> Rows:
        return (*self.common, *self.other)


@dataclass(frozen=True)
class Neighbourhood:
    """Where pairs come from: the bounds of every column, relation and a source of chance.

    One side of a pair has up to `rows` rows of its own. If they are `replaced`, so has the other: as many, where the relation of the
    claim keeps the size (`paired`), and any number up to `rows` otherwise.
    """

    chance: np.random.Generator
    bounds: tuple[tuple[float, float], ...]
    replaced: bool
    rows: int = 1
    paired: bool = True

    def place(self, size: int) -> int:
        return int(self.chance.integers(size))

    def share(self) -> float:
        """Where a number lies between its bounds: at one of them, in the middle, at a round fraction, or anywhere."""
        return (0.0, 1.0, 0.0, 1.0, 0.5, float(self.chance.integers(9)) / 8, float(self.chance.random()))[self.place(7)]

    def value(self, column: int, share: float | None = None) -> float:
        low, high = self.bounds[column]
        return low + (high - low) * (self.share() if share is None else min(max(share, 0.0), 1.0))

    def row(self) -> Row:
        """A row: its columns apart, or all at the same place."""
        together = self.share() if len(self.bounds) > 1 and self.place(3) == 0 else None
        return tuple(self.value(i, together) for i in range(len(self.bounds)))

    def shares(self, size: int) -> NDArray[np.float64]:
        chance = self.chance
        match self.place(7):
            case 0:
                return chance.random(size)
            case 1:
                return chance.integers(0, 5, size) / 4
            case 2:
                return (chance.random(size) < chance.random()).astype(float)
            case 3:
                return np.full(size, chance.integers(0, 9) / 8)
            case 4:
                return np.arange(size) / max(size - 1, 1)
            case 5:
                return chance.random() + 0.01 * chance.standard_normal(size)
        return np.where(chance.random(size) < 0.3, chance.integers(0, 2, size), chance.random())

    def table(self) -> Rows:
        """Rows whose columns are drawn apart, follow the first one up or down, or follow it nearly."""
        size = SIZES[self.place(len(SIZES))]
        columns = [self.shares(size)]
        for _ in self.bounds[1:]:
            match self.place(5):
                case 0:
                    columns.append(columns[0])
                case 1:
                    columns.append(1 - columns[0])
                case 2:
                    columns.append(columns[0] + 0.05 * self.chance.standard_normal(size))
                case _:
                    columns.append(self.shares(size))
        return tuple(tuple(self.value(i, float(share)) for i, share in enumerate(row)) for row in zip(*columns, strict=True))

    def pair(self) -> RowPair:
        common, k = self.table(), int(self.chance.integers(1, 5)) if self.chance.random() < 0.8 else int(self.chance.integers(5, 40))
        return RowPair(common, *self.own(), k, float(self.chance.random()) ** 2)

    def own(self) -> tuple[Rows, Rows]:
        """The rows that only one table has, those of either: often one, often as many as may be, often all alike."""
        mine = self.side((1, self.rows, 1 + self.place(self.rows))[self.place(3)])
        if not self.replaced:
            return mine, ()
        return mine, self.side(len(mine) if self.paired else (0, 1, len(mine), self.rows)[self.place(4)])

    def side(self, size: int) -> Rows:
        return (self.row(),) * size if self.place(2) else tuple(self.row() for _ in range(size))

    def changed(self, pair: RowPair) -> RowPair:
        """A few steps away from a pair that came close: most often one."""
        for _ in range(int(self.chance.geometric(0.6))):
            pair = self._step(pair)
        return pair

    def _step(self, pair: RowPair) -> RowPair:
        common = list(pair.common)
        match self.place(MOVES):
            case 0 if common:
                common[self.place(len(common))] = self.row()
            case 1 if common:
                common[self.place(len(common))] = common[self.place(len(common))]
            case 2 if common:
                del common[self.place(len(common))]
            case 3:
                common.append(self.row())
            case 4:
                mine, other = self.own()
                return replace(pair, mine=mine, other=other)
            case 5 if common:
                at = self.place(len(common))
                common[at] = self.nudged(common[at])
            case 6 if common and 2 * len(common) <= LONGEST:
                common += common
            case 7 if common:
                common += [common[self.place(len(common))]] * (1 + self.place(6))
            case 8 if pair.mine:
                return replace(pair, mine=self._moved(pair.mine, common))
            case 9 if pair.other:
                return replace(pair, other=self._moved(pair.other, common))
            case _:
                return replace(pair, k=max(0, pair.k + (-1, 1, -4, 4)[self.place(4)]), share=float(self.chance.random()) ** 2)
        return replace(pair, common=tuple(common))

    def _moved(self, rows: Rows, common: list[Row]) -> Rows:
        at = self.place(len(rows))
        near = self.nudged(rows[at]) if self.place(2) or not common else common[self.place(len(common))]
        return (*rows[:at], near, *rows[at + 1 :])

    def nudged(self, row: Row) -> Row:
        """One number of a row, moved by anything between a hair and the whole range."""
        at = self.place(len(row))
        low, high = self.bounds[at]
        far = (high - low) * 10 ** -(6 * float(self.chance.random())) * float(self.chance.standard_normal())
        return (*row[:at], min(max(row[at] + far, low), high), *row[at + 1 :])

    def simpler(self, pair: RowPair) -> Iterator[RowPair]:
        """Pairs with many rows less, a row less or a rounder row, simplest first."""
        half = len(pair.common) // 2
        if half:
            yield replace(pair, common=pair.common[:half])
            yield replace(pair, common=pair.common[half:])
        for i in range(len(pair.common)):
            yield replace(pair, common=pair.common[:i] + pair.common[i + 1 :])
        mine, other = _shorter(pair.mine), _shorter(pair.other)
        if self.paired and self.replaced:
            yield from (replace(pair, mine=one, other=two) for one, two in zip(mine, other, strict=True) if one)
        elif len(pair.mine) + len(pair.other) > 1:
            yield from (replace(pair, mine=one) for one in mine)
            yield from (replace(pair, other=two) for two in other)
        if pair.k > 0:
            yield replace(pair, k=pair.k - 1)
        parts: dict[str, Rows] = {"common": pair.common, "mine": pair.mine, "other": pair.other}
        for name, rows in parts.items():
            for i, row in enumerate(rows):
                for rounder in self._rounder(row):
                    simple: dict[str, Any] = {name: (*rows[:i], rounder, *rows[i + 1 :])}
                    yield replace(pair, **simple)

    def _rounder(self, row: Row) -> Iterator[Row]:
        for at, (low, high) in enumerate(self.bounds):
            ends = (low, high, (low + high) / 2)
            for simple in ends[: ends.index(row[at]) if row[at] in ends else None]:
                yield (*row[:at], simple, *row[at + 1 :])


def _shorter(rows: Rows) -> list[Rows]:
    return [rows[:i] + rows[i + 1 :] for i in range(len(rows))]
