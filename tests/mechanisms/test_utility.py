"""What the theorems promise about accuracy, measured on the laws that are sampled."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import ndtri

from sordino.lab import simulate
from sordino.lab.world import exact_law
from sordino.mechanisms import Gaussian, PartitionSelection, QuantileExponential, Smooth, Stability, StableHistogram, StableMode
from sordino.mechanisms.stability import UNIT, acceptance
from sordino.privacy.discrete import DiscreteLaplace
from sordino.summaries.request import rank_window

SMALL = Fraction(1, 10**6)


def laplace_threshold(epsilon, delta):
    return math.log(1 / (2 * float(delta))) / float(epsilon)


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "2"])
@pytest.mark.parametrize("failure", [0.1, 0.01, 1e-4])
def test_the_stable_mode_succeeds_beyond_the_distance_of_the_theorem_and_not_at_half_of_it(epsilon, failure):
    mechanism = Stability(epsilon, SMALL)
    table = acceptance(mechanism.epsilon, mechanism.delta, mechanism.delta)
    enough = laplace_threshold(mechanism.epsilon, SMALL) + math.log(1 / (2 * failure)) / float(mechanism.epsilon)

    def passes(distance):
        return table[min(math.ceil(distance), len(table) - 1)] / UNIT

    assert passes(enough) >= 1 - failure
    assert passes(enough / 2) < 1 - failure


def test_the_optimal_test_needs_fewer_units_than_the_laplace_test():
    tight = laplace_threshold(Fraction(1, 10), SMALL) + math.log(50) / 0.1
    assert (Stability("0.1", SMALL).least_distance, math.ceil(tight)) == (147, 171)


def test_the_stable_mode_is_named_at_its_own_least_lead():
    mechanism = StableMode(1, SMALL)
    lead = mechanism.least_lead
    assert exact_law(mechanism, {"a": lead + 5, "b": 5})["a"] >= 0.99
    assert exact_law(mechanism, {"a": lead // 2 + 5, "b": 5}).get("a", 0) < 0.5


@pytest.mark.parametrize("count", [14, 15, 17, 20, 30])
def test_a_key_appears_with_the_stated_probability(count):
    mechanism = StableHistogram(1, SMALL)
    t, noise = mechanism.threshold, DiscreteLaplace(Fraction(1))
    assert count >= t - 1
    shown = 1 - exact_law(mechanism, {"a": count}, span=90)[()]
    far = math.exp(-abs(t - count)) / (1 + math.exp(-1))
    exact = far if t > count else 1 - far * math.exp(-1)
    assert shown == pytest.approx(exact, rel=1e-9)
    assert shown == pytest.approx(float(noise.probability(np.arange(t - count, 200)).sum()), rel=1e-9)
    assert shown >= 1 - math.exp(-(count - t)) / 2 - 1e-12 or count < t


def test_all_counts_together_stay_within_the_stated_error_and_not_with_half_the_threshold():
    mechanism, keys, failure = StableHistogram(1, SMALL), 200, 0.05
    t, noise = mechanism.threshold, math.log(keys / failure)
    true = {f"k{i}": t + 3 for i in range(keys)}  # just above the threshold, where hiding costs most
    found = simulate(mechanism, true, repeats=200)
    shown = np.column_stack([found.get(key, np.full(200, np.nan)) for key in true])
    error = np.abs(np.nan_to_num(shown) - (t + 3)).max(axis=1)
    assert np.mean(error > t + noise) <= failure
    assert np.mean(error > t / 2 + noise) > failure


# E|error| of the median of 1000 log-normal incomes in [0, 1,000,000], at epsilon .1, .5, 1, 2
EXPECTED = {"replace": (1631, 344, 185, 102), "add_remove": (817, 185, 102, 66)}
SMOOTH = (17_100, 900, 279, 93)
EPSILONS = ("0.1", "0.5", "1", "2")


@pytest.fixture(scope="module")
def incomes():
    return np.sort(np.floor(np.clip(np.random.default_rng(1).lognormal(np.log(40_000), 0.8, 1000), 0, 1e6))).astype(np.int64)


def mean_error(mechanism, x):
    """E|error| of the median, from the exact law of the choice."""
    cells = mechanism.cells(rank_window(x, mechanism.q, mechanism.radius, 0, 10**6))
    first, last, middle = cells.first.astype(float), cells.last.astype(float), float(x[499])
    below, above = middle - first, last - middle
    inside = (below * (below + 1) + above * (above + 1)) / 2 / (last - first + 1)
    error = np.where((below >= 0) & (above >= 0), inside, np.abs((first + last) / 2 - middle))
    return float(np.sum(cells.weights * error) / cells.weights.sum())


@pytest.mark.parametrize("relation", EXPECTED)
def test_the_quantile_mechanism_keeps_its_figures_on_incomes(incomes, relation):
    found = [mean_error(QuantileExponential(e, high=10**6, relation=relation), incomes) for e in EPSILONS]
    assert found == pytest.approx(EXPECTED[relation], rel=0.12)


def test_simulated_medians_have_the_error_of_the_exact_law(incomes):
    mechanism = QuantileExponential(1, high=10**6)
    drawn = simulate(mechanism, incomes, repeats=3000)
    assert np.mean(np.abs(drawn - incomes[499])) == pytest.approx(mean_error(mechanism, incomes), rel=0.1)


def test_smooth_noise_keeps_its_figures_on_incomes(incomes):
    options = {"statistic": "median", "bounds": (0, 10**6), "resolution": 1, "relation": "replace"}
    found = [np.mean(np.abs(simulate(Smooth(e), incomes, repeats=50_000, **options) - incomes[499])) for e in EPSILONS]
    assert found == pytest.approx(SMOOTH, rel=0.15)


def test_the_acceptance_of_a_test_can_be_drawn():
    from fractions import Fraction

    from sordino.mechanisms import ProposeTestRelease

    for test in ("optimal", "laplace"):
        picture = ProposeTestRelease(Fraction(1), Fraction(1, 10**6), Fraction(10), test).plot()
        assert "distance to instability" in str(picture)
        assert "<svg" in picture._repr_html_()


def people_shown_half_of_the_time(keys):
    """By the recursion, and by noise and a threshold on the people of every key: half of delta for the noise, half for what is new."""
    table = PartitionSelection(1, SMALL, keys).table
    noise = math.sqrt(keys) * float((rule := Gaussian(Fraction(1), SMALL / 2)).scale * rule.step)
    hidden = -math.expm1(math.log1p(-float(SMALL) / 2) / keys)
    return next(m for m, chance in enumerate(table) if 2 * chance >= UNIT), 1 - noise * float(ndtri(hidden))


def test_the_recursion_is_the_best_coin_for_one_key_a_person_and_not_for_five():
    for keys, needed, better in ((1, 14, True), (2, 27, True), (5, 67, False), (20, 263, False)):
        recursion, gaussian = people_shown_half_of_the_time(keys)
        assert recursion == needed
        assert (recursion < gaussian) is better
