import math
from itertools import product

import pytest

from sordino.errors import QueryError
from sordino.sensitivity import exhaustive
from sordino.sensitivity.universe import Universe

from .worlds import slow

median = slow("median")


def test_the_tables_are_all_multisets():
    assert len(Universe((0, 1, 2), (0, 1, 2)).tables) == 1 + 3 + 6
    assert Universe((1, 0, 1), (2,)).tables == ((0, 0), (0, 1), (1, 1))


def test_neighbours_differ_by_one_row():
    everything = exhaustive(median, range(3), "add_remove", sizes=range(4))
    assert set(everything.neighbours((1, 0))) == {(0,), (1,), (0, 0, 1), (0, 1, 1), (0, 1, 2)}
    everything = exhaustive(median, range(3), "replace", sizes=2)
    assert set(everything.neighbours((0, 1))) == {(0, 0), (1, 1), (0, 2), (1, 2)}


def test_people_add_remove_or_replace_several_rows_at_once():
    everything = exhaustive(median, range(2), "add_remove", sizes=range(5), max_rows=2)
    assert set(everything.neighbours((0, 1))) == {(), (0,), (1,), (0, 0, 1), (0, 1, 1), (0, 0, 0, 1), (0, 0, 1, 1), (0, 1, 1, 1)}
    everything = exhaustive(median, range(2), "replace", sizes=3, max_rows=2)
    assert set(everything.neighbours((0, 0, 0))) == {(0, 0, 1), (0, 1, 1)}


def test_the_numbers_are_those_of_a_search_over_all_pairs():
    everything = exhaustive(median, range(4), "replace", sizes=3)
    tables = list(product(range(4), repeat=3))

    def steps(x, y):
        return sum((a != b) for a, b in zip(x, y, strict=True))

    sensitivity = {x: max(abs(median(x) - median(y)) for y in tables if steps(x, y) <= 1) for x in tables}
    for x in tables[::5]:
        assert everything.local(x) == sensitivity[x]
        for k in range(4):
            assert everything.rung(x, k) == max(sensitivity[y] for y in tables if steps(x, y) <= k)
        by_pairs = max(math.exp(-0.4 * steps(x, y)) * sensitivity[y] for y in tables)
        assert everything.smooth(x, 0.4) == pytest.approx(by_pairs)
        assert everything.fixed_point(0.4)[tuple(sorted(x))] == pytest.approx(by_pairs)
        assert everything.distance(x, 1) == min(steps(x, y) for y in tables if sensitivity[y] > 1)
    assert everything.worst_case() == 3


def test_stability_works_for_any_output():
    everything = exhaustive(lambda t: "high" if sum(t) > 2 else "low", range(2), "add_remove", sizes=range(6))
    assert everything.stability((0, 0)) == 2
    assert everything.stability((1, 1, 1)) == 0
    assert exhaustive(lambda t: None, range(2), "add_remove", sizes=range(3)).stability(()) == math.inf


def test_a_universe_may_be_given_ready_made():
    assert exhaustive(median, Universe((0, 3), (1,)), "replace").worst_case() == 3


def test_questions_outside_the_universe_are_refused():
    with pytest.raises(QueryError, match="sizes"):
        exhaustive(median, range(3))
    with pytest.raises(QueryError, match="exactly one size"):
        exhaustive(median, range(3), "replace", sizes=range(3))
    with pytest.raises(QueryError, match="not in the universe"):
        exhaustive(median, range(3), sizes=range(3)).local((7,))
    with pytest.raises(QueryError, match="relation"):
        exhaustive(median, range(3), "neighbour", sizes=range(3))
