"""The file's format: kept for ever, brought forward after a copy, never opened by a library too old for it."""

from __future__ import annotations

import shutil
import sqlite3
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import pytest

from sordino.errors import LedgerError
from sordino.ledger import Budget, adopt, open_ledger, read_ledger, sqlite_store, verify_export
from sordino.privacy.cost import Cost
from sordino.privacy.relation import PrivacyUnit

from .scenes import TENTH, key, open_book

FORMAT1 = Path(__file__).with_name("format1.ledger")
HEAD = "52dfcf619e1263b5e8d33ed7e17f8ac89bce1c53a84b5007adf32e61ab67b01e"
LOSS = Fraction(32429176069200197, 10**18)
QUESTION = sha256(b"how old are they").digest()


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "format1.ledger"
    shutil.copyfile(FORMAT1, path)
    return path


def test_a_ledger_of_format_1_opens_for_ever(old):
    with read_ledger(old) as book:
        assert book.verify()
        assert (book.head.count, book.head.hash.hex()) == (9, HEAD)
        assert (book.dataset, str(book.relation), book.unit) == ("hospital-2025", "add_remove", {"person": "patient_id", "type": "id"})
        told = [(entry.request, entry.state, entry.answer, entry.analyst) for entry in book.entries()]
        assert told == [
            ("first", "sealed", b'{"value":41}', "amina"),
            ("second", "open", None, None),
            ("third", "open", None, "amina"),
            ("fourth", "sealed", b"\x00\xff", None),
        ]
        assert book.entries()[0].cost == Cost.laplace("0.1")
        assert book.entries()[3].members == (Cost.bounded_range("0.1"), Cost.pure("0.05"))
        assert book.budget.exact["loss"] == LOSS
        assert verify_export(book.export()).head == HEAD


def test_a_ledger_of_format_1_is_spent_from_for_ever(old):
    adopt(old, epsilon=0)
    terms = {"relation": "add_remove", "unit": PrivacyUnit("patient_id"), "dataset": "hospital-2025", "version": "2"}
    with open_ledger(old, budget=Budget(3, "1e-6", "zcdp"), **terms) as book:
        assert list(book.recall(QUESTION)) == [b'{"value":41}', b"\x00\xff"]
        assert book.charge("first", QUESTION, Cost.laplace("0.1")).answer == b'{"value":41}'
        assert book.charge("second", QUESTION, Cost.approximate("0.2", "1e-8")).state == "open"
        book.seal(book.charge("fifth", QUESTION, TENTH), b"new")
        assert book.verify()


def test_the_file_says_what_it_is(old):
    connection = sqlite3.connect(old)
    told = [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("application_id", "user_version", "journal_mode")]
    connection.close()
    assert told == [int.from_bytes(b"SRDN", "big"), 1, "wal"]


def test_an_older_library_refuses_a_newer_file(old):
    connection = sqlite3.connect(old)
    connection.execute("PRAGMA user_version=3")
    connection.close()
    with pytest.raises(LedgerError, match="newer") as refusal:
        read_ledger(old)
    assert (refusal.value.code, refusal.value.facts["version"]) == ("SRD-604", 3)
    with pytest.raises(LedgerError, match="newer"):
        open_book(old)


def test_a_migration_copies_first_goes_forward_and_leaves_the_chain_alone(tmp_path, monkeypatch):
    path = tmp_path / "people.ledger"
    with open_book(path) as book:
        book.seal(book.charge("r", key(), TENTH), b"answer")
        head = book.head
    monkeypatch.setattr(sqlite_store, "VERSION", 3)
    monkeypatch.setattr(sqlite_store, "MIGRATIONS", {2: lambda connection: connection.execute("ALTER TABLE entry ADD COLUMN note TEXT")})
    with open_book(path) as book:
        assert book.head == head
        assert book.charge("s", key(), TENTH).state == "new"
        assert book.verify()
    monkeypatch.undo()
    with pytest.raises(LedgerError, match="newer"):
        open_book(path, state=tmp_path / "state")
    with read_ledger(tmp_path / "people.ledger.format2") as copy:
        assert copy.head == head


def test_a_migration_that_fails_changes_nothing(tmp_path, monkeypatch):
    path = tmp_path / "people.ledger"
    with open_book(path) as book:
        book.charge("r", key(), TENTH)

    def stumble(connection):
        connection.execute("DROP TABLE head")
        raise sqlite3.OperationalError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(sqlite_store, "VERSION", 3)
        patch.setattr(sqlite_store, "MIGRATIONS", {2: stumble})
        with pytest.raises(LedgerError, match="SRD-603"):
            open_book(path)
    with open_book(path) as book:
        assert book.verify()


def test_an_empty_file_becomes_a_ledger(tmp_path):
    (tmp_path / "people.ledger").touch()
    with open_book(tmp_path / "people.ledger") as book:
        assert book.charge("r", key(), TENTH).state == "new"
