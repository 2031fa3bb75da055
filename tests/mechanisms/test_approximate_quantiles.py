"""Recursive halving: its whole law in small worlds, ties that are split, ranks of many levels, and twins with one mistake."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from mechanism_world import RELATIONS, SIZES, VALUES

from sordino.lab.simulation import outcomes
from sordino.lab.world import exact_law, neighbours
from sordino.mechanisms import ApproximateQuantiles
from sordino.mechanisms.approximate_quantiles import Range, Spot, spread
from sordino.privacy.cost import Cost
from sordino.privacy.pld import total

THREE = (Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
KEPT = {"whole table": lambda t: t, "rows below 3": lambda t: tuple(v for v in t if v != 3)}


def law(mechanism, x):
    """P of every tuple of spots, in rising order: the middle one times what follows in either half, which are independent given it."""
    table = spread(np.sort(np.array(x, np.int64)), mechanism.bits)

    def below(part: Range) -> dict[tuple[Spot, ...], float]:
        if not part.levels:
            return {(): 1.0}
        found: dict[tuple[Spot, ...], float] = {}
        here = len(part.levels) // 2
        q = (part.levels[here] - part.bottom) / (part.top - part.bottom)
        for spot, chance in chances(mechanism, table, part, q):
            halves = mechanism.halves(table, part, spot)
            for left, p in below(halves[0]).items():
                for right, r in below(halves[1]).items():
                    found[(*left, spot, *right)] = found.get((*left, spot, *right), 0.0) + chance * p * r
        return found

    return below(mechanism.whole(table))


def chances(mechanism, table, part, q):
    cells, weights = mechanism.weighed(table, part, q)
    if not len(weights):
        return [(part.where.stop, 1.0)]
    whole, found = 1 << mechanism.bits, []
    for at, weight in enumerate(weights / weights.sum()):
        first, last = (Spot(int(edge[0][at]), int(edge[1][at])) for edge in (cells.start, cells.stop))
        points = range(first.point, last.point + 1)
        spots = [spot for p in points for k in range(1, whole + 1) if first < (spot := Spot(p, k)) <= last]
        own = np.array([mechanism.mass(spot.point)[1] for spot in spots], float)
        found += [(spot, float(weight * share)) for spot, share in zip(spots, own / own.sum() if len(own) else own, strict=True)]
    return found


def largest_loss(mechanism, near, rows, kept, sizes=SIZES):
    laws, found = {}, 0.0

    def of(table):
        if table not in laws:
            laws[table] = law(mechanism, table)
            assert sum(laws[table].values()) == pytest.approx(1)
        return laws[table]

    for one, other in neighbours(VALUES, sizes, near, max_rows=rows):
        p, q = of(tuple(sorted(kept(one)))), of(tuple(sorted(kept(other))))
        assert p.keys() == q.keys()
        found = max(found, *(abs(math.log(p[key] / q[key])) for key in p))
    return found


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kept", KEPT)
@pytest.mark.parametrize("rows", [1, 2])
def test_no_small_world_loses_more_than_epsilon(relation, kept, rows):
    mechanism = ApproximateQuantiles(1, THREE[1:], high=3, max_rows=rows, relation=relation, bits=1)
    assert largest_loss(mechanism, relation, rows, KEPT[kept]) <= 1
    if kept == "whole table" and rows == 1:
        mechanism = ApproximateQuantiles(1, THREE, high=3, relation=relation, bits=0, base="arsinh", origin=1)
        assert largest_loss(mechanism, relation, rows, KEPT[kept], range(4)) <= 1


def test_what_is_drawn_has_that_law():
    for x in ([], [1, 1, 2], [0, 0, 0, 0]):
        mechanism = ApproximateQuantiles(2, THREE[1:], high=2, bits=1, base="arsinh", origin=1)
        expected: dict[tuple[int, ...], float] = {}
        for spots, chance in law(mechanism, x).items():
            points = tuple(spot.point for spot in spots)
            expected[points] = expected.get(points, 0.0) + chance
        drawn = exact_law(mechanism, x)
        assert [drawn[key] for key in expected] == pytest.approx(list(expected.values()), rel=1e-9)


class OneLayer(ApproximateQuantiles):
    """Pays for the first draw only."""

    layers = 1


def test_the_small_world_refutes_the_twins():
    add, whole = "add_remove", KEPT["whole table"]
    assert largest_loss(OneLayer(1, THREE[1:], high=3, bits=1), add, 1, whole) > 1.2
    assert largest_loss(ApproximateQuantiles(1, THREE[1:], high=3, bits=1), "replace", 1, whole) > 1.04
    assert largest_loss(ApproximateQuantiles(1, THREE[1:], high=3, bits=1), add, 3, whole) > 1.1


def test_a_row_more_is_a_spread_row_more():
    rng = np.random.default_rng(1)
    for _ in range(50):
        x = np.sort(rng.integers(0, 4, rng.integers(0, 30)))
        one = spread(x, 3)
        for value in range(4):
            other = spread(np.sort(np.append(x, value)), 3)
            pairs = [sorted(zip(t.point.tolist(), t.part.tolist(), strict=True)) for t in (one, other)]
            for pair in pairs[0]:
                pairs[1].remove(pair)
            assert len(pairs[1]) == 1


def test_ties_are_split_evenly_and_levels_inside_them_are_found():
    table = spread(np.full(1000, 5), 20)
    assert np.all(np.diff(table.part) <= 2**20 // 512)
    mechanism = ApproximateQuantiles(2, tuple(Fraction(j, 20) for j in range(1, 20)), high=10**6)
    x = np.sort([0] * 900 + list(range(1, 101)))
    for drawn in outcomes(mechanism, x, repeats=5):
        assert drawn[:13] == (0,) * 13  # each of five draws errs by a few rows, not by the nine hundred that are equal


def test_ninety_nine_levels_miss_few_rows():
    levels = tuple(Fraction(j, 100) for j in range(1, 100))
    x = np.sort(np.random.default_rng(1).lognormal(10, 1, 20_000)).astype(np.int64)
    mechanism = ApproximateQuantiles(1, levels, high=10**6)
    for drawn in outcomes(mechanism, x, repeats=3):
        aim = 200 * np.arange(1, 100)
        off = np.maximum(np.searchsorted(x, drawn) - aim, aim - np.searchsorted(x, drawn, "right"))
        assert list(drawn) == sorted(drawn)
        assert off.max() <= mechanism.rank_reach(1e-9)
        assert np.maximum(off, 0).mean() < 60


@pytest.mark.parametrize("parts", [2, 3, 7])
def test_draws_of_bounded_range_cost_no_more_than_one_of_their_sum(parts):
    for whole in (0.3, 1.0, 4.0):
        one, many = (total([Cost.bounded_range(Fraction(whole) / k)] * k) for k in (1, parts))
        for epsilon in np.linspace(0, 0.98 * whole, 9):
            assert many.delta(float(epsilon)) <= one.delta(float(epsilon)) * (1 + 1e-6) + 1e-12
