"""Recorded answers found before: as long as nothing was written into the book, and never in place of what the book says now."""

from __future__ import annotations

import pytest

from sordino.server.release_request import RecalledAnswers

from .hall import Visitor, write

COUNT = "SELECT COUNT(*) AS n FROM admissions"


@pytest.fixture
def hall(tmp_path):
    visitor = Visitor(write(tmp_path, epsilon=50, purses=""))
    yield visitor
    visitor.close()


def searches(monkeypatch):
    """How often the book is searched in a thread."""
    from sordino.server.release_request import ReleaseRequest

    seen, real = [], ReleaseRequest.recorded

    def counted(self, pinned=None):
        seen.append(self.request)
        return real(self, pinned)

    monkeypatch.setattr(ReleaseRequest, "recorded", counted)
    return seen


def test_a_recall_is_searched_once_until_something_is_written(hall, monkeypatch):
    token, seen = hall.token(), searches(monkeypatch)
    first = hall.pay(token, COUNT, "first", epsilon="0.5").json()
    del seen[:]
    for turn in range(4):
        assert hall.pay(token, COUNT, f"again{turn}", epsilon="0.5").json()["id"] == first["id"]
    assert len(seen) == 1, "the first of them looks into the book"
    better = hall.pay(token, COUNT, "better", epsilon="2").json()
    again = hall.pay(token, COUNT, "after", epsilon="0.5").json()
    assert (again["id"], again["paid"]) == (better["id"], False), "an answer that landed since is found"
    assert hall.pay(token, COUNT, "again0", epsilon="0.5").json()["id"] == first["id"], "and a repeated request keeps its own"


def test_a_request_that_was_charged_is_never_given_another_answer(hall):
    token = hall.token()
    mine = hall.pay(token, COUNT, "mine", epsilon="0.5", fresh=True)
    other = hall.pay(token, COUNT, "other", epsilon="2", fresh=True).json()
    for turn in range(2):
        assert hall.pay(token, COUNT, f"k{turn}", epsilon="0.5").json()["id"] == other["id"]
    queue = hall.app.app.app.state.queue
    queue._known.clear()  # as after a restart: only the book remembers
    assert hall.pay(token, COUNT, "mine", epsilon="0.5").json()["id"] == mine.json()["id"]
    assert hall.pay(token, COUNT, "mine", epsilon="0.25").status_code == 409, "another price under the same key"


def test_a_wish_for_several_numbers_is_remembered_too(hall, monkeypatch):
    token, both = hall.token(), "SELECT AVG(age) AS a, COUNT(*) AS n FROM admissions"
    wish = {"within": {"a": 40, "n": 200}}
    first, seen = hall.pay(token, both, "first", **wish).json(), searches(monkeypatch)
    assert {hall.pay(token, both, f"k{turn}", **wish).json()["id"] for turn in range(3)} == {first["id"]}
    assert len(seen) == 1


def test_only_so_many_are_kept(monkeypatch):
    monkeypatch.setattr("sordino.server.release_request.KEPT", 3)
    kept = RecalledAnswers()

    class ReleaseRequest:
        def __init__(self, mark):
            self.query, self.mark = "q", mark

    class Found:
        recalled = "r"

    for turn in range(9):
        kept.keep(ReleaseRequest(turn), 1, Found())
    assert len(kept._kept) == 3
    kept.keep(ReleaseRequest(10), None, Found())
    assert ("q", 10) not in kept._kept, "a book without a stamp is asked every time"
