"""What people look at first: one release, one price, every member recorded; and intervals at any level."""

from __future__ import annotations

import json

import pytest

import sordino as sd
from sordino.errors import QueryError

FACTS = {"day": {"type": "date", "bounds": ("2024-01-01", "2024-12-31")}, "ok": "bool", "note": "cat"}


@pytest.fixture
def people():
    rows = 2_000
    data = {
        "age": [20 + i % 60 for i in range(rows)], "sex": ["f", "m"] * (rows // 2), "ok": [i % 4 == 0 for i in range(rows)],
        "day": [f"2024-0{1 + i % 9}-15" for i in range(rows)], "note": ["?"] * rows,
    }  # fmt: skip
    with sd.table(data, bounds={"age": (0, 120)}, keys={"sex": ["f", "m"]}, columns=FACTS, budget=sd.Budget(100), ledger=":memory:",
                  size=rows) as made:  # fmt: skip
        yield made


def test_a_description_is_one_release_at_one_price(people):
    asked = people.describe()
    assert asked.left_out == ("note",)
    assert "note" in repr(asked)
    assert people.budget.spent == 0
    found = asked.release(epsilon=20)
    assert people.budget.spent == 20
    said = {(c, s): v for c, s, v in zip(found.table["column"], found.table["statistic"], found.table["value"], strict=True)}
    assert abs(said["", "count"] - 2_000) < 30
    assert abs(said["age", "mean"] - 49.2) < 2
    assert abs(said["age", "median"] - 49) <= 3
    assert abs(said["ok", "mean"] - 0.25) < 0.05
    assert abs(said["sex", "rows with f"] - 1_000) < 30
    assert str(said["day", "median"]).startswith("2024-0")
    assert found.about in repr(found)
    assert "age" in found._repr_html_()
    assert json.loads(found.to_json())["columns"]["column"][0] == ""
    assert found.to_pandas().attrs["sordino.about"] == found.about
    again = people.describe().release(epsilon=20)
    assert again.release.recalled
    assert people.count().release(epsilon=1).recalled, "every member is an answer of its own"
    assert people.histogram("sex").release(epsilon=1).recalled


def test_a_description_has_a_price_list_takes_filters_and_refuses_groups(people):
    found = people.describe(["age"]).preview()
    assert {known.name for known in found.lines[0].forecasts} >= {"mean(age)", "std(age)"}
    assert people.where("age > 40").describe(["age"]).release(epsilon=5).release.card["question"]["where"] is not None
    with pytest.raises(QueryError):
        people.group_by("sex").describe()
    with pytest.raises(QueryError, match="nothing to describe"):
        people.describe(["note"])
    with pytest.raises(QueryError):
        people.describe(["nothing"])


def test_intervals_are_at_the_level_that_is_asked(people):
    wide, narrow = people.describe(["age"]).release(epsilon=5), people.describe(["age"], level=0.5).release(epsilon=5)
    place = wide.table["statistic"].index("mean")
    assert wide.table["low"][place] < narrow.table["low"][place] < narrow.table["high"][place] < wide.table["high"][place]
    assert "50% interval" in narrow.about
    assert "low and high at 50%" in repr(narrow)


def test_a_level_is_no_part_of_the_question_and_costs_nothing(people):
    usual = people.mean("age").release(epsilon=1)
    low = people.mean("age").release(epsilon=1, level=0.8)
    assert low.recalled
    assert low.id == usual.id
    assert usual.low < low.low < low.high < usual.high
    assert (low.low, low.high) == usual.interval(0.8)
    assert low.interval(0.95) == (usual.low, usual.high)
    assert low.at(0.95).about == usual.about
    assert "the 80% interval" in low.about
    assert people.group_by("sex").count().release(epsilon=1).at(0.5).answers["count_low"]
    for bad in (0, 1, True, "high"):
        with pytest.raises(QueryError):
            people.mean("age").release(epsilon=1, level=bad)


def test_a_wish_at_a_lower_level_is_cheaper_and_is_met_there(people):
    usual, low = (people.mean("age").preview(within=2, level=level) for level in (0.95, 0.8))
    assert low.best.epsilon < usual.best.epsilon
    assert "80% within" in str(low)
    found = people.mean("age").release(within=2, level=0.8)
    assert (found.high - found.low) / 2 <= 2
    assert people.mean("age").release(within=2, level=0.8).id == found.id
    assert people.mean("age").release(within=2).id != found.id
