"""Budgets that are charged too little, too late or not at all, and guarantees that are added up wrongly."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from planted_kit import HAND, NOISE, Audited, Integrated, Listed, claims, planted, whole_noise
from scipy.stats import binom

from sordino.mechanisms import StableHistogram
from sordino.privacy.certificate import Finite, GaussianShift, LaplaceShift
from sordino.privacy.composition import zcdp_epsilon
from sordino.privacy.cost import Cost, gaussian_delta
from sordino.privacy.discrete import Categorical, DiscreteLaplace

SMALL = Fraction(1, 10**6)


def truths(times: int, epsilon: float) -> Finite:
    """How often randomized response told the truth, for either bit: all that ten answers say."""
    keep, count = 1 / (1 + math.exp(-epsilon)), np.arange(times + 1)
    return Finite(binom.pmf(count, times, keep), binom.pmf(count, times, 1 - keep))


@planted("dp-accounting 0.6, PLD accountant", Integrated(), lambda: claims(10, 0, truths(10, 1.0)))
def count_ignored():
    """Ten randomized responses are declared as one event with a count, and billed as one."""
    return claims(1, 0, truths(10, 1.0))


def columns(data, draw, scale):
    total, people = data
    return tuple(draw(DiscreteLaplace(Fraction(scale), np.array([total, people, people]))).tolist())


@planted("smartnoise-sql 1.0", Listed((4, 4), (5, 5), span=8), lambda data, draw: columns(data, draw, 3))
def epsilon_for_each_column(data, draw):
    """An average is made of three noisy columns, each at the whole epsilon that was asked for."""
    return columns(data, draw, 1)


@planted("diffprivlib 0.6.6, LinearRegression", Integrated(), lambda: claims(1, 0, LaplaceShift(1 / 8 + 1 / 8 + 3 / 4)))
def both_offsets_at_full_share():
    """A share of epsilon is set aside for the offsets of X and y, and each of the two spends all of it."""
    return claims(1, 0, LaplaceShift(1 / 4 + 1 / 4 + 3 / 4))


def winner(scores: float, times: int) -> Finite:
    """Permute-and-flip between two candidates: a tie, and the same after one unit moved the gap to 2; how often the second won."""
    tie, loser, count = 0.5, math.exp(-scores) / 2, np.arange(times + 1)
    return Finite(binom.pmf(count, times, tie), binom.pmf(count, times, loser))


def composed(rho: float) -> tuple[float, float]:
    return zcdp_epsilon(rho, 1e-6), 1e-6


@planted("opendp before 0.16", Integrated(), lambda: claims(*composed(100 * float(Cost.pure("0.2").rho)), winner(0.2, 100)))
def permute_and_flip_billed_as_exponential():
    """A hundred noisy maxima are billed at eps^2/8 of zCDP each, which is true of the exponential mechanism only."""
    return claims(*composed(100 * 0.2**2 / 8), winner(0.2, 100))


class Purse:
    left = 3.0


def first_charged(data):
    purse = Purse()
    purse.left -= 1
    return round(sum(data) / max(len(data), 1)) + int(whole_noise(1, 1)[0]), purse.left


@planted("diffprivlib 0.6.6; Lomas", Audited([], [1], trials=1_200, singly=True), first_charged)
def charged_after_the_draw(data):
    """The budget is charged after the answer is computed: an error costs nothing, and the balance says whether there was one."""
    purse = Purse()
    try:
        answer = round(sum(data) / len(data)) + int(whole_noise(1, 1)[0])
    except ZeroDivisionError:
        return None, purse.left
    purse.left -= 1
    return answer, purse.left


def asked(times: int):
    """Two tables at distance zero from instability: their answers differ, and each attempt passes with probability delta."""
    shown = -math.expm1(times * math.log1p(-1e-6))
    return claims(1, SMALL, Finite({"one": shown, "refused": 1 - shown}, {"other": shown, "refused": 1 - shown}))


@planted(HAND, Integrated(), lambda: asked(1))
def refusals_are_free():
    """A refused propose-test-release is not charged, so it is asked fifty times until it passes."""
    return asked(50)


@planted(HAND, Integrated(), lambda: claims(3, 0, LaplaceShift(3, scalar=False)))
def largest_instead_of_sum():
    """Three answers about the same people are billed as the largest of their prices."""
    return claims(1, 0, LaplaceShift(3, scalar=False))


def amplified(data, n, chosen):
    """One tenth of the rows, counted with noise for epsilon ln(1 + 10 (e^0.2 - 1)), claimed at 0.2."""
    return chosen(data, n) + whole_noise(n, 1 / math.log1p(10 * math.expm1(0.2)))


ROWS = [1] + [0] * 19


def sampled(data, n):
    return amplified(data, n, lambda x, n: NOISE.binomial(sum(x), 0.1, n))


@planted(HAND, Audited(ROWS, [0, *ROWS[1:]], 0.2, 60_000), sampled)
def first_tenth_sold_as_a_sample(data, n):
    """The first tenth of the file is called a random sample, and its price is lowered as if nobody knew who is in it."""
    return amplified(data, n, lambda x, n: sum(x[: len(x) // 10]))


def group(delta: float):
    mu = 0.2366
    assert gaussian_delta(mu, 1.0) <= 1e-6
    return claims(3, delta, GaussianShift(3 * mu))


@planted(HAND, Integrated(), lambda: group(1e-6 * math.expm1(3) / math.expm1(1)))
def group_delta_times_k():
    """Three people pay three epsilons and three deltas, where the deltas grow like powers of e^epsilon."""
    return group(3e-6)


def sparse(stops: bool):
    """Six queries against a noisy threshold at epsilon 1: only the pattern of answers, or only until the first one above."""

    def law(values):
        bar, noise = np.arange(-80, 81), np.arange(-200, 201)
        weight = DiscreteLaplace(Fraction(2)).probability(bar)
        mass = DiscreteLaplace(Fraction(4)).probability(noise)
        below = np.array([[mass[noise + value < b].sum() for b in bar] for value in (0, 1)])
        found = {}
        if stops:
            for k in range(len(values) + 1):
                path = np.prod([below[v] for v in values[:k]], axis=0) * (1 - below[values[k]] if k < len(values) else 1)
                found[k] = float((weight * path).sum())
            return found
        for pattern in range(2 ** len(values)):
            path = np.prod([1 - below[v] if pattern >> i & 1 else below[v] for i, v in enumerate(values)], axis=0)
            found[pattern] = float((weight * path).sum())
        return found

    return claims(1, 0, Finite(law((0, 0, 0, 1, 1, 1)), law((1, 1, 1, 0, 0, 0))))


@planted("Lyu, Su and Li 2017", Integrated(), lambda: sparse(True))
def every_answer_above_for_one_price():
    """The sparse vector goes on after its first answer above the threshold and pays nothing more."""
    return sparse(False)


def median_among(candidates):
    def choose(rows, draw):
        options = candidates(rows)
        score = np.array([-abs(sum(x < y for x in rows) - sum(x > y for x in rows)) / 2 for y in options])
        return options[draw(Categorical(np.exp(score / 2)))]

    return choose


@planted(HAND, Listed([1, 2, 3], [1, 2, 3, 9]), median_among(lambda rows: tuple(range(10))))
def candidates_that_occur(rows, draw):
    """The exponential mechanism chooses among the values that occur, so whoever is chosen is in the table."""
    return median_among(lambda rows: tuple(sorted(set(rows))))(rows, draw)


@planted(HAND, Audited(9, 10, (1.0, 0.001)), lambda count, n: np.where((a := count + whole_noise(n)) < 10, 0, a))
def small_counts_hidden(count, n):
    """Counts below ten are suppressed and all others are exact."""
    return np.full(n, count if count >= 10 else 0)


@planted(HAND, Audited([0] * 9, [0] * 9 + [7], (1.0, 1e-6)), lambda rows, n: len(rows) + whole_noise(n))
def sample_of_rows(rows, n):
    """A small random sample is published as it is: delta is the chance to be in it."""
    return np.array(rows)[NOISE.integers(0, len(rows), n)]


def threshold(strict: bool):
    """The least t with P(1 + K > t) <= delta is one below the least t with P(1 + K >= t) <= delta."""
    histogram = StableHistogram(1, Fraction(1, 1000))
    return lambda count, draw: draw(DiscreteLaplace(Fraction(1), count)) >= histogram.threshold - (not strict) if count else False


@planted("opendp 0.16, make_laplace_threshold", Listed(0, 1, (1.0, 0.001)), threshold(True))
def shown_at_the_threshold(count, draw):
    """A key is shown from the threshold on, and delta is computed for keys above it."""
    return threshold(False)(count, draw)
