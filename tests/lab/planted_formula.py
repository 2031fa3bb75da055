"""Printed formulas of the lecture notes that leak when they are coded as printed."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from planted_kit import NOISE, Audited, Integrated, claims, planted

from sordino.course.textbook import additive, gaussian, smooth, stability
from sordino.course.textbook.estimator import plug_in, ridge_bound
from sordino.mechanisms import Gaussian, Laplace, Smooth, StableHistogram, StableMode
from sordino.privacy.certificate import Closed, LaplaceShift
from sordino.privacy.dilation import Dilation
from sordino.privacy.families import GeneralizedCauchy

SMALL, THOUSANDTH = Fraction(1, 10**6), Fraction(1, 1000)


def cauchy_product(dimension: int = 5, epsilon: float = 1.0):
    """The corrected lemma: eps/(2(gamma + 1)) for the slide, and the dilation divided by the dimension."""
    law, slide = GeneralizedCauchy(Fraction(2)), epsilon / 6
    losses = []
    for first in (True, False):
        moved, still = (Dilation(law, by, slide / dimension, wide_first=first).sup() for by in (slide, 0.0))
        losses.append(moved + (dimension - 1) * still)
    return claims(epsilon, 0, Closed(lambda _: 0.0, max(losses)))


@planted("note 000, Lemma 13.2", Integrated(), cauchy_product)
def product_of_cauchy_laws():
    """A vector of heavy-tailed noises keeps the dilation of one dimension, although every coordinate pays for it."""
    return smooth.generalized_cauchy_product(dimension=5)


def ridge_with_theta():
    """The same two tables with L = |x| (|y| + |x| |theta|) = 11 over the curvature 10: the move of 1 is less than 1.1."""
    return claims(1, 0, LaplaceShift(1 / 1.1))


@planted("note 000, 13.1.2", Integrated(), ridge_with_theta)
def influence_of_a_row_without_theta():
    """The influence of a row on a regression is bounded by |x||y|/lambda, but the gradient also contains |theta|."""
    return ridge_bound()


@planted("note 000, last formula", Integrated(), lambda: Smooth(1, noise="laplace", delta=SMALL).certificate())
def smoothing_by_powers_of_two():
    """The smooth sensitivity decays by 2^-eps instead of e^-beta and forgets the table itself (k starts at 1)."""
    return smooth.powers_of_two()


def admissible_as_proved():
    broken = smooth.admissible_any(3)
    return claims(3, (1 + math.exp(1.5)) / 2 * 1e-6, Closed(lambda _: broken.holds))


@planted("note 000, 13.3.2", Integrated(), admissible_as_proved)
def admissible_noise_without_its_factor():
    """Every admissible law is sold at delta, where the proof gives (1 + e^{eps/2}) delta/2."""
    return smooth.admissible_any(3)


@planted("note 001, 2.1", Integrated(), lambda: Laplace(1, 1, dimension=2).certificate())
def mean_of_a_growing_table():
    """Mean plus Lap(1/(eps n)) where n is private: the two tables have two scales."""
    return additive.mean_add_one(n=10)


@planted("note 004, Laplace mechanism", Integrated(), additive.mean_change_one)
def mean_of_a_shrinking_table():
    """The same formula where rows may be deleted, proved for changed rows only."""
    return additive.mean_any_change(n=10)


@planted("note 001, section 5", Integrated(), lambda: Gaussian(70, SMALL).certificate())
def gaussian_with_a_garbled_constant():
    """c in place of c^2 doubles the noise at small epsilon and still breaks at large epsilon."""
    return gaussian.gaussian_garbled(70)


@planted("note 002, mode", Integrated(), lambda: StableMode(1, SMALL).certificate())
def mode_by_its_gap():
    """The gap of the two largest counts is taken for the distance to instability, which is one less."""
    return stability.mode_add_remove()


@planted("note 002, mode", Integrated(), lambda: StableMode(1, Fraction(1, 10**4), relation="replace").certificate())
def mode_by_its_gap_under_replacement():
    """A replaced row moves the gap by two, and the noise covers one."""
    return stability.mode_replace()


@planted("note 002, stable histograms", Integrated(), lambda: StableHistogram(1, THOUSANDTH, relation="replace").certificate())
def histogram_under_replacement():
    """A replaced row leaves one bin and enters another: two slides, and noise for one."""
    return stability.histogram_replace()


@planted("note 004; qrlew 0.9", Integrated(), lambda: Gaussian(10, SMALL).certificate())
def classical_gaussian_at_any_epsilon():
    """sigma = sqrt(2 ln(2/delta))/eps, proved for small epsilon and used for every epsilon."""
    return gaussian.gaussian_any_epsilon(10)


@planted("note 004, smooth sensitivity", Integrated(), lambda: Smooth(12, noise="laplace", delta=SMALL).certificate())
def smooth_laplace_at_large_epsilon():
    """beta = eps/(2 ln(1/delta)) without a range for epsilon."""
    return smooth.smooth_scalar(12)


@planted("note 004, smooth sensitivity", Integrated(), lambda: smooth.laplace_vector(dimension=5))
def smooth_vector_without_its_factor_two():
    """The slide alone spends all of epsilon, and nothing is left for the dilation."""
    return smooth.smooth_vector(dimension=5)


ROWS = 10


def descended(data, n, factor):
    """Two steps of noisy descent towards a Huber location with B = 1, all iterates released, on a grid."""
    place, path = np.zeros(n), []
    for _ in range(2):
        gradient = -np.clip(np.asarray(data)[:, None] - place, -1, 1).mean(axis=0)
        place = place - gradient + factor * 2 / ROWS * NOISE.laplace(0, 1, n)
        place = np.round(place * 2**12) / 2**12
        path.append(place)
    return np.stack(path, axis=1)


FAR = [99] * (ROWS // 2) + [-99] * (ROWS // 2)


@planted("note 004, noisy gradient descent", Audited(FAR, [*FAR[:-1], 99], trials=60_000), lambda data, n: descended(data, n, 2))
def descent_for_half_the_gradient(data, n):
    """Noise B T/(eps n) where a replaced row moves the mean gradient by 2B/n."""
    return descended(data, n, 1)


@planted("note 004, after Avella-Medina 2021", Integrated(), lambda: Gaussian(1, SMALL, 200).certificate())
def noise_from_the_gross_error_sensitivity():
    """Gaussian noise scaled by the estimator's own gross error sensitivity on this table, a private number."""
    return plug_in(n=101)
