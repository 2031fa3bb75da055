"""The ladders of sums of middle rows against the definitions, in worlds small enough to list."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from tests.sensitivity.legality import illegal, swapped

from sordino.sensitivity import exhaustive
from sordino.sensitivity.middle import Ends, middle_sum, weighted_sum
from sordino.summaries.totals import middle

U, FAR = 3, 40


def ladder(table, kept, weight, relation, rows=1):
    ends = Ends.seen(middle(np.array(table, np.int64), kept, FAR, U), U)
    return weighted_sum(ends, weight, relation, rows) if weight else middle_sum(ends, relation, rows)


def value(table, kept, weight):
    found = middle(np.array(table, np.int64), kept, 0, U)
    return found.total + weight * (int(found.lower[0]) + int(found.upper[0]))


@pytest.mark.parametrize(("kept", "weight"), [(1, 0), (2, 0), (3, 0), (1, 2), (2, 1), (3, 2)])
@pytest.mark.parametrize(("relation", "rows"), [("add_remove", 1), ("add_remove", 2), ("add_remove", 3), ("replace", 1), ("replace", 2)])
def test_every_rung_covers_the_definition_and_neighbours(kept, weight, relation, rows):
    sizes = range(7) if relation == "add_remove" else [5]
    world = exhaustive(lambda table: value(table, kept, weight), range(U + 1), relation, sizes=sizes, max_rows=rows)
    rungs = {table: ladder(table, kept, weight, relation, rows).rungs(5) for table in world.tables}
    exact = compared = 0
    for table, mine in rungs.items():
        for k in range(4):
            if relation == "replace" or len(table) + (k + 1) * rows <= 6:
                true = world.rung(table, k)
                assert mine[k] >= true
                exact, compared = exact + (mine[k] == true), compared + 1
    assert compared > 30
    if weight == 0 and rows == 1:
        assert exact == compared  # the theorem says exactly
    assert illegal(world, rungs) == []


@pytest.mark.parametrize(("kept", "weight"), [(1, 0), (2, 0), (3, 0), (2, 1)])
@pytest.mark.parametrize("rows", [1, 2])
def test_two_row_steps_cover_a_replaced_person_where_n_is_private(kept, weight, rows):
    world = swapped(exhaustive(lambda table: value(table, kept, weight), range(U + 1), sizes=range(7), max_rows=rows), rows)
    rungs = {table: ladder(table, kept, weight, "add_remove", 2 * rows).rungs(3) for table in world.tables}
    for table, mine in rungs.items():
        for k in range(2):
            if len(table) + (k + 1) * rows <= 6:
                assert mine[k] >= world.rung(table, k)
    assert illegal(world, rungs) == []


def test_a_ladder_that_is_late_by_one_step_is_caught():
    """The enumeration above can fail: rungs of one step less, or of one row for a person of two, are too low somewhere."""
    world = exhaustive(lambda table: value(table, 2, 0), range(U + 1), "add_remove", sizes=range(7), max_rows=2)
    one = {table: ladder(table, 2, 0, "add_remove", 1).rungs(3) for table in world.tables}
    assert any(one[table][0] < world.local(table) for table in world.tables if len(table) <= 4)
    single = exhaustive(lambda table: value(table, 2, 0), range(U + 1), "add_remove", sizes=range(7))
    late = {table: np.concatenate([[0], ladder(table, 2, 0, "add_remove").rungs(2)]) for table in single.tables}
    assert any(late[table][0] < single.local(table) for table in single.tables if len(table) <= 5)


def test_the_lower_median_is_the_middle_of_one_row():
    from sordino.sensitivity import rungs

    for table in product(range(U + 1), repeat=4):
        mine = ladder(sorted(table), 1, 0, "add_remove").rungs(5)
        assert mine.tolist() == rungs.median(sorted(table), bounds=(0, U), count=5).tolist()


def test_bounds_too_wide_for_64_bits_count_in_python_integers():
    width = 2**58
    x = np.array([0, 1, width // 2, width - 1, width] * 40, np.int64)
    ends = Ends.seen(middle(np.sort(x), 100, FAR, width), width)
    found = weighted_sum(ends, 50, "add_remove")
    assert found.rungs(3).dtype == object
    assert found.top == 51 * width
