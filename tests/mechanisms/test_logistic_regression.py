"""Logistic regression is logistic regression: no clip and no bias, and intervals that hold where the curvature is barely seen."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from sordino.mechanisms import LogisticRegression, logistic_regression, moment_model
from sordino.mechanisms.gaussian import largest_mu
from sordino.mechanisms.logistic_regression import _bound
from sordino.mechanisms.moment_model import sigmoid
from sordino.summaries.array_table import answer, direction, quantised
from sordino.summaries.moment import FINE, ONE, Gradient, MomentTerm

SMALL = Fraction(1, 10**6)


def quick(seed):
    """Gaussian noise in floating point: the same draws for one seed, at whatever scale."""
    rng = np.random.default_rng(seed)

    def draw(law):
        scale = np.array([float(s) for s in law.scale]) if isinstance(law.scale, list) else float(law.scale)
        return np.rint(law.location + scale * rng.normal(size=np.shape(law.location))).astype(np.int64)

    return draw


def linear(beta):
    def world(rng, n):
        x = rng.uniform(-1, 1, (n, len(beta) - 1))
        return x, rng.random(n) < sigmoid(beta[0] + x @ beta[1:])

    return world


def bent(rng, n):
    """No logistic model: a cube and a product."""
    x = rng.uniform(-1, 1, (n, 3))
    return x, rng.random(n) < sigmoid(0.5 + 2 * x[:, 0] ** 3 - x[:, 1] + 2 * x[:, 0] * x[:, 2])


def badly_bounded(rng, n):
    """Features that use a twentieth of their bounds, two of them nearly the same."""
    x = 0.05 * rng.normal(size=(n, 3))
    x[:, 2] = x[:, 1] + 0.02 * rng.normal(size=n)
    return np.clip(x, -1, 1), rng.random(n) < sigmoid(-0.5 + 6 * x[:, 0] + 5 * x[:, 1])


WORLDS = {
    "weak": linear(np.array([0, 0.5, -0.25, 0])),
    "strong": linear(np.array([0, 2.0, -1, 0])),
    "rare": linear(np.array([-4.1, 1, -0.5, 0])),
    "bent": bent,
}
MANY = linear(np.concatenate([[0], np.linspace(-1, 1, 30)]))


def coordinates(x, y):
    return np.column_stack([np.full(len(x), float(ONE)), quantised(x, -1.0, 1.0), y * float(ONE)])


def likeliest(rows, weights=None):
    """The maximum likelihood by Newton's method, without a penalty."""
    x, y = rows[:, :-1] / ONE, rows[:, -1] / ONE
    k, b = np.ones(len(x)) if weights is None else weights, np.zeros(x.shape[1])
    for _ in range(60):
        p = sigmoid(x @ b)
        step = np.linalg.solve((x.T * (k * p * (1 - p))) @ x, x.T @ (k * (y - p)))
        b = b + step * min(1.0, 3 / max(float(np.linalg.norm(step)), 1e-300))
    return b


def fitted(rows, seed, epsilon=1, **options):
    mechanism = LogisticRegression(epsilon, SMALL, rows.shape[1] - 1, **options)
    return mechanism.release(lambda request: answer(rows, request), quick(seed))


@pytest.mark.parametrize("p", [2, 3, 4, 5, 6])
def test_the_bound_of_a_gradient_is_attained_at_a_vertex(p):
    rng = np.random.default_rng(p)
    vertices = np.array([(1.0, *corner) for corner in itertools.product((-1.0, 1.0), repeat=p - 1)])
    for b in rng.normal(0, 1, (50, p)):
        worst = max(np.abs(y - sigmoid(vertices @ b)).max() for y in (0.0, 1.0)) * math.sqrt(p)
        assert worst <= math.sqrt(p) * sigmoid(np.abs(b).sum()) + 1e-12
        aligned = np.sign(b) * np.sign(b[0])
        assert math.sqrt(p) * max(abs(y - sigmoid(aligned @ b)) for y in (0, 1)) == pytest.approx(worst, abs=1e-12)
        assert worst == pytest.approx(math.sqrt(p) * sigmoid(np.abs(b).sum()), abs=1e-12)


def test_no_row_is_ever_shortened_by_the_bound():
    """The bound is above every contribution at the coefficients that are sent, the table of the link included."""
    rng = np.random.default_rng(3)
    for _ in range(40):
        theta = tuple(int(t) for t in rng.normal(0, 2 * FINE, 4))
        corners = np.array([(1.0, *corner) for corner in itertools.product((-1.0, 1.0), repeat=3)]) * ONE
        bound = _bound(math.ceil(math.sqrt(4) * ONE) + 1, theta)
        for y in (0.0, ONE):
            for x in corners:
                rows, target = x[None], np.array([y])
                free, _ = direction(rows, target, Gradient((), MomentTerm(), theta, "logistic"))
                held, _ = direction(rows, target, Gradient((), MomentTerm(), theta, "logistic", norm=bound, each=True))
                assert free.tolist() == held.tolist()


def test_a_bound_of_coefficients_that_are_not_those_sent_would_be_seen():
    """The planted bug: the bound is that of b before it is rounded to what a request carries (here to quarters), and rows are shortened."""
    corners = np.array([(1.0, *corner) for corner in itertools.product((-1.0, 1.0), repeat=3)]) * ONE
    cap, b = math.ceil(math.sqrt(4) * ONE) + 1, np.full(4, 0.13)
    sent, unrounded = (tuple(int(t) for t in values * FINE) for values in (np.rint(4 * b) / 4, b))

    def shortened(bound):
        rows = [(x[None], np.array([y])) for x in corners for y in (0.0, float(ONE))]
        asked = [Gradient((), MomentTerm(), sent, "logistic", norm=norm, each=True) for norm in (None, bound)]
        return any(direction(*row, asked[0])[0].tolist() != direction(*row, asked[1])[0].tolist() for row in rows)

    assert not shortened(_bound(cap, sent))
    assert shortened(_bound(cap, unrounded))


def test_the_shares_are_the_whole_price():
    mechanism = LogisticRegression(1, SMALL, 4)
    assert sum(mechanism.shares) == 1
    assert float(mechanism.certificate().witnesses[0].delta(1.0)) == pytest.approx(1e-6, rel=1e-3)


def unscaled(world, repeats=16, n=10_000):
    """The mean error that is left at epsilon 100 when the noise of epsilon 5, same seeds, is taken out: over what chance and half of the
    noise explain (sigmoids are read off a table, and the rounds take slightly different ways)."""
    few, many = (float(largest_mu(Fraction(e), SMALL)) for e in (5, 100))
    dear, cheap = [], []
    for seed in range(repeats):
        rows = coordinates(*WORLDS[world](np.random.default_rng(seed), n))
        truth = likeliest(rows)
        dear.append(np.array(fitted(rows, seed, 100, capped=False).theta) - truth)
        cheap.append(np.array(fitted(rows, seed, 5, capped=False).theta) - truth)
    left = np.array(dear) - np.array(cheap) * few / many
    return float(np.abs(left.mean(axis=0) / (4 * left.std(axis=0) / math.sqrt(repeats) + 0.5 * np.std(dear, axis=0))).max())


@pytest.mark.parametrize("world", WORLDS)
def test_what_is_left_of_the_error_is_noise(world):
    assert unscaled(world) < 1


def test_a_bound_below_the_least_possible_one_is_a_bias_that_does_not_shrink(monkeypatch):
    """The planted bug: directions clipped at a quarter of the longest row."""
    monkeypatch.setattr(logistic_regression, "_bound", lambda cap, theta: cap // 4)
    assert unscaled("weak", 6) > 5


def test_weights_that_look_at_the_features_alone_move_no_coefficient():
    """A thousand dear fits of one model: capped, the mean is still the true coefficient."""
    beta = np.array([0.3, 1.0, -0.5, 0, 0.5, 0])
    errors = []
    for seed in range(20):
        rows = coordinates(*linear(beta)(np.random.default_rng(seed), 20_000))
        errors.append(np.array(fitted(rows, seed, 20).theta) - beta)
    deviation = np.std(errors, axis=0) / math.sqrt(20)
    assert (np.abs(np.mean(errors, axis=0)) < 4 * deviation).all()


FIGURES = {("weak", 10_000): 0.014, ("weak", 2_000): 0.07, ("strong", 10_000): 0.03, ("strong", 2_000): 0.13, ("rare", 10_000): 0.3}


@pytest.mark.parametrize(("world", "n"), FIGURES)
def test_the_median_distance_to_the_maximum_likelihood(world, n):
    found = []
    for seed in range(20):
        rows = coordinates(*WORLDS[world](np.random.default_rng(seed), n))
        found.append(np.linalg.norm(np.array(fitted(rows, seed).theta) - likeliest(rows)))
    assert np.median(found) < FIGURES[world, n]


def thirty(seeds=2):
    out = []
    for seed in range(seeds):
        rows = coordinates(*MANY(np.random.default_rng(seed), 10_000))
        out.append(np.linalg.norm(np.array(fitted(rows, seed).theta) - likeliest(rows)))
    return float(np.median(out))


def test_thirty_features_do_not_diverge_unless_the_models_error_stays_as_large(monkeypatch):
    """The planted bug: drawn curvatures are believed as if there were two features, and the noise of p^2 entries adds up."""
    plain = thirty()
    assert plain < 0.3
    monkeypatch.setattr(moment_model, "KNOWN", 0.6 * math.sqrt(31))
    assert thirty() > 1.15 * plain


def covered(world, n, repeats, truth, epsilon=1):
    table, population = [], []
    for seed in range(repeats):
        rows = coordinates(*world(np.random.default_rng(seed), n))
        found = fitted(rows, seed, epsilon, capped=False)
        line, own = np.array(found.theta), likeliest(rows)
        for about, hits, target in ((False, table, own), (True, population, truth)):
            hits.append(np.abs(line - target) <= found.half(np.eye(len(line)), 0.95, population=about))
    return np.array(table), np.array(population)


@pytest.mark.parametrize("world", WORLDS)
def test_intervals_cover_this_tables_coefficients_and_the_populations(world):
    """100 tables at 95%: fewer than 87 hits of one coefficient has a chance of 1e-3, and everything is pinned."""
    truth = np.mean([likeliest(coordinates(*WORLDS[world](np.random.default_rng(9_000 + seed), 100_000))) for seed in range(6)], axis=0)
    for hits in covered(WORLDS[world], 4_000, 100, truth):
        assert hits.sum(axis=0).min() >= 87
        assert hits.mean() >= 0.93


def test_intervals_hold_where_the_curvature_is_barely_seen_and_not_if_the_drawn_one_is_trusted(monkeypatch):
    truth = np.array([-0.5, 6.0, 5.0, 0.0])
    for hits in covered(badly_bounded, 6_000, 60, truth, 5):
        assert hits.mean() >= 0.93
        assert hits.mean(axis=0).min() >= 0.9
    monkeypatch.setattr(moment_model, "DOUBT", 0.0)
    trusting, _ = covered(badly_bounded, 6_000, 60, truth, 5)
    assert trusting.mean(axis=0).min() < 0.9


@pytest.mark.parametrize("n", [0, 1, 30])
def test_few_rows_have_wide_and_finite_intervals(n):
    rows = coordinates(*WORLDS["weak"](np.random.default_rng(2), n)) if n else np.empty((0, 5))
    found = fitted(rows, 3, "0.1")
    half = found.half(np.eye(4), 0.95, population=True)
    assert np.isfinite(half).all()
    assert (half > 1).all()
    assert np.isfinite(found.theta).all()


def test_the_preview_of_a_slopes_error_is_of_the_right_size():
    """Within a factor of two of what is measured for features spread over their bounds."""
    found = []
    for seed in range(16):
        rows = coordinates(*WORLDS["weak"](np.random.default_rng(seed), 10_000))
        found.append(np.array(fitted(rows, seed).theta)[1:] - likeliest(rows)[1:])
    expected = LogisticRegression(1, SMALL, 4).expected(10_000)
    assert expected / 2.5 < np.std(found) < expected * 2
