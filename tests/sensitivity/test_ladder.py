import math

import numpy as np
import pytest

from sordino.errors import QueryError
from sordino.sensitivity import average, position
from sordino.sensitivity.ladder import Ladder


def steps(values):
    """A ladder given as a list whose last rung goes on for ever."""
    return Ladder(lambda k0, k1: np.array([values[min(k, len(values) - 1)] for k in range(k0, k1)]), values[-1], len(values) - 1)


def test_the_smooth_bound_is_the_largest_decayed_rung():
    ladder = steps([1, 1, 8, 10])
    assert ladder.smooth(1.0) == pytest.approx(8 * math.exp(-2))
    assert ladder.smooth(0.1) == pytest.approx(10 * math.exp(-0.3))
    assert ladder.smooth(9.0) == 1


def test_a_short_window_falls_back_on_the_top():
    ladder = steps([1, 1, 8, 10])
    assert ladder.smooth(1.0, 0) == 10
    assert ladder.smooth(1.0, 1) == pytest.approx(10 * math.exp(-1))
    assert ladder.smooth(1.0, 400) == ladder.smooth(1.0)


def test_the_distance_is_the_first_rung_above():
    ladder = steps([1, 1, 8, 10])
    assert [ladder.distance(b) for b in (0, 1, 7.9, 8, 9.9, 10)] == [0, 2, 2, 3, 3, math.inf]
    long = steps(list(range(1000)))
    assert [long.distance(b) for b in (-1, 0, 1, 2, 500, 997, 998, 999)] == [0, 1, 2, 3, 501, 998, 999, math.inf]
    with pytest.raises(QueryError, match="NaN"):
        ladder.distance(math.nan)


def test_people_climb_several_rungs_at_once():
    people = steps([1, 1, 8, 10]).people(2, 15)
    assert people.rungs(3).tolist() == [2, 15, 15]
    assert people.depth == 2


def test_flat_larger_and_divided_ladders_do_what_they_say():
    assert Ladder.flat(3).rungs(2).tolist() == [3, 3]
    assert Ladder.flat(3).smooth(0.2) == 3
    assert Ladder.flat(0).distance(0) == math.inf
    assert steps([1, 4]).larger(steps([2, 3, 9])).rungs(4).tolist() == [2, 4, 9, 9]
    assert steps([1, 4]).over(2).rungs(2).tolist() == [0.5, 2.0]


def test_no_rungs_may_be_asked_for():
    assert position.median([1, 2], bounds=(0, 3), relation="replace").rungs(0).tolist() == []
    with pytest.raises(QueryError, match="count"):
        position.median([1, 2], bounds=(0, 3)).rungs(-1)


def test_gaps_far_below_the_size_of_the_values_are_seen():
    x = 1e300 + np.arange(9) * 1e285
    ladder = position.median(x, bounds=(1e300, 1.1e300), relation="replace")
    assert ladder.rungs(40)[0] == pytest.approx(1e285, rel=0.2)


def test_very_wide_bounds_have_no_variance():
    with pytest.raises(QueryError, match="too wide"):
        average.variance([1.0, 2.0], bounds=(0, 1e200), relation="replace")


def test_the_envelope_peaks_at_the_smooth_sensitivity():
    from sordino.sensitivity import position

    ladder = position.median(np.arange(0, 400, 4), bounds=(0, 1000))
    picture = ladder.plot(0.2)
    assert "A(k)" in str(picture)
    assert f"{ladder.smooth(0.2):,.4g}" in str(picture)
    assert "<svg" in picture._repr_html_()
