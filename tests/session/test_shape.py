from __future__ import annotations

import pytest
from tests.session.people import table

import sordino as sd


@pytest.fixture(scope="module")
def people():
    with table() as opened:
        yield opened


def columns(query, **options):
    return query.release(epsilon=5, **options).to_dict()


def test_one_number_is_a_column_with_its_ends(people):
    assert list(columns(people.count())) == ["count", "count_low", "count_high"]
    assert list(columns(people.agg(mid=sd.median("income")))) == ["mid", "mid_low", "mid_high"]
    assert columns(people.median("income", interval=False))["median(income)_low"] == [None]
    assert list(columns(people.mode("sex"))) == ["mode(sex)"]


def test_groups_come_first_in_the_order_of_their_keys(people):
    found = columns(people.group_by("sex").agg(n=sd.count(), med=sd.median("income")))
    assert list(found) == ["sex", "n", "n_low", "n_high", "med", "med_low", "med_high"]
    assert found["sex"] == ["m", "f", "x"]
    two = columns(people.group_by("ok", "sex").count())
    assert list(two)[:3] == ["ok", "sex", "count"]
    assert list(zip(two["ok"], two["sex"], strict=True)) == [(ok, sex) for ok in (False, True) for sex in ("m", "f", "x")]


def test_vectors_have_one_column_for_each_part(people):
    assert list(columns(people.means(["income", "age"]))) == [
        "mean(income)", "mean(income)_low", "mean(income)_high", "mean(age)", "mean(age)_low", "mean(age)_high",
    ]  # fmt: skip
    assert list(columns(people.quantiles("income", [0.75, 0.25])))[::3] == ["quantile(income, 0.25)", "quantile(income, 0.75)"]
    assert list(columns(people.counts(["age > 10", "ok"])))[::3] == ["count(age > 10)", "count(ok = TRUE)"]
    named = columns(people.group_by("sex").agg(q=sd.quantiles("income", [0.1, 0.9]), m=sd.means(["age", "ok"])))
    assert list(named)[1::3] == ["q_0.1", "q_0.9", "m_age", "m_ok"]
    assert all(0 <= share <= 1 for share in named["m_ok"])


def test_a_histogram_alone_has_one_row_for_each_key_or_bin(people):
    found = columns(people.histogram("sex"))
    assert list(found) == ["key", "count", "count_low", "count_high"]
    assert found["key"] == ["m", "f", "x"]
    bins = columns(people.histogram("age", bins=[0, 18, 120]))
    assert list(bins) == ["bin", "count", "count_low", "count_high"]
    assert bins["bin"] == [(0, 18), (18, 120)]
    named = columns(people.agg(cells=sd.histogram("sex")))
    assert list(named) == ["key", "cells", "cells_low", "cells_high"]
    grouped = columns(people.group_by("sex").histogram("ok"))
    assert list(grouped) == ["sex", "key", "count", "count_low", "count_high"]
    assert grouped["sex"] == ["m", "m", "f", "f", "x", "x"]
    assert grouped["key"] == [False, True] * 3
    assert all(low <= n <= high for n, low, high in zip(*list(grouped.values())[2:], strict=True))


def test_beside_other_statistics_a_histogram_is_one_cell(people):
    found = columns(people.agg(cells=sd.histogram("sex"), n=sd.count()))
    assert list(found) == ["cells", "cells_low", "cells_high", "n", "n_low", "n_high"]
    assert list(found["cells"][0]) == ["m", "f", "x"]


def test_the_most_frequent_keys_are_rows(people):
    assert len(columns(people.top_k("sex", 2))["top_k(sex, 2)"]) == 2
    grouped = columns(people.group_by("ok").top_k("sex", 2))
    assert grouped["ok"] == [False, False, True, True]
    assert len(grouped["top_k(sex, 2)"]) == 4
