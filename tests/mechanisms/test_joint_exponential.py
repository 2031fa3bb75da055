"""Several quantiles in one draw: the law that is drawn against its definition, small worlds, ties, and twins with one mistake."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from mechanism_world import RELATIONS, SIZES, VALUES

from sordino.errors import QueryError
from sordino.lab.simulation import outcomes
from sordino.lab.world import exact_law, loss, neighbours
from sordino.mechanisms import JointExponential, QuantileExponential
from sordino.summaries.request import rank_window

HALF, QUARTILES, ODD = (Fraction(1, 2),), (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)), (Fraction(1, 10), Fraction(3, 5))
KEPT = {"whole table": lambda t: t, "rows below 3": lambda t: tuple(v for v in t if v != 3)}


def tuples(mechanism):
    return list(combinations_with_replacement(range(mechanism.low, mechanism.high + 1), len(mechanism.levels)))


def defined(mechanism, x):
    """The law by its definition: every tuple with its mass and its walk, the shortest over all ranks on a lattice."""
    points = range(mechanism.low, mechanism.high + 1)
    mass = {y: int(mechanism.measure.total(y) - mechanism.measure.total(y - 1)) for y in points}
    total, c = sum(mass.values()), float(mechanism.rate)
    weight = {}
    for ys in tuples(mechanism):
        often = math.prod(math.factorial(ys.count(y)) for y in set(ys))
        walk = math.exp(-c * float(shortest(x, ys, mechanism.levels))) + math.exp(-mechanism.floor)
        weight[ys] = math.prod(mass[y] / total for y in ys) / often * walk
    return {ys: value / sum(weight.values()) for ys, value in weight.items()}


def shortest(x, ys, levels):
    """Dynamic programming over all rising ranks on the lattice of the levels' denominators."""
    fine, n = math.lcm(*(q.denominator for q in levels)), len(x)
    reached, last = {0: Fraction(0)}, Fraction(0)
    for y, q in zip(ys, levels, strict=True):
        below, upto = sum(v < y for v in x) * fine, sum(v <= y for v in x) * fine
        step = (q - last) * n
        reached = {
            r: min(cost + abs(Fraction(r - p, fine) - step) for p, cost in reached.items() if p <= r)
            for r in range(below, upto + 1)
            if any(p <= r for p in reached)
        }
        last = q
    return min(cost + abs(n - Fraction(p, fine) - (1 - last) * n) for p, cost in reached.items())


WORLDS = [
    (HALF, [0, 2, 2]), (QUARTILES, [1, 1, 1, 1]), (QUARTILES, []), (ODD, [0, 0, 3]), (ODD, [2]), (ODD, [0, 1, 2, 3, 3]),
    ((Fraction(1, 3), Fraction(2, 3)), [3, 3, 0, 0, 1]), ((Fraction(2, 7), Fraction(3, 7)), [0, 1, 1, 1, 2]),
]  # fmt: skip


@pytest.mark.parametrize("base", ["uniform", "arsinh"])
@pytest.mark.parametrize(("levels", "x"), WORLDS, ids=repr)
def test_the_law_is_the_definition(levels, x, base):
    for epsilon in ("0.5", "6"):
        mechanism = JointExponential(epsilon, levels, high=3, base=base, origin=1)
        found = np.exp(mechanism.log_probability(x, tuples(mechanism)))
        assert found == pytest.approx(list(defined(mechanism, x).values()), rel=1e-9)


@pytest.mark.parametrize(("levels", "x"), [(HALF, [0, 2, 2]), (ODD, [2]), (ODD, [0, 2, 2]), (ODD, [1, 1, 1, 1])], ids=repr)
def test_what_is_drawn_has_that_law(levels, x):
    mechanism = JointExponential(2, levels, high=2, base="arsinh", origin=1)
    drawn = exact_law(mechanism, x)
    assert [drawn[ys] for ys in tuples(mechanism)] == pytest.approx(list(defined(mechanism, x).values()), rel=1e-9)


def largest_loss(mechanism, near, rows, kept):
    every, laws, found = tuples(mechanism), {}, 0.0

    def law(table):
        if table not in laws:
            laws[table] = mechanism.log_probability(np.array(table, np.int64), every)
        return laws[table]

    for one, other in neighbours(VALUES, SIZES, near, max_rows=rows):
        found = max(found, float(np.abs(law(tuple(sorted(kept(one)))) - law(tuple(sorted(kept(other))))).max()))
    return found


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize(("levels", "base"), [(QUARTILES, "uniform"), (ODD, "arsinh")], ids=["quartiles", "odd levels, arsinh"])
def test_no_small_world_loses_more_than_epsilon(relation, kept, rows, levels, base):
    mechanism = JointExponential(1, levels, high=3, max_rows=rows, relation=relation, base=base, origin=1)
    assert largest_loss(mechanism, relation, rows, KEPT[kept]) <= 1


class HalfReach(JointExponential):
    """The sensitivity of one level, although a row moves two gaps."""

    @property
    def reach(self):
        return super().reach / 2


class SharpEdge(JointExponential):
    """No floor under the tuples that the windows do not see."""

    floor = 1e6


def test_the_small_world_refutes_the_twins():
    assert largest_loss(HalfReach(1, ODD, high=3), "add_remove", 1, KEPT["whole table"]) > 1.1
    assert largest_loss(JointExponential(1, QUARTILES, high=3), "replace", 1, KEPT["whole table"]) > 1.05
    assert largest_loss(JointExponential(1, ODD, high=3), "add_remove", 3, KEPT["whole table"]) > 1.2


def test_beyond_the_windows_only_the_floor_keeps_the_promise():
    for kind, most in ((SharpEdge, math.inf), (JointExponential, 40)):
        mechanism = kind(40, ODD, high=3)
        found = [loss(*(exact_law(mechanism, [0] * n) for n in (size, size + 1))) for size in range(2, 12)]
        assert max(found) == most or max(found) < most < math.inf


def windows(mechanism, x):
    return [rank_window(np.sort(np.array(x)), q, mechanism.radius + 1, mechanism.low, mechanism.high) for q in mechanism.levels]


def test_one_level_is_the_quantile_mechanism():
    x, points = [3, 3, 4, 9, 9, 9, 40], np.arange(101)
    one, many = QuantileExponential(1, "0.3", high=100), JointExponential(1, (Fraction(3, 10),), high=100)
    law = np.exp(one.log_probability(np.array(x), points))
    assert np.exp(many.log_probability(x, [(y,) for y in points])) == pytest.approx(law, abs=1e-5)


def test_ties_are_found_and_a_heavy_value_keeps_its_neighbours_sharp():
    deciles = tuple(Fraction(j, 10) for j in range(1, 10))
    mechanism = JointExponential(2, deciles, high=2**40)
    assert np.exp(mechanism.log_probability([7**9] * 1000, [(7**9,) * 9])) > 1 - 1e-5
    x = np.sort([0] * 555 + list(range(10**9, 10**9 + 445)))
    for drawn in outcomes(mechanism, x, repeats=5):
        assert drawn[:5] == (0,) * 5
        assert all(abs(np.searchsorted(x, y) - 100 * j) < 60 for y, j in zip(drawn[5:], range(6, 10), strict=True))


def test_windows_that_do_not_touch_give_the_law_of_the_whole_table():
    mechanism = JointExponential(8, (Fraction(1, 10), Fraction(9, 10)), high=10**6)
    x = np.sort(np.random.default_rng(1).integers(0, 10**6, 4_000))
    cells, paths = mechanism.paths(windows(mechanism, x))
    assert np.any(cells.upto[:-1] < cells.below[1:])
    wide = JointExponential(8, mechanism.levels, high=10**6)
    object.__setattr__(wide, "radius", 5_000)
    whole = wide.paths(windows(wide, x))[1]
    assert np.logaddexp.reduce(paths.last) == pytest.approx(np.logaddexp.reduce(whole.last), abs=1e-9)


@pytest.mark.parametrize("relation", RELATIONS)
def test_rank_bars_hold_on_the_worst_table(relation):
    mechanism = JointExponential(1, ODD, high=9, relation=relation)
    t = mechanism.rank_reach(0.05)
    every = tuples(mechanism)
    for x in map(np.sort, ([5] * 40, [0] * 20 + [9] * 20, list(range(10)) * 4, [0] * 39 + [9])):
        law = np.exp(mechanism.log_probability(x, every))
        ys, aim = np.array(every), 40 * np.array(ODD, float)
        off = np.maximum(np.searchsorted(x, ys) - aim, aim - np.searchsorted(x, ys, "right"))
        assert law[off.max(axis=1) <= t].sum() >= 0.95


def test_levels_that_cannot_be_summed_are_refused():
    many = tuple(Fraction(j, 100) for j in range(1, 100))
    for levels, options in ((many, {}), ((Fraction(1, 3**20),), {}), (ODD, {"epsilon": "1e-7"}), ((), {}), (ODD[::-1], {}), ((1, 2), {})):
        with pytest.raises(QueryError) as caught:
            JointExponential(**{"epsilon": 1, "levels": levels, "high": 2**50, **options})
        assert caught.value.fix
