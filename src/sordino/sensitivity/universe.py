"""The definitions themselves, on universes small enough to list: the oracle for every formula in this room."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement as multisets
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.privacy.relation import Relation
from sordino.sensitivity.order import Array, decay, whole

__all__ = ["Exhaustive", "Universe", "exhaustive"]

Table = tuple[Any, ...]


@dataclass(frozen=True)
class Universe:
    """Every table, a multiset of `values`, whose number of rows is one of `sizes`."""

    values: tuple[Any, ...]
    sizes: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(sorted(set(self.values))))
        object.__setattr__(self, "sizes", tuple(sorted({whole("a size", size, 0) for size in self.sizes})))

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """All tables, each written in ascending order."""
        return tuple(table for size in self.sizes for table in multisets(self.values, size))


@dataclass(frozen=True, eq=False, repr=False)
class Exhaustive:
    """Sensitivities of f on a small universe, from the definitions. Tables are multisets; pass them in any order.

    A unit holds at most `max_rows` rows. Under add_remove a step adds up to that many rows or removes up to that many; under
    replace it replaces up to that many. Near the largest size additions are missing, so compare only where no path needs them.
    """

    f: Callable[[Table], Hashable]
    universe: Universe
    relation: Relation
    max_rows: int = 1

    @property
    def tables(self) -> tuple[Table, ...]:
        return self.universe.tables

    @cached_property
    def place(self) -> Mapping[Table, int]:
        return {table: i for i, table in enumerate(self.tables)}

    def at(self, x: Iterable[Any]) -> int:
        table = tuple(sorted(x))
        if table not in self.place:
            raise QueryError("SRD-105", "the table is not in the universe.", "Give a table of the universe's values and sizes.")
        return self.place[table]

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """f of every table."""
        return tuple(self.f(table) for table in self.tables)

    @cached_property
    def edges(self) -> tuple[tuple[int, ...], ...]:
        """For every table the places of its neighbours."""
        fewer: list[set[Table]] = []
        for table in self.tables:
            level = reached = {table}
            for _ in range(self.max_rows):
                level = {t[:i] + t[i + 1 :] for t in level for i in range(len(t))}
                reached = reached | level
            fewer.append(reached)
        found: list[set[int]] = [set() for _ in self.tables]
        if self.relation is Relation.ADD_REMOVE:
            for i, reached in enumerate(fewer):
                for j in (self.place[t] for t in reached if t in self.place):
                    found[i].add(j)
                    found[j].add(i)
        else:
            parents: dict[Table, list[int]] = {}
            for i, reached in enumerate(fewer):
                for core in reached:
                    parents.setdefault(core, []).append(i)
            for i, reached in enumerate(fewer):
                for core in reached:
                    found[i].update(j for j in parents[core] if len(self.tables[j]) == len(self.tables[i]))
        return tuple(tuple(sorted(near - {i})) for i, near in enumerate(found))

    @cached_property
    def around(self) -> Array:
        """The neighbours as a rectangle; short rows repeat the table itself."""
        longest = max(map(len, self.edges), default=0)
        return np.array([[*near, *[i] * (longest - len(near) + 1)] for i, near in enumerate(self.edges)], dtype=np.int64)

    @cached_property
    def first(self) -> Array:
        """The local sensitivity of every table."""
        numbers = np.array(self.values, dtype=np.float64)
        return np.asarray(np.abs(numbers[self.around] - numbers[:, None]).max(axis=1))

    @cached_property
    def climb(self) -> list[Array]:
        """A(., 0), A(., 1), ... until nothing changes."""
        levels = [self.first]
        while True:
            widened = levels[-1][self.around].max(axis=1)
            if (widened == levels[-1]).all():
                return levels
            levels.append(widened)

    def neighbours(self, x: Iterable[Any]) -> tuple[Table, ...]:
        """Every table one step away."""
        return tuple(self.tables[j] for j in self.edges[self.at(x)])

    def worst_case(self) -> float:
        """max over all tables and neighbours of |f(x) - f(x')|."""
        return float(self.first.max())

    def local(self, x: Iterable[Any]) -> float:
        """max over the neighbours of x of |f(x) - f(x')|."""
        return float(self.first[self.at(x)])

    def rung(self, x: Iterable[Any], k: int) -> float:
        """A(x, k): the largest local sensitivity within k steps."""
        return float(self.climb[min(whole("k", k, 0), len(self.climb) - 1)][self.at(x)])

    def smooth(self, x: Iterable[Any], beta: float) -> float:
        """max over all tables y of e^(-beta d(x, y)) LS(y)."""
        rate, i = decay(beta), self.at(x)
        return float(max(np.exp(-rate * k) * level[i] for k, level in enumerate(self.climb)))

    def fixed_point(self, beta: float) -> dict[Table, float]:
        """The least S with S = max(LS, e^-beta max over neighbours of S), by iteration from LS: the smooth sensitivity by another road."""
        shrink, bound = np.exp(-decay(beta)), self.first
        while True:
            widened = np.maximum(bound, shrink * bound[self.around].max(axis=1))
            if (widened == bound).all():
                return dict(zip(self.tables, bound.tolist(), strict=True))
            bound = widened

    def distance(self, x: Iterable[Any], above: float) -> int | float:
        """The number of steps to the nearest table with local sensitivity above `above`, by breadth-first search."""
        return self.steps_to(x, {i for i, size in enumerate(self.first) if size > above})

    def stability(self, x: Iterable[Any]) -> int | float:
        """The number of steps to the nearest table that has a neighbour with another f; f may be anything that compares."""
        values = self.values
        return self.steps_to(x, {i for i, near in enumerate(self.edges) if any(values[j] != values[i] for j in near)})

    def steps_to(self, x: Iterable[Any], goal: set[int]) -> int | float:
        seen, steps = {self.at(x)}, 0
        front = seen
        while front:
            if front & goal:
                return steps
            front = {j for i in front for j in self.edges[i]} - seen
            seen, steps = seen | front, steps + 1
        return float("inf")


def exhaustive(
    f: Callable[[Table], Hashable],
    universe: Universe | Iterable[Any],
    relation: str = "add_remove",
    *,
    sizes: Iterable[int] | int | None = None,
    max_rows: int = 1,
) -> Exhaustive:
    """Worst case, local, A(x, k), smooth sensitivity and distances of f on a tiny universe, from the definitions."""
    kind, rows = Relation.of(relation), whole("max_rows", max_rows, 1)
    if not isinstance(universe, Universe):
        if sizes is None:
            raise QueryError("SRD-103", "the universe has no sizes.", "Give sizes, for instance sizes=range(5).")
        universe = Universe(tuple(universe), (sizes,) if isinstance(sizes, int) else tuple(sizes))
    if kind is Relation.REPLACE and len(universe.sizes) != 1:
        raise QueryError("SRD-107", "under replace the number of rows is public.", "Give exactly one size.")
    return Exhaustive(f, universe, kind, rows)
