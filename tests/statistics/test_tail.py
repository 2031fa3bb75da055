"""Closed tails against sampling and against each other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sordino.statistics.added import gaussian_tail, laplace_tail, radius


@pytest.mark.parametrize("scales", [(1.0,), (1.0, 1.0), (0.945, 0.055), (1.0, 0.5, 0.5), (0.3, 0.0, 2.0), (1.0, 1.0, 1.0)])
def test_the_tail_of_a_sum_of_laplace_laws_is_closed(scales: tuple[float, ...]) -> None:
    rng = np.random.default_rng(1)
    drawn = np.abs(sum(s * rng.laplace(size=400_000) for s in scales))
    for w in (0.1, 1.0, 3.0, 6.0):
        assert float(laplace_tail(scales, w)) == pytest.approx(float(np.mean(drawn > w)), abs=0.004)


def test_two_equal_scales_have_the_limit_of_the_closed_form_from_above() -> None:
    for w in (0.0, 0.5, 2.0, 5.0, 20.0):
        limit = math.exp(-w) * (1 + w / 2)
        found = float(laplace_tail((1.0, 1.0), w))
        assert limit <= found * (1 + 1e-12)
        assert found <= limit * (1 + 0.002 * (1 + w))


def test_the_radius_turns_the_tail_round() -> None:
    assert radius(laplace_tail, (2.0,), 0.95) == pytest.approx(2 * math.log(20))
    assert radius(gaussian_tail, (3.0, 4.0), 0.95) == pytest.approx(5 * 1.959964, rel=1e-6)
