"""Record a release, pin its outcomes, run it on a neighbour: requests, laws and everything visible are equal for every mechanism."""

from fractions import Fraction

import pytest
from mechanism_world import CASES, RELATIONS, VALUES

from sordino.lab import replay
from sordino.lab.world import neighbours
from sordino.mechanisms import PublishedBound, QuantileExponential, Smooth


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_neighbours_with_pinned_outcomes_cannot_be_told_apart(case):
    mechanism = case.make(Fraction(1))
    for d0, d1 in case.pairs:
        for one, other in ((d0, d1), (d1, d0)):
            for _ in range(5):
                found = replay(mechanism, one, other, **case.options)
                assert found.ok, found


@pytest.mark.parametrize("case", [case for case in CASES if case.new_key], ids=repr)
def test_a_key_nobody_else_holds_changes_only_how_many_secret_outcomes_there_are(case):
    found = replay(case.make(Fraction(1)), *case.new_key, **case.options)
    assert any("outcomes" in difference for difference in found.differences)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("statistic", ["median", "quantile", "min", "max", "iqr"])
def test_the_ladder_moves_by_one_rung_in_the_whole_small_world(relation, statistic):
    options = {"statistic": statistic, "bounds": (0, 3), "resolution": 1, "relation": relation}
    if statistic == "quantile":
        options["q"] = "0.9"
    for one, other in neighbours(VALUES, range(4), relation):
        for mechanism in (Smooth(1), PublishedBound(1, "0.01")):
            found = replay(mechanism, one, other, **options)
            assert found.ok, found


def test_the_quantile_is_byte_equal_on_every_small_neighbour():
    mechanism = QuantileExponential(1, high=3)
    for one, other in neighbours(VALUES, range(4), "add_remove"):
        assert replay(mechanism, one, other).ok
