"""What an answer is about: one sentence from sealed facts, wherever the answer is shown, and before it is paid for."""

from __future__ import annotations

import json
import logging
from dataclasses import replace

import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.session.release import Release

from .people import QUESTIONS, fresh, table

MONTHS = [f"month {i}" for i in range(1, 13)]


@pytest.fixture
def flights():
    data = {"plane": [i % 200 for i in range(4_000)], "month": [MONTHS[i // 7 % 12] for i in range(4_000)],
            "delay": [float(i % 90) for i in range(4_000)]}  # fmt: skip
    limits = {"unit": "plane", "max_rows": 8, "max_groups": 4, "max_rows_per_group": 8}
    with sd.table(data, **limits, bounds={"delay": (-30, 600)}, keys={"month": MONTHS}, size=200, budget=sd.Budget(100), ledger=":memory:",
                  name="flights") as made:  # fmt: skip
        yield made


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_answer_says_what_it_is_about_and_the_price_list_said_the_same(name, opened_once):
    query = QUESTIONS[name](fresh(opened_once))
    before = query.preview(epsilons=["1"]).about
    release = query.release(epsilon=1)
    assert release.about.startswith("about at most 3 ")
    assert "\n" not in release.about
    assert release.about == Release.from_bytes(release.sealed, query=query).about, "a function of what was sealed"
    assert release.about.split(" moved into")[0] == before.split(" moved into")[0]
    assert release.about in str(release)
    assert json.loads(release.to_json())["about"] == release.about
    assert ("covers the noise, not sampling" in release.about) == (release.low is not None or release.bar != "none")


def test_rows_that_limits_cut_are_said_in_the_tables_own_words(flights):
    counted = flights.group_by("month").count().release(epsilon=1)
    assert counted.about == (
        "about at most 8 flights of one plane, in at most 4 of the 12 groups, by month: their number; "
        "the 95% interval covers the noise, not sampling"
    )
    mean = flights.where("delay > 5 AND month <> 'month 1'").mean("delay").release(epsilon=1)
    assert mean.about.startswith("about at most 8 flights of one plane where delay > 5 AND month <> 'month 1': the mean of delay, values ")
    assert "values beyond 5 and 600 counted as these" in mean.about
    total = mean.about_interval("total")
    assert "covers the noise and the sampling" in total
    with pytest.raises(QueryError):
        mean.about_interval("both")


def test_what_is_publicly_known_to_be_lost_is_said_before_paying(flights):
    found = flights.group_by("month").count().preview()
    (note,) = [note for note in found.notes if note.startswith("rows are cut")]
    assert "one plane counts in at most 4 of these 12 groups, so 8 of 12 are lost" in note
    assert note in str(found)
    assert "at most 4 of the 12 groups" in str(found).splitlines()[1]
    assert not [note for note in flights.count().preview().notes if "cut" in note]
    cells = flights.histogram("month").preview()
    assert [note for note in cells.notes if "at most 4 of these 12 groups" in note]
    assert flights.budget.spent == 0


def test_where_every_row_is_a_unit_nothing_is_cut():
    with sd.table({"x": [1.0, 2.0] * 50}, bounds={"x": (0, 10)}, budget=sd.Budget(10), ledger=":memory:") as t:
        assert t.sum("x").release(epsilon=1).about == (
            "about every row of t: the sum of x, values beyond 0 and 10 counted as these, rows without x left out; "
            "the 95% interval covers the noise, not sampling"
        )
        assert "rows are cut" not in str(t.count().preview())


def test_frames_and_files_carry_it(flights, tmp_path):
    release = flights.group_by("month").count().release(epsilon=1)
    assert release.to_pandas().attrs["sordino.about"] == release.about
    assert release.to_arrow().schema.metadata[b"sordino.about"].decode() == release.about
    assert release.to_polars().sordino_about == release.about
    release.to_csv(tmp_path / "a.csv")
    assert json.loads((tmp_path / "a.csv.card.json").read_text())["about"] == release.about
    release.to_parquet(tmp_path / "a.parquet")
    import pyarrow.parquet as pq

    assert pq.read_schema(tmp_path / "a.parquet").metadata[b"sordino.about"].decode() == release.about
    assert release.about.split(":")[0] in release._repr_html_()
    assert release.about.split(":")[0] in flights.group_by("month").count().preview()._repr_html_()


def test_the_mean_of_moved_values_is_called_so_with_its_limits_beside_it():
    with sd.table({"x": [float(i % 100) for i in range(20_000)]}, bounds={"x": (0, 1e6)}, size=20_000, budget=sd.Budget(50),
                  ledger=":memory:") as t:  # fmt: skip
        moved = t.mean("x", method="two_stage").release(epsilon=1)
        assert moved.names == ("mean_of_moved(x)",)
        assert list(moved.to_dict()) == [f"mean_of_moved(x){end}" for end in ("", "_low", "_high", "_moved_to_low", "_moved_to_high",
                                                                             "_moved_at_most")]  # fmt: skip
        low, high = moved.moved["limits"]
        assert low <= moved.value <= high < 2_000
        assert moved.moved["at_most"] == moved.to_dict()["mean_of_moved(x)_moved_at_most"][0] < 200
        assert f"at most {moved.moved['at_most']:,} of about {moved.moved['of_about']:,} were moved (95%)" in moved.about
        assert "which is not its mean" in moved.about
        few = t.mean("x", bounds="private").release(epsilon="0.1")
        assert few.moved["at_most"] is None
        assert "were moved" not in few.about
        assert t.mean("x").release(epsilon=1).moved is None
        named = t.agg(m=sd.mean("x", "two_stage"), n=sd.count()).release(epsilon=2)
        assert set(named.moved) == {"m"}
        assert t.mean("x", method="two_stage").interval(moved, 0.5)[0] > moved.low


def test_two_stage_limits_are_a_line_of_their_own_on_the_price_list_and_never_the_answer_to_a_plain_mean():
    with sd.table({"x": [1.0] * 1_000}, bounds={"x": (0, 1e6)}, size=1_000, budget=sd.Budget(50), ledger=":memory:") as t:
        found = t.mean("x").preview()
        (other,) = found.others
        assert (other.name, other.ask) == ("mean_of_moved(x)", 'mean("x", method="two_stage")')
        assert "after values are moved into limits drawn from the rows, which is not its mean" in other.about
        assert str(other) in str(found)
        assert "another number" in str(t.mean("x").explain(epsilon=1))
        assert json.loads(found.to_json())["others"][0]["about"] == other.about
        assert t.mean("x", method="two_stage").preview().others == ()
        assert t.count().preview().others == ()
        assert "two stages" not in t.mean("x").release(epsilon=1).mechanism


def test_an_answer_of_format_1_says_what_it_was_limited_by(tmp_path, monkeypatch, caplog):
    import shutil

    from ledger.make_golden1 import LEDGER, opened, questions
    from sordino.ledger import adopt

    monkeypatch.setenv("SORDINO_STATE", str(tmp_path / "state"))
    shutil.copyfile(LEDGER, path := tmp_path / "people.ledger")
    adopt(path, epsilon=0)
    caplog.set_level(logging.ERROR, "sordino")
    with opened(path) as people:
        for request, query in questions(people).items():
            again = query.release(epsilon=2, request=request, fresh=True)
            limit = "at most 2 rows of one who" + (" in each of at most 3 groups" if query.asked.by else "")
            assert again.about.startswith(f"about {limit}"), request


def test_what_was_done_to_an_answer_afterwards_is_said():
    with table() as people:
        rounded = people.count().release(epsilon=1).map(round)
        assert rounded.about.endswith("no interval; afterwards: round")
        assert replace(rounded, card=type(rounded.card)()).about == ""
