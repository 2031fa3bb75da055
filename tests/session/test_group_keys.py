"""Groups people do not have to list, and answers that say what a key, a bin or nothing at all means."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.privacy.cost import Cost

HUGE = 100_000
DATA = {
    "year": [2019, 2020, 2020, 2021, 2030, None] * 50,
    "day": ["2020-01-01", "2020-01-02", "2020-01-02", "2020-01-04", "1999-01-01", "soon"] * 50,
    "x": [0, 30, 30, 60, 90, 120] * 50,
    "own": [f"u{i}" for i in range(300)],
}


def opened(**extra):
    columns = {
        "year": {"type": "int", "bounds": (2018, 2022)}, "day": {"type": "date", "bounds": ("2020-01-01", "2020-01-05")},
        "x": {"type": "int", "bounds": (0, 120)}, "own": "cat", **extra,
    }  # fmt: skip
    return sd.table(DATA, columns=columns, budget=sd.Budget(epsilon=1_000_000, delta=1e-3), ledger=":memory:")


@pytest.fixture(scope="module")
def table():
    with opened() as made:
        yield made


def test_whole_numbers_and_days_within_narrow_bounds_are_groups(table):
    years = table.group_by("year").count().release(epsilon=HUGE).to_dict()
    assert dict(zip(years["year"], years["count"], strict=True)) == {2018: 0, 2019: 50, 2020: 100, 2021: 50, 2022: 0}
    days = table.group_by("day").count().release(epsilon=HUGE).to_dict()
    assert days["day"] == [dt.date(2020, 1, d) for d in range(1, 6)]
    assert days["count"] == [50, 100, 0, 50, 0]
    said = table.sql("SELECT year, COUNT(*) AS n FROM t GROUP BY year")
    assert said.key() == table.group_by("year").count().key()
    both = table.group_by("year", "day").mean("x").release(epsilon=HUGE)
    assert len(both.to_dict()["year"]) == 25


def test_too_many_values_and_private_ones_are_refused_with_the_way_out():
    with opened(year={"type": "int", "bounds": (0, 5000)}) as wide, pytest.raises(QueryError, match="bounds of at most 1,000"):
        wide.group_by("year")
    with opened(x={"type": "float", "bounds": (0, 120)}) as real, pytest.raises(QueryError, match="cannot group"):
        real.group_by("x")


@pytest.mark.parametrize(
    "keys", [range(2019, 2022), {2021, 2019, 2020}, np.arange(2019, 2022), frozenset({2019, 2020, 2021}), (2019, 2020, 2021)]
)
def test_keys_may_be_ranges_sets_and_arrays(keys):
    with sd.table({"year": DATA["year"]}, keys={"year": keys}, budget=sd.Budget(epsilon=1_000_000), ledger=":memory:") as made:
        assert made.columns["year"].keys == (2019, 2020, 2021)
        assert made.group_by("year").count().release(epsilon=HUGE).to_dict()["count"] == [50, 100, 50]


def test_years_have_no_commas_and_bins_say_which_end_is_in(table):
    text = str(table.group_by("year").count().release(epsilon=HUGE))
    assert "2020" in text
    assert "2,020" not in text
    bins = table.histogram("x", bins=[0, 30, 60, 120]).release(epsilon=HUGE)
    assert [line.strip().split("  ")[0] for line in str(bins).splitlines()[2:5]] == ["[0, 30)", "[30, 60)", "[60, 120]"]
    assert bins.to_dict()["count"] == [50, 100, 150]  # 30 is in the second, 60 and 120 in the last
    assert "[60, 120]" in bins._repr_html_()


def test_an_answer_without_groups_says_the_threshold_and_what_would_change_it(table):
    made = table.group_by("own").count().release(epsilon=1)
    assert not made.to_dict()["own"]
    for text in (str(made), made._repr_html_()):
        assert "no group is shown: keys under about" in text
        assert "larger epsilon or delta, or public keys=" in text
    assert "no group is shown" not in str(table.group_by("year").count().release(epsilon=1))


def scattered(accounting="pure", rows=3, each=1):
    """Every person holds one key that all hold, and nine that nobody else has."""
    who = np.repeat(np.arange(400), 10)
    key = np.array([f"own{i}" for i in range(len(who))], object)
    key[::10] = "common"
    limits = {"unit": "who", "max_rows": rows, "max_groups": 3, "max_rows_per_group": each, "columns": {"key": "cat"}}
    budget = sd.Budget(epsilon=100, delta=1e-4, accounting=accounting)
    return sd.table({"who": who, "key": key}, **limits, budget=budget, ledger=":memory:", name="t")


def test_people_are_bounded_again_inside_the_named_keys():
    with scattered() as table:
        found = table.group_by("key").count_units().release(epsilon=10, delta=1e-5)
        assert found.to_dict()["key"] == ["common"]
        assert found.to_dict()["count_units"][0] > 390, "bounded once, three of ten keys a person, about 120 would count"


def test_naming_keys_costs_the_rho_of_its_noise():
    with scattered("zcdp") as table:
        plan = table.group_by("key").count_units().settle(1, 1e-6)
        keys = plan.plan.keys.cost
        assert (float(keys.epsilon), float(keys.delta)) == (0.25, 1e-6)
        noise = next(part for part, _ in keys.parts if part.mu_squared is not None)
        assert float(keys.rho) == pytest.approx(float(noise.mu_squared) / 2, rel=1e-6)
        assert float(keys.rho) < 0.1 * float(Cost.approximate(keys.epsilon, keys.delta).rho)
        assert float(keys.rho_delta) == float(keys.delta) / 2, "the Gaussian has no delta of its own there"


def test_every_answer_with_private_keys_says_the_threshold_and_what_it_means_in_people():
    with scattered(rows=30, each=10) as table:
        people = table.group_by("key").count_units().release(epsilon=4, delta=1e-5)
        assert "keys under about" in people.about
        assert "people in one group each, or" in str(people)
        rows = table.group_by("key").count().release(epsilon=4, delta=1e-5)
        assert "people with one row there" in str(rows)
        assert "with 10)" in rows.about
