"""Pairs of neighbouring tables to try a claim on: random, structured, changed a little, and made simpler."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Neighbourhood", "Pair"]

Floats = NDArray[np.float64]
SIZES = (0, 1, 1, 2, 2, 3, 3, 4, 5, 6, 7, 8, 9, 12, 20, 31)


@dataclass(frozen=True)
class Pair:
    """The rows two tables share, those only one of them has, a distance k and a share of the range to ask about."""

    common: tuple[float, ...]
    mine: tuple[float, ...]
    other: tuple[float, ...]
    k: int = 1
    share: float = 0.0

    @property
    def x(self) -> tuple[float, ...]:
        return (*self.common, *self.mine)

    @property
    def neighbour(self) -> tuple[float, ...]:
        return (*self.common, *self.other)


@dataclass(frozen=True)
class Neighbourhood:
    """Where pairs come from: bounds, relation and a source of chance.

    One side of a pair has up to `rows` rows of its own. If they are `replaced`, so has the other: as many, where the relation of the
    claim keeps the size (`paired`), and any number up to `rows` otherwise.
    """

    chance: np.random.Generator
    low: float
    high: float
    replaced: bool
    rows: int = 1
    paired: bool = True

    def place(self, size: int) -> int:
        return int(self.chance.integers(size))

    def value(self) -> float:
        """A row: a bound, the middle, a round fraction, or anything between."""
        share = (0.0, 1.0, 0.0, 1.0, 0.5, float(self.chance.integers(9)) / 8, float(self.chance.random()))[self.place(7)]
        return self.low + (self.high - self.low) * share

    def table(self) -> list[float]:
        chance, size = self.chance, SIZES[self.place(len(SIZES))]
        width = self.high - self.low
        match self.place(7):
            case 0:
                shares = chance.random(size)
            case 1:
                shares = chance.integers(0, 5, size) / 4
            case 2:
                shares = (chance.random(size) < chance.random()).astype(float)
            case 3:
                shares = np.full(size, chance.integers(0, 9) / 8)
            case 4:
                shares = np.arange(size) / max(size - 1, 1)
            case 5:
                shares = chance.random() + 0.01 * chance.standard_normal(size)
            case _:
                shares = np.where(chance.random(size) < 0.3, chance.integers(0, 2, size), chance.random())
        return [self.low + width * float(share) for share in np.clip(shares, 0, 1)]

    def pair(self) -> Pair:
        common, k = self.table(), int(self.chance.integers(1, 5)) if self.chance.random() < 0.8 else int(self.chance.integers(5, 40))
        return Pair(tuple(common), *self.own(), k, float(self.chance.random()) ** 2)

    def own(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The rows that only one table has, those of either: often one, often as many as may be, often all alike."""
        mine = self.side((1, self.rows, 1 + self.place(self.rows))[self.place(3)])
        if not self.replaced:
            return mine, ()
        return mine, self.side(len(mine) if self.paired else (0, 1, len(mine), self.rows)[self.place(4)])

    def side(self, size: int) -> tuple[float, ...]:
        return (self.value(),) * size if self.place(2) else tuple(self.value() for _ in range(size))

    def changed(self, pair: Pair) -> Pair:
        """One step away from a pair that came close."""
        common = list(pair.common)
        match self.place(6):
            case 0 if common:
                common[self.place(len(common))] = self.value()
            case 1 if common:
                common[self.place(len(common))] = common[self.place(len(common))]
            case 2 if common:
                del common[self.place(len(common))]
            case 3:
                common.append(self.value())
            case 4:
                mine, other = self.own()
                return replace(pair, mine=mine, other=other)
            case _:
                return replace(pair, k=max(0, pair.k + (-1, 1)[self.place(2)]))
        return replace(pair, common=tuple(common))

    def simpler(self, pair: Pair) -> Iterator[Pair]:
        """Pairs with a row less or a rounder row, simplest first."""
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
        round_ones = (self.low, self.high, (self.low + self.high) / 2)
        parts: dict[str, tuple[float, ...]] = {"common": pair.common, "mine": pair.mine, "other": pair.other}
        for name, rows in parts.items():
            for i, row in enumerate(rows):
                for simple in round_ones[: round_ones.index(row) if row in round_ones else None]:
                    rounder: dict[str, Any] = {name: (*rows[:i], simple, *rows[i + 1 :])}
                    yield replace(pair, **rounder)


def _shorter(rows: tuple[float, ...]) -> list[tuple[float, ...]]:
    return [rows[:i] + rows[i + 1 :] for i in range(len(rows))]
