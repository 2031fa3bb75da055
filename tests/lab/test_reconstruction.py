"""Reconstruction tells secret bits as often as its formula says."""

import json

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
