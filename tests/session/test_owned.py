"""Releases on data one owns: what the data answer, what is refused, and what the answer says about itself."""

import enum
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.lab.world import exact_law, hockey
from sordino.mechanisms import (
    Laplace,
    LaplaceHistogram,
    ProposeTestRelease,
    QuantileExponential,
    Smooth,
    Stability,
    StableHistogram,
    StableMode,
)
from sordino.session.owned import Owned, owned
from sordino.summaries import Counts, Near, Nearness, RankWindow, Scores, Stair, Value

SMALL = Fraction(1, 10**6)


class Colour(enum.StrEnum):
    RED = "red"


def middle(law):
    """A draw without chance: the location of every law."""
    return law.location


def test_a_release_carries_value_price_mechanism_and_card():
    found = sd.release(Laplace(epsilon=1, sensitivity=1), 42, draw=middle)
    assert found.value == 42
    assert (found.cost.epsilon, found.mechanism, found.refused) == (1.0, "Laplace", False)
    assert "not charged to any ledger" in str(dict(found.card))


def test_refused_is_a_value():
    found = sd.release(Stability(1, SMALL), Near(0, "x"), draw=lambda _: False)
    assert found.refused
    assert math.isnan(float(found))


def test_whole_numbers_beyond_the_doubles_keep_neighbours_one_step_apart():
    values = [Owned(2**53 + k)(Value()) for k in range(4)]
    assert np.diff(values).tolist() == [1, 1, 1]
    assert Owned(-(2**60) - 1)(Value()) == -(2**60) - 1
    assert Owned(np.array([2**55 + 1]))(Value()) == 2**55 + 1


@pytest.mark.parametrize("value", [2**62, math.inf, math.nan, None, "x", [1, 2], [], 10**400])
def test_what_does_not_fit_the_grid_is_refused(value):
    with pytest.raises(QueryError):
        Owned(value)(Value())


def test_values_are_rounded_to_the_public_step():
    step = Fraction(1, 4)
    assert [Owned(v)(Value(step)) for v in (0, 0.124, 0.125, -0.125, Decimal("0.3"), Fraction(1, 3))] == [0, 0, 1, 0, 1, 1]


def test_scores_must_be_whole_and_small_enough_for_doubles():
    assert Owned([1, 2.0, True])(Scores()).tolist() == [1, 2, 1]
    for wrong in ([0.5], [2**53 + 1], [math.inf]):
        with pytest.raises(QueryError):
            Owned(wrong)(Scores())


@pytest.mark.parametrize(
    "twins", [(True, 1), (1.0, 1), (np.int64(1), 1), (Decimal(1), 1), (-0.0, 0), (Colour.RED, "red"), (np.str_("red"), "red")]
)
def test_the_first_row_does_not_choose_the_name_of_equal_keys(twins):
    odd, plain = twins
    assert odd == plain
    one, other = Owned([odd, *[plain] * 9])(Counts()), Owned([*[plain] * 9, odd])(Counts())
    assert one.keys == other.keys
    assert [type(key) for key in one.keys] == [type(key) for key in other.keys]
    assert one.counts.tolist() == [10]


def test_a_row_with_another_spelling_of_the_mode_does_not_show():
    laws = [exact_law(StableMode(1, SMALL), rows) for rows in ([True, *[1] * 60], [1] * 60)]
    assert [repr(value) for value in laws[0]] == [repr(value) for value in laws[1]]
    assert hockey(*laws, 1.0) <= 1e-6


def test_all_missing_keys_are_one_key():
    tally = Owned([float("nan"), math.nan, np.float64("nan"), None])(Counts())
    assert sorted(tally.counts.tolist()) == [1, 3]


def test_keys_come_in_byte_order_and_counts_may_be_given():
    tally = Owned({"b": 2, "a": 3, 10: 1, 9: 1})(Counts())
    assert tally.keys == (10, 9, "a", "b")
    assert tally.counts.tolist() == [1, 1, 3, 2]


def test_infinities_clamp_to_their_own_side():
    window = Owned([-math.inf, math.inf, 1e300, -(10**400), 5], bounds=(0, 9))(RankWindow(Fraction(1, 2), 10))
    assert window.values.tolist() == [0, 0, 0, 5, 9, 9, 9]


def test_rungs_scales_and_ends_depend_on_public_facts_only():
    rungs = [Owned(x, "median", (0, 100), resolution=1)(Stair(Fraction(1, 2))) for x in ([], [5], [0, 100, 3, 7, 99])]
    assert len({(r.scales, r.low, r.high, r.step) for r in rungs}) == 1


def test_a_released_sum_is_divided_by_the_public_size():
    x = [1, 2, 3, 4, 100]
    options = {"bounds": (0, 100), "resolution": 1, "relation": "replace", "trim": 1}
    assert sd.release(Smooth(1), x, draw=middle, statistic="trimmed_mean", **options).value == pytest.approx(3)
    assert sd.release(Smooth(1), x, draw=middle, statistic="winsorized_mean", **options).value == pytest.approx((2 + 2 + 3 + 4 + 4) / 5)
    shifted = {**options, "bounds": (-50, 100)}
    assert sd.release(Smooth(1), x, draw=middle, statistic="trimmed_mean", **shifted).value == pytest.approx(3)


@pytest.mark.parametrize(
    ("statistic", "options", "true"), [("median", {}, 3), ("quantile", {"q": 0.9}, 50), ("min", {}, 1), ("max", {}, 50), ("iqr", {}, 2)]
)
def test_statistics_are_the_ones_of_the_column(statistic, options, true):
    assert sd.release(Smooth(1), [3, 1, 50, 4, 2], draw=middle, statistic=statistic, bounds=(0, 100), resolution=1, **options).value == true


def test_a_distance_is_known_from_the_ladder_or_given():
    assert Owned([5] * 9, "median", (0, 100), resolution=1)(Nearness(Fraction(10))).distance == 9
    with pytest.raises(QueryError):
        Owned([5] * 9)(Nearness())


@pytest.mark.parametrize(
    ("mechanism", "data", "options"),
    [
        (Laplace(1), 3, {"bound": (0, 1)}),
        (StableHistogram(1, SMALL), ["a"], {"relatoin": "replace"}),
        (StableHistogram(1, SMALL), ["a"], {"relation": "replace"}),
        (StableMode(1, SMALL), ["a"], {"max_rows": 3}),
        (QuantileExponential(1, high=10), [3], {"bounds": (0, 20)}),
        (QuantileExponential(1, high=10), [3], {"relation": "replace"}),
        (Smooth(1), [3], {}),
        (Smooth(1), [3], {"statistic": "median"}),
        (Smooth(1), [3], {"statistic": "midrange", "bounds": (0, 1)}),
        (Smooth(1), [3], {"statistic": "median", "bounds": (1, 0)}),
        (Smooth(1), [3], {"statistic": "median", "bounds": (0, 1), "relation": "x"}),
        (Smooth(1), [3], {"statistic": "median", "bounds": (0, 1), "max_rows": 0}),
        (Smooth(1), [3], {"statistic": "median", "bounds": (0, 1), "resolution": 0}),
        (Smooth(1), [3], {"statistic": "median", "bounds": (0, 1), "resolution": 1e-30}),
        (Smooth(1), [math.nan], {"statistic": "median", "bounds": (0, 1)}),
        (Smooth(1), ["x"], {"statistic": "median", "bounds": (0, 1)}),
        (Smooth(1), [1, 2, 3], {"statistic": "trimmed_mean", "bounds": (0, 1), "trim": 1}),
        (ProposeTestRelease(1, SMALL, 1), [3], {}),
        (LaplaceHistogram(1, ("a",)), 5, {}),
    ],
)
def test_what_does_not_fit_is_refused_and_not_ignored(mechanism, data, options):
    with pytest.raises((QueryError, TypeError)) as caught:
        sd.release(mechanism, data, **options)
    assert isinstance(caught.value, QueryError) or isinstance(data, int)


def test_what_the_mechanism_says_may_be_repeated():
    mechanism = StableHistogram(1, SMALL, relation="replace")
    assert owned(mechanism, ["a"], relation="replace").relation == "replace"
