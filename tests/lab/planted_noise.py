"""Noise that is too regular, not fresh, or of the wrong shape."""

from __future__ import annotations

import copy
import math
import os
import pickle
from fractions import Fraction
from typing import Any

import numpy as np
from planted_kit import HAND, NOISE, Audited, Bitwise, Differenced, Exploited, Integrated, Listed, claims, planted, whole_noise

from sordino.course.notes import local_noise, median_leak
from sordino.lab import simulate
from sordino.lab.exploitation import Sticky, select
from sordino.mechanisms import Gaussian, Laplace, Smooth
from sordino.privacy.certificate import GaussianShift
from sordino.privacy.cost import gaussian_epsilon
from sordino.privacy.discrete import Bernoulli


def fresh(f: Any, n: int) -> Any:
    return f + whole_noise(n)


@planted("diffprivlib 0.6.6; Mironov 2012", Bitwise(0, 1), lambda f, n: simulate(Laplace(1, resolution=Fraction(1, 2**40)), f, repeats=n))
def low_bits_of_double_noise(f, n):
    """The noise is a double, and only one of two tables can reach the released double."""
    return f + NOISE.laplace(0, 1, n)


@planted("after qrlew 0.9: noise from the database's random()", Audited(0, 1), fresh)
def seeded_noise(f, n):
    """The generator is seeded with a constant, so every release carries the same noise."""
    return np.full(n, f + np.random.default_rng(7).geometric(0.5))


class Forked:
    """Two child processes, one counts everybody and one all but a person; each holds a copy of the parent's generator."""

    def __init__(self, reseed):
        inherited = np.random.default_rng(NOISE.integers(2**60))
        self.answers = [self._child(count, None if reseed else inherited) for count in (40, 39)]

    @staticmethod
    def _child(count, draw):
        read, write = os.pipe()
        if (child := os.fork()) == 0:
            draw = draw or np.random.default_rng()
            os.write(write, (count + draw.geometric(0.4, 500) - draw.geometric(0.4, 500)).astype(np.int64).tobytes())
            os._exit(0)
        os.waitpid(child, 0)
        found = np.frombuffer(os.read(read, 4000), np.int64)
        os.close(read)
        os.close(write)
        return iter(found.tolist())

    def __call__(self, person):
        return next(self.answers[person is not None])


@planted("numpy under fork", Differenced(), lambda: Forked(True))
def noise_shared_across_a_fork():
    """Worker processes inherit one generator and draw the same noise: the difference of their answers is exact."""
    return Forked(False)


class Pickled:
    """Every task carries the generator in a pickle, made once."""

    def __init__(self, once):
        self.once, self.jar = once, pickle.dumps(np.random.default_rng(NOISE.integers(2**60)))

    def __call__(self, person):
        draw = pickle.loads(self.jar)
        if not self.once:
            self.jar = pickle.dumps(draw.spawn(1)[0])
        return 40 - (person is not None) + int(draw.geometric(0.4) - draw.geometric(0.4))


@planted(HAND, Differenced(), lambda: Pickled(False))
def noise_shared_by_a_pickle():
    """A generator is pickled into every task, and all of them wake up in the same state."""
    return Pickled(True)


class Drawn:
    """An engine that draws when it is opened, or at every question."""

    def __init__(self, once):
        self.noise = whole_noise(1, 2) if once else None

    def __call__(self, person):
        return 40 - (person is not None) + int((self.noise if self.noise is not None else whole_noise(1, 2))[0])


@planted(HAND, Differenced(), lambda: Drawn(False))
def noise_drawn_once():
    """One draw is kept and added to every answer, so differences of answers are exact."""
    return Drawn(True)


@planted(HAND, Audited(0, 1), fresh)
def averaging_is_free(f, n):
    """The same question is answered afresh a hundred times for one price; the mean of the answers is the truth."""
    return np.mean([f + whole_noise(n) for _ in range(100)], axis=0)


def _patients():
    known = {"zip": ["a", "b"] * 20, "birth": [str(1950 + i) for i in range(40)]}
    return tuple({**known, "ill": [illness if i == 7 else "no" for i in range(40)]} for illness in ("no", "yes"))


class Fresh:
    """Every count with noise of its own; twenty of them cost epsilon 1."""

    def __init__(self, table):
        self.columns = {name: np.array(column, object) for name, column in table.items()}

    def __call__(self, conditions):
        return int(select(self.columns, conditions).sum()) + int(whole_noise(1, 20)[0])


@planted("Diffix; Gadotti and others 2019, cited in note 000", Exploited(*_patients(), kind="sticky", trials=300), Fresh)
def noise_that_sticks_to_the_question(table):
    """Every question has its own lasting noise; pairs of questions that select the same people give it away."""
    return Sticky(table)


WIDE, LEAK = (0, 10**6), median_leak(100)
SMOOTH = {"statistic": "median", "bounds": WIDE, "relation": "replace"}


@planted("note 002, its own warning", Exploited(*LEAK), lambda data, n: simulate(Smooth(1), data, repeats=n, **SMOOTH))
def noise_scaled_by_the_local_sensitivity(data, n):
    """The width of the noise is the local sensitivity, and its size names the table."""
    return local_noise(data, WIDE, n, seed=NOISE)


ODDS = math.exp(40)


def _below(p: float) -> Fraction:
    """P(random() < p): random() is a multiple of 2^-53, so count the multiples below p."""
    return Fraction(math.ceil(Fraction(p) * 2**53), 2**53)


@planted(HAND, Listed(False, True, (40.0, 0.0)), lambda bit, draw: bit ^ draw(Bernoulli.of(1 / (1 + Fraction(ODDS)))))
def float_coin(bit, draw):
    """The truth if random() < p with p = e^40/(1 + e^40): the double p is 1, and the lie that pure epsilon needs never comes."""
    return bit if draw(Bernoulli.of(_below(ODDS / (1 + ODDS)))) else not bit


@planted(HAND, Audited(0, 1), fresh)
def noise_cut_off(f, n):
    """Noise beyond three scales is cut off, so some answers name their table for certain."""
    return f + np.clip(whole_noise(n), -3, 3)


@planted(HAND, Audited(0, 1, trials=60_000), lambda f, n: np.maximum(f + whole_noise(n), 0))
def negative_answers_drawn_again(f, n):
    """The noise is drawn again until the count is not negative: how often it is depends on the count."""
    answers = f + whole_noise(n)
    while (bad := answers < 0).any():
        answers[bad] = f + whole_noise(int(bad.sum()))
    return answers


@planted(HAND, Audited(0, 1), fresh)
def one_sided_noise(f, n):
    """The noise is never negative, so an answer of zero proves a count of zero."""
    return f + np.abs(whole_noise(n))


@planted(HAND, Audited(0, 1), fresh)
def uniform_jitter(f, n):
    """Uniform noise of about the right variance: its ends belong to one table only."""
    return f + NOISE.integers(-2, 3, n)


@planted(HAND, Audited(np.array([5, 5]), np.array([6, 5])), lambda f, n: f + whole_noise(2 * n).reshape(n, 2))
def one_draw_for_all_coordinates(f, n):
    """The same noise is added to every coordinate, and their difference is exact."""
    return f + whole_noise(n)[:, None]


@planted(HAND, Integrated(), lambda: Gaussian(1, Fraction(1, 10**6)).certificate())
def gaussian_noise_sold_as_pure():
    """Gaussian noise with the epsilon it has at delta 1e-6, sold without the delta."""
    return claims(gaussian_epsilon(0.25, 1e-6), 0, GaussianShift(0.25))


class Copied:
    """A snapshot of the engine, its generator included, restored before each question."""

    def __init__(self, restore):
        self.draw, self.restore = np.random.default_rng(NOISE.integers(2**60)), restore

    def __call__(self, person):
        draw = copy.deepcopy(self.draw) if self.restore else self.draw
        return 40 - (person is not None) + int(draw.geometric(0.4) - draw.geometric(0.4))


@planted(HAND, Differenced(), lambda: Copied(False))
def noise_restored_from_a_snapshot():
    """The state of the generator is restored with the machine, and the same noise is drawn again for another question."""
    return Copied(True)
