"""Small worlds: every table of at most three rows over {0..3}, every neighbour, filters, groups and people included."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from statistics_world import context

from sordino.schema.column import Column
from sordino.statistics.column_sum import SumStep
from sordino.statistics.column_variance import Bernstein
from sordino.statistics.known import Known, KnownVariance
from sordino.statistics.moments import Halves
from sordino.statistics.port import Context

TOP = 3
COLUMN = Column("x", "int", (-1, 2))
GRID = COLUMN.grid()
Person = tuple[tuple[int, int], ...]  # (group, x) of each row that the filter keeps


def people(m: int, g: int, groups: int, total: int | None = None) -> list[Person]:
    """Every set of rows one person may have after bounding: at most m in each of at most g groups, `total` in all; perhaps none."""
    bags = [bag for size in range(m + 1) for bag in combinations_with_replacement(range(TOP + 1), size)]
    found = []
    for choice in product(bags, repeat=groups):
        if sum(bool(bag) for bag in choice) <= g and sum(map(len, choice)) <= (m * g if total is None else total):
            found.append(tuple((i, x) for i, bag in enumerate(choice) for x in bag))
    return found


def totals(table: tuple[Person, ...], groups: int) -> list[Any]:
    rows = np.zeros((3, groups), object)
    for person in table:
        for group, x in person:
            rows[:, group] += (1, x, x * x)
    return list(rows)


def movements(locate: Any, states: list[Person], relation: str, groups: int) -> Iterator[int]:
    """The L1 distance of what is noised, over all tables of a few people and all neighbours of each."""
    none: Person = ()
    rest = [(), (states[-1],), (states[len(states) // 2], states[1])]
    for others in rest:
        before = {state: locate(*totals((*others, state), groups)) for state in (none, *states)}
        pairs = product(states, states) if relation == "replace" else ((none, state) for state in states)
        for one, other in pairs:
            yield int(np.abs(before[one] - before[other]).sum())


def worst(source: Any, about: Context, m: int, g: int, groups: int) -> int:
    locate = source.locations if isinstance(source, Bernstein) else lambda rows, total, _: source.locations(rows, total)
    return max(movements(locate, people(m, g, groups), about.unit.relation.value, groups))


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize(("m", "g", "groups"), [(1, 1, 1), (2, 1, 1), (1, 1, 2), (2, 1, 2), (1, 2, 2), (1, 2, 4)])
@pytest.mark.parametrize("kind", [Halves, Bernstein, SumStep])
def test_the_claimed_reach_is_the_worst_movement_of_all_neighbours(kind: Any, m: int, g: int, groups: int, relation: str) -> None:
    grouped = groups > 1
    keys = tuple((i,) for i in range(groups)) if grouped else None
    about = context(COLUMN, relation=relation, person=m > 1 or g > 1, m=m, g=g, keys=keys, grouped=grouped)
    source = kind("x", GRID, Fraction(1), about)
    found = worst(source, about, m, g, groups)
    if relation == "replace" and grouped and groups < 2 * g:
        assert found <= source.noise.reach  # two disjoint sets of groups do not fit in so few
    else:
        assert found == source.noise.reach
        assert found > 0.8 * source.noise.reach  # a twin with four fifths of the sensitivity is caught


@pytest.mark.parametrize("size", [1, 2, 3])
def test_with_a_public_size_a_replaced_row_moves_the_sum_by_the_width(size: int) -> None:
    source = Known("x", GRID, Fraction(1), size)
    tables = list(product(range(TOP + 1), repeat=size))
    pairs = ((a, b) for a in tables for b in tables if sum(x != y for x, y in zip(a, b, strict=True)) == 1)
    moved = max(abs(int(source.locations(np.array(sum(a), object)) - source.locations(np.array(sum(b), object)))) for a, b in pairs)
    assert moved == source.noise.reach


@pytest.mark.parametrize("rows", [1, 2, 3, 4])
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_with_a_public_size_a_replaced_row_moves_the_variance_by_the_claim_even_if_the_size_is_wrong(size: int, rows: int) -> None:
    source = KnownVariance("x", GRID, Fraction(1), size)
    tables = list(product(range(TOP + 1), repeat=rows))
    found = {t: int(source.locations(*(np.array(v, object) for v in (rows, sum(t), sum(x * x for x in t))))) for t in tables}
    pairs = ((a, b) for a in tables for b in tables if sum(x != y for x, y in zip(a, b, strict=True)) == 1)
    moved = max(abs(found[a] - found[b]) for a, b in pairs)
    assert moved <= source.noise.reach
    if size == rows > 1:
        assert moved >= source.noise.reach - 2  # a twin with a little less noise would be caught


def test_three_rows_at_a_time_every_table_has_the_same_norm() -> None:
    about = context(COLUMN)
    halves, sums = Halves("x", GRID, Fraction(1), about), Bernstein("x", GRID, Fraction(1), about)
    for size in range(4):
        for x in product(range(TOP + 1), repeat=size):
            n, s, q = (np.array([v], object) for v in (size, sum(x), sum(v * v for v in x)))
            assert halves.locations(n, s).sum() == size * halves.noise.reach
            assert sums.locations(n, s, q).sum() == size * sums.noise.reach
            assert (sums.locations(n, s, q) >= 0).all()


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("kind", [Halves, Bernstein, SumStep])
def test_cutting_wide_grids_to_whole_units_stays_within_the_reach(kind: Any, relation: str) -> None:
    column = Column("x", "float", (-10, 1e9))
    grid = column.grid()
    about = context(column, relation=relation)
    source = kind("x", grid, Fraction(1), about)
    rng = np.random.default_rng(3)
    top = source.top if kind is Bernstein else grid.width
    for _ in range(2000):
        base = int(rng.integers(0, 2**62)) * 1000
        x, y = (int(v) for v in rng.choice([0, 1, top // 3, top - 1, top], 2))
        shift = 1 if relation == "replace" else 0
        one = [np.array([v], object) for v in (50 + shift, base + (y if shift else 0), base**2 // 7 + (y * y if shift else 0))]
        two = [np.array([v], object) for v in (51, base + x, base**2 // 7 + x * x)]
        if kind is not Bernstein:
            one, two = one[:2], two[:2]
        assert int(np.abs(source.locations(*two) - source.locations(*one)).sum()) <= source.noise.reach
