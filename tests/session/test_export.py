from __future__ import annotations

import csv
import json

import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
from tests.session.people import QUESTIONS, fresh, table

import sordino as sd


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_answer_goes_out_in_every_format_with_its_card(name, tmp_path, opened_once):
    release = QUESTIONS[name](fresh(opened_once)).release(epsilon=5)
    plain = json.loads(release.to_json())
    assert plain["card"] == json.loads(release.card.to_json())
    columns = list(plain["columns"])
    arrow = release.to_arrow()
    assert arrow.column_names == columns
    assert json.loads(arrow.schema.metadata[b"sordino.card"]) == plain["card"]
    release.to_parquet(tmp_path / "answer.parquet")
    read = pq.read_table(tmp_path / "answer.parquet")
    assert read.column_names == columns
    assert json.loads(read.schema.metadata[b"sordino.card"]) == plain["card"]
    frame = release.to_pandas()
    assert isinstance(frame, pd.DataFrame)
    assert list(frame.columns) == columns
    assert frame.attrs["sordino.card"] == dict(release.card)
    assert isinstance(release.to_polars(), pl.DataFrame)
    assert release.to_polars().columns == columns
    release.to_csv(str(tmp_path / "answer.csv"))
    with open(tmp_path / "answer.csv", newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    assert lines[0] == columns
    assert len(lines) == 1 + len(frame)
    assert json.loads((tmp_path / "answer.csv.card.json").read_text()) == {"about": plain["about"], **plain["card"]}


def test_bins_become_two_columns_and_refusals_null(tmp_path):
    with table() as people:
        bins = people.histogram("age", bins=[0, 18, 120]).release(epsilon=1).to_arrow()
        assert bins.column_names == ["bin_from", "bin_to", "count", "count_low", "count_high"]
        assert bins.to_pydict()["bin_from"] == [0, 18]
        ranks = people.median("income", interval=False).release(epsilon=1).to_arrow().to_pydict()
        assert ranks["median(income)_low"] == [None]


def test_numbers_keep_their_types():
    with table() as people:
        frame = people.group_by("sex").agg(n=sd.count(), avg=sd.mean("age")).release(epsilon=5).to_arrow()
        assert [str(frame.schema.field(name).type) for name in ("sex", "n", "avg")] == ["string", "int64", "double"]
