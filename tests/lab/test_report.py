"""Frames of every kind, outputs of any release, and JSON that any reader accepts."""

import datetime as dt
import json
import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from sordino.errors import QueryError
from sordino.lab.report import as_json, cells, matrix, names, outputs, say

DAYS = [dt.date(1980, 1, 2), None, dt.date(1999, 12, 31)]
PLAIN = {"day": DAYS, "n": [1, 2, 3]}


@pytest.mark.parametrize(
    "frame",
    [
        PLAIN,
        {"day": np.array(DAYS, "datetime64[D]"), "n": np.array([1, 2, 3])},
        pd.DataFrame({"day": pd.to_datetime(DAYS), "n": [1, 2, 3]}),
        pl.DataFrame(PLAIN),
        pa.table(PLAIN),
    ],
    ids=["lists", "arrays", "pandas", "polars", "pyarrow"],
)
def test_a_frame_is_read_alike_whoever_made_it(frame):
    assert names(frame) == ["day", "n"]
    assert cells(frame, "day") == DAYS
    assert cells(frame, "n") == [1, 2, 3]
    assert all(type(value) is int for value in cells(frame, "n"))


def test_an_unknown_column_and_a_stranger_are_refused():
    with pytest.raises(QueryError, match="no column 'zip'"):
        cells(PLAIN, "zip")
    with pytest.raises(QueryError, match="not a table"):
        names(3)


def test_missing_is_none_and_a_time_stays_a_time():
    noon = dt.datetime(2020, 1, 1, 12)
    assert cells({"x": [math.nan, None, pd.NaT, np.float64("nan"), noon]}, "x") == [None, None, None, None, noon]


def test_a_matrix_is_full_and_finite():
    assert matrix({"a": [1, 2], "b": [3, 4]}, "people").tolist() == [[1, 3], [2, 4]]
    assert matrix(pl.DataFrame({"a": [1, 2], "b": [3, 4]}), "people").shape == (2, 2)
    for bad in ([1, 2], [[math.nan]], [["x"]], [[1], [2, 3]], []):
        with pytest.raises(QueryError, match="people are not"):
            matrix(bad, "people")


def test_what_is_no_number_is_an_output_of_its_own():
    def release(data):
        if data:
            raise ValueError("no")
        return math.nan

    assert np.isinf(outputs(release, 0, 1, 50, False)).all()
    assert outputs(lambda data, n: [data] * n, 0, 1, 50, True).sum() == 50
    for trials in (3, True, 2.5):
        with pytest.raises(QueryError, match="trials"):
            outputs(release, 0, 1, trials, False)
    with pytest.raises(QueryError, match="50 outputs"):
        outputs(lambda data, n: [1.0], 0, 1, 50, True)
    with pytest.raises(QueryError, match="function"):
        outputs(3, 0, 1, 50, False)


def test_json_is_strict_and_lines_are_short():
    @dataclass(frozen=True)
    class Thing:
        day: dt.date
        number: float
        nested: tuple

    body = json.loads(as_json(Thing(dt.date(2020, 1, 1), math.nan, ((1, math.inf),)), extra=2))
    assert body == {"day": "2020-01-01", "number": None, "nested": [[1, None]], "extra": 2}
    assert [len(line) for line in say(["x" * 200, "y"]).splitlines()] == [80, 1]
