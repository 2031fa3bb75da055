"""Restored backups, copied folders and removed witnesses: refused, every time."""

from __future__ import annotations

import random
import shutil
from fractions import Fraction

import pytest

from sordino.errors import LedgerError, QueryError, ReleaseFailed
from sordino.ledger import adopt
from sordino.ledger.budget import Price
from sordino.ledger.place import SLOT, Sighting, WitnessFile
from sordino.ledger.port import Head

from .conftest import POSTGRES
from .scenes import TENTH, key, open_book


def spend(book, start, count):
    for turn in range(start, start + count):
        entry = book.charge(f"r{turn}", key(), TENTH)
        if turn % 2:
            book.seal(entry, b"answer")


def copy_ledger(source, target):
    """As a backup tool would: the file and, if there, its log."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for suffix in ("", "-wal"):
        (target.parent / (target.name + suffix)).unlink(missing_ok=True)
        if (source.parent / (source.name + suffix)).exists():
            shutil.copyfile(source.parent / (source.name + suffix), target.parent / (target.name + suffix))
    (target.parent / (target.name + "-shm")).unlink(missing_ok=True)


def refused(open_it, code="SRD-602"):
    with pytest.raises(LedgerError) as refusal:
        open_it()
    assert refusal.value.code == code
    return refusal.value


def test_restored_backups_and_copied_folders_are_refused_100_of_100(tmp_path):
    chance, refusals = random.Random(1), 0
    for turn in range(100):
        home = tmp_path / f"{turn}"
        home.mkdir()
        ledger, backup = home / "people.ledger", home / "backup" / "people.ledger"
        before, after = chance.randint(0, 4), chance.randint(1, 4)
        book = open_book(ledger)
        spend(book, 0, before)
        live = chance.random() < 0.5
        if not live:
            book.close()
        copy_ledger(ledger, backup)
        if not live:
            book = open_book(ledger)
        spend(book, before, after)
        if turn % 2:
            book.close()
            copied = tmp_path / f"{turn}-copy"
            shutil.copytree(home, copied)
            refused(lambda copied=copied: open_book(copied / "people.ledger"))
        else:
            book.close()
            copy_ledger(backup, ledger)
            told = refused(lambda ledger=ledger: open_book(ledger))
            assert told.facts["seen"] > told.facts["count"]
        refusals += 1
    assert refusals == 100


def test_a_backup_restored_under_an_open_ledger_is_refused_at_the_next_charge(tmp_path):
    ledger, backup = tmp_path / "people.ledger", tmp_path / "backup"
    with open_book(ledger) as book:
        spend(book, 0, 2)
        copy_ledger(ledger, backup)
        spend(book, 2, 3)
        entry = book.charge("last", key(), TENTH)
        copy_ledger(backup, ledger)
        refused(lambda: book.charge("more", key(), TENTH))
        with pytest.raises(ReleaseFailed):
            book.seal(entry, b"answer")
    refused(lambda: open_book(ledger))


def test_a_ledger_that_was_removed_is_not_made_anew(tmp_path):
    ledger = tmp_path / "people.ledger"
    with open_book(ledger) as book:
        spend(book, 0, 1)
    ledger.unlink()
    told = refused(lambda: open_book(ledger))
    assert "lived here" in str(told)


def test_a_missing_witness_is_refused_unless_nothing_was_ever_spent(tmp_path, state):
    ledger = tmp_path / "people.ledger"
    open_book(ledger).close()
    shutil.rmtree(state)
    with open_book(ledger) as book:
        spend(book, 0, 1)
        shutil.rmtree(state)
        refused(lambda: book.charge("more", key(), TENTH))
    refused(lambda: open_book(ledger))


def test_a_ledger_ahead_of_its_witness_is_fine(tmp_path, state, monkeypatch):
    ledger = tmp_path / "people.ledger"
    with open_book(ledger) as book:
        spend(book, 0, 1)
        (witness,) = (state / "witness").iterdir()
        old = witness.read_bytes()
        spend(book, 1, 3)
        witness.write_bytes(old)
        spend(book, 4, 1)
        witness.write_bytes(old)
    with open_book(ledger) as book:
        assert book.budget.exact["spent"] == Fraction(1, 2)


def test_a_charge_whose_witness_cannot_be_written_is_spent_and_not_new(tmp_path, monkeypatch):
    with open_book(tmp_path / "people.ledger") as book:

        def full(*_, **__):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(WitnessFile, "write", full)
        with pytest.raises(ReleaseFailed) as failure:
            book.charge("r", key(), TENTH)
        assert (failure.value.code, failure.value.spent) == ("SRD-402", True)
        monkeypatch.undo()
        assert book.budget.exact["spent"] == Fraction(1, 10)


def test_another_history_of_the_same_length_is_refused(tmp_path, state):
    ledger, backup, kept = tmp_path / "people.ledger", tmp_path / "backup", tmp_path / "kept"
    with open_book(ledger) as book:
        spend(book, 0, 2)
    copy_ledger(ledger, backup)
    shutil.copytree(state, kept)
    with open_book(ledger) as book:
        book.charge("one history", key(), TENTH)
    shutil.copytree(state, tmp_path / "newest")
    copy_ledger(backup, ledger)
    shutil.rmtree(state)
    shutil.copytree(kept, state)
    with open_book(ledger) as book:
        book.charge("another history", key(), TENTH)
    shutil.rmtree(state)
    shutil.copytree(tmp_path / "newest", state)
    assert "history" in str(refused(lambda: open_book(ledger)))
    assert adopt(ledger).loss == Fraction(3, 10)


def test_the_owner_may_keep_the_witness_elsewhere(tmp_path, state):
    ledger, witness, backup = tmp_path / "people.ledger", tmp_path / "vault" / "people.witness", tmp_path / "backup"
    with open_book(ledger, witness=witness) as book:
        spend(book, 0, 1)
        copy_ledger(ledger, backup)
        spend(book, 1, 1)
    assert witness.stat().st_mode & 0o777 == 0o600
    assert not state.exists()
    refused(lambda: open_book(ledger))
    copy_ledger(backup, ledger)
    refused(lambda: open_book(ledger, witness=witness))
    refused(lambda: open_book(tmp_path / "another.ledger", witness=witness))


def test_the_state_directory_is_private(tmp_path, state):
    with open_book(tmp_path / "people.ledger") as book:
        spend(book, 0, 1)
    assert [path.stat().st_mode & 0o777 for path in (state, state / "witness")] == [0o700, 0o700]


def test_a_torn_write_leaves_the_sighting_before(tmp_path):
    witness = WitnessFile(tmp_path / "w", "id", "/place")
    sightings = [Sighting("id", "/place", n, bytes([n]) * 32, Price(Fraction(n, 10), Fraction(0)), Fraction(n, 10)) for n in range(1, 6)]
    for sighting in sightings:
        witness.write(sighting)
    assert witness.look() == sightings[-1]
    content = bytearray(witness.path.read_bytes())
    newest = next(slot for slot in (0, 1) if Sighting.from_slot(bytes(content[slot * SLOT : (slot + 1) * SLOT])) == sightings[-1])
    for cut in (0, 1, 100, 300, 511):
        torn = bytearray(content)
        torn[newest * SLOT + cut : newest * SLOT + 512] = bytes(512 - cut)
        witness.path.write_bytes(bytes(torn))
        assert WitnessFile(witness.path, "id", "/place").look() == sightings[-2]
    witness.path.write_bytes(b"garbage")
    witness.check(Head(1, b"", ""), lambda _: None)
    with pytest.raises(LedgerError, match="damaged"):
        witness.check(Head(2, b"", ""), lambda _: None)


def test_an_older_sighting_never_replaces_a_newer_one(tmp_path):
    witness = WitnessFile(tmp_path / "w", "id", "/place")
    old, new = (Sighting("id", "/place", n, b"h" * 32, Price(Fraction(n), Fraction(0)), Fraction(n)) for n in (3, 8))
    witness.write(new)
    witness.write(old)
    assert witness.look() == new
    witness.write(old, anew=True)
    assert WitnessFile(witness.path, "id", "/place").look() == old


def test_a_very_long_path_is_remembered_by_its_hash(tmp_path):
    place = "/" + "é" * 3000
    witness = WitnessFile(tmp_path / "w", "id", place)
    witness.write(Sighting("id", witness.place, 1, b"h" * 32, Price(Fraction(0), Fraction(0)), Fraction(0)))
    WitnessFile(tmp_path / "w", "id", place).check(Head(1, b"h" * 32, ""), lambda _: None)
    with pytest.raises(LedgerError, match="last seen"):
        WitnessFile(tmp_path / "w", "id", place + "x").check(Head(1, b"h" * 32, ""), lambda _: None)


@POSTGRES
def test_a_restored_database_is_refused_and_adopted(postgres, dataset):
    import psycopg

    with open_book(postgres.address, dataset=dataset) as book:
        spend(book, 0, 2)
        head = book.head
        spend(book, 2, 3)
    with psycopg.connect(postgres.address, autocommit=True) as connection:
        connection.execute("DELETE FROM sordino_entry WHERE ledger = %s AND number >= %s", (dataset, head.count))
        connection.execute(
            "UPDATE sordino_head SET count = %s, hash = %s, state = %s WHERE ledger = %s", (head.count, head.hash, head.state, dataset)
        )
    refused(lambda: open_book(postgres.address, dataset=dataset))
    assert adopt(postgres.address, dataset=dataset).loss == Fraction(3, 10)
    with open_book(postgres.address, dataset=dataset) as book:
        assert book.budget.exact["spent"] == Fraction(1, 2)
    with pytest.raises(QueryError, match="Name the dataset"):
        adopt(postgres.address)
