"""Counts, vectors and choices on small worlds: no neighbour moves further than is paid for, and a cheaper price is caught."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from statistics_world import World, context, seeded
from test_halves import COLUMN, people

from sordino import statistics as st
from sordino.privacy.relation import Relation
from sordino.schema.column import Column
from sordino.statistics.port import one_unit, per_group
from sordino.statistics.reach import Reach

ONE, ZERO = Fraction(1), Fraction(0)
FRAMES = [(1, 1, 1), (2, 1, 1), (1, 1, 2), (2, 1, 2), (1, 2, 4)]


def about(relation: str, m: int, g: int, groups: int, *columns: Column, total: int | None = None) -> Any:
    keys = tuple((i,) for i in range(groups)) if groups > 1 else None
    return context(*(columns or (COLUMN,)), relation=relation, person=True, m=m, g=g, total=total, keys=keys, grouped=groups > 1)


def moves(measure: Any, m: int, g: int, groups: int, relation: str, *, total: int | None = None) -> Any:
    """What a neighbour changes in an additive vector."""
    states = people(m, g, groups, total)
    found = {state: measure(state) for state in states}
    pairs = product(states, states) if relation == "replace" else ((state, ()) for state in states)
    return (found[one] - found[other] for one, other in pairs)


def counts_of(state: Any, groups: int, d: int) -> np.ndarray[Any, Any]:
    """Rows, people, and d predicates x >= 3 - i, per group."""
    out = np.zeros((groups, 2 + d), int)
    for group, x in state:
        out[group, 0] += 1
        out[group, 2:] += [x >= 3 - i for i in range(d)]
    out[:, 1] = out[:, 0] > 0
    return out


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize(("m", "g", "groups"), FRAMES)
def test_counts_reach_exactly_as_far_as_is_paid_for(m: int, g: int, groups: int, relation: str) -> None:
    facts = about(relation, m, g, groups)
    found = list(moves(lambda state: counts_of(state, groups, 2), m, g, groups, relation))
    rows, units, several = (np.array([np.abs(d[:, part]).sum() for d in found]).max() for part in (0, 1, slice(2, None)))
    assert rows == st.count().step(ONE, ZERO, facts).noise.reach  # type: ignore[attr-defined]
    assert units == st.count_units().step(ONE, ZERO, facts).noise.reach  # type: ignore[attr-defined]
    assert several == st.counts(["p", "q"]).step(ONE, ZERO, facts).noise.reach  # type: ignore[attr-defined]
    far = max(math.sqrt((d[:, 2:] ** 2).sum()) for d in found)
    claimed = float(Reach(Fraction(2), Fraction(2), facts).second())
    assert far == pytest.approx(claimed)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize(("m", "g", "groups", "total"), [(2, 2, 2, 3), (2, 2, 3, 2), (1, 3, 3, 2), (2, 2, 2, 2), (1, 2, 4, 1)])
def test_rows_in_all_limit_what_counts_and_vectors_can_move(m: int, g: int, groups: int, total: int, relation: str) -> None:
    facts = about(relation, m, g, groups, total=total)

    def halves(state: Any) -> np.ndarray[Any, Any]:
        out = np.zeros((groups, 2))
        for group, x in state:
            out[group] += (x, 3 - x)
        return out

    found = list(moves(lambda state: counts_of(state, groups, 2), m, g, groups, relation, total=total))
    rows, units, several = (np.array([np.abs(d[:, part]).sum() for d in found]).max() for part in (0, 1, slice(2, None)))
    claimed = [question.step(ONE, ZERO, facts).noise.reach for question in (st.count(), st.count_units(), st.counts(["p", "q"]))]  # type: ignore[attr-defined]
    far = max(math.sqrt((d**2).sum()) for d in moves(halves, m, g, groups, relation, total=total))
    bound = float(Reach(Fraction(9), Fraction(18), facts).second())
    if relation == "add_remove":
        assert (rows, units, several) == tuple(claimed)
        assert far == pytest.approx(bound)
    else:  # two people's groups may not all fit beside each other
        assert rows <= claimed[0]
        assert units <= claimed[1]
        assert several <= claimed[2]
        assert far <= bound * (1 + 1e-9)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize(("m", "g", "groups"), FRAMES)
def test_halves_reach_exactly_as_far_in_the_plane(m: int, g: int, groups: int, relation: str) -> None:
    def halves(state: Any) -> np.ndarray[Any, Any]:
        out = np.zeros((groups, 2))
        for group, x in state:
            out[group] += (x, 3 - x)
        return out

    far = max(math.sqrt((d**2).sum()) for d in moves(halves, m, g, groups, relation))
    assert far == pytest.approx(float(Reach(Fraction(9), Fraction(18), about(relation, m, g, groups)).second()))


def loss(probability: Any, one: Any, other: Any) -> float:
    """The largest log-ratio of independent draws, one per group."""
    pairs = [(probability(a), probability(b)) for a, b in zip(one, other, strict=True)]
    return max(abs(sum(sign * np.max(sign * (np.log(p) - np.log(q))) for p, q in pairs)) for sign in (1, -1))


def worst_loss(probability: Any, m: int, g: int, groups: int, relation: str, *, total: int | None = None) -> float:
    """Over tables of a fixed crowd and one person who comes, goes or changes."""
    split = lambda state: tuple(tuple(x for i, x in state if i == group) for group in range(groups))  # noqa: E731
    states = people(m, g, groups, total)
    worst = 0.0
    for crowd in ((), (1, 1, 1), (0, 2, 3, 3), (0, 0, 0, 3)):
        tables = {state: tuple(tuple(sorted(crowd + part)) for part in split(state)) for state in states}
        pairs = product(states, states) if relation == "replace" else ((state, ()) for state in states)
        worst = max(worst, *(loss(probability, tables[a], tables[b]) for a, b in pairs))
    return worst


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("limits", [(1, 1, 1, 1), (1, 1, 2, 1), (2, 1, 2, 2), (1, 2, 2, 2), (2, 2, 2, 3), (2, 2, 2, 2)])
@pytest.mark.parametrize("q", ["0.5", "0.9"])
def test_quantiles_in_groups_never_lose_more_than_the_whole_price(q: str, limits: tuple[int, ...], relation: str) -> None:
    m, g, groups, total = limits
    (mechanism,) = st.quantile("x", q, interval=False).step(ONE, ZERO, about(relation, m, g, groups, total=total)).mechanisms  # type: ignore[attr-defined]
    points = np.arange(4)
    cache: dict[Any, Any] = {}

    def probability(x: tuple[int, ...]) -> Any:
        if x not in cache:
            cache[x] = np.exp(mechanism.log_probability(np.array(x, np.int64), points))
        return cache[x]

    found = worst_loss(probability, m, g, groups, relation, total=total)
    assert found <= 1 + 1e-9
    assert found > 0.2  # the price is really needed, as far as four grid points can show it


def test_the_price_of_one_group_under_replace_cannot_be_that_of_add_remove() -> None:
    facts = about("replace", 1, 1, 2)
    assert per_group(ONE, ZERO, facts).epsilon == Fraction(1, 2)
    twin = st.median("x", interval=False).step(ONE, ZERO, about("add_remove", 1, 1, 2)).mechanisms[0]  # type: ignore[attr-defined]
    points = np.arange(4)
    found = worst_loss(lambda x: np.exp(twin.log_probability(np.array(x, np.int64), points)), 1, 1, 2, "replace")
    assert found > 1.05


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize(("m", "g"), [(1, 1), (2, 1), (1, 3)])
def test_the_mode_of_public_keys_loses_at_most_the_price(m: int, g: int, relation: str) -> None:
    from sordino.privacy.discrete import ArgMax

    listed = Column("x", "cat", keys=(0, 1, 2, 3))
    step = st.mode("x").step(ONE, ZERO, context(listed, relation=relation, person=True, m=m, g=g))

    def probability(x: tuple[int, ...]) -> Any:
        held = Counter(x)
        return ArgMax(np.array([held[key] for key in range(4)]), step.mechanism.scale, "exponential").probabilities()  # type: ignore[attr-defined]

    # the person's rows: at most m in each of at most g of the four keys
    rows = [
        tuple(key for key, n in enumerate(bag) for _ in range(n)) for bag in product(range(m + 1), repeat=4) if sum(map(bool, bag)) <= g
    ]
    pairs = product(rows, rows) if relation == "replace" else ((row, ()) for row in rows)
    worst = 0.0
    for one, other in pairs:
        for crowd in ((), (0, 0, 0), (0, 1, 1, 2, 3, 3, 3)):
            worst = max(worst, loss(probability, [crowd + one], [crowd + other]))
    assert 0.4 < worst <= 1 + 1e-9


def test_stable_choices_split_epsilon_and_delta_over_groups() -> None:
    facts = about("replace", 1, 3, 4)
    price = per_group(Fraction(6), Fraction(1, 10**6), facts)
    assert price.relation is Relation.ADD_REMOVE
    assert price.epsilon == 1
    assert 3 * float(price.delta) * (1 + math.e) == pytest.approx(1e-6)
    assert per_group(Fraction(6), Fraction(1, 10**6), about("add_remove", 4, 5, 9, total=2)).full == 2  # two rows are in two groups at most


@pytest.mark.parametrize("width", ["1", "1e-4", "3e-5", "1e-6", "1e-9", "1e-30"])
@pytest.mark.parametrize("place", ["0", "-0.5"])
def test_narrow_bounds_of_a_float_column_are_as_good_as_wide_ones(width: str, place: str) -> None:
    """One unit of the column would be beyond 62 bits of steps: the mechanisms that look for a scale take the bounds instead."""
    low = Fraction(place) * Fraction(width)
    column = Column("x", "float", (low, low + Fraction(width)))
    grid = column.grid()
    assert 1 <= one_unit(grid) <= grid.width
    steps = (np.arange(1, 1001) * (grid.width // 1001)).tolist()
    facts: Any = {"rows": 1000}
    for question, way in ((st.mean("x", "two_stage"), None), (st.huber_mean("x"), None), (st.m_estimate("x", psi="huber"), None)):
        ways = question.ways(Fraction(5), ZERO, context(column, **facts))
        step = ways[way or next(iter(ways))]()
        (answer,) = step.release(World({"x": column}, {"x": steps}).ask, seeded(), None)
        assert abs((Fraction(answer.value) - low) / Fraction(width) - Fraction(1, 2)) < Fraction(1, 10)
