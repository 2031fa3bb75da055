"""Discrete laws: their probabilities against closed forms, enumeration and what is drawn."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp
from scipy import stats

from sordino.errors import QueryError
from sordino.noise import draw
from sordino.privacy.discrete import ArgMax, Bernoulli, DiscreteLaplace

NOISES = ["gumbel", "exponential", "laplace"]
scores = st.lists(st.integers(-60, 60), min_size=1, max_size=6).map(np.array)


@pytest.mark.parametrize("chance", [Fraction(-1, 2), Fraction(3, 2)])
def test_a_coin_needs_a_probability(chance: Fraction) -> None:
    with pytest.raises(QueryError, match="SRD-103"):
        Bernoulli.of(chance)


@pytest.mark.parametrize("scale", ["1/3", "1", "17.5", "1e9", "1e15"])
def test_discrete_laplace_probabilities_keep_their_digits_at_every_scale(scale: str) -> None:
    law = DiscreteLaplace(Fraction(scale))
    with mp.workdps(60):
        b = mp.mpf(law.scale.numerator) / law.scale.denominator
        r = mp.exp(-1 / b)
        for k in (0, 1, -1, 5, int(3 * b) + 1):
            truth = (1 - r) / (1 + r) * r ** abs(k)
            assert float(law.probability(k)) == pytest.approx(float(truth), rel=1e-13)
        assert law.variance == pytest.approx(float(2 * r / (1 - r) ** 2), rel=1e-13)


def test_discrete_laplace_sums_to_one_and_shifts_cost_what_they_should() -> None:
    law = DiscreteLaplace(Fraction(5, 2))
    k = np.arange(-200, 201)
    p = law.probability(k)
    assert p.sum() == pytest.approx(1, rel=1e-12)
    assert (p * k**2).sum() == pytest.approx(law.variance)
    assert np.abs(np.log(p[3:] / p[:-3])).max() == pytest.approx(3 / 2.5)
    assert p[k >= 4].sum() == pytest.approx(math.exp(-4 / 2.5) / (1 + math.exp(-1 / 2.5)))


@pytest.mark.parametrize("scale", [0, -1, None, "x"])
def test_discrete_laplace_needs_a_positive_scale(scale: Any) -> None:
    with pytest.raises(QueryError, match="SRD-103"):
        DiscreteLaplace(scale)


def permute_and_flip(s: list[float]) -> list[float]:
    """Every order in which the candidates may be met, each flipping its own coin."""
    out = [0.0] * len(s)
    orders = list(permutations(range(len(s))))
    for order in orders:
        left = 1.0
        for i in order:
            chance = math.exp(s[i] - max(s))
            out[i] += left * chance / len(orders)
            left *= 1 - chance
    return out


@settings(max_examples=60, deadline=None)
@given(scores, st.sampled_from(["1", "7/3", "20", "1/5"]))
def test_maxima_have_the_laws_of_their_mechanisms(values: Any, scale: str) -> None:
    s = values / float(Fraction(scale))
    gumbel = ArgMax(values, Fraction(scale), "gumbel").probabilities()
    assert gumbel == pytest.approx(np.exp(s - s.max()) / np.exp(s - s.max()).sum(), rel=1e-12)
    assert ArgMax(values, Fraction(scale), "exponential").probabilities() == pytest.approx(
        permute_and_flip(s.tolist()), rel=1e-9, abs=1e-300
    )
    for noise in NOISES:
        law = ArgMax(values, Fraction(scale), noise).probabilities()
        assert law.sum() == pytest.approx(1, rel=1e-9)
        assert np.all(law >= 0)
        order = np.argsort(values, kind="stable")
        assert np.all(np.diff(law[order]) >= -1e-12)


def test_two_laplace_maxima_have_their_closed_form_and_more_agree_with_the_integral() -> None:
    for gap in (0, 1, 7, 40):
        d = gap / 2
        loser = math.exp(-d) * (0.5 + d / 4)
        assert ArgMax(np.array([gap, 0]), Fraction(2), "laplace").probabilities() == pytest.approx([1 - loser, loser])
        shadow = ArgMax(np.array([gap, 0, -4000]), Fraction(2), "laplace").probabilities()
        assert shadow[:2] == pytest.approx([1 - loser, loser], rel=1e-9)


@pytest.mark.parametrize("gap", [10**2, 10**4, 10**6, 10**9])
def test_a_hopeless_candidate_does_not_hide_the_race_of_the_others(gap: int) -> None:
    for noise in NOISES:
        assert ArgMax(np.array([0, 0, -gap]), Fraction(1), noise).probabilities() == pytest.approx([0.5, 0.5, 0], abs=1e-9)


@pytest.mark.parametrize("noise", NOISES)
def test_probabilities_agree_with_draws(noise: str) -> None:
    law, size = ArgMax(np.array([3, 0, -2, 3, 5]), Fraction(3), noise), 20_000
    seen = np.bincount([draw(law) for _ in range(size)], minlength=5)
    assert stats.chisquare(seen, law.probabilities() / law.probabilities().sum() * size).pvalue > 1e-6
    rng = np.random.default_rng(3)
    noisy = np.array([1.0, 0, -2 / 3, 1, 5 / 3]) + {"gumbel": rng.gumbel, "exponential": rng.exponential, "laplace": rng.laplace}[noise](
        size=(10**6, 5)
    )
    simulated = np.bincount(noisy.argmax(axis=1), minlength=5)
    assert stats.chisquare(simulated, law.probabilities() / law.probabilities().sum() * 10**6).pvalue > 1e-6


def test_an_unknown_noise_and_an_empty_choice_are_refused() -> None:
    with pytest.raises(QueryError, match="SRD-106"):
        ArgMax(np.array([1]), Fraction(1), "cauchy")
    with pytest.raises(QueryError, match="SRD-105"):
        ArgMax(np.array([], np.int64), Fraction(1), "gumbel")
