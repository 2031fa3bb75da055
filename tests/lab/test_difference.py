"""Differencing: exact counts fall, private ones do not."""

import json
import math

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.lab.reconstruction import differencing
from sordino.mechanisms import Laplace

ILL = [i % 3 == 0 for i in range(120)]


def exact(without):
    return sum(ill for i, ill in enumerate(ILL) if i != without)


@pytest.mark.parametrize(("person", "truth"), [(3, 1), (4, 0)])
def test_two_exact_counts_give_a_person_away(person, truth):
    found = differencing(exact, person, truth=truth)
    assert found.value == truth
    assert found.agreement == found.right == 1


@pytest.mark.parametrize(("person", "truth"), [(3, 1), (4, 0)])
def test_two_private_counts_do_not(person, truth):
    """Half an epsilon each: at most e / (1 + e) = .73 of the guesses can be right for both values; the pairs say .56."""
    found = differencing(lambda without: sd.release(Laplace(epsilon="0.5"), exact(without)), person, truth=truth, pairs=1_000)
    assert found.right < math.e / (1 + math.e) - 0.05


def test_a_value_out_of_many_is_found_in_exact_sums():
    pay = np.random.default_rng(1).integers(0, 50, 80).tolist()
    found = differencing(lambda who: sum(v for i, v in enumerate(pay) if i != who), 17, values=range(50), truth=pay[17], pairs=1)
    assert found.value == pay[17]


def test_noise_that_repeats_itself_is_pointed_out():
    found = differencing(lambda without: exact(without) + (0.25 if without is None else 0), 3)
    assert "same noise" in repr(found)


def test_a_report_is_narrow_and_readable_by_machines():
    found = differencing(exact, 3, truth=1)
    assert all(len(line) <= 80 for line in f"{found!r}\n{found.plot()!r}".splitlines())
    assert json.loads(found.to_json())["agreement"] == 1
    assert differencing(exact, 3).right is None
    assert "<svg" in found._repr_html_()


def test_nobody_cannot_be_left_out():
    for person, options in ((None, {}), (3, {"pairs": 0}), (3, {"values": ()})):
        with pytest.raises(QueryError):
            differencing(exact, person, **options)
