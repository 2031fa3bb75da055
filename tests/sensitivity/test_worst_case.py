import math
from itertools import combinations_with_replacement, product

import numpy as np
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


def moves(units, statistic, relation, norm):
    """The largest change over every pair of neighbours: a unit's rows come, or become another unit's."""
    empty = statistic(())
    pairs = [(statistic(one), empty) for one in units] if relation == "add_remove" else product([statistic(one) for one in units], repeat=2)
    return max(float(np.linalg.norm(np.subtract(a, b), norm)) for a, b in pairs)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("norm", [1, 2, math.inf])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_counts_sums_histograms_and_vectors_are_attained_and_never_exceeded(relation, norm, rows):
    """Every unit of at most so many rows is listed; what other units hold cancels in all four statistics."""
    sizes = range(rows + 1) if relation == "add_remove" else [rows]
    ways = {"relation": relation, "norm": norm, "max_rows": rows}
    of = {size: list(combinations_with_replacement((-3, 0, 2), size)) for size in sizes}
    units = [unit for size in sizes for unit in of[size]]
    assert moves(units, lambda unit: [sum(v > 0 for v in unit)], relation, norm) == worst_case.count(**ways)
    assert moves(units, lambda unit: [sum(unit)], relation, norm) == worst_case.sum(bounds=(-3, 2), **ways)
    bins = moves(units, lambda unit: [unit.count(v) for v in (-3, 0, 2)], relation, norm)
    assert bins == pytest.approx(worst_case.histogram(**ways))
    corners = [(a, b) for a in (-1, 4) for b in (0, 2)]
    units = [unit for size in sizes for unit in combinations_with_replacement(corners, size)]
    found = moves(units, lambda unit: np.sum(np.reshape(unit, (-1, 2)), axis=0), relation, norm)
    assert found == pytest.approx(worst_case.vector(bounds=[(-1, 4), (0, 2)], **ways))


def test_no_more_rows_are_replaced_than_there_are_and_a_vector_needs_columns():
    assert worst_case.count(n=2, relation="replace", max_rows=5) == 2
    assert worst_case.histogram(n=0, relation="replace") == 0
    with pytest.raises(QueryError, match="no columns"):
        worst_case.vector(bounds=[])
