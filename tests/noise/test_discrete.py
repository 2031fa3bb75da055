"""Discrete draws: by chi-square with known power, and on tapes that follow a tie for as long as they please."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from mpmath import mp
from scipy import stats
from scipy.integrate import quad

from sordino.noise import draw
from sordino.noise.discrete import argmax, bernoulli, categorical, discrete_laplace, uniform_integer
from sordino.privacy.discrete import ArgMax, Bernoulli, Categorical, DiscreteLaplace, UniformInteger

from .oracle import PRECISION, Tape, digits, uniform

SILENT = 1e-6
THIRD = Fraction(1, 3)


def fit(seen: Any, probabilities: Any) -> float:
    seen, probabilities = np.asarray(seen, float), np.asarray(probabilities, float)
    expected = probabilities / probabilities.sum() * seen.sum()
    assert np.all(seen[expected == 0] == 0)
    return float(stats.chisquare(seen[expected > 0], expected[expected > 0]).pvalue)


def test_coins_fall_as_often_as_they_should_and_two_percent_more_would_show() -> None:
    chances = (Fraction(0), Fraction(1, 4), THIRD, Fraction(1, 2), Fraction(9, 10), Fraction(1))
    index = np.repeat(np.arange(6), 10**6)
    heads = draw(Bernoulli(chances, index)).reshape(6, -1).sum(axis=1)
    assert heads[0] == 0
    assert heads[5] == 10**6
    for count, chance in zip(heads[1:5].tolist(), chances[1:5], strict=True):
        assert stats.binomtest(count, 10**6, float(chance)).pvalue > SILENT
        assert stats.binomtest(count, 10**6, float(chance) / 1.02).pvalue < SILENT


@pytest.mark.parametrize("word", [0, 1, 2**63, 2**64 - 1])
def test_impossible_and_certain_coins_never_err_on_any_word(word: int) -> None:
    assert bernoulli(Bernoulli.of(Fraction(0)), Tape([word])) is False
    assert bernoulli(Bernoulli.of(Fraction(1)), Tape([word])) is True


@pytest.mark.parametrize("chance", [THIRD, Fraction(1, 10), Fraction(2**65 + 1, 2**130), 1 - Fraction(1, 2**200), Fraction(7, 11**40)])
@pytest.mark.parametrize("rounds", [0, 1, 4])
def test_a_coin_on_its_threshold_is_decided_by_the_bit_that_leaves_it(chance: Fraction, rounds: int) -> None:
    with mp.workprec(2000):
        spelled = digits(mp.mpf(chance.numerator) / chance.denominator, 64, rounds + 2)
    for step, expected in ((-1, True), (1, False)):
        last = spelled[rounds] + step
        if 0 <= last < 2**64:
            tape = Tape([*spelled[:rounds], last][:1], [*spelled[:rounds], last][1:])
            assert bernoulli(Bernoulli.of(chance), tape) is expected


def test_a_coin_with_a_finite_expansion_excludes_its_end() -> None:
    assert bernoulli(Bernoulli.of(Fraction(1, 2)), Tape([2**63])) is False
    assert bernoulli(Bernoulli.of(Fraction(1, 2)), Tape([2**63 - 1])) is True
    assert bernoulli(Bernoulli.of(Fraction(1, 2**64)), Tape([0])) is True
    assert bernoulli(Bernoulli.of(Fraction(1, 2**65)), Tape([0], [2**63])) is False
    assert bernoulli(Bernoulli.of(Fraction(1, 2**65)), Tape([0], [2**63 - 1])) is True


def test_many_ties_at_once_are_each_settled_by_their_own_bits() -> None:
    with mp.workprec(300):
        first, second = digits(mp.mpf(1) / 3, 64, 1)
    tape = Tape([first] * 4, [second - 1, second + 1, 0, 2**64 - 1])
    assert bernoulli(Bernoulli((THIRD,), np.zeros(4, np.int64)), tape).tolist() == [True, False, True, False]


def test_integers_are_uniform_and_both_ends_belong() -> None:
    seen = np.bincount([draw(UniformInteger(-3, 9)) + 3 for _ in range(60_000)], minlength=13)
    assert len(seen) == 13
    assert fit(seen, np.ones(13)) > SILENT
    assert fit(seen, [1.1] * 6 + [1.0] * 7) < SILENT


def test_huge_ranges_are_covered_and_the_uneven_rest_is_drawn_again() -> None:
    width = 10**40
    values = [draw(UniformInteger(-width, width)) for _ in range(500)]
    assert max(values) > width // 2
    assert min(values) < -width // 2
    bits = (3).bit_length() + 64
    assert uniform_integer(UniformInteger(0, 2), Tape(extra=[2**bits - 1, 5])) == 2  # 2^66 is 1 more than a multiple of 3


@pytest.mark.parametrize(
    "weights",
    [
        (1, 2, 3, 4),
        (10**30, 2 * 10**30, 0, 3 * 10**30),
        np.array([1.0, 2.0, 0.0, 3.0, 0.5, 0.1]),
        np.array([0.1, 0.2, 0.3]) * 2.0**-1000,
        np.array([5e-324, 1e-323, 1.5e-323]),
        np.array([1e308, 0.5e308, 1.0, 5e-324]),
        np.exp(np.linspace(-3, 0, 40)),
    ],
    ids=["small", "huge", "floats", "tiny", "subnormal", "extreme", "many"],
)
def test_choices_follow_their_weights_and_a_distorted_weight_shows(weights: Any) -> None:
    law, size = Categorical(weights), 2_000 if np.max(weights) == 1e308 else 10_000
    shares = np.array(
        [float(Fraction(w) / sum(map(Fraction, weights))) for w in (weights if isinstance(weights, tuple) else weights.tolist())]
    )
    seen = np.bincount([draw(law) for _ in range(size)], minlength=len(shares))
    likely = shares > 1e-12
    assert np.all(seen[~likely] == 0)
    assert fit(seen[likely], shares[likely]) > SILENT
    assert fit(seen[likely], shares[likely] * np.where(np.arange(likely.sum()) == 0, 2.0, 1.0)) < SILENT or len(shares) == 40


def by_hand(weights: list[float], point: int) -> int:
    """The index at a point of the exact cumulative sum, buckets of equal exponent first."""
    parts = [math.frexp(w) for w in weights]
    lowest = min(e for _, e in parts)
    for bucket in sorted({e for _, e in parts}):
        for i, (m, e) in enumerate(parts):
            if e == bucket:
                share = int(math.ldexp(m, 53)) << (e - lowest)
                if point < share:
                    return i
                point -= share
    raise AssertionError


def test_every_point_of_the_exact_sum_belongs_to_its_own_weight() -> None:
    rng = np.random.default_rng(8)
    for _ in range(150):
        weights = np.ldexp(rng.uniform(0.5, 1, 7), rng.integers(-40, 40, 7))
        weights[rng.integers(7)] = 0.0
        parts = [math.frexp(w) for w in weights.tolist()]
        lowest = min(e for _, e in parts)
        total = sum(int(math.ldexp(m, 53)) << (e - lowest) for m, e in parts)
        point = int(rng.integers(2**62)) * total >> 62
        assert categorical(Categorical(weights), Tape(extra=[point])) == by_hand(weights.tolist(), point)


def test_the_ends_of_each_integer_weight_are_exact() -> None:
    weights = (2, 0, 3, 1)
    chosen = [categorical(Categorical(weights), Tape(extra=[point])) for point in range(6)]
    assert chosen == [0, 0, 2, 2, 2, 3]


@pytest.mark.parametrize("scale", [Fraction(1, 5), Fraction(1), Fraction(7, 2), Fraction(100)])
def test_discrete_laplace_fits_its_law_and_two_percent_more_would_show(scale: Fraction) -> None:
    size = 2 * 10**6
    seen = draw(DiscreteLaplace(scale, np.full(size, -11, np.int64))) + 11
    b, reach = float(scale), math.ceil(3 * float(scale))

    def shares(c: float) -> Any:
        inner = np.tanh(0.5 / c) * np.exp(-np.abs(np.arange(-reach, reach + 1)) / c)
        outer = math.exp(-(reach + 1) / c) / (1 + math.exp(-1 / c))
        return np.concatenate([[outer], inner, [outer]])

    counts = np.bincount(np.clip(seen, -reach - 1, reach + 1) + reach + 1, minlength=2 * reach + 3)
    step = max(1, len(counts) // 24)
    grouped = np.add.reduceat(counts, np.arange(0, len(counts), step))
    assert fit(grouped, np.add.reduceat(shares(b), np.arange(0, len(counts), step))) > SILENT
    assert fit(grouped, np.add.reduceat(shares(b / 1.02), np.arange(0, len(counts), step))) < SILENT
    far = math.ceil(7 * b)
    chance = 2 * math.exp(-far / b) / (1 + math.exp(-1 / b))
    assert stats.binomtest(int(np.count_nonzero(np.abs(seen) >= far)), size, chance).pvalue > SILENT
    if b >= 1:
        doubled = 2 * math.exp(-far / (b / 1.3)) / (1 + math.exp(-1.3 / b))
        assert stats.binomtest(int(np.count_nonzero(np.abs(seen) >= far)), size, doubled).pvalue < SILENT


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(5), Fraction(10**9, 7)])
@pytest.mark.parametrize("rounds", [0, 1, 3])
@pytest.mark.parametrize("sign", [0, 1])
def test_discrete_laplace_on_a_step_is_decided_by_the_bit_that_leaves_it(scale: Fraction, rounds: int, sign: int) -> None:
    for t in (1, 2, 9):
        with mp.workprec(PRECISION + 300):
            b = mp.mpf(scale.numerator) / scale.denominator
            threshold = 2 * mp.exp(-t / b) / (1 + mp.exp(-1 / b))  # P(|K| >= t)
            spelled = digits(threshold, 52, rounds + 1)
        for step, size in ((-1, t), (1, t - 1)):
            tape = Tape([(spelled[0] << 12) | sign], [*spelled[1:-1], (spelled[-1] + step * 2**40) % 2**64])
            assert discrete_laplace(DiscreteLaplace(scale, 100), tape) == 100 + (-size if sign else size)
            assert len(tape.refinements) > rounds


def test_discrete_laplace_agrees_with_its_bits_at_every_scale() -> None:
    rng = np.random.default_rng(1)
    with mp.workprec(PRECISION):
        for scale in (Fraction(1, 50), Fraction(1), Fraction(12345, 11), Fraction(10**12), Fraction(10**17)):
            b = mp.mpf(scale.numerator) / scale.denominator
            for _ in range(40):
                word = int(rng.integers(0, 2**64, dtype=np.uint64))
                tape = Tape([word], seed=int(rng.integers(2**32)))
                size = abs(discrete_laplace(DiscreteLaplace(scale), tape))
                u = uniform(word, [*tape.refinements, *(tape.bits(64) for _ in range(3))])
                assert size == mp.floor(-b * mp.log(u) + b * mp.log(2 / (1 + mp.exp(-1 / b))))


def test_discrete_laplace_in_its_outermost_cell_is_refined() -> None:
    tape = Tape([0], [0, 0], seed=5)
    assert discrete_laplace(DiscreteLaplace(Fraction(1)), tape) > 120


@pytest.mark.parametrize("scale", [Fraction(1, 10**400), Fraction(10**18), Fraction(10**25), Fraction(10**400)])
@pytest.mark.parametrize("location", [0, 2**62, -(2**62), 2**63 - 1, -(2**63)])
def test_discrete_laplace_never_overflows(scale: Fraction, location: int) -> None:
    outcomes = draw(DiscreteLaplace(scale, np.full(30, location, np.int64)))
    assert np.all(np.abs(outcomes) <= 2**62)
    if scale < 1:
        assert np.all(outcomes == min(max(location, -(2**62)), 2**62))


def test_the_low_bit_of_discrete_laplace_is_at_chance_wherever_it_stands() -> None:
    table = [np.bincount(draw(DiscreteLaplace(Fraction(10**6), np.full(2**18, at, np.int64))) & 1, minlength=2) for at in (0, 1)]
    assert stats.chi2_contingency(np.array(table)).pvalue > SILENT


@pytest.mark.parametrize("noise", ["gumbel", "exponential", "laplace"])
def test_noisy_maxima_fit_their_law_and_two_percent_of_scale_would_show(noise: str) -> None:
    scores, size = np.array([0, -1, -2, -4, 1, -2]) * 10, 15_000
    law = ArgMax(scores, Fraction(20), noise)
    seen = np.bincount([draw(law) for _ in range(size)], minlength=6)
    assert fit(seen, law.probabilities()) > SILENT
    assert fit(seen, ArgMax(scores, Fraction(20) * Fraction(125, 100), noise).probabilities()) < SILENT


@pytest.mark.parametrize("noise", ["gumbel", "exponential", "laplace"])
def test_a_noisy_maximum_at_two_percent_more_scale_is_caught_when_the_choice_hangs_on_it(noise: str) -> None:
    """One leader against a thousand followers: both sides win about as often, and the odds turn on the scale."""
    many, size = 1000, {"gumbel": 20_000, "exponential": 15_000, "laplace": 25_000}[noise]
    lead = {"gumbel": 69, "exponential": 69, "laplace": 62}[noise]
    law = ArgMax(np.concatenate([[lead], np.zeros(many, np.int64)]), Fraction(10), noise)
    wins = sum(draw(law) == 0 for _ in range(size))

    def chance(scale: float) -> float:
        start = 0.0 if noise == "exponential" else -30.0
        slope = {
            "gumbel": lambda z: math.exp(-z - math.exp(-z)),
            "exponential": lambda z: math.exp(-z),
            "laplace": lambda z: math.exp(-abs(z)) / 2,
        }[noise]
        return float(
            quad(lambda z: slope(z) * float(distribution(noise, z + lead / scale)) ** many, start, 40, points=[0.0, 5.0], limit=200)[0]
        )

    assert stats.binomtest(wins, size, chance(10)).pvalue > SILENT
    assert stats.binomtest(wins, size, chance(10.2)).pvalue < SILENT


def quantile(noise: str, u: Any) -> Any:
    if noise == "gumbel":
        return -mp.log(-mp.log(u))
    if noise == "exponential":
        return -mp.log(1 - u)
    return mp.log(2 * u) if u < mp.mpf(1) / 2 else -mp.log(2 * (1 - u))


def distribution(noise: str, z: Any) -> Any:
    if noise == "gumbel":
        return mp.exp(-mp.exp(-z))
    if noise == "exponential":
        return 1 - mp.exp(-z)
    return mp.exp(z) / 2 if z < 0 else 1 - mp.exp(-z) / 2


@pytest.mark.parametrize("noise", ["gumbel", "exponential", "laplace"])
@pytest.mark.parametrize("rounds", [0, 1, 3])
def test_a_near_tie_of_two_scores_is_decided_by_the_bit_that_breaks_it(noise: str, rounds: int) -> None:
    scale, gap = Fraction(7, 3), 2
    for first in (2**63 + 12345, 2**62 + 99, 2**64 - 2**40):
        with mp.workprec(1200):
            leader = quantile(noise, mp.mpf(first) / 2**64)  # the leader's tape goes on with zeros
            needed = leader + mp.mpf(gap) * scale.denominator / scale.numerator
            spelled = digits(distribution(noise, needed), 64, rounds + 1)
        for step, winner in ((-1, 0), (1, 1)):
            extra = [word for more in [*spelled[1:-1], (spelled[-1] + step * 2**50) % 2**64] for word in (0, more)]
            tape = Tape([first, spelled[0]], extra)
            assert argmax(ArgMax(np.array([gap, 0]), scale, noise), tape) == winner
            assert len(tape.refinements) >= 2 * rounds


@pytest.mark.parametrize("noise", ["gumbel", "exponential", "laplace"])
def test_words_at_both_ends_are_refined_and_not_guessed(noise: str) -> None:
    for words in ([0, 0], [2**64 - 1, 2**64 - 1], [0, 2**64 - 1]):
        for seed in range(5):
            tape = Tape(words, seed=seed)
            winner = argmax(ArgMax(np.array([0, 0]), Fraction(1), noise), tape)
            first, second = (tape.refinements[i::2] for i in (0, 1))
            assert winner == int([words[0], *first] < [words[1], *second])


@pytest.mark.parametrize("noise", ["gumbel", "exponential", "laplace"])
def test_scores_at_opposite_ends_of_64_bits_do_not_wrap(noise: str) -> None:
    ends = np.array([-(2**63), 2**63 - 1, 0])
    assert {draw(ArgMax(ends, Fraction(1), noise)) for _ in range(20)} == {1}
    assert {draw(ArgMax(ends, Fraction(10**30), noise)) for _ in range(200)} == {0, 1, 2}
