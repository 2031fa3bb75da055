"""Noisy descents around the calm one."""

import json
from itertools import pairwise

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.mechanisms import Laplace, NoisyDescent

X = np.random.default_rng(1).uniform(-1, 1, (300, 1))
ROWS = np.column_stack([X, X / 2])


def test_the_fan_widens_with_noise_and_calm_descent_falls():
    fan = sd.lab.descent(NoisyDescent(1, rounds=6, dimension=2, size=300), ROWS, repeats=20)
    assert fan.spread(1)[0] == 0 < fan.spread(1)[-1]
    assert all(a > b for a, b in pairwise(abs(row[1] - 0.5) for row in fan.calm))
    assert len(fan.calm) == fan.steps + 1 == 7
    for low, middle, high in zip(*fan.quantiles, strict=True):
        assert all(a <= b <= c for a, b, c in zip(low, middle, high, strict=True))


def test_a_higher_price_narrows_the_fan():
    wide, narrow = (sd.lab.descent(NoisyDescent(e, rounds=6, dimension=2, size=300), ROWS, repeats=40).spread(1)[-1] for e in (1, 100))
    assert narrow < wide / 10


def test_a_fan_is_narrow_text_json_and_a_picture():
    fan = sd.lab.descent(NoisyDescent(1, "1e-6", rounds=3, dimension=2, size=300), ROWS, repeats=5)
    assert all(len(line) <= 80 for line in f"{fan!r}\n{fan.plot()!r}".splitlines())
    assert json.loads(fan.to_json())["steps"] == 3
    assert "<svg" in fan._repr_html_()


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((Laplace(epsilon=1, sensitivity=1), ROWS, 5), "does not descend"),
        ((NoisyDescent(1, rounds=2, dimension=3, size=300), ROWS, 5), "do not fit dimension 3"),
        ((NoisyDescent(1, rounds=2, dimension=2, size=300), ROWS, 1), "repeats is 1"),
        ((NoisyDescent(1, rounds=2, dimension=2, size=300), [["a", "b"]], 5), "not numbers"),
    ],
)
def test_what_cannot_be_run_is_refused(given, words):
    mechanism, rows, repeats = given
    with pytest.raises(QueryError, match=words):
        sd.lab.descent(mechanism, rows, repeats=repeats)


def test_a_coordinate_that_is_not_there_is_refused():
    with pytest.raises(QueryError, match="coordinate is 2"):
        sd.lab.descent(NoisyDescent(1, rounds=2, dimension=2, size=300), ROWS, repeats=3).plot(2)
