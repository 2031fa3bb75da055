"""Coefficients are near the truth, intervals hold about as often as they say, and heavy tails hurt least squares only."""

from __future__ import annotations

import numpy as np
import pytest

from sordino.errors import QueryError
from sordino.models import PrivateHuberRegressor, PrivateLinearRegression, PrivateLogisticRegression

TRUTH = np.array([0.3, -0.2, 0.1])


def line(seed, noise, n=4_000):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (n, 3))
    return x, 0.1 + x @ TRUTH + noise(rng, n)


def normal(rng, n):
    return rng.normal(0, 0.1, n)


def heavy(rng, n):
    return rng.standard_t(1.5, n) / 20


BOX = {"epsilon": 1, "bounds_X": (-1, 1), "bounds_y": (-1, 1)}


@pytest.mark.parametrize("method", ["squares", "boosted", "adassp"])
def test_intervals_hold_at_least_as_often_as_they_say(method):
    """Forty fits at a coverage of 95%: more than eleven misses of one coefficient would be a chance below 1e-6."""
    model, hits = PrivateLinearRegression(**BOX, method=method), []
    for seed in range(40):
        model.fit(*line(seed, normal))
        ends = np.vstack([model.intercept_interval_, model.coef_interval_])
        hits.append((ends[:, 0] <= [0.1, *TRUTH]) & ([0.1, *TRUTH] <= ends[:, 1]))
    assert np.sum(hits, axis=0).min() >= 29
    assert np.diff(model.coef_interval_).max() < 0.5


def test_intervals_are_in_the_units_of_the_data():
    """Two prices for one table: the interval of the dear fit lies about the truth, in any units."""
    x, y = line(3, normal, 20_000)
    pairs = [(0, 200), (-7, 3), (1e6, 3e6)]
    moved = np.column_stack([(a + b) / 2 + column * (b - a) / 2 for (a, b), column in zip(pairs, x.T, strict=True)])
    model = PrivateHuberRegressor(epsilon=20, bounds_X=pairs, bounds_y=(-1, 1)).fit(moved, y)
    scaled = model.coef_interval_ * np.array([[100], [5], [1e6]])
    assert scaled.mean(axis=1) == pytest.approx(TRUTH, abs=0.02)
    assert np.diff(scaled).max() < 0.03
    assert (model.coef_interval_[:, 0] <= model.coef_).all()
    assert (model.coef_ <= model.coef_interval_[:, 1]).all()


def test_an_interval_is_everything_where_the_noise_hides_the_curvature():
    x, y = line(4, normal, 50)
    for model in (PrivateLinearRegression(**BOX, method="boosted"), PrivateHuberRegressor(**BOX)):
        model.fit(x, y)
        assert np.isinf(model.coef_interval_).all()
        assert np.isfinite(model.coef_).all()


def test_huber_beats_least_squares_under_heavy_tails():
    """Median over fifteen tables; the gap is a factor of several."""
    wide = {**BOX, "bounds_y": (-5, 5)}
    errors = {"huber": [], "adassp": []}
    for seed in range(15):
        x, y = line(seed, heavy)
        errors["huber"].append(np.linalg.norm(PrivateHuberRegressor(**wide).fit(x, y).coef_ - TRUTH))
        errors["adassp"].append(np.linalg.norm(PrivateLinearRegression(**wide, method="adassp").fit(x, y).coef_ - TRUTH))
    assert np.median(errors["huber"]) < np.median(errors["adassp"]) / 2


def test_units_do_not_matter():
    """The same table in other units has the same coefficients in other units; noise is far below the tolerance at this price."""
    x, y = line(3, normal)
    model = PrivateLinearRegression(epsilon=50, bounds_X=(-1, 1), bounds_y=(-1, 1)).fit(x, y)
    pairs = [(0, 200), (-7, 3), (1e6, 3e6)]
    moved = np.column_stack([(a + b) / 2 + column * (b - a) / 2 for (a, b), column in zip(pairs, x.T, strict=True)])
    other = PrivateLinearRegression(epsilon=50, bounds_X=pairs, bounds_y=(0, 1000)).fit(moved, 500 + 500 * y)
    assert model.coef_ == pytest.approx(TRUTH, abs=0.03)
    assert other.coef_ * [100, 5, 1e6] / 500 == pytest.approx(TRUTH, abs=0.03)
    assert other.predict(moved) == pytest.approx(500 + 500 * model.predict(x), abs=30)


def test_one_predictor_is_fitted_by_slopes_and_no_row_levers_it():
    rng = np.random.default_rng(5)
    x = rng.uniform(-0.2, 0.2, (800, 1))
    y = 0.1 + 0.8 * x[:, 0] + rng.normal(0, 0.02, 800)
    bad = np.vstack([x, np.ones((20, 1))]), np.append(y, -np.ones(20))
    for relation in ("add_remove", "replace"):
        facts = {"bounds_X": (-1, 1), "bounds_y": (-1, 1), "relation": relation, "size": 800, "method": "theil_sen"}
        model = PrivateLinearRegression(epsilon=5, delta=0, **facts)
        assert model.fit(*bad).coef_[0] == pytest.approx(0.8, abs=0.3)
        assert model.card_["mechanism"].startswith("QuantileExponential")
    assert np.polyfit(bad[0][:, 0], bad[1], 1)[0] < -0.3


def test_the_default_is_least_squares_and_says_what_a_delta_buys():
    """One predictor and ten, a skewed target: never the median slope of pairs or a ridge unless it was named."""
    rng = np.random.default_rng(8)
    x = rng.uniform(0, 1, (20_000, 1))
    y = x[:, 0] * rng.exponential(1, 20_000)
    model = PrivateLinearRegression(epsilon=20, bounds_X=(0, 1), bounds_y=(0, 20)).fit(x, y)
    assert model.card_["mechanism"] == "LeastSquares"
    assert model.coef_[0] == pytest.approx(np.polyfit(x[:, 0], y, 1)[0], abs=0.02)
    slopes = PrivateLinearRegression(epsilon=20, bounds_X=(0, 1), bounds_y=(0, 20), method="theil_sen").fit(x, y)
    assert slopes.coef_[0] < 0.8
    pure = PrivateLinearRegression(epsilon=20, delta=0, bounds_X=(0, 1), bounds_y=(0, 20)).fit(x, y)
    assert pure.card_["this release"]["delta"] == "0"
    assert pure.coef_[0] == pytest.approx(np.polyfit(x[:, 0], y, 1)[0], abs=0.02)
    with pytest.raises(QueryError, match="SRD-102") as caught:
        PrivateLinearRegression(epsilon=1, delta=0, bounds_X=(0, 1), bounds_y=(0, 20), method="adassp").fit(x, y)
    assert "delta=1e-6" in caught.value.fix


def test_intervals_about_the_rows_and_about_the_population():
    x, y = line(5, normal)
    model = PrivateLinearRegression(epsilon=3, bounds_X=(-1, 1), bounds_y=(-1, 1)).fit(x, y)
    rows, people = model.interval(kind="noise"), model.interval()
    assert (np.diff(rows) < np.diff(people)).all()
    assert (np.diff(people) < np.diff(model.interval(0.999))).all()
    assert people[1:] == pytest.approx(model.coef_interval_)
    for call in (lambda: model.interval(1.5), lambda: model.interval(kind="both")):
        with pytest.raises(QueryError):
            call()


def test_logistic_regression_finds_the_odds_and_not_only_the_side():
    """Coefficients, chances and intervals; rescaled features have rescaled coefficients."""
    rng = np.random.default_rng(9)
    x = rng.uniform(0, 10, (20_000, 2))
    odds = -1 + x @ [0.4, -0.2]
    labels = np.where(rng.random(20_000) < 1 / (1 + np.exp(-odds)), "b", "a")
    for options in ({}, {"cap": False}, {"relation": "replace", "size": 20_000}):
        model = PrivateLogisticRegression(epsilon=3, bounds_X=(0, 10), classes=("a", "b"), **options).fit(x, labels)
        assert model.coef_[0] == pytest.approx([0.4, -0.2], abs=0.04)
        assert model.intercept_[0] == pytest.approx(-1, abs=0.25)
        chances = model.predict_proba(x)
        assert chances.sum(axis=1) == pytest.approx(np.ones(len(x)))
        assert np.exp(model.predict_log_proba(x)) == pytest.approx(chances)
        assert chances[:, 1].mean() == pytest.approx((labels == "b").mean(), abs=0.02)
        assert model.classes_.tolist() == ["a", "b"]
        assert model.score(x, labels) > 0.68
        assert model.coef_interval_.shape == (2, 2)
        assert np.diff(model.coef_interval_).max() < 0.2
    pure = PrivateLogisticRegression(epsilon=3, delta=0, bounds_X=(0, 10), classes=("a", "b")).fit(x, labels)
    assert pure.coef_[0] == pytest.approx([0.4, -0.2], abs=0.04)


def test_several_classes_have_lines_that_sum_to_zero_and_chances_that_sum_to_one():
    rng = np.random.default_rng(10)
    x = rng.uniform(0, 10, (20_000, 2))
    truth = np.array([[-1.0, 0.3, -0.1], [0.0, 0.0, 0.0], [1.0, -0.3, 0.1]])
    chance = np.exp(truth[:, 0] + x @ truth[:, 1:].T)
    place = (rng.random(20_000)[:, None] > (chance / chance.sum(axis=1, keepdims=True)).cumsum(axis=1)).sum(axis=1)
    labels = np.array(["u", "v", "w"])[place]
    model = PrivateLogisticRegression(epsilon=3, bounds_X=(0, 10), classes=("u", "v", "w")).fit(x, labels)
    assert model.coef_ == pytest.approx(truth[:, 1:], abs=0.05)
    assert model.coef_.sum(axis=0) == pytest.approx(np.zeros(2), abs=1e-9)
    assert model.coef_interval_.shape == (3, 2, 2)
    assert (model.coef_interval_[..., 0] < model.coef_).all()
    assert model.predict_proba(x).sum(axis=1) == pytest.approx(np.ones(len(x)))
    assert model.predict_proba(x).mean(axis=0) == pytest.approx(np.bincount(place) / len(x), abs=0.03)
    assert set(model.predict(x)) <= {"u", "v", "w"}
    assert model.card_["mechanism"] == "MultinomialRegression"
