"""Reconstruction tells secret bits as often as its formula says."""

import json

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError


def test_reconstruction_is_right_as_often_as_expected_and_refuses_bad_numbers():
    found = sd.lab.reconstruct(people=32, questions=200, noise=3, repeats=200, seed=2)
    assert found.right == pytest.approx(found.expected, abs=0.03)
    assert "told right" in repr(found)
    assert json.loads(found.to_json())["people"] == 32
    for wrong in ({"people": 1}, {"questions": 3}, {"noise": 0}, {"repeats": 0}):
        with pytest.raises(QueryError):
            sd.lab.reconstruct(**wrong)


def test_planned_sums_are_attacked_with_their_own_noise_by_either_method():
    planned = np.random.default_rng(1).integers(0, 2, (60, 24))
    for method in ("least squares", "linear program"):
        quiet = sd.lab.reconstruct(planned, noise=0.4, law="laplace", method=method, repeats=6, seed=1)
        loud = sd.lab.reconstruct(planned, noise=[60.0] * 60, law="laplace", method=method, repeats=6, seed=1)
        assert quiet.low > 0.9
        assert loud.high < 0.75
        assert quiet.expected is None
        assert method in repr(quiet)
        assert quiet.low <= quiet.right <= quiet.high


def test_a_linear_program_needs_fewer_sums_than_people():
    planned = np.random.default_rng(2).integers(0, 2, (30, 40))
    program = sd.lab.reconstruct(planned, noise=0.01, method="linear program", repeats=6, seed=1)
    squares = sd.lab.reconstruct(planned, noise=0.01, repeats=6, seed=1)
    assert program.right > squares.right


@pytest.mark.parametrize("wrong", [{"queries": [[0, 2]]}, {"queries": [1, 0]}, {"method": "magic"}, {"law": "magic"}, {"noise": "loud"}])
def test_plans_that_are_none_are_refused(wrong):
    with pytest.raises(QueryError):
        sd.lab.reconstruct(**wrong)
