from __future__ import annotations

import copy
import datetime as dt
import json
import math
import pickle
from fractions import Fraction

import pytest
from tests.session.people import QUESTIONS, rows, table

import sordino as sd
from sordino.errors import QueryError
from sordino.mechanisms import Laplace
from sordino.session.release import Release
from sordino.summaries import Refused


@pytest.fixture(scope="module")
def people():
    with table() as opened:
        yield opened


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_field_of_every_answer_is_there(name, people):
    release = QUESTIONS[name](people).release(epsilon=3)
    assert release.cost.epsilon == 3.0
    assert release.cost.exact.epsilon == 3
    assert release.cost.delta == float(release.cost.exact.delta)
    assert release.cost.charged == (Fraction(3), release.cost.exact.delta)
    assert release.bar in ("exact", "bound", "rank", "drawn", "published", "none", "mixed")
    assert release.mechanism == release.card["mechanism"]
    assert release.id == release.card["release"]
    assert isinstance(release.refused, bool)
    assert Release.from_bytes(release.to_bytes()) == release
    assert release.to_bytes() == Release.from_bytes(release.to_bytes()).to_bytes()
    table = release.to_dict()
    assert len({len(cells) for cells in table.values()}) == 1
    if release.grouped:
        assert release.value is release.low is release.high is None
        assert list(table)[: len(release.keys)] == list(release.keys)
        assert release.interval() is None
    for statistic in release.names:
        low, high = release.answers.get(f"{statistic}_low"), release.answers.get(f"{statistic}_high")
        assert (low is None) == (high is None)
    assert str(release)
    assert "<script" not in release._repr_html_()


def test_a_bar_with_ends_has_them_around_the_value(people):
    for ask in (people.count(), people.sum("income"), people.mean("age"), people.std("age")):
        release = ask.release(epsilon=1)
        assert release.bar == ("bound" if "std" in str(release) else "exact")
        assert release.low <= release.value <= release.high
        assert release.interval() == release.interval(0.95) == (release.low, release.high)
        assert release.ranks is None


@pytest.mark.parametrize("ask", [lambda t: t.count(), lambda t: t.sum("income"), lambda t: t.mean("age"), lambda t: t.std("age")])
def test_the_interval_at_another_level_is_nested_and_costs_nothing(ask, people):
    release = ask(people).release(epsilon=1)
    spent = people.budget.spent
    narrow, usual, wide = release.interval(0.5), release.interval(0.95), release.interval(0.999)
    assert wide[0] <= usual[0] <= narrow[0] <= release.value <= narrow[1] <= usual[1] <= wide[1]
    assert wide != usual != narrow
    assert people.budget.spent == spent
    again = ask(people).release(epsilon=1)
    assert again.recalled
    assert again.interval(0.5) == narrow


def test_the_interval_of_a_mean_is_the_mechanisms_own_and_not_a_stretched_one(people):
    """A share is bounded, so its interval does not grow like the logarithm of the doubt."""
    release = people.mean("income").release(epsilon="0.02", fresh=True)
    low, high = release.interval(0.9999)
    assert 0 <= low <= high <= 1_000_000


@pytest.mark.parametrize("level", [0, 1, -1, 2, float("nan"), "0.9", True, None])
def test_an_illegal_level_is_refused(level, people):
    with pytest.raises(QueryError, match="level"):
        people.count().release(epsilon=1).interval(level)


def test_without_its_table_an_interval_is_known_at_one_level_only(people):
    bare = Release.from_bytes(people.count().release(epsilon=1).to_bytes())
    assert bare.interval() == (bare.low, bare.high)
    with pytest.raises(QueryError, match="95% only"):
        bare.interval(0.5)


def test_a_rank_bar_says_how_many_rows_off_and_has_no_ends(people):
    release = people.median("income").release(epsilon=1, interval=False)
    assert release.bar == "rank"
    assert release.low is release.high is None
    assert release.interval() is None
    assert release.ranks[0] == -release.ranks[1] < 0
    assert f"within {release.ranks[1]:,.4g} ranks" in str(release)
    both = people.agg(mid=sd.median("income"), n=sd.count()).release(epsilon=1, interval=False)
    assert set(both.ranks) == {"mid"}
    assert both.bar == "mixed"


def test_a_rank_bar_without_end_is_an_answer_too(people):
    release = people.median("income").release(epsilon="0.00001", fresh=True)
    assert release.ranks == (-math.inf, math.inf)
    assert json.loads(release.to_json())["bar"] == "rank"


def test_a_refusal_is_an_answer_at_the_same_price():
    tied = rows() | {"zip": ["a", "b"] * 120}
    with table(tied, budget=sd.Budget(epsilon=1_000, delta="1e-20")) as people:  # a tie is named with about that probability
        release = people.mode("zip").release(epsilon=1)
        assert release.refused
        assert release.value == Refused()
        assert math.isnan(float(release))
        assert release.cost.epsilon == 1
        assert "refused" in str(release)
        assert json.loads(release.to_json())["columns"] == {"mode(zip)": [None]}
        assert release.map(str).refused
        assert people.top_k("zip", 2).release(epsilon=1).to_dict()["top_k(zip, 2)"]


def test_a_release_becomes_a_float_only_if_it_is_one_number(people):
    assert float(people.count().release(epsilon=1)) == people.count().release(epsilon=1).value
    for ask in (people.group_by("sex").count(), people.quantiles("age", [0.2, 0.8]), people.histogram("sex"), people.mode("sex")):
        with pytest.raises(TypeError, match="not one number"):
            float(ask.release(epsilon=1))


def test_post_processing_costs_nothing_and_is_on_the_card(people):
    release = people.sum("income").release(epsilon=1)
    spent = people.budget.spent
    rounded = release.map(round).map(abs)
    assert rounded.value == abs(round(release.value))
    assert rounded.id == release.id
    assert rounded.cost == release.cost
    assert rounded.bar == "none"
    assert rounded.low is rounded.high is rounded.interval() is None
    assert rounded.card["post-processing"] == ["round", "abs"]
    assert release.card["post-processing"] == []
    assert people.budget.spent == spent
    with pytest.raises(QueryError):
        rounded.improve(within=1)
    grouped = people.group_by("sex").count().release(epsilon=1).map(lambda n: max(n, 0))
    assert min(grouped.to_dict()["count"]) >= 0


def test_a_release_travels_without_its_table(people):
    release = people.group_by("sex").agg(n=sd.count(), mid=sd.median("born")).release(epsilon=1)
    for twin in (pickle.loads(pickle.dumps(release)), copy.deepcopy(release)):
        assert twin == release
        assert twin.query is None


def test_a_release_on_owned_data_has_the_same_face():
    release = sd.release(Laplace(epsilon=1, sensitivity=1), 42)
    assert release.to_dict() == {"value": [release.value]}
    assert release.bar == "none"
    assert release.interval() is None
    assert "value =" in str(release)
    with pytest.raises(QueryError):
        release.improve(within=1)


def test_days_and_moments_survive_every_way_out(people, tmp_path):
    release = people.median("born").release(epsilon=1)
    assert type(release.value) is dt.date
    assert Release.from_bytes(release.to_bytes()).value == release.value
    assert json.loads(release.to_json())["columns"]["median(born)"] == [release.value.isoformat()]
    assert release.to_arrow().to_pydict()["median(born)"] == [release.value]
