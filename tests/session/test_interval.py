"""Intervals of quantiles as people ask for them: the default, what is recorded and recalled, levels, populations, groups and days."""

from __future__ import annotations

import datetime as dt
import json
from fractions import Fraction

import numpy as np
import pytest
from tests.session.people import table

import sordino as sd
from sordino.errors import QueryError
from sordino.session.release import Release

RNG = np.random.default_rng(11)
ROWS = {
    "income": np.minimum(np.exp(RNG.normal(10, 1, 4000)), 10**6).round().astype(int),
    "sex": RNG.choice(["f", "m"], 4000),
    "born": [str(dt.date(1950, 1, 1) + dt.timedelta(days=int(d))) for d in RNG.integers(0, 20_000, 4000)],
}


def opened(**facts):
    columns = {"income": {"type": "int", "bounds": (0, 10**6)}, "born": {"type": "date", "bounds": ("1940-01-01", "2020-12-31")}}
    base = {"columns": columns, "keys": {"sex": ["f", "m"]}, "budget": sd.Budget(epsilon=10_000), "ledger": ":memory:"}
    return sd.table(ROWS, **(base | facts))


@pytest.fixture
def people():
    with opened() as made:
        yield made


def test_a_quantile_has_ends_in_the_unit_of_its_column_unless_told_otherwise(people):
    release = people.median("income").release(epsilon=1)
    assert release.bar == "drawn"
    assert release.low <= release.value <= release.high
    assert release.low <= np.median(ROWS["income"]) <= release.high
    assert release.ranks is None
    assert release.interval() == release.interval(0.9) == (release.low, release.high)
    assert f"[{release.low:,}, {release.high:,}]" in str(release)
    assert release.cost.epsilon == 1
    again = Release.from_bytes(release.to_bytes())
    assert again == release
    assert again.interval(0.9) == release.interval()
    plain = people.median("income").release(epsilon=1, interval=False)
    assert plain.bar == "rank"
    assert plain.low is plain.interval() is None
    assert plain.ranks[1] > 0


def test_sql_functions_verbs_and_dates_alike(people):
    asked = people.median("income")
    release = people.sql("SELECT MEDIAN(income) AS m FROM t").release(epsilon=1)
    assert release.bar == "drawn"
    assert asked.release(epsilon=1).recalled
    assert people.agg(mid=sd.median("income")).release(epsilon=1).recalled
    assert people.median("income", interval=False).key() == people.agg(a=sd.quantile("income", 0.5, interval=False)).key()
    day = people.quantile("born", 0.9).release(epsilon=1)
    assert isinstance(day.low, dt.date)
    assert day.low <= day.value <= day.high
    three = people.quantiles("income", [0.25, 0.5, 0.75]).release(epsilon=3)
    assert all(low <= v <= high for low, v, high in zip(three.low, three.value, three.high, strict=True))
    assert "quantile(income, 0.25)_low" in three.to_dict()


def test_a_level_above_the_one_drawn_is_not_to_be_had_and_says_how(people):
    release = people.median("income").release(epsilon=1)
    with pytest.raises(QueryError, match=r"drawn for 95%.*level=0\.99"):
        release.interval(0.99)
    sure = people.median("income").release(epsilon=1, level=0.99)
    assert not sure.recalled
    assert sure.interval(0.99) == sure.interval() == (sure.low, sure.high)
    assert "at 99%" in str(sure)
    assert people.median("income", level="0.98").release(epsilon=1).id == sure.id  # surer than asked
    low = people.median("income").release(epsilon=2, level=0.8)
    with pytest.raises(QueryError, match="drawn for 80%"):
        low.interval()
    assert people.median("income").release(epsilon=2, level=0.95).recalled is False
    for wrong in (0.4, 1, "x", True):
        with pytest.raises(QueryError, match="level"):
            people.median("income").release(epsilon=1, level=wrong)
    wide, usual = (people.count().release(epsilon=1, level=level) for level in (0.99, 0.95))
    assert wide.id == usual.id
    assert wide.low < usual.low < usual.high < wide.high  # of other answers every level is free
    assert people.count().release(epsilon=1, interval=False).bar == "exact"
    with pytest.raises(QueryError, match="interval is 'wide'"):
        people.median("income").release(epsilon=1, interval="wide")


def test_the_point_is_an_answer_of_its_own_at_its_own_price(people):
    release = people.median("income").release(epsilon=1)
    spent = people.budget.spent
    point = people.median("income").release(epsilon="0.4", interval=False)
    assert point.recalled
    assert point.cost.exact.epsilon == Fraction("0.4")
    assert point.bar == "rank"
    assert point.value == release.drawn["median(income)"]["point"]["values"][0]
    assert point.id == release.id
    assert point.card["part of"] == {"release": release.id, "of": "an interval", "draw": "own"}
    assert people.budget.spent == spent
    assert not people.median("income").release(epsilon="0.41", interval=False).recalled
    entry = next(iter(people.ledger.entries()))
    assert entry.asked.key == people.median("income").key()
    assert [member.key for member in entry.asked.members] == [people.median("income", interval=False).key()]
    assert release.point().value == point.value
    assert people.count().release(epsilon=1).point() is None


def test_a_point_of_groups_is_recalled_too(people):
    by = people.group_by("sex").median("income")
    release = by.release(epsilon=2)
    found = release.to_dict()
    assert found["sex"] == ["f", "m"]
    for i, sex in enumerate(found["sex"]):
        truth = np.median(ROWS["income"][ROWS["sex"] == sex])
        assert found["median(income)_low"][i] <= truth <= found["median(income)_high"][i]
    point = by.release(epsilon="0.8", interval=False)
    assert point.recalled
    assert list(point.to_dict()) == list(found)
    assert point.to_dict()["median(income)_low"] == [None, None]


def test_a_recorded_point_answers_who_asks_for_a_point_and_nobody_else(people):
    asked = people.median("income")
    old = asked.release(epsilon=1, interval=False)
    assert asked.release(epsilon="0.5", interval=False).id == old.id
    assert "interval=False returns it" in str(asked.preview())
    fresh = asked.release(epsilon="0.5")
    assert not fresh.recalled
    assert fresh.bar == "drawn"
    assert asked.release(epsilon="0.5").recalled
    assert asked.release(epsilon=1, interval=False).id == old.id


def test_a_request_from_before_intervals_returns_its_bytes_and_one_of_today_is_told_apart(people, monkeypatch):
    asked, before = people.median("income"), sd.median("income", interval=False)
    with monkeypatch.context() as patch:  # as a request was written down that knew no word for it
        said = type(asked).said
        patch.setattr(type(asked), "said", lambda self, **p: {w: v for w, v in said(self, **p).items() if w != "interval"})
        old = people.agg(**{"median(income)": before}).release(epsilon=1, request="old")
    assert asked.release(epsilon=1, request="old", fresh=True).sealed == old.sealed
    assert people.median("income", interval=False).release(epsilon=1, request="old", fresh=True).sealed == old.sealed
    new = people.median("income", interval=False).release(epsilon=1, request="new", fresh=True)
    with pytest.raises(QueryError, match="SRD-605"):
        asked.release(epsilon=1, request="new", fresh=True)
    assert people.median("income", interval=False).release(epsilon=1, request="new", fresh=True).id == new.id
    assert people.budget.spent == 2


def test_answers_sealed_before_intervals_are_read(people):
    release = people.median("income").release(epsilon=1, interval=False)
    record = json.loads(release.to_bytes())
    assert "drawn" not in record
    assert Release.from_bytes(json.dumps(record).encode()).drawn == {}


def test_wishes_in_ranks_and_named_mechanisms_take_the_single_draw():
    with opened(size=4000) as people:
        asked = people.median("income")
        ranked = asked.release(within_rank=0.02)
        assert ranked.bar == "rank"
        assert ranked.ranks[1] <= 80
        assert asked.preview(within_rank=0.02).best.forecasts[0].bar == "rank"
        with pytest.raises(QueryError, match="within_rank is about the single draw"):
            asked.release(within_rank=0.02, interval=True)
        assert asked.release(epsilon=1, mechanism="exponential").bar == "rank"
        assert asked.release(epsilon=1, mechanism="interval").bar == "drawn"


def test_a_width_needs_a_twin_and_is_kept_there():
    public = {**ROWS, "income": np.roll(ROWS["income"], 7)}
    with opened() as people, pytest.raises(QueryError, match="twin="):
        people.median("income").release(within=1000)
    with opened(twin=public) as people:
        release = people.median("income").release(within=1000)
        assert release.bar == "drawn"
        assert (release.high - release.low) / 2 <= 1100
        assert 0.2 < release.cost.epsilon < 2


def test_before_paying_the_ranks_and_the_shares_are_known():
    with opened(size=4000) as people:
        found = people.median("income").preview(epsilons=[1])
        assert found.lines[0].forecasts[0].ranks == pytest.approx(30.7, abs=0.1)
        assert "ends 31 ranks out" in str(found)
        said = str(people.median("income").explain(1))
        assert "60% of epsilon, around QuantileExponential, 40%" in said
        assert people.median("income").preview(epsilons=[1], interval=False).lines[0].forecasts[0].bar == "rank"
    with opened(size=60) as few:
        found = few.median("income").preview(epsilons=[1])
        assert "an interval needs about 90 rows at this price: all of it goes to the point" in str(found)
        release = few.median("income").release(epsilon=1)
        assert release.bar == "rank"
        assert few.median("income").release(epsilon=1, interval=False).id == release.id


def test_an_interval_about_the_population_is_wider_and_says_so():
    with opened(size=4000) as people:
        release = people.median("income").release(epsilon=1, interval="total")
        assert "noise and sampling" in str(release)
        assert release.interval(kind="total") == release.interval() == (release.low, release.high)
        assert release.high - release.low > 1.5 * np.subtract(*people.median("income").release(epsilon=1).interval()[::-1])
        assert people.median("income").release(epsilon="0.4", interval=False).recalled
        assert people.where("sex = 'f'").median("income").release(epsilon=1, interval="total").bar == "drawn"
        grouped = people.group_by("sex").median("income").release(epsilon=2, interval="total")
        assert grouped.bar == "drawn"
    with opened() as unknown, pytest.raises(QueryError, match="Declare size="):
        unknown.median("income").release(epsilon=1, interval="total")
    with table(size=60) as persons, pytest.raises(QueryError, match="not independent"):
        persons.median("income").release(epsilon=9, interval="total")


def test_an_interval_beside_other_statistics_and_in_a_batch(people):
    both = people.agg(n=sd.count(), mid=sd.median("income")).release(epsilon=2)
    assert both.bar == "mixed"
    found = both.to_dict()
    assert found["mid_low"][0] <= found["mid"][0] <= found["mid_high"][0]
    assert set(both.drawn) == {"mid"}
    with people.batch(epsilon=2) as b:
        one, two = b.ask(people.quantile("income", 0.9)), b.ask(people.count())
    assert one.bar == "drawn"
    assert one.low <= one.value <= one.high
    assert two.bar == "exact"
    two_levels = people.agg(a=sd.median("income", level="0.9"), b=sd.median("income", level="0.99")).release(epsilon=5)
    assert {ends["level"] for ends in two_levels.drawn.values()} == {0.99}


def test_smallest_and_largest_say_which_row_they_stand_for(people):
    release = people.max("income").release(epsilon=1)
    assert "about the value of row 28 from the largest" in str(release)
    assert "the value of row 28 from the largest" in str(people.max("income").preview(epsilons=[1]))
    assert "from the smallest" in str(people.min("income").preview(epsilons=[1]))
