"""Low bits of doubles, and of answers on a public grid."""

import json
import math
from fractions import Fraction

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.lab.exploitation import low_bits, lowest_bit, reachable
from sordino.mechanisms import Laplace


@pytest.fixture
def draw():
    return np.random.default_rng(9)


@pytest.mark.parametrize("scale", [1.0, 1 / 3, 10.0])
def test_numpy_laplace_is_decided_by_its_low_bits(draw, scale):
    found = low_bits(lambda f, n: f + draw.laplace(0, scale, n), 0, 1, scale=scale, vectorised=True)
    assert found.decided > 0.75
    assert found.wrong == 0
    assert found.right > 0.87


@pytest.mark.parametrize("resolution", [1, "0.0001", Fraction(1, 2**40)], ids=["whole", "decimal", "binary"])
def test_our_laplace_is_at_chance(resolution):
    mechanism = Laplace(epsilon=1, resolution=resolution)
    found = low_bits(lambda f, n: sd.lab.simulate(mechanism, f, repeats=n), 0, 1, vectorised=True)
    assert found.right == pytest.approx(0.5, abs=0.02)


def test_the_precision_alone_decides_many_when_the_noise_is_another(draw):
    """Uniform noise is always reachable by this test's lights; how far down the bits go still tells 0 from 1,000."""
    found = low_bits(lambda f, n: f + draw.random(n), 0, 1_000, reach=lambda x, f: True, vectorised=True)
    assert found.by_reach == 0
    assert found.by_precision > 0.5
    assert found.wrong < 0.01


def test_the_true_value_is_always_reachable_and_the_other_seldom(draw):
    for f in (0.0, 1.0):
        seen = draw.laplace(f, 1, 3_000).tolist()
        assert all(reachable(x, f) for x in seen)
        assert np.mean([reachable(x, 1 - f) for x in seen]) < 0.3
    assert not reachable(math.inf, 0.0)


def test_the_lowest_bit_is_the_last_one_set():
    assert [lowest_bit(x) for x in (1.0, 3.0, 0.5, -0.75, 12.0, 2.0**-1074)] == [0, 0, -1, -2, 2, -1074]
    assert lowest_bit(0.0) == lowest_bit(math.inf) == 10_000


def test_answers_that_are_not_numbers_need_their_true_values(draw):
    tables = ([0, 0], [0, 1])
    with pytest.raises(QueryError, match="true answers"):
        low_bits(lambda data: sum(data), *tables)
    found = low_bits(lambda data: sum(data) + draw.laplace(), *tables, values=(0, 1), trials=400)
    assert found.decided > 0.6


def test_a_report_is_narrow_and_readable_by_machines(draw):
    found = low_bits(lambda f: f + draw.laplace(), 0, 1, trials=100)
    assert all(len(line) <= 80 for line in f"{found!r}\n{found.plot()!r}".splitlines())
    assert json.loads(found.to_json())["trials"] == 100
    assert "<svg" in found._repr_html_()
