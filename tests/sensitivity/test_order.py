import math
from fractions import Fraction

import numpy as np
import pytest

from sordino.errors import QueryError
from sordino.sensitivity import smooth
from sordino.sensitivity.order import Order, rank


def test_ranks_beyond_the_table_are_the_bounds():
    order = Order.of([5, 1, 3], (0, 9))
    assert order.span(-1, 5).tolist() == [0, 0, 1, 3, 5, 9, 9]
    assert order.mirror().span(-1, 5).tolist() == [-9, -9, -5, -3, -1, 0, 0]
    assert Order.of([], (0, 9)).span(0, 1).tolist() == [0, 9]
    assert order.span(7, 8).tolist() == [9, 9]
    assert order.span(-8, -7).tolist() == [0, 0]


def test_values_are_clamped_to_the_bounds():
    assert Order.of([-math.inf, 2.5, math.inf], (0, 4)).span(1, 3).tolist() == [0, 2.5, 4]
    assert Order.of(np.array([2**64 - 1, 3], dtype=np.uint64), (0, 4)).span(1, 2).tolist() == [3, 4]
    assert Order.of([10**30, -(10**30)], (0, 4)).span(1, 2).tolist() == [0, 4]


def test_whole_numbers_stay_whole_and_everything_else_is_float():
    assert Order.of([1, 2], (0, 3)).span(1, 2).dtype == np.int64
    assert Order.of([], (0, 3)).span(0, 1).dtype == np.int64
    assert Order.of([True, False], (0, 1)).span(1, 2).dtype == np.int64
    assert Order.of([1, 2], (0.0, 3)).span(1, 2).dtype == np.float64
    assert Order.of(np.array([1, 2], dtype=np.float32), (0, 3)).span(1, 2).dtype == np.float64


def test_totals_are_exact_beyond_sixty_four_bits():
    big = 2**60
    assert Order.of([big] * 40, (0, big)).total() == 40 * big


@pytest.mark.parametrize("n", range(1, 41))
@pytest.mark.parametrize("q", [0.1, 0.3, 0.7, 0.9])
def test_ranks_use_the_decimal_that_was_written(q, n):
    assert rank(q, n) == max(1, math.ceil(Fraction(str(q)) * n))


@pytest.mark.parametrize("x", [[1.0, math.nan], [math.nan], [math.nan, 0.0, 1.0], ["a"], [None], [[1, 2]]])
def test_columns_that_are_not_numbers_are_refused(x):
    with pytest.raises(QueryError):
        smooth.median(x, bounds=(0, 3), beta=0.3)


@pytest.mark.parametrize("bounds", [(3, 0), (0, math.inf), (math.nan, 1), (0,), None, ("a", "b"), (-(2**62), 2**62), (-1e308, 1e308)])
def test_bounds_that_are_not_public_finite_numbers_in_order_are_refused(bounds):
    with pytest.raises(QueryError, match="SRD-104"):
        smooth.median([1, 2], bounds=bounds, beta=0.3)


@pytest.mark.parametrize("beta", [0, -1, math.nan, math.inf, "x", None])
def test_a_rate_that_is_not_positive_and_finite_is_refused(beta):
    with pytest.raises(QueryError, match="SRD-103"):
        smooth.median([1, 2], bounds=(0, 3), beta=beta)


@pytest.mark.parametrize("q", [-0.1, 1.1, "x", math.nan, "1/0"])
def test_levels_outside_zero_and_one_are_refused(q):
    with pytest.raises(QueryError):
        smooth.quantile([1, 2], q=q, bounds=(0, 3), beta=0.3)


def test_the_order_of_the_rows_does_not_matter():
    rng = np.random.default_rng(5)
    x = rng.normal(size=500)
    for relation in ("add_remove", "replace"):
        sorted_first = smooth.quantile(np.sort(x), q=0.3, bounds=(-9, 9), beta=0.1, relation=relation)
        assert smooth.quantile(x, q=0.3, bounds=(-9, 9), beta=0.1, relation=relation) == sorted_first


def test_sums_of_rungs_that_could_leave_int64_are_refused():
    with pytest.raises(QueryError, match="too wide"):
        smooth.winsorized_mean([1] * 9, trim=4, bounds=(0, 2**60), beta=0.1, relation="replace")
