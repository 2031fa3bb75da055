"""The notes' data sets have the properties the notes use them for."""

import statistics

import pytest

from sordino.course import notes
from sordino.errors import QueryError
from sordino.sensitivity import local


@pytest.mark.parametrize("n", [1, 3, 101])
def test_one_person_moves_the_median_across_the_whole_range(n):
    first, second = notes.median_worst_case(n, high=7)
    assert len(first) == len(second) == n
    assert sum(a != b for a, b in zip(first, second, strict=True)) == 1
    assert (statistics.median(first), statistics.median(second)) == (0, 7)
    with pytest.raises(QueryError, match="odd"):
        notes.median_worst_case(n + 1)


def test_the_leaking_medians_are_equal_and_their_sensitivities_are_not():
    first, second = notes.median_leak(100)
    assert sum(a != b for a, b in zip(first, second, strict=True)) == 1
    assert statistics.median_low(first) == statistics.median_low(second) == 0
    reach = [local.median(x, bounds=(0, 10**6), relation="replace") for x in (first, second)]
    assert reach == [0, 10**6]


@pytest.mark.parametrize(("n", "k", "count"), [(10, 4, 4), (3, 0, 3), (3, 3, 3), (0, 0, 2)])
def test_bits_have_four_neighbours_unless_there_is_nothing_to_take_away(n, k, count):
    bits, neighbours = notes.four_neighbours(n, k)
    assert (len(bits), sum(bits)) == (n, n - k)
    assert len(neighbours) == count
    for other in neighbours:
        assert abs(len(other) - n) == 1
        assert abs(sum(other) - sum(bits)) + abs(other.count(0) - bits.count(0)) == 1
    with pytest.raises(QueryError, match="zeros"):
        notes.four_neighbours(3, 4)


def test_the_database_of_three_people_and_the_mode_race():
    assert {len(column) for column in notes.people().values()} == {3}
    race = notes.mode_race(20, count=9, gap=2)
    assert len(race) == 20
    assert sorted(race.values(), reverse=True)[:2] == [11, 9]
