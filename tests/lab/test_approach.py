"""Four approaches and the worst case, side by side on data one owns."""

from __future__ import annotations

import json

import numpy as np
import pytest
from custom_statistics import right

import sordino as sd
from sordino.errors import QueryError


def test_fitted_noise_beats_the_worst_case_and_only_stable_values_come_out_exactly():
    median = right()["median"]
    spread = sd.lab.compare(median, np.random.default_rng(1).normal(50, 10, 500), repeats=40)
    errors = {one.name: one.typical for one in spread.approaches}
    assert errors["smooth sensitivity"] < errors["propose-test-release"] < errors["global sensitivity"]
    assert errors["privately bounded sensitivity"] < errors["global sensitivity"]
    refused = {one.name: one.refused for one in spread.approaches}
    assert refused["stability"] == 1
    assert refused["smooth sensitivity"] == 0
    ties = sd.lab.compare(median, [50] * 500, repeats=20)
    assert {one.name: one.refused for one in ties.approaches}["stability"] == 0
    assert max(one.typical for one in ties.approaches if one.name == "stability") == 0


def test_the_comparison_shows_itself():
    found = sd.lab.compare(right()["median"], range(100), repeats=5, propose=50)
    text = repr(found)
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "NOT PRIVATE" in text
    assert all(word in text for word in ("typical error", "rmse", "refused", "epsilon", "delta"))  # error, refusal rate, price
    assert all(f"{100 * one.refused:.1f}%" in text for one in found.approaches)
    assert found.proposed == 50
    assert len(json.loads(found.to_json())["approaches"]) == 5
    assert found.plot().svg
    assert found._repr_html_()


def test_only_statistics_with_a_ladder_can_be_compared():
    for bad in (
        lambda: sd.lab.compare(len, [1]),
        lambda: sd.lab.compare(right()["count"], [1]),
        lambda: sd.lab.compare(right()["mean"], [1], repeats=0),
    ):
        with pytest.raises(QueryError):
            bad()
