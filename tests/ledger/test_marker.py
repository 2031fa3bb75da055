"""The data know which ledger pays for them."""

from __future__ import annotations

import json
import os

import pytest

from sordino.errors import LedgerError
from sordino.ledger import place
from sordino.ledger.place import check_marker, marker_paths, write_marker

from .scenes import open_book


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "data" / "people.csv"
    path.parent.mkdir()
    path.write_text("age\n1\n")
    return path


def test_a_marker_is_named_after_the_source_and_holds_the_ledger(source, tmp_path):
    with open_book(tmp_path / "a.ledger", source=source) as book:
        text = json.loads((source.parent / ".people.csv.sordino").read_text())
        assert text == {"dataset": "people", "format": 1, "ledger": book.id}
    open_book(tmp_path / "a.ledger", source=source).close()


def test_a_second_ledger_for_the_same_data_is_refused_and_not_made(source, tmp_path):
    open_book(tmp_path / "a.ledger", source=source).close()
    for where in (tmp_path / "b.ledger", ":memory:"):
        with pytest.raises(LedgerError) as refusal:
            open_book(where, source=source, dataset="other name")
        assert refusal.value.code == "SRD-604"
    assert not (tmp_path / "b.ledger").exists()


def test_another_existing_ledger_is_refused_too(source, tmp_path):
    open_book(tmp_path / "a.ledger", source=source).close()
    open_book(tmp_path / "b.ledger").close()
    with pytest.raises(LedgerError, match="another ledger"):
        open_book(tmp_path / "b.ledger", source=source)


def test_a_link_to_the_data_is_the_data(source, tmp_path):
    open_book(tmp_path / "a.ledger", source=source).close()
    link = tmp_path / "innocent.csv"
    link.symlink_to(source)
    with pytest.raises(LedgerError, match="another ledger"):
        open_book(tmp_path / "b.ledger", source=link)


def test_a_source_nobody_may_write_beside_is_marked_in_the_state_directory(source, tmp_path, state, monkeypatch):
    beside, inside = marker_paths(source)
    write_once = place.write_once

    def read_only(path, content):
        if path == beside:
            raise PermissionError(13, "Permission denied")
        return write_once(path, content)

    monkeypatch.setattr(place, "write_once", read_only)
    open_book(tmp_path / "a.ledger", source=source).close()
    assert inside.exists()
    assert not beside.exists()
    with pytest.raises(LedgerError, match="another ledger"):
        open_book(tmp_path / "b.ledger", source=source)


def test_a_source_that_is_no_file_is_marked_by_its_address(tmp_path):
    address = "postgres://db/people#visits"
    open_book(tmp_path / "a.ledger", source=address).close()
    with pytest.raises(LedgerError, match="another ledger"):
        open_book(tmp_path / "b.ledger", source=address)


def test_several_sources_are_marked_for_one_ledger(source, tmp_path):
    second = source.with_name("visits.csv")
    second.write_text("x\n")
    with open_book(tmp_path / "a.ledger", source=[source, second]) as book:
        assert check_marker(source, book.id)
        assert check_marker(second, book.id)


def test_a_ledger_in_memory_marks_nothing(source):
    open_book(":memory:", source=source).close()
    assert os.listdir(source.parent) == ["people.csv"]


def test_a_marker_that_cannot_be_read_is_refused(source, tmp_path):
    (source.parent / ".people.csv.sordino").write_text("{}")
    with pytest.raises(LedgerError, match="cannot be read"):
        open_book(tmp_path / "a.ledger", source=source)


def test_whoever_marks_first_wins(source):
    write_marker(source, "first", "people")
    write_marker(source, "first", "people")
    with pytest.raises(LedgerError, match="another ledger"):
        write_marker(source, "second", "people")
