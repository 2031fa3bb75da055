"""Answers of format 1, in their own ledger: used again where labels and limits agree, otherwise left with a line in the log."""

from __future__ import annotations

import json
import shutil
from base64 import b64decode

import pytest

import sordino as sd
from ledger.make_golden1 import EXPORT, LEDGER, opened, questions
from sordino.errors import QueryError
from sordino.ledger import adopt
from sordino.session import recorded as recorded_answers

SAME = {"max_rows": 6, "max_groups": 3, "max_rows_per_group": 2}  # what 2 rows in each of 3 groups is called now


@pytest.fixture
def book(tmp_path, monkeypatch):
    monkeypatch.setenv("SORDINO_STATE", str(tmp_path / "state"))
    monkeypatch.setattr(recorded_answers, "_told", set())
    path = tmp_path / "people.ledger"
    shutil.copyfile(LEDGER, path)
    adopt(path, epsilon=0)
    return path


def recorded():
    """What the golden book has, by request id."""
    rows = [json.loads(line) for line in EXPORT.read_text(encoding="ascii").splitlines()]
    numbers = {row["record"]["number"]: row["record"]["request"] for row in rows if row["record"]["kind"] == "charge"}
    return {numbers[row["record"]["charge"]]: row["answer"] for row in rows if row["record"]["kind"] == "seal"}


def sealed(request):
    return b64decode(recorded()[request])


def test_a_repeated_request_of_format_1_returns_its_bytes(book):
    for limits in ({}, SAME):
        with opened(book, **limits) as people:
            spent = people.budget.spent
            for request, query in questions(people).items():
                again = query.release(epsilon=2, request=request, fresh=True)
                assert again.sealed == sealed(request), request
                dearer = query.release(epsilon=3, request=request, fresh=True)
                assert dearer.sealed == sealed(request), "format 1 did not write the wish down, so the question decides"
            with pytest.raises(QueryError, match="SRD-605"):
                people.sum("age").release(epsilon=2, request="count", fresh=True)
            with pytest.raises(QueryError, match="SRD-605"):
                people.agg(n=sd.count()).release(epsilon=2, request="count", fresh=True)
            assert people.budget.spent == spent


def test_a_repeated_batch_of_format_1_returns_its_bytes(book):
    with opened(book) as people:
        spent = people.budget.spent
        batch = people.batch(epsilon=2)
        batch.ask(people.count()), batch.ask(people.mean("age"))
        assert [release.sealed is not None for release in batch.release(request="batch", fresh=True)] == [True, True]
        recall = people.batch(epsilon=2)
        recall.ask(people.count()), recall.ask(people.mean("age"))
        assert all(release.recalled for release in recall.release())
        assert people.budget.spent == spent


def test_where_labels_and_limits_agree_the_answer_is_used_again(book, caplog):
    with opened(book) as people:
        spent, asked = people.budget.spent, questions(people)
        for request in ("count", "aliased", "bundle", "sql", "twice"):
            release = asked[request].release(epsilon=2, interval=False)  # format 1 had points; an interval is drawn and paid for
            assert release.recalled, request
            assert release.names == tuple(asked[request].asked.statistics)
        assert people.budget.spent == spent
        assert asked["twice"].release(epsilon=2).sealed in (sealed("twice"), sealed("count"))
        assert "format 1" not in caplog.text


def test_under_other_limits_old_answers_are_left_alone_with_one_line_in_the_log(book, caplog):
    with opened(book) as people:
        spent, asked = people.budget.spent, questions(people)
        for request in ("grouped", "histogram"):
            asked[request].recorded()
            asked[request].recorded()
            assert not asked[request].release(epsilon=2).recalled, request
        assert people.budget.spent == spent + 4
        assert asked["grouped"].release(epsilon=2).recalled, "the new answer is used again"
    told = [line for line in caplog.messages if "limits of format 1" in line]
    assert len(told) == 2
    assert "2 rows of a person in each group" in told[0]


def test_an_upgraded_dataset_keeps_the_answers_of_its_groups(book, caplog):
    with opened(book, **SAME) as people:
        spent, asked = people.budget.spent, questions(people)
        for request in ("grouped", "histogram"):
            assert asked[request].release(epsilon=2).sealed == sealed(request)
        assert people.budget.spent == spent
        assert not asked["count"].release(epsilon=2).recalled, "without groups 6 rows of a person count now, and 2 did"
    assert "limits of format 1" in caplog.text


@pytest.mark.parametrize(
    ("limits", "same"),
    [({"max_rows": 2, "max_groups": 1}, {"count", "grouped", "histogram"}), ({}, {"count"}), (SAME, {"grouped", "histogram"})],
)
def test_which_limits_cut_the_same_rows(book, limits, same):
    with opened(book, **limits) as people:
        asked = questions(people)
        assert {name for name in ("count", "grouped", "histogram") if recorded_answers.same_limits(asked[name])} == same


def test_in_a_book_that_never_was_of_format_1_nothing_older_is_looked_for(tmp_path, monkeypatch):
    monkeypatch.setenv("SORDINO_STATE", str(tmp_path / "state"))
    with opened(tmp_path / "new.ledger") as people:
        assert people.count().charged.older is None
        keys, recall = [], people.ledger.recall
        monkeypatch.setattr(people.ledger, "recall", lambda key: [keys.append(key), recall(key)][1])
        assert people.group_by("sex").count().recorded() == []
        assert keys == [people.group_by("sex").count().key()]


def test_the_book_goes_on_in_format_2(book):
    with opened(book) as people:
        release = people.sum("age").release(epsilon=1)
        assert people.agg(s=sd.sum("age")).release(epsilon=1).id == release.id
        assert people.ledger.verify()
        assert {entry.format for entry in people.ledger.entries()} == {1, 2}


def test_a_mean_that_a_planner_had_moved_is_not_taken_for_the_mean():
    with sd.table({"x": [1.0] * 50}, bounds={"x": (0, 9)}, budget=sd.Budget(epsilon=9), ledger=":memory:", size=50) as people:
        plain, moved = (people.mean("x", **how).release(epsilon=1) for how in ({}, {"method": "two_stage"}))
    assert not recorded_answers._moved(plain.to_bytes())
    assert recorded_answers._moved(moved.to_bytes())
