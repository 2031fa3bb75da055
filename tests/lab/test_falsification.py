"""The search for counterexamples finds every planted one quickly and lets right claims stand."""

from __future__ import annotations

import json
import time

import pytest
from custom_statistics import right, wrong

import sordino as sd
from sordino.errors import QueryError

RIGHT, WRONG = right(), wrong()


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_sensitivity_is_found_in_seconds(name):
    started = time.process_time()
    found = sd.lab.falsify(WRONG[name])
    assert not found.ok
    assert found.verdict == "refuted"
    assert found.exit_code == 1
    assert found.witness.left > found.witness.right
    assert len(found.witness.x) <= 12  # made small
    assert time.process_time() - started < 10
    assert WRONG[name].verdict is found
    assert str(found.witness) in repr(found)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_sensitivity_stands(name):
    found = sd.lab.falsify(RIGHT[name], pairs=60 if name in ("iqr", "Huber", "quantile") else 200)
    assert found.ok, found
    assert found.verdict == "consistent"
    assert found.witness is None
    assert "not a proof" in repr(found)
    assert json.loads(found.to_json())["ok"] is True
    assert found.plot().svg
    assert max(found.closest.values()) > 0.99  # claims that are met exactly somewhere


def test_the_same_seed_finds_the_same_witness():
    name = "one side only"
    assert sd.lab.falsify(wrong()[name]).witness == sd.lab.falsify(wrong()[name]).witness


def test_what_claims_nothing_or_is_nothing_is_refused():
    for bad in (
        lambda: sd.lab.falsify(len),
        lambda: sd.lab.falsify(RIGHT["mean"], pairs=0),
        lambda: sd.lab.falsify(sd.statistic(bounds=(0, 1))(len)),
    ):
        with pytest.raises(QueryError):
            bad()
