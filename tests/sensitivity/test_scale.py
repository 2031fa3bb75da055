import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import QueryError
from sordino.sensitivity import ScaleLadder
from sordino.sensitivity.scale import growth


@pytest.mark.parametrize("beta", ["0.3", "0.03", "1/3", "0.0001", "2", "17", "100", "0.000001"])
def test_the_growth_is_the_floor_of_the_exponential(beta):
    value = Fraction(beta)
    with mpmath.workdps(120):
        assert growth(value) == int(mpmath.floor(mpmath.exp(mpmath.mpf(value.numerator) / value.denominator) * 10**6))


@pytest.mark.parametrize("beta", ["0.3", "0.01", "1", 0.1, Fraction(1, 7)])
@pytest.mark.parametrize("top", [0, 1, 1000, 10**6, 2**61])
def test_scales_rise_by_at_most_the_promised_factor_and_end_above_the_top(beta, top):
    ladder = ScaleLadder(beta, top)
    assert ladder.steps[0] == math.ceil(1024 / Fraction(str(beta)))
    assert ladder.steps[-1] >= top << 20
    assert len(ladder.steps) == 1 or ladder.steps[-2] < top << 20
    for low, high in zip(ladder.steps, ladder.steps[1:], strict=False):
        assert low < high <= ladder.ratio * low
    assert ladder.last == len(ladder.steps) - 1
    assert float(ladder.ratio) <= math.exp(Fraction(str(beta)))


def test_a_cover_is_the_first_scale_that_is_large_enough():
    ladder = ScaleLadder("0.2", 5000)
    amounts = np.array([0, 1, 2, 3, 17, 499, 4999, 5000])
    slow = [next(j for j, step in enumerate(ladder.steps) if step >= a << 20) for a in amounts.tolist()]
    assert ladder.cover(amounts).tolist() == slow
    assert ladder.cover(10**9) == ladder.cover(5000)
    assert ladder.scale(int(ladder.cover(17))) >= 17
    assert ladder.cover(2**80) == ladder.cover(5000)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.integers(0, 1000), min_size=1, max_size=40), st.data())
def test_neighbouring_ladders_get_scales_at_most_one_step_apart(rises, data):
    window = len(rises)
    ladder = ScaleLadder("0.25", 1000)
    mine = np.minimum(np.cumsum(rises), 1000)
    # the tightest and the loosest neighbour that legality allows
    low = np.concatenate(([0], mine[:-1]))
    high = np.concatenate((mine[1:], [1000]))
    mix = np.array([data.draw(st.integers(a, b)) for a, b in zip(low.tolist(), high.tolist(), strict=True)])
    index = ladder.index(mine)
    for other in (low, high, np.maximum.accumulate(mix)):
        assert abs(ladder.index(other, window) - index) <= 1
    assert ladder.scale(index) >= int(mine[0])


def test_no_sensitivity_still_gets_the_first_scale_and_never_zero():
    ladder = ScaleLadder("0.3", 100)
    assert ladder.index(np.zeros(ladder.least_window, dtype=int)) == 0
    assert ladder.scale(0) > 0
    assert ladder.index(np.zeros(1, dtype=int)) == int(ladder.cover(100)) - 1


def test_float_rungs_are_rounded_up_with_their_error():
    ladder = ScaleLadder("0.3", 10**6)
    exact = np.array([100, 200, 400, 1000] * 20).cumsum()
    eta = Fraction(1, 4)
    blurred = exact + np.random.default_rng(1).uniform(-0.25, 0.25, len(exact))
    padded = [math.ceil(Fraction(a) + (2 * k + 1) * eta) for k, a in enumerate(blurred.tolist())]
    assert ladder.index(blurred, eta=eta) == ladder.index(np.array(padded))
    assert ladder.scale(ladder.index(blurred, eta=eta)) >= int(exact[0])
    assert ladder.index(np.array([math.inf])) == ladder.last


def test_impossible_ladders_are_refused():
    for beta in (0, -1, "x", math.nan, math.inf, 101, "1e-7", "0.000001"):
        with pytest.raises(QueryError, match="SRD-103"):
            ScaleLadder(beta, 10**6)
    for top in (-1, 1.5, True, 2**62):
        with pytest.raises(QueryError, match="SRD-103"):
            ScaleLadder(0.3, top)
    ladder = ScaleLadder(0.3, 10)
    for rungs, options in (([1, 2], {"window": 3}), ([math.nan], {}), ([1.5], {"eta": -1}), (["a"], {})):
        with pytest.raises(QueryError):
            ladder.index(rungs, **options)


def test_a_scale_ladder_is_a_value():
    assert ScaleLadder(0.3, 10) == ScaleLadder("0.3", 10)
    assert hash(ScaleLadder(0.3, 10)) == hash(ScaleLadder(Fraction(3, 10), 10))
