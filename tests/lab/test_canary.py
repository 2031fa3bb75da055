"""One run, many canaries: the tail bound against brute force, and runs whose true epsilon is known."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binom

from sordino.errors import QueryError
from sordino.lab import one_run
from sordino.lab.campaign import grouped, histogram, stable
from sordino.lab.canary import p_value
from sordino.mechanisms import LaplaceHistogram


def truth(channel, m, v):
    """P(at least v right) of the best guesser, over all coins: channel(s) is {output: probability}, an output is the guess itself."""
    chance = 0.0
    for coins in itertools.product((0, 1), repeat=m):
        for guess, p in channel(coins).items():
            chance += p * (sum(a == b for a, b in zip(coins, guess, strict=True)) >= v) / 2**m
    return chance


def response(epsilon, coins):
    q = math.exp(epsilon) / (1 + math.exp(epsilon))
    outputs = itertools.product((0, 1), repeat=len(coins))
    return {y: math.prod(q if a == b else 1 - q for a, b in zip(coins, y, strict=True)) for y in outputs}


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 2.0])
def test_randomized_response_attains_the_pure_bound(epsilon):
    for v in range(5):
        assert truth(lambda s: response(epsilon, s), 4, v) == pytest.approx(p_value(v, 4, epsilon))


@pytest.mark.parametrize("delta", [1e-6, 0.01, 0.2])
@pytest.mark.parametrize("epsilon", [0.0, 1.0])
def test_a_run_that_tells_everything_with_probability_delta_stays_below_the_approximate_bound(epsilon, delta):
    def leaky(coins):
        out = {y: (1 - delta) * p for y, p in response(epsilon, coins).items()}
        out[coins] += delta
        return out

    for v in range(1, 5):
        assert truth(leaky, 4, v) <= p_value(v, 4, epsilon, delta=delta, canaries=4) + 1e-12


def test_the_tail_is_binomial_and_delta_only_adds():
    assert p_value(80, 100, 1.0) == pytest.approx(binom.sf(79, 100, 1 / (1 + math.exp(-1))))
    assert p_value(80, 100, 1.0, delta=1e-9, canaries=1000) > p_value(80, 100, 1.0)
    assert p_value(0, 100, 1.0, delta=0.5) == 1
    assert p_value(99_000, 100_000, 1.0, delta=1e-12, canaries=100_000) < 1e-9


def laplace(seed, scale):
    draw = np.random.default_rng(seed)
    return lambda included: np.round(64 * (included + draw.laplace(0, scale, len(included)))) / 64


def coins(seed):
    return lambda law: np.random.default_rng(seed).random(len(law.index)) < 0.5


def test_exact_laplace_gives_a_bound_close_to_its_epsilon():
    found = one_run(laplace(1, 1.0), 100_000, claimed=1.0, draw=coins(2))
    assert found.verdict == "consistent"
    assert 0.93 < found.epsilon_lower <= 1
    assert {point.guesses for point in found.curve} == {2_000, 10_000, 30_000, 50_000, 70_000, 100_000}


def test_half_the_scale_is_refuted_by_one_run():
    found = one_run(laplace(3, 0.5), 20_000, claimed=1.0, draw=coins(4))
    assert (found.verdict, found.exit_code) == ("refuted", 1)
    assert 1.7 < found.epsilon_lower <= 2
    approximate = one_run(laplace(3, 0.5), 20_000, claimed=(1.0, 1e-9), draw=coins(4))
    assert approximate.verdict == "refuted"
    assert 1.5 < approximate.epsilon_lower <= found.epsilon_lower


class Quiet(LaplaceHistogram):
    @property
    def scale(self):
        return super().scale / 2


def test_our_group_bys_are_consistent_and_a_quiet_twin_is_not():
    sure = {"claimed": 1.0, "confidence": 1 - 1e-9}
    assert 0.8 < one_run(histogram, 20_000, **sure).epsilon_lower <= 1
    assert one_run(stable, 5_000, claimed=(1.0, 1e-12), confidence=1 - 1e-9).verdict == "consistent"
    assert one_run(grouped, 1_000, **sure).verdict == "consistent"
    quiet = Quiet(Fraction(1), tuple(range(20_000)))
    assert one_run(lambda included: histogram(included, quiet), 20_000, **sure).verdict == "refuted"


def test_clean_runs_alarm_no_more_often_than_they_may():
    """Randomized response at the claimed epsilon, at a confidence of 60%: the true claim is refuted at most so often."""
    draw = np.random.default_rng(5)
    q = math.e / (1 + math.e)
    alarms = sum(
        one_run(lambda s: np.where(draw.random(len(s)) < q, s, ~s), 400, claimed=1.0, confidence=0.6, draw=coins(k)).verdict == "refuted"
        for k in range(300)
    )
    assert alarms < 0.4 * 300


def test_scores_that_are_not_shown_are_taken_as_absent():
    found = one_run(lambda s: np.where(s, 1.0, np.nan), 100, claimed=1.0, guesses=[20, 100], draw=coins(6))
    assert found.epsilon_lower > 1
    assert {point.guesses: point.right for point in found.curve}[20] == 20


def test_a_finding_reads_as_text_json_html_and_picture():
    found = one_run(lambda s: s.astype(float), 200, claimed=(1, 1e-12), draw=coins(7))
    assert repr(found).startswith("one run: refuted, claimed epsilon 1, delta 1e-12")
    assert json.loads(found.to_json())["verdict"] == "refuted"
    assert "claimed" in found.plot().text
    assert "<script" not in found._repr_html_()


@pytest.mark.parametrize(
    "wrong",
    [{"canaries": 3}, {"canaries": True}, {"guesses": [3]}, {"guesses": []}, {"guesses": [2000]}, {"claimed": -1}, {"confidence": 1}],
)
def test_bad_parameters_are_refused(wrong):
    with pytest.raises(QueryError):
        one_run(lambda s: s, **{"canaries": 1000, "claimed": 1.0, **wrong})


def test_a_run_that_could_never_refute_is_not_made():
    with pytest.raises(QueryError, match="could not be refuted"):
        one_run(lambda s: s.astype(float), 1000, claimed=(1.0, 0.01))
    with pytest.raises(QueryError, match="scores"):
        one_run(lambda s: s[:5], 1000, claimed=1.0)
