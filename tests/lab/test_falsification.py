"""The search for counterexamples finds every planted one quickly and lets right claims stand."""

from __future__ import annotations

import json
import time

import pytest
from custom_statistics import HIGH, right, wrong
from hidden_claims import hidden

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


@pytest.mark.parametrize("name", hidden())
def test_the_hunt_finds_a_claim_that_is_broken_in_few_places_only(name):
    found = sd.lab.falsify(hidden()[name])
    assert not found.ok, found
    assert found.witness.left > found.witness.right
    assert found.pairs <= 20_000


def test_a_budget_of_seconds_ends_the_hunt():
    found = sd.lab.falsify(RIGHT["mean"], 10**6, seconds=0.2)
    assert found.ok
    assert 0 < found.hunted < found.pairs < 10**6


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


def sum_of(**facts):
    """The sum of rows in [0, 1], tested against a proposed bound."""
    custom = sd.statistic(bounds=(0, 1), range=(0, 1_000), **facts)(lambda x: x.sum())
    custom.distance_at(lambda x, above: 10**6 if above >= custom.max_rows else 0)
    return custom


@pytest.mark.parametrize("rows", [1, 3, 10])
def test_whole_people_are_walked_and_people_who_are_replaced(rows):
    found = sd.lab.falsify(sum_of(), 300, rows=rows)
    assert found.ok, found
    assert found.rows == rows
    units = {f"up to {rows} rows at once, {rows} steps"} if rows > 1 else set()
    assert {claim.split(": ")[0] for claim in found.closest if ": " in claim} == units | {f"up to {rows} rows replaced, {2 * rows} steps"}


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_a_claim_about_people_is_tried_with_people(relation):
    """A claim that holds for rows but not for people of three."""

    def counted(sensitivity):
        facts = {"level": "person", "max_rows": 3, "relation": relation}
        return sd.statistic(sensitivity=sensitivity, bounds=(0, HIGH), **facts)(lambda x: (x > 50).sum())

    assert sd.lab.falsify(counted(3), 500).ok
    found = sd.lab.falsify(counted(2), 500)
    assert found.witness.left == 3
    assert abs(len(found.witness.x) - len(found.witness.neighbour)) == (3 if relation == "add_remove" else 0)
    assert sd.lab.falsify(counted(2), 500, rows=2).ok
    assert "people of up to 3 rows, 500 pairs tried with units of up to 3 rows" in str(tried(counted(3)))
    with pytest.raises(QueryError, match="at most 3 rows"):
        sd.lab.falsify(counted(3), 10, rows=4)


def tried(custom):
    sd.lab.falsify(custom, 500)
    return custom.claim


def test_what_is_tried_is_what_would_be_released():
    """Values beyond the bounds are not clipped by a release with a global sensitivity, and a stable value is compared to the last bit."""
    steep = sd.statistic(bounds=(0, 1), sensitivity=1)(lambda x: 1.8 * len(x))
    found = sd.lab.falsify(steep)
    assert found.witness.left == pytest.approx(1.8)
    assert sd.lab.falsify(sd.statistic(bounds=(0, 1), sensitivity=1, range=(0, 1))(lambda x: 1.8 * len(x)), 500).ok
    outside = sd.statistic(bounds=(0, 1))(lambda x: 5 + len(x))
    outside.sensitivity_at(lambda x, k: 0.0)  # true of the value clipped to the bounds, which stability does not release
    assert "d >= 1" in sd.lab.falsify(outside).witness.claim
    rounding = sd.statistic(bounds=(0, 1))(lambda x: 0.1 * len(x) / max(len(x), 1))
    rounding.distance_at(lambda x: 5)
    assert not sd.lab.falsify(rounding).ok


def test_the_same_seed_finds_the_same_witness():
    name = "one side only"
    assert sd.lab.falsify(wrong()[name]).witness == sd.lab.falsify(wrong()[name]).witness


def test_what_claims_nothing_or_is_nothing_is_refused():
    for bad in (
        lambda: sd.lab.falsify(len),
        lambda: sd.lab.falsify(RIGHT["mean"], pairs=0),
        lambda: sd.lab.falsify(RIGHT["mean"], rows=0),
        lambda: sd.lab.falsify(sd.statistic(bounds=(0, 1))(len)),
    ):
        with pytest.raises(QueryError):
            bad()
