"""The lister of small worlds, against laws known in closed form and against the samplers."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare, norm

from sordino.errors import QueryError
from sordino.lab.simulation import outcomes
from sordino.lab.world import exact_law, hockey, law_of, loss, neighbours
from sordino.mechanisms import (
    Exponential,
    Gaussian,
    Laplace,
    LaplaceHistogram,
    ProposeTestRelease,
    PublishedBound,
    QuantileExponential,
    RandomizedResponse,
    Smooth,
    StableHistogram,
    TwoCoins,
)

MEDIAN = {"statistic": "median", "bounds": (0, 3), "resolution": 1}


def test_two_coins_are_three_quarters():
    assert exact_law(TwoCoins(), 1) == {1: 0.75, 0: 0.25}


def test_randomized_response_lists_its_own_probabilities():
    for encoding in ("direct", "unary"):
        mechanism = RandomizedResponse(1, 3, encoding)
        assert exact_law(mechanism, 2) == pytest.approx(mechanism.probabilities(2))


def test_choices_have_their_weights():
    found = exact_law(Exponential(2), [0, 1, 2])
    assert [found[i] for i in range(3)] == pytest.approx(np.exp([0, 1, 2]) / np.exp([0, 1, 2]).sum())


def test_rounded_noise_has_the_mass_of_its_cells_and_the_clamp_the_rest():
    found = exact_law(Gaussian(1, "0.1"), 3, span=8)
    sigma = float(Gaussian(1, "0.1").scale)
    assert found[4] == pytest.approx(norm.cdf(1.5 / sigma) - norm.cdf(0.5 / sigma))
    assert found[8] == pytest.approx(norm.sf(4.5 / sigma))
    assert sum(found.values()) == pytest.approx(1)
    assert min(found) == -8


def test_every_law_adds_up_to_one():
    for mechanism, data, options in (
        (Laplace(1), 5, {}),
        (LaplaceHistogram(1, ("a", "b")), {"a": 3}, {"span": 30}),
        (StableHistogram(1, "0.1", "gaussian"), {"a": 3}, {}),
        (QuantileExponential(1, high=9, base="arsinh"), [3, 5], {}),
        (Smooth(1, noise="generalized_cauchy"), [0, 1, 3], MEDIAN),
        (ProposeTestRelease(1, "0.1", 1, otherwise="global"), [0, 1, 3], MEDIAN),
        (PublishedBound(1, "0.1", beta=2), [0, 1, 3], {**MEDIAN, "span": 30}),
    ):
        assert sum(exact_law(mechanism, data, **options).values()) == pytest.approx(1, abs=1e-12), mechanism


@pytest.mark.parametrize(
    ("mechanism", "data", "options"),
    [
        (QuantileExponential(1, high=9), [3, 3, 8], {}),
        (Smooth(1), [0, 1, 1, 3], MEDIAN),
        (ProposeTestRelease(2, "0.2", 1), [1, 1, 1, 3], MEDIAN),
        (StableHistogram(1, "0.2"), {"a": 3}, {}),
    ],
    ids=repr,
)
def test_samplers_draw_from_the_listed_law(mechanism, data, options):
    law = exact_law(mechanism, data, **options)
    drawn = outcomes(mechanism, data, repeats=4000, **options)
    names = [tuple(v.items()) if isinstance(v, dict) else v.item() if isinstance(v, np.generic) else v for v in drawn]
    names = [v if isinstance(v, int | tuple) else f"{type(v).__name__} {v!r}" for v in names]
    assert set(names) <= set(law)
    common = [name for name, p in law.items() if p * 4000 > 5]
    seen = np.array([names.count(name) for name in common] + [4000 - sum(names.count(name) for name in common)])
    want = np.array([law[name] for name in common] + [1 - sum(law[name] for name in common)]) * 4000
    kept = want > 1e-9
    assert chisquare(seen[kept], want[kept] * seen[kept].sum() / want[kept].sum()).pvalue > 1e-6


def test_pure_claims_are_met_and_attained():
    laws = [exact_law(Laplace(1), value) for value in (0, 1)]
    assert loss(*laws) == pytest.approx(1)
    assert hockey(*laws, 1.0) == pytest.approx(0, abs=1e-12)
    assert hockey(*laws, 0.0) == pytest.approx(1 - math.exp(-0.5), abs=1e-9)


def test_neighbours_are_listed_once_and_both_ways_round_is_one_pair():
    pairs = list(neighbours(range(4), range(5), "add_remove"))
    assert len(pairs) == 4 * (1 + 4 + 10 + 20) == len({frozenset(map(tuple, pair)) for pair in pairs})
    swaps = list(neighbours(range(2), [2], "replace"))
    assert {frozenset(pair) for pair in swaps} == {frozenset({(0, 0), (0, 1)}), frozenset({(0, 1), (1, 1)})}
    assert len(list(neighbours(range(2), [0, 1, 2, 3], "replace", max_rows=2))) > len(list(neighbours(range(2), [0, 1, 2, 3], "replace")))


def test_a_world_that_is_too_large_is_refused():
    with pytest.raises(QueryError):
        exact_law(LaplaceHistogram(1, tuple("abcdefgh")), [])


def test_an_unknown_law_is_refused():
    class Odd:
        def release(self, ask, draw):
            return draw(Fraction(1, 2))

    with pytest.raises(QueryError):
        law_of(Odd(), lambda _: None)
