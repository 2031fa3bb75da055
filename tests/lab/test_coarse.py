"""Ways to say less."""

import datetime as dt

import numpy as np

from sordino.lab.unique import codes, crowds, judge, suggest


def advice(data, target=0.05):
    coded = {name: codes(column) for name, column in data.items()}
    return suggest(np.arange(len(next(iter(data.values())))), data, coded, target)


def test_dates_lose_their_day_before_their_month():
    days = [dt.date(1980 + i % 2, 1 + i % 12, 1 + i % 28) for i in range(336)]
    ways = {dict(way.changes)["day"] for way in advice({"day": days}, target=0.5)}
    assert ways <= {"year and month", "year", "decade", "left out"}
    assert advice({"day": [*days[:10], None]})[0].changes


def test_numbers_are_put_in_steps_and_codes_are_cut():
    draw = np.random.default_rng(0)
    assert advice({"cost": draw.integers(0, 10_000, 500).tolist()})[0].changes == (("cost", "in steps of 1,000"),)
    assert advice({"zip": [f"{v:05d}" for v in draw.integers(0, 90_000, 500)]})[0].changes == (("zip", "first 2 characters"),)


def test_words_and_equal_numbers_can_only_be_left_out():
    assert advice({"name": [f"x{'y' * i}" for i in range(30)]})[0].changes == (("name", "left out"),)
    assert advice({"a": [1], "b": ["x"]}) == ()  # a table of one person cannot be made safe


def test_the_least_shared_combination_counts():
    assert crowds(np.array([0, 0, 1]), [np.array([0, 1, 1])]).tolist() == [1, 2]
    assert judge(np.array([1, 1, 2, 2])) == (0.5, 1.5)
