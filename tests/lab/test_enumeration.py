"""Exact losses against closed forms, against the small world's own sums, and against twins that claim too much."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from sordino.errors import QueryError
from sordino.lab import exact, small_world
from sordino.lab.question import PAIRS, TABLE_KINDS, declared, sides
from sordino.lab.world import exact_law, hockey, loss, neighbours
from sordino.mechanisms import AboveThreshold, Gaussian, Laplace, QuantileExponential, RandomizedResponse, StableHistogram, TwoCoins
from sordino.privacy.families import LaplaceLaw
from sordino.session.table import table
from sordino.summaries import Value

TENTH = Fraction(1, 10)


@pytest.mark.parametrize(("mechanism", "pair", "epsilon"), [(Laplace(1), (0, 1), 1), (RandomizedResponse(2, 5), (0, 3), 2)])
def test_pure_mechanisms_attain_their_epsilon(mechanism, pair, epsilon):
    found = exact(mechanism, *pair)
    assert found.verdict == "consistent"
    assert found.epsilon_lower == pytest.approx(epsilon, abs=1e-8)
    assert found.delta_lower < 1e-12


def test_two_coins_are_ln_three_and_no_less():
    assert exact(TwoCoins(), 0, 1).epsilon_lower == pytest.approx(math.log(3), abs=1e-8)
    assert exact(TwoCoins(), 0, 1, claimed=1.0).verdict == "refuted"


def test_an_approximate_mechanism_is_within_its_pair_and_refuted_without_delta():
    found = exact(Gaussian(1, TENTH), 0, 1)
    assert found.verdict == "consistent"
    assert 0.05 < found.delta_lower <= 0.1
    assert exact(Gaussian(1, TENTH), 0, 1, claimed=(1.0, found.delta_lower * 0.99)).verdict == "refuted"


class Eager(StableHistogram):
    """Shows counts from one below the threshold on: > instead of >=, turned round."""

    @property
    def threshold(self):
        return super().threshold - 1


def test_the_threshold_of_a_stable_histogram_may_not_be_one_lower():
    assert exact(StableHistogram(1, TENTH), {}, {"a": 1}).verdict == "consistent"
    found = exact(Eager(1, TENTH), {}, {"a": 1})
    assert found.verdict == "refuted"
    assert found.exit_code == 1
    assert found.delta_lower > 0.1


def test_a_law_of_ones_own_is_compared_as_it_is():
    def leaky(person):
        return {"yes": 0.5 + 0.2 * person, "no": 0.5 - 0.2 * person}

    assert exact(leaky, 0, 1, claimed=0.52).verdict == "consistent"
    found = exact(leaky, 0, 1, claimed=0.5)
    assert found.verdict == "refuted"
    assert found.epsilon_lower == pytest.approx(math.log(0.5 / 0.3), abs=1e-8)
    assert exact(lambda x: {x: 1.0}, 0, 1, claimed=9.0).epsilon_lower == math.inf


def test_what_the_span_cuts_off_is_never_held_against_a_mechanism():
    """Two draws clamped at nine steps: the clamped mechanism is not private, the real one is."""
    for span in (9, 15):
        found = exact(AboveThreshold(4, 1, 2, spread=1), [0, 1], [1, 1], span=span)
        assert found.verdict == "consistent"
    wide, narrow = (exact(Laplace(1), 0, 1, span=span).epsilon_lower for span in (200, 4))
    assert narrow < wide
    blind = exact(Laplace(TENTH), 0, 1, span=2)
    assert blind.epsilon_lower == 0
    assert blind.cut > 0.5
    assert "beyond the span" in repr(blind)


class Wide(Laplace):
    """A billion steps of noise inside bounds of forty."""

    def release(self, ask, draw):
        return draw(LaplaceLaw().at(ask(Value()), Fraction(10**9), low=0, high=40))


def test_noise_much_wider_than_its_bounds_is_not_refuted_by_rounding():
    """Cells of a billionth of the scale: their probabilities are differences of almost equal tails."""
    assert exact(Wide(1), 20, 21, claimed=1e-9).verdict == "consistent"
    assert loss(*(exact_law(Wide(1), value) for value in (20, 21))) > 1e-9  # as it would seem without that care


def test_the_small_world_has_the_worst_of_all_its_pairs():
    mechanism = QuantileExponential(1, high=3)
    found = small_world(mechanism, range(4), range(4))
    pairs = list(neighbours(range(4), range(4), "add_remove"))
    worst = max(loss(exact_law(mechanism, one), exact_law(mechanism, other)) for one, other in pairs)
    assert found.pairs == len(pairs)
    assert found.epsilon_lower == pytest.approx(worst, abs=1e-8)
    assert found.verdict == "consistent"
    assert small_world(mechanism, range(4), range(4), claimed=worst * 0.99).verdict == "refuted"


def test_a_mechanism_for_one_row_is_refuted_where_people_have_three():
    assert small_world(Laplace(1), range(2), range(4), rows=3, read=lambda t: t.count(0)).verdict == "refuted"
    assert small_world(Laplace(1, 3), range(2), range(4), rows=3, read=lambda t: t.count(0)).verdict == "consistent"


@pytest.fixture(scope="module")
def tables():
    kind, pair = TABLE_KINDS[0], PAIRS[1]
    with table(sides(pair, kind)[0], **declared(kind)) as here, table(sides(pair, kind)[1], **declared(kind)) as there:
        yield here, there


def test_a_question_of_a_table_is_listed_through_its_conversation(tables):
    found = exact(lambda people: people.count(), *tables, span=300, epsilon=1)
    assert found.verdict == "consistent"
    assert found.epsilon_lower == pytest.approx(1, abs=1e-6)  # somebody with three rows came, and three is the limit
    assert found.claimed == (1.0, 0.0)
    quantile = exact(lambda people: people.min("age"), *tables, epsilon=1)
    assert 0.2 < quantile.epsilon_lower <= 1


def test_the_curve_is_the_hockey_stick_of_the_worst_pair():
    found = exact(Laplace(1), 0, 1)
    laws = [exact_law(Laplace(1), value) for value in (0, 1)]
    for epsilon, delta in found.curve:
        assert delta == pytest.approx(hockey(*laws, epsilon), abs=1e-8)
    assert np.all(np.diff([delta for _, delta in found.curve]) <= 1e-12)


def test_a_finding_reads_as_text_json_html_and_picture():
    found = exact(lambda x: {x: 1.0}, 0, 1, claimed=(1, 1e-6))
    assert repr(found).startswith("exact: refuted, claimed epsilon 1, delta 1e-06")
    assert json.loads(found.to_json())["epsilon_lower"] == "inf"
    assert found.confidence == 1
    assert "refuted" in found.plot().text
    assert "<script" not in found._repr_html_()


def test_bad_input_is_refused():
    for wrong in (3, lambda x: {0: 0.7}, lambda x: [1.0], lambda x: {0: 1.5, 1: -0.5}):
        with pytest.raises(QueryError):
            exact(wrong, 0, 1, claimed=1.0)
    with pytest.raises(QueryError, match="neighbours"):
        small_world(Laplace(1), [], [0], read=len)
    with pytest.raises(QueryError, match="too large"):
        exact(Laplace(1), 0, 1, largest=100)
    with pytest.raises(QueryError):
        exact(lambda x: {x: 1.0}, 0, 1)
