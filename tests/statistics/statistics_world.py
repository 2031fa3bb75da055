"""A table in memory that answers the questions statistics ask: the reference for their tests, with the bounding already done."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sordino.privacy.discrete import ArgMax, Bernoulli, Categorical, DiscreteLaplace
from sordino.privacy.law import Placed
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.statistics.port import Context
from sordino.summaries.array_table import ArrayColumn, ArrayTable
from sordino.summaries.totals import Item

__all__ = ["HUGE", "SMALL", "Copies", "World", "context", "income", "pinned", "seeded"]

HUGE = Fraction(10**6)
SMALL = Fraction(1, 10**6)


@dataclass
class World:
    """Rows with a person, a group key (a tuple), grid integers per column (None where null) and truth values per predicate."""

    columns: dict[str, Column]
    values: dict[str, list[int | None]] = field(default_factory=dict)
    person: list[Any] | None = None
    group: list[tuple[Any, ...]] | None = None
    public: tuple[tuple[Any, ...], ...] | None = None
    counted: list[list[bool]] = field(default_factory=list)
    asked: list[Any] = field(default_factory=list)

    @property
    def size(self) -> int:
        return max(
            [len(v) for v in self.values.values()] + [len(self.group or []), len(self.person or [])] + [len(c) for c in self.counted]
        )

    def keys(self) -> tuple[tuple[Any, ...], ...]:
        if self.public is not None:
            return self.public
        return ((),) if self.group is None else tuple(sorted(set(self.group), key=str))

    def members(self, key: tuple[Any, ...]) -> list[int]:
        return [i for i in range(self.size) if self.group is None or self.group[i] == key]

    @property
    def table(self) -> ArrayTable:
        cells = [self.members(key) for key in self.keys()]
        columns = {
            name: ArrayColumn.of(self.columns[name].grid().width, [[v for i in rows if (v := x[i]) is not None] for rows in cells])
            for name, x in self.values.items()
            if self.columns[name].number
        }
        counts = {Item("rows"): [len(rows) for rows in cells]}
        counts |= {Item("counted", None, i): [sum(true[row] for row in rows) for rows in cells] for i, true in enumerate(self.counted)}
        if self.person is not None:
            counts[Item("units")] = [len({self.person[i] for i in rows}) for rows in cells]
        return ArrayTable(self.keys(), columns, counts)

    def ask(self, request: Any) -> Any:
        self.asked.append(request)
        return self.table.ask(request)


@dataclass
class Copies:
    """The same ungrouped totals or windows many times over: one release draws that many independent answers."""

    world: World
    number: int

    @property
    def groups(self) -> tuple[tuple[int], ...]:
        return tuple((i,) for i in range(self.number))

    def ask(self, request: Any) -> Any:
        one = self.world.table
        columns = {name: replace(column, values=column.values * self.number) for name, column in one.columns.items()}
        counts = {item: [*cells] * self.number for item, cells in one.counts.items()}
        return ArrayTable(self.groups, columns, counts).ask(request)


def context(
    *columns: Column,
    relation: str = "add_remove",
    person: bool = False,
    m: int = 1,
    g: int = 1,
    total: int | None = None,
    keys: Any = None,
    grouped: bool = False,
    **facts: Any,
) -> Context:
    """At most m rows of a person in each of g groups, and `total` in all."""
    unit = PrivacyUnit("id" if person else None, relation, (m * g if person else m) if total is None else total, g, m)  # type: ignore[arg-type]
    return Context(unit, {c.name: c for c in columns}, grouped, keys=keys, **facts)


def income(number: int = 1000, seed: int = 1) -> World:
    """Log-normal incomes in [0, 1e6] on the grid of whole units."""
    x = np.clip(np.random.default_rng(seed).lognormal(np.log(40_000), 0.8, number), 0, 1e6)
    column = Column("income", "int", (0, 1_000_000))
    return World({"income": column}, {"income": [int(v) for v in np.floor(x)]})


def pinned(number: int = 3) -> Callable[[Any], Any]:
    """A draw whose outcome is fixed beforehand, whatever the law's private parameters are: pinning the draw pins the outcome."""

    def draw(law: Any) -> Any:
        location = getattr(law, "location", None)
        if location is not None:
            return np.arange(number, number + len(location), dtype=np.int64) if np.ndim(location) else number
        if type(law).__name__ == "Bernoulli":
            return np.ones(len(law.index), bool) if law.index is not None else True
        return 0 if type(law).__name__ in ("Categorical", "ArgMax") else number

    return draw


def seeded(seed: int = 1) -> Callable[[Any], Any]:
    """Draws with the laws' own distributions, seeded anew for every test: simulations that give the same verdict in any order."""
    rng, test = np.random.default_rng(seed), ""

    def placed(law: Placed) -> Any:
        location = np.atleast_1d(np.asarray(law.location, np.int64))
        noise = float(law.scale) / law.grid * law.law.quantile(rng.random(len(location)))  # type: ignore[arg-type]
        out = (location // law.grid + np.floor((location % law.grid) / law.grid + noise + 0.5).astype(np.int64)) * law.grid
        return int(out[0]) if np.ndim(law.location) == 0 else out

    def discrete(law: DiscreteLaplace) -> Any:
        b = float(law.scale)
        size = np.size(law.location)
        far = np.maximum(np.floor(b * (rng.exponential(size=size) + np.log(2 / (1 + np.exp(-1 / b))))), 0).astype(np.int64)
        out = np.atleast_1d(law.location) + far * rng.choice([-1, 1], size)
        return int(out[0]) if np.ndim(law.location) == 0 else out

    def draw(law: Any) -> Any:
        nonlocal rng, test
        if test != (now := os.environ.get("PYTEST_CURRENT_TEST", "")):
            rng, test = np.random.default_rng(seed), now
        if isinstance(law, Placed):
            return placed(law)
        if isinstance(law, DiscreteLaplace):
            return discrete(law)
        if isinstance(law, Bernoulli):
            chances = np.array([float(p) for p in law.probabilities])
            return bool(rng.random() < chances[0]) if law.index is None else rng.random(len(law.index)) < chances[law.index]
        if isinstance(law, Categorical):
            total = np.cumsum(np.asarray(law.weights, float))
            return int(min(np.searchsorted(total, rng.random() * total[-1], "right"), len(total) - 1))
        if isinstance(law, ArgMax):
            assert law.noise == "exponential"
            return int(np.argmax(np.asarray(law.scores) / float(law.scale) + rng.exponential(size=len(law.scores))))
        return int(rng.integers(law.low, law.high, endpoint=True))

    return draw
