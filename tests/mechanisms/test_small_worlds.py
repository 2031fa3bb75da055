"""Every table over {0, 1, 2, 3} with up to four rows, every neighbour, both relations: the exact law of every release within its claim."""

from fractions import Fraction

import pytest
from mechanism_world import LEVELS, RELATIONS, TENTH, VALUES, holds, worst_pair

from sordino.lab.world import exact_law, hockey
from sordino.mechanisms import (
    AboveThreshold,
    Exponential,
    Gaussian,
    Laplace,
    LaplaceHistogram,
    NoisyMax,
    PartitionSelection,
    PermuteAndFlip,
    ProposeTestRelease,
    PublishedBound,
    QuantileExponential,
    Smooth,
    StableHistogram,
    StableMode,
)

FILTERS = {
    "whole table": lambda t: t,
    "rows below 3": lambda t: tuple(v for v in t if v != 3),
    "odd rows": lambda t: tuple(v for v in t if v % 2),
}
STATISTICS = [*((f"quantile {q}", "quantile", {"q": q}) for q in LEVELS), *((s, s, {}) for s in ("median", "min", "max", "iqr"))]


def counts(table):
    return [table.count(v) for v in VALUES]


@pytest.fixture(params=RELATIONS)
def relation(request):
    return request.param


@pytest.fixture(params=FILTERS)
def kept(request):
    return FILTERS[request.param]


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("k", [1, 2])
def test_stable_mode_and_top_k(relation, kept, k, rows):
    mechanism = StableMode(1, TENTH, k, relation, rows)
    assert holds(mechanism, relation, read=kept, rows=rows)


@pytest.mark.parametrize("groups", [1, 2])
def test_partition_selection(relation, kept, groups):
    assert holds(PartitionSelection(1, TENTH, groups, relation), relation, read=kept)


@pytest.mark.parametrize("rows", [1, 2])
@pytest.mark.parametrize("q", LEVELS)
def test_quantiles_by_inverse_sensitivity(relation, kept, q, rows):
    for base in ("uniform", "arsinh"):
        mechanism = QuantileExponential(1, q, high=3, max_rows=rows, relation=relation, base=base, origin=1)
        _, ratio = worst_pair(mechanism, relation, read=kept, rows=rows)
        assert ratio <= 1


@pytest.mark.parametrize(("label", "statistic", "level"), STATISTICS)
def test_order_statistics_with_smooth_noise(relation, label, statistic, level):
    for rows in (1, 2):
        options = {"statistic": statistic, "bounds": (0, 3), "relation": relation, "max_rows": rows, **level}
        assert holds(Smooth(1), relation, rows=rows, resolution=Fraction(1, 4), **options)
        assert holds(Smooth(1, noise="laplace", delta=TENTH), relation, rows=rows, resolution=1, **options)


@pytest.mark.parametrize("statistic", ["trimmed_mean", "winsorized_mean"])
def test_robust_means_with_smooth_noise(statistic):
    options = {"statistic": statistic, "bounds": (0, 3), "resolution": Fraction(1, 2), "relation": "replace", "trim": 1}
    assert holds(Smooth(1), "replace", sizes=(3, 4), **options)


@pytest.mark.parametrize(("label", "statistic", "level"), STATISTICS)
def test_order_statistics_by_propose_test_release(relation, label, statistic, level):
    options = {"statistic": statistic, "bounds": (0, 3), "relation": relation, **level}
    assert holds(ProposeTestRelease(1, TENTH, 1), relation, resolution=Fraction(1, 2), **options)
    assert holds(ProposeTestRelease(1, TENTH, 1, otherwise="global"), relation, resolution=1, **options)


@pytest.mark.parametrize("statistic", ["median", "max"])
def test_order_statistics_of_people_by_propose_test_release(relation, statistic):
    options = {"statistic": statistic, "bounds": (0, 3), "relation": relation, "max_rows": 2, "resolution": 1}
    for otherwise in ("refuse", "global"):
        assert holds(ProposeTestRelease(1, TENTH, 1, otherwise=otherwise), relation, rows=2, **options)


@pytest.mark.parametrize(("statistic", "rows"), [("median", 1), ("median", 2), ("max", 1), ("iqr", 1)])
def test_order_statistics_with_a_published_bound(relation, statistic, rows):
    mechanism = PublishedBound(2, TENTH, beta=2)
    options = {"statistic": statistic, "bounds": (0, 3), "resolution": 1, "relation": relation, "max_rows": rows}
    assert holds(mechanism, relation, rows=rows, span=25, **options)


@pytest.mark.parametrize("mechanism", [Exponential, PermuteAndFlip])
def test_selections_among_counts(relation, mechanism):
    _, ratio = worst_pair(mechanism(1, relation=relation), relation, read=counts)
    assert ratio <= 1 + 1e-12
    _, ratio = worst_pair(mechanism(1, monotone=True), "add_remove", read=counts)
    assert ratio <= 1 + 1e-12


def test_noisy_max_among_counts(relation):
    assert worst_pair(NoisyMax(1, relation=relation), relation, read=lambda t: counts(t)[:3], sizes=range(4))[1] <= 1
    assert worst_pair(NoisyMax(1, monotone=True), "add_remove", read=lambda t: counts(t)[:3], sizes=range(4))[1] <= 1


def test_above_threshold_on_two_counts(relation):
    spread = 1 if relation == "add_remove" else 2
    mechanism = AboveThreshold(4, 1, 2, spread=spread)
    stick, _ = worst_pair(mechanism, relation, read=lambda t: [t.count(0), t.count(1)], sizes=range(3), span=9)
    assert stick < 1e-5  # what the clamp at nine steps cuts off


def test_noisy_counts(relation):
    def count(table):
        return table.count(0)

    assert worst_pair(Laplace(1), relation, read=count)[1] <= 1 + 1e-9
    assert holds(Gaussian(1, TENTH), relation, read=count)


# keys are noised independently, so a pair is as private as its keys with different counts


def test_histograms_where_one_key_moves():
    for mechanism in (StableHistogram(1, TENTH), StableHistogram(1, TENTH, "gaussian"), StableHistogram("0.5", "0.3")):
        assert holds(mechanism, "add_remove", read=lambda t: {"a": t.count(0)})
    for noise in ("laplace", "gaussian"):
        assert holds(StableHistogram(1, TENTH, noise, max_rows=2), "add_remove", read=lambda t: {"a": t.count(0)}, rows=2)
    assert worst_pair(LaplaceHistogram(1, (0,)), "add_remove")[1] <= 1 + 1e-9


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_histograms_where_a_row_moves_from_one_key_to_another_enters_or_leaves(noise):
    mechanism = StableHistogram(1, TENTH, noise, relation="replace")
    assert holds(mechanism, "replace", read=lambda t: {"a": t.count(0), "b": t.count(1)}, span=25)


def test_a_noisy_histogram_where_a_row_moves_from_one_key_to_another():
    assert holds(LaplaceHistogram(1, (0, 1), relation="replace"), "replace", sizes=range(4), span=20)


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_histograms_of_people_with_two_keys(noise):
    mechanism = StableHistogram(1, TENTH, noise, 2)
    for a in range(3):
        for b in range(3):
            one, two = (exact_law(mechanism, {"a": a + more, "b": b + more}, span=30) for more in (0, 1))
            assert hockey(one, two, 1.0) <= 0.1


def test_a_full_histogram_is_the_product_of_its_keys():
    mechanism = StableHistogram(1, TENTH)
    both = exact_law(mechanism, {"a": 2, "b": 3}, span=12)
    one, other = (exact_law(mechanism, table, span=12) for table in ({"a": 2}, {"b": 3}))
    for value, chance in both.items():
        a, b = (tuple(item for item in value if item[0] == key) for key in "ab")
        assert chance == pytest.approx(one[a] * other[b])
