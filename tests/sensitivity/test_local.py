import pytest

from sordino.sensitivity import local


def test_the_median_of_replaced_rows_is_the_larger_of_its_two_gaps():
    assert local.median([1, 4, 9, 11, 30], bounds=(0, 99), relation="replace") == 5
    assert local.median([1, 8, 9, 11, 30], bounds=(0, 99), relation="replace") == 2


def test_the_median_of_rows_that_come_and_go_is_one_gap():
    assert local.median([1, 4, 9, 11, 30], bounds=(0, 99)) == 5
    assert local.median([1, 4, 9, 11], bounds=(0, 99)) == 5
    assert local.median([], bounds=(0, 99)) == 99


def test_a_mean_of_replaced_rows_depends_on_the_extremes():
    assert local.mean([1, 2, 3], bounds=(0, 9), relation="replace") == pytest.approx(8 / 3)


def test_results_are_plain_numbers():
    assert type(local.median([1, 4, 9], bounds=(0, 99))) is int
    assert type(local.median([1.5, 4, 9], bounds=(0, 99))) is float
    assert type(local.trimmed_sum([1, 4, 9], trim=1, bounds=(0, 99), relation="replace")) is int
