"""Uniqueness: the definition by brute force, the town, and one person."""

import datetime as dt
import json
import math
from collections import Counter
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

from sordino.errors import QueryError
from sordino.lab.town import hospital, register
from sordino.lab.unique import how_unique, uniqueness

KNOWN = ["zip", "birth_date", "sex"]


def narrow(result):
    assert all(len(line) <= 80 for line in repr(result).splitlines())
    assert all(len(line) <= 80 for line in repr(result.plot()).splitlines())
    ElementTree.fromstring(result.plot().svg)
    assert "<svg" in result._repr_html_()
    return json.loads(result.to_json())


def test_zip_birth_date_and_sex_name_most_of_the_town():
    found = uniqueness(register(), KNOWN)
    assert found.share_unique > 0.7
    assert found.people == 4_000
    assert found.k == 1
    assert narrow(found)["share_unique"] == found.share_unique


def test_a_larger_town_is_still_mostly_unique():
    assert uniqueness(register(60_000), KNOWN, target=1).share_unique > 0.7


def test_the_numbers_follow_their_definitions():
    draw = np.random.default_rng(3)
    frame = {"a": draw.integers(0, 5, 300).tolist(), "b": draw.choice(["x", "y", "z", None], 300).tolist()}
    found = uniqueness(frame, ["a", "b"])
    sizes = Counter(zip(frame["a"], frame["b"], strict=True))
    assert found.share_unique == sum(n == 1 for n in sizes.values()) / 300
    assert found.bits == pytest.approx(-sum(n / 300 * math.log2(n / 300) for n in sizes.values()))
    assert {c.k: c.people for c in found.table} == {k: sum(n for n in sizes.values() if n == k) for k in set(sizes.values())}
    assert sum(c.share for c in found.table) == pytest.approx(1)
    assert found.hidden(1) == pytest.approx(1)
    assert found.k == min(sizes.values())
    assert {part.columns for part in found.combinations} == {("a",), ("b",)}


def test_frames_of_pandas_count_the_same():
    frame = register(300)
    assert uniqueness(pd.DataFrame(frame), KNOWN) == uniqueness(frame, KNOWN)


def test_a_person_with_several_rows_counts_once_by_the_least_shared():
    frame = {"who": [1, 1, 2, 3, 3], "zip": ["1", "1", "1", "1", "2"]}
    found = uniqueness(frame, ["zip"], unit="who")
    assert found.people == 3
    assert {c.k: c.people for c in found.table} == {1: 1, 3: 2}


def test_each_suggestion_does_what_it_says():
    found = uniqueness(register(1_000), KNOWN, target=0.05)
    assert found.coarser
    assert all(way.share_unique <= 0.05 for way in found.coarser)
    assert [way.bits for way in found.coarser] == sorted((way.bits for way in found.coarser), reverse=True)
    for way in found.coarser:
        frame = {name: list(column) for name, column in register(1_000).items()}
        for column, how in way.changes:
            frame[column] = [coarsened(value, how) for value in frame[column]]
        again = uniqueness(frame, KNOWN, target=1)
        assert (again.share_unique, again.bits) == (way.share_unique, pytest.approx(way.bits))


def coarsened(value, how):
    if how == "left out":
        return 0
    if isinstance(value, str):
        return value[: int(how.split()[1])]
    return {"year and month": (value.year, value.month), "year": value.year, "decade": value.year // 10}[how]


def test_a_safe_table_needs_no_advice_and_many_columns_are_left_out_whole():
    assert uniqueness({"a": [1, 1, 2, 2]}, ["a"]).coarser == ()
    wide = {str(i): np.random.default_rng(i).integers(0, 1_000, 40).tolist() for i in range(9)}
    found = uniqueness(wide, list(wide))
    assert all(how == "left out" for way in found.coarser for _, how in way.changes)
    assert len(found.combinations) <= 9
    narrow(found)


def test_nothing_to_compare_is_refused():
    for frame, columns in (({"a": []}, ["a"]), ({"a": [1]}, []), ({"a": [1], "b": [1, 2]}, ["a", "b"])):
        with pytest.raises(QueryError, match="nothing to compare"):
            uniqueness(frame, columns)


def test_one_person_is_more_unique_the_more_is_known():
    today = dt.date(2025, 6, 1)
    found = how_unique(population=12_000, birth_date="1984-05-17", sex="f", today=today)
    assert 0.75 < found.unique < 0.9
    chances = {what: chance for what, _, chance in found.table}
    assert chances["sex"] < chances["year and month and sex"] < chances["birth date"] < chances["birth date and sex"] == found.unique
    assert found.bits == pytest.approx(-math.log2(found.others / 11_999))
    assert how_unique(population=12_000, birth_date=dt.date(1984, 5, 17), sex="f", today=today) == found
    assert how_unique(population=12_000, birth_date="1984", today=today).unique < 1e-6
    assert how_unique(population=12_000, birth_date="1930-05-17", sex="f", today=today).unique > found.unique
    assert narrow(found)["sex"] == "f"


def test_the_shares_of_all_years_add_up_to_everybody():
    others = sum(how_unique(population=100_001, birth_date=str(year), today=dt.date(2025, 1, 1)).others for year in range(1905, 2025))
    assert others == pytest.approx(100_000, rel=0.01)


def test_one_person_of_a_register_is_counted():
    frame = register(2_000)
    found = how_unique(population=frame, birth_date=frame["birth_date"][0], sex=frame["sex"][0])
    same = [row for row in zip(frame["birth_date"], frame["sex"], strict=True) if row == (frame["birth_date"][0], frame["sex"][0])]
    assert found.others == len(same) - 1
    assert found.population == 2_000
    assert found.unique == float(len(same) == 1)
    narrow(found)


def test_the_chance_of_the_model_is_near_the_count_in_the_town():
    """The town's ages are uniform over eighty years, the model's nearly so for the young."""
    frame = hospital(4_000)
    share = uniqueness(frame, ["birth_date", "sex"], unit="person").share_unique
    modelled = how_unique(population=4_000, birth_date="1990-03-03", sex="m", today=dt.date(2010, 1, 1)).unique
    assert modelled == pytest.approx(share, abs=0.05)


def test_an_empty_place_is_refused():
    with pytest.raises(QueryError, match="population"):
        how_unique(population=0, birth_date="1984")


@pytest.mark.parametrize("day", ["May", "1984-13", "1984-05-17-1", ""])
def test_what_is_no_birth_date_is_refused(day):
    with pytest.raises(QueryError, match="birth date"):
        how_unique(population=10, birth_date=day)
