"""Roots of M-estimates and their ladders against the definitions, in worlds small enough to list."""

from __future__ import annotations

import numpy as np
import pytest
from tests.sensitivity.legality import illegal, swapped

from sordino.errors import QueryError
from sordino.privacy.relation import Relation
from sordino.sensitivity import exhaustive
from sordino.sensitivity.location import PSIS, Location, Ramps, read_curve

W = 6
CURVES = {
    "sign": Ramps((-1,), (1,), (1,)),
    "huber": Ramps((-2,), (2,), (1,)),
    "layers": Ramps((-3, -1), (3, 1), (1, 2)),
    "skewed": Ramps((-1, 0), (0, 3), (2, 1)),
}


def root(psi):
    return lambda table: next((m for m in range(W + 1) if sum(int(psi(x - m)) for x in table) <= 0), W)


def rungs(world, psi, relation, rows):
    found = {}
    for table in world.tables:
        location = Location(np.array(table, np.int64), W, psi, relation, rows)
        assert location.value == root(psi)(table)
        found[table] = location.ladder().rungs(4)
    return found


@pytest.mark.parametrize("psi", CURVES.values(), ids=CURVES)
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("kind", ["add_remove", "replace", "swap"])
def test_every_rung_covers_the_definition_and_neighbours(psi, rows, kind):
    sizes = [4] if kind == "replace" else range(7 if kind == "add_remove" else 6)
    world = exhaustive(root(psi), range(0, W + 1, 2), "replace" if kind == "replace" else "add_remove", sizes=sizes, max_rows=rows)
    if kind == "swap":
        world = swapped(world, rows)
    mine = rungs(world, psi, Relation.ADD_REMOVE if kind == "add_remove" else Relation.REPLACE, rows)
    checked = 0
    for table in world.tables:
        for k in range(3):
            if kind == "replace" or len(table) + (k + 1) * rows <= max(sizes):
                assert mine[table][k] >= world.rung(table, k)
                checked += 1
    assert checked > 30
    assert illegal(world, mine) == []


def test_a_cut_table_stays_under_a_legal_ladder():
    """With at most four rows an added row replaces one by a public order of values: neighbours of the cut tables are still covered."""
    psi, most = CURVES["huber"], 4
    world = exhaustive(lambda table: root(psi)(table[:most]), range(0, W + 1, 2), sizes=range(7))
    cut = {table: Location(np.array(table[:most], np.int64), W, psi, most=most).ladder().rungs(4) for table in world.tables}
    assert all(cut[table][k] >= world.rung(table, k) for table in world.tables for k in range(3) if len(table) + k < 6)
    assert illegal(world, cut) == []
    blind = {table: Location(np.array(table[:most], np.int64), W, psi).ladder().rungs(4) for table in world.tables}
    assert any(blind[table][0] < world.local(table) for table in world.tables if len(table) < 6)  # without the rule a cut shows


@pytest.mark.parametrize("wrong", ["half the bound", "removed rows forgotten"])
def test_a_wrong_ladder_is_caught(wrong):
    psi = CURVES["huber"]
    world = exhaustive(root(psi), range(0, W + 1, 2), sizes=range(7))

    class Wrong(Location):
        def _rungs(self, count, relation):
            if wrong == "half the bound":
                return super()._rungs(count, relation) // 2
            return np.repeat(super()._rungs(1, relation), count)

    bad = {table: Wrong(np.array(table, np.int64), W, psi).ladder().rungs(4) for table in world.tables}
    low = any(bad[table][k] < world.rung(table, k) for table in world.tables for k in range(3) if len(table) + k < 6)
    assert low or illegal(world, bad)


@pytest.mark.parametrize("psi", PSIS)
def test_curves_are_whole_numbers_that_never_fall(psi):
    curve = Ramps.through(*read_curve(psi), 1000)
    heights = curve(np.arange(-9000, 9000))
    assert (np.diff(heights) >= 0).all()
    assert heights[9000] == 0
    assert np.abs(heights).max() == curve.bound
    assert np.diff(heights).max() <= curve.steepest
    knots, values = read_curve(psi)
    drawn = np.interp(np.arange(-9000, 9000) / 1000, knots, values)
    assert np.abs(heights / 4096 / 1000 - drawn).max() < 1e-3


def test_sums_of_wide_columns_are_exact():
    rng = np.random.default_rng(1)
    x = np.sort(rng.integers(0, 2**60, 1000))
    psi = Ramps.through(*read_curve("logcosh"), 2**24)
    location = Location(x, 2**60, psi)
    for m in [0, 2**60, *rng.choice(x, 5).tolist(), *rng.integers(0, 2**60, 5).tolist()]:
        assert int(location.total(np.array([m]))[0]) == sum(int(v) for v in psi(x - m).tolist())


@pytest.mark.parametrize(
    "psi", ["tukey", 3, lambda z: z * np.exp(-z), lambda z: 1.0, lambda z: z + 1, lambda z: 1 / 0, lambda z: float("nan")]
)
def test_what_is_no_influence_curve_is_refused(psi):
    with pytest.raises(QueryError, match="psi"):
        read_curve(psi)


def test_a_curve_of_ones_own_is_drawn_straight_between_its_quarters():
    knots, heights = read_curve(lambda z: 5 * z / (1 + abs(z)))
    assert (knots[0], knots[-1], max(heights)) == (-8, 8, 1)
    assert heights[len(heights) // 2] == 0
