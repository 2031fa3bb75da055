"""Margins of coefficients hold at least as often as they say: for bad conditioning, skewed features and steep lines too."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from sordino.mechanisms import BoostedRegression
from sordino.mechanisms.boosted_regression import RARE, blur
from sordino.summaries.array_table import answer, quantised
from sordino.summaries.moment import ONE

SMALL = Fraction(1, 10**6)
LEAST = 0.95


def features(kind, rng, n):
    if kind == "collinear":
        return np.clip(rng.uniform(-1, 1, (n, 1)) + 0.3 * rng.normal(size=(n, 3)), -1, 1)
    if kind == "skewed":
        return np.minimum(rng.lognormal(-2, 1, (n, 3)), 2) - 1
    if kind == "corner":
        return rng.uniform(-1, -0.5, (n, 3))
    if kind == "rare":
        return np.column_stack([rng.uniform(-1, 1, n), (rng.random(n) < 0.02) * 2.0 - 1, np.minimum(rng.exponential(0.2, n), 2) - 1])
    return rng.uniform(-1, 1, (n, 3))


KINDS = ("spread", "collinear", "skewed", "corner", "rare")
STEEP = {"corner": np.array([0.2, 0.7, -0.7, 0.35])}  # a line far steeper than the box of the bounds
GENTLE = np.array([0.05, 0.1, -0.07, 0.03])


def rows(kind, seed, n, errors):
    rng = np.random.default_rng(seed)
    x, truth = features(kind, rng, n), STEEP.get(kind, GENTLE)
    y = truth[0] + x @ truth[1:] + errors(rng, n)
    assert np.abs(y).max() < 1  # nothing is clamped, so the line is the truth
    cells = quantised(np.column_stack([x, y]), -1.0, 1.0)
    return np.column_stack([np.full(n, float(ONE)), cells]), truth


def normal(rng, n):
    return np.clip(rng.normal(0, 0.03, n), -0.3, 0.3)


def heavy(rng, n):
    return np.clip(rng.standard_t(3, n) / 60, -0.3, 0.3)


def quick(rng):
    """Gaussian noise in floating point: fast, for how often bars hold and nothing else."""

    def draw(law):
        scale = np.array([float(s) for s in law.scale]) if isinstance(law.scale, list) else float(law.scale)
        return np.rint(law.location + scale * rng.normal(size=np.shape(law.location))).astype(np.int64)

    return draw


def inside(margin, truth):
    half = np.sqrt(np.diag(np.array(margin.spread)))
    return np.full(len(truth), True) if margin.hidden else np.abs(np.array(margin.centre) - truth) <= half


def enough(hits):
    """Every coefficient, up to five standard errors. Tables and noise are pinned, so this is the same on every run."""
    n = len(hits)
    return np.mean(hits, axis=0).min() >= LEAST - 5 * math.sqrt(LEAST * (1 - LEAST) / n)


@pytest.mark.parametrize("dimension", [1, 2, 4, 11])
def test_the_norm_of_noise_is_rarely_beyond_its_blur(dimension):
    rng, n = np.random.default_rng(dimension), 20_000
    noise = rng.normal(size=(n, dimension, dimension))
    noise = (noise + noise.transpose(0, 2, 1)) * 3 / math.sqrt(2)
    beyond = np.abs(np.linalg.eigvalsh(noise)).max(axis=1) > blur(dimension, 3.0)
    assert beyond.mean() <= RARE + 5 * math.sqrt(RARE / n)
    assert (np.abs(np.linalg.eigvalsh(noise)).max(axis=1) > 0.8 * blur(dimension, 3.0)).mean() > RARE  # and it is not idle


@pytest.mark.parametrize("clip", [Fraction(3), Fraction(27, 20)])
@pytest.mark.parametrize(("kind", "errors"), [*((kind, normal) for kind in KINDS), ("spread", heavy), ("skewed", heavy)])
def test_the_margin_of_rounds_holds_for_the_line(kind, errors, clip):
    mechanism, rng, hits, hidden = BoostedRegression(4, SMALL, 4, clip=clip), np.random.default_rng(2), [], []
    for seed in range(60):
        table, truth = rows(kind, seed, 10_000, errors)
        margin = mechanism.release(lambda request, table=table: answer(table, request), quick(rng)).margin
        hits.append(inside(margin, truth))
        hidden.append(margin.hidden)
    assert enough(hits)
    assert np.mean(hidden) < 0.5
