"""Every way to tamper with a book, and that it shows."""

from __future__ import annotations

import sqlite3

import pytest

from sordino.errors import LedgerError, ReleaseFailed
from sordino.ledger import read_ledger

from .scenes import TENTH, key, open_book

TAMPERINGS = {
    "a record changed": "UPDATE entry SET record = CAST(replace(CAST(record AS TEXT), '1/10', '1/20') AS BLOB) WHERE number = 1",
    "an entry dropped": "DELETE FROM entry WHERE number = 2",
    "the last entry dropped": "DELETE FROM entry WHERE number = 5",
    "an answer changed": "UPDATE entry SET answer = X'00' WHERE number = 3",
    "a hash changed": "UPDATE entry SET hash = zeroblob(32) WHERE number = 4",
    "the sums changed": "UPDATE head SET state = replace(state, '3/10', '1/10')",
    "the head changed": "UPDATE head SET hash = zeroblob(32)",
    "a request refiled": "UPDATE entry SET request = 'other' WHERE number = 1",
    "a key refiled": "UPDATE entry SET key = X'00' WHERE number = 1",
    "a seal refiled": "UPDATE entry SET sealed = NULL WHERE number = 1",
    "entries swapped": "UPDATE entry SET number = CASE number WHEN 4 THEN -5 WHEN 5 THEN -4 ELSE number END WHERE number IN (4, 5)",
    "an extra row": "INSERT INTO entry(number, hash, record) SELECT 6, hash, record FROM entry WHERE number = 5",
    "another spelling": "UPDATE entry SET record = CAST(replace(CAST(record AS TEXT), ',', ', ') AS BLOB) WHERE number = 5",
}


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "people.ledger"
    with open_book(path) as book:
        first = book.charge("r1", key(), TENTH)
        book.charge("r2", key(), TENTH)
        book.seal(first, b"answer")
        book.charge("r3", key(), TENTH)
        assert book.verify()
    with open_book(path, version="2"):
        pass
    return path


def tamper(path, statement):
    connection = sqlite3.connect(path)
    connection.execute(statement)
    if "swapped" in statement or "-5" in statement:
        connection.execute("UPDATE entry SET number = -number WHERE number < 0")
    assert connection.total_changes > 0
    connection.commit()
    connection.close()


@pytest.mark.parametrize("what", TAMPERINGS)
def test_tampering_is_found(ledger, what):
    tamper(ledger, TAMPERINGS[what])
    with read_ledger(ledger) as book:
        check = book.verify()
        if what == "an extra row":
            assert check, "a row beyond the head is not part of the book"
        else:
            assert not check
            assert check.fault
            assert "broken at entry" in str(check)


@pytest.mark.parametrize("what", sorted(set(TAMPERINGS) - {"an answer changed", "an extra row"}))
def test_a_broken_chain_opens_read_only(ledger, what):
    tamper(ledger, TAMPERINGS[what])
    with open_book(ledger) as book:
        for attempt in (
            lambda: book.charge("r4", key(), TENTH),
            lambda: book.recall(key()),
            lambda: book.charge_batch("b", key(), [TENTH]),
        ):
            with pytest.raises(LedgerError) as refusal:
                attempt()
            assert refusal.value.code == "SRD-601"
        assert book.export(), "what the file says by now can still be looked at, as what it is"
        with pytest.raises(LedgerError, match="SRD-601"):
            _ = book.budget
        if what in ("the sums changed", "a request refiled", "a key refiled", "a seal refiled"):
            assert len(book.entries()) == 3, "the entries themselves are whole"
        else:
            with pytest.raises(LedgerError, match="SRD-601"):
                book.entries()


def test_a_chain_found_broken_while_open_stops_the_spending(ledger):
    with open_book(ledger) as book:
        entry = book.charge("r4", key(), TENTH)
        tamper(ledger, TAMPERINGS["an answer changed"])
        assert not book.verify()
        with pytest.raises(LedgerError, match="SRD-601"):
            book.charge("r5", key(), TENTH)
        with pytest.raises(ReleaseFailed):
            book.seal(entry, b"late")


@pytest.mark.parametrize("what", ["the sums changed", "a record changed", "an answer changed", "a seal refiled"])
def test_what_is_edited_while_the_book_is_open_is_not_served(ledger, what):
    with open_book(ledger) as book, open_book(ledger) as other:
        if what == "the sums changed":
            tamper(ledger, TAMPERINGS[what])
            with pytest.raises(LedgerError, match="SRD-601"):
                _ = book.budget
            with pytest.raises(LedgerError, match="SRD-601"):
                other.charge("r4", key(), TENTH)
        elif what == "a seal refiled":
            book.seal(book.charge("r4", key("another"), TENTH), b"another")
            tamper(ledger, "UPDATE entry SET sealed = (SELECT max(number) FROM entry) WHERE number = 1")
            with pytest.raises(LedgerError, match="SRD-601"):
                book.recall(key())
            with pytest.raises(LedgerError, match="SRD-601"):
                other.find("r1")
        else:
            tamper(ledger, TAMPERINGS[what])
            with pytest.raises(LedgerError, match="SRD-601"):
                book.entries()
        with pytest.raises(LedgerError, match="SRD-601"):
            book.charge("r5", key(), TENTH)


def test_a_file_that_is_no_database_is_refused(tmp_path):
    path = tmp_path / "people.ledger"
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(LedgerError, match="SRD-601"):
        open_book(path)


def test_a_damaged_file_is_refused_or_opens_read_only(ledger):
    content = bytearray(ledger.read_bytes())
    content[5000:9000] = b"\xa5" * 4000
    ledger.write_bytes(bytes(content))
    with pytest.raises(LedgerError, match="SRD-601"), open_book(ledger) as book:
        book.charge("r4", key(), TENTH)
