import math

import pytest

from sordino.errors import QueryError
from sordino.sensitivity import worst_case

from .worlds import BOUNDS, world, worlds


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("name", ["mean", "variance", "iqr", "median"])
def test_the_worst_case_of_replacements_is_attained(name, rows):
    for n in range(5):
        expected = getattr(worst_case, name)(bounds=BOUNDS, n=n, relation="replace", max_rows=rows)
        assert world(name, (), "replace", n, rows).worst_case() == pytest.approx(expected)


@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("trim", [0, 1, 2])
@pytest.mark.parametrize("name", ["trimmed_mean", "winsorized_mean"])
def test_the_worst_case_of_a_cut_mean_is_attained(name, trim, rows):
    for everything, tables in worlds(name, (trim,), "replace", rows):
        n = len(tables[0])
        expected = getattr(worst_case, name)(trim=trim, bounds=BOUNDS, n=n, relation="replace", max_rows=rows)
        assert everything.worst_case() == pytest.approx(expected)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_the_worst_case_of_a_mean_of_unknown_size_is_attained(rows):
    assert world("mean", (), "add_remove", 6, rows).worst_case() == pytest.approx(worst_case.mean(bounds=BOUNDS, max_rows=rows))


@pytest.mark.parametrize("name", ["median", "min", "max", "iqr"])
def test_ranks_can_move_across_the_whole_width(name):
    assert getattr(worst_case, name)(bounds=(-2, 7), n=10) == 9
    assert getattr(worst_case, name)(bounds=(-2, 7), n=0, relation="replace") == 0
    assert getattr(worst_case, name)(bounds=(-2.0, 7), norm=math.inf) == 9.0


def test_every_norm_of_a_scalar_agrees_and_others_are_refused():
    assert {worst_case.mean(bounds=(0, 1), n=4, relation="replace", norm=p) for p in (1, 2, math.inf)} == {0.25}
    with pytest.raises(QueryError, match="norm"):
        worst_case.median(bounds=(0, 1), norm=3)


def test_averages_of_replaced_rows_need_the_public_size():
    with pytest.raises(QueryError, match="give n"):
        worst_case.mean(bounds=(0, 1), relation="replace")
    with pytest.raises(QueryError, match="replace"):
        worst_case.variance(bounds=(0, 1), n=3)
