"""Many releases at once: the same law as one by one, in shapes an owner can use."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare, ks_2samp

import sordino as sd
from sordino.errors import QueryError
from sordino.lab import simulate
from sordino.lab.simulation import outcomes
from sordino.mechanisms import (
    Gaussian,
    Laplace,
    LaplaceHistogram,
    ProposeTestRelease,
    PublishedBound,
    QuantileExponential,
    RandomizedResponse,
    Smooth,
    Stability,
    StableHistogram,
)
from sordino.summaries import Near

SMALL = Fraction(1, 10**6)
MEDIAN = {"statistic": "median", "bounds": (0, 100), "resolution": 1}
X = [10, 20, 30, 40, 50] * 5


@pytest.mark.parametrize(
    ("mechanism", "data", "options"),
    [
        (Laplace(1), 5, {}),
        (Laplace(1, "0.3"), 1.5, {}),
        (Gaussian(1, SMALL), 5, {}),
        (Smooth(1), X, MEDIAN),
        (Smooth(1, noise="cauchy"), X, MEDIAN),
    ],
    ids=repr,
)
def test_a_whole_array_has_the_law_of_single_releases(mechanism, data, options):
    many = simulate(mechanism, data, repeats=4000, **options)
    single = np.array([sd.release(mechanism, data, **options).value for _ in range(1000)])
    assert many.shape == (4000,)
    assert many.dtype == single.dtype
    assert ks_2samp(many, single).pvalue > 1e-6


def test_refusals_are_nan():
    found = simulate(ProposeTestRelease(1, 0.3, 10), [0] * 5 + [100] * 5, repeats=300, **MEDIAN)
    assert found.dtype == float
    assert 0 < np.isnan(found).mean() < 1


def test_histograms_are_one_array_per_key():
    found = simulate(StableHistogram(1, SMALL), {"a": 15, "b": 60}, repeats=200)
    assert set(found) == {"a", "b"}
    assert not np.isnan(found["b"]).any()
    assert 0 < np.isnan(found["a"]).mean() < 1
    assert {key: len(column) for key, column in simulate(LaplaceHistogram(1, ("x",)), [], repeats=7).items()} == {"x": 7}


def test_choices_are_whole_numbers_and_anything_else_an_object():
    assert simulate(QuantileExponential(1, high=9), [3, 4], repeats=50).dtype == np.int64
    reports = simulate(RandomizedResponse(1, 3), 2, repeats=3000)
    assert chisquare(np.bincount(reports), 3000 * np.array([1, 1, math.e]) / (2 + math.e)).pvalue > 1e-6
    mixed = simulate(Stability(1, 0.3), Near(1, "yes"), repeats=50)
    assert mixed.dtype == object
    assert mixed.shape == (50,)
    assert simulate(RandomizedResponse(1, 3, "unary"), 2, repeats=5).shape == (5,)
    assert simulate(PublishedBound(1, SMALL), X, repeats=5, **MEDIAN).dtype == float


def test_the_data_are_summarised_once(monkeypatch):
    from sordino.session.owned import Owned

    asked = []
    answer = Owned.__call__
    monkeypatch.setattr(Owned, "__call__", lambda self, request: asked.append(request) or answer(self, request))
    simulate(QuantileExponential(1, high=9), [3, 4], repeats=50)
    assert len(asked) == 1


def test_releases_come_as_they_are_for_the_auditor():
    values = outcomes(PublishedBound(1, SMALL), X, repeats=5, **MEDIAN)
    assert {type(value).__name__ for value in values} == {"Published"}


@pytest.mark.parametrize("repeats", [0, -1, True, 1.5, None])
def test_repeats_is_a_count(repeats):
    with pytest.raises(QueryError):
        simulate(Laplace(1), 5, repeats=repeats)


def test_the_docstring_says_that_it_is_not_private():
    assert "NOT PRIVATE" in simulate.__doc__


@pytest.fixture
def people():
    rng = np.random.default_rng(3)
    data = {"income": rng.lognormal(10.6, 0.8, 1000), "zip": rng.choice(["a", "b"], 1000)}
    with sd.table(data, bounds={"income": (0, 1_000_000)}, keys={"zip": ["a", "b", "c"]}, budget=sd.Budget(3), ledger=":memory:") as table:
        yield table


def test_a_query_is_simulated_without_charging_anybody(people):
    counts = simulate(people.count(), epsilon=1, repeats=2000)
    assert counts.shape == (2000,)
    assert abs(np.mean(counts) - 1000) < 0.5
    assert np.std(counts) == pytest.approx(math.sqrt(2 * math.e) / (math.e - 1), rel=0.15)
    assert people.budget.spent == 0


def test_a_grouped_query_gives_one_array_per_group_and_several_statistics_one_per_name(people):
    grouped = simulate(people.group_by("zip").median("income"), epsilon=5, repeats=50)
    assert {key: values.shape for key, values in grouped.items()} == {"a": (50,), "b": (50,), "c": (50,)}
    several = simulate(people.agg(n=sd.count(), middle=sd.median("income")), epsilon=5, repeats=20)
    assert set(several) == {"n", "middle"}
    both = simulate(people.group_by("zip").agg(n=sd.count(), middle=sd.median("income")), epsilon=5, repeats=20)
    assert set(both) == {(name, key) for name in ("n", "middle") for key in "abc"}


def test_a_key_that_is_shown_only_sometimes_is_nan_when_it_is_not():
    data = {"word": ["often"] * 200 + ["rare"] * 14}
    with sd.table(data, budget=sd.Budget(3, 1e-4), ledger=":memory:") as table:
        shown = simulate(table.group_by("word").count(), epsilon=1, delta=1e-6, repeats=300)
    assert not np.isnan(shown["often"]).any()
    assert 0.05 < np.isnan(shown["rare"]).mean() < 0.95
