"""The default store under races, kills, full disks and files nobody may write."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import time
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest

from sordino.errors import LedgerError
from sordino.ledger import Budget
from sordino.ledger.sqlite_store import SqliteStore

from .scenes import PURSES, TENTH, finish, key, open_book, start_writer


def race(where: str, dataset: str, state: Path, tmp_path: Path) -> None:
    """Eight processes, 1,600 attempts, 400 grants. Fair is who lets others go between two grants of their own, however busy the machine."""
    open_book(where, dataset=dataset, epsilon=40, state=state).close()
    go = tmp_path / "go"
    settings = {"where": str(where), "dataset": dataset, "epsilon": 40, "state": str(state), "go": str(go), "attempts": 200}
    writers = [start_writer("race", who=who, **settings) for who in range(8)]
    while len(list(tmp_path.glob("go.*"))) < 8:
        assert all(writer.poll() is None for writer in writers)
        time.sleep(0.01)
    go.touch()
    assert sum(finish(writer)["granted"] for writer in writers) == 400
    with open_book(where, dataset=dataset, epsilon=40, state=state) as book:
        assert book.budget.exact["left"] == 0
        assert len(book.entries()) == 400
        assert book.verify()
        order = [int(entry.request.split("-")[0]) for entry in book.entries()]
    assert len(set(order)) == 8
    assert sum(one != other for one, other in pairwise(order)) > 0.6 * 399  # all but a few; in SQLite's own lock a third


def test_eight_processes_racing_for_400_grants_get_exactly_400_and_nobody_starves(tmp_path, state):
    race(str(tmp_path / "people.ledger"), "people", state, tmp_path)


def purse_race(where: str, dataset: str, state: Path, tmp_path: Path) -> None:
    """Six processes and two purses in a book that adds rho: each purse gives what it holds and not a grant more."""
    open_book(where, dataset=dataset, budget=Budget(**PURSES), state=state).close()
    go = tmp_path / "purse"
    settings = {"where": str(where), "dataset": dataset, "state": str(state), "go": str(go), "attempts": 20}
    writers = [start_writer("purses", who=who, **settings) for who in range(6)]
    while len(list(tmp_path.glob("purse.*"))) < 6:
        assert all(writer.poll() is None for writer in writers)
        time.sleep(0.01)
    go.touch()
    found = [finish(writer) for writer in writers]
    granted = {name: sum(one["granted"] for one in found if one["analyst"] == name) for name in ("amina", "bela")}
    assert granted == {"amina": 20, "bela": 10}
    with open_book(where, dataset=dataset, budget=Budget(**PURSES), state=state) as book:
        spent = {name: spent for name, (spent, _) in book.budget.analysts.items()}
        assert spent == {"amina": 2.0, "bela": 1.0}
        assert book.budget.tally.spent.loss <= book.budget.filter.cap.loss
        assert book.budget.tally.spent.loss == sum(entry.charged.loss for entry in book.entries())
        assert book.verify()


def test_purses_of_a_book_that_adds_rho_are_not_overspent_by_a_race(tmp_path, state):
    purse_race(str(tmp_path / "people.ledger"), "people", state, tmp_path)


def test_every_connection_is_durable_before_it_answers(tmp_path):
    store = SqliteStore(tmp_path / "people.ledger")
    connection = store._connect(make=True)
    told = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous", "fullfsync")}
    assert told == {"journal_mode": "wal", "synchronous": 2, "fullfsync": 1}
    connection.close()


def test_killed_at_every_step_the_book_tells_the_truth(tmp_path, state):
    told = finish(
        start_writer(
            "steps", where=str(tmp_path / "people.ledger"), dataset="people", state=str(state), log=str(tmp_path / "log"), rounds=9
        )
    )
    assert told == {"killed": 63}


def test_killed_at_100_random_moments_with_three_writers_nothing_acknowledged_is_lost(tmp_path, state):
    told = finish(start_writer("moments", folder=str(tmp_path), state=str(state), rounds=100, seed=20))
    assert told["kills"] == 300
    assert told["charged"] >= 50


def test_a_full_disk_refuses_cleanly_and_the_books_match_afterwards(tmp_path, state):
    told = finish(start_writer("file_limit", where=str(tmp_path / "people.ledger"), state=str(state)))
    assert told["code"] == "SRD-603"
    assert [code for _, code in told["again"]] == ["SRD-603"] * 3
    assert (told["late"], told["whole"]) == ("new", True)
    assert int(told["spent"]) == 5 + told["granted"] + 1


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "small"
    folder.mkdir()
    if (
        os.getuid()
        or subprocess.run(["mount", "-t", "tmpfs", "-o", "size=512k", "tmpfs", folder], check=False, capture_output=True).returncode
    ):
        pytest.skip("mounting a small disk needs root; the file-size limit above covers the refusal")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_disk_of_half_a_megabyte_fills_up_refuses_and_recovers(small_disk, state):
    with open_book(small_disk / "people.ledger", epsilon=1000) as book:
        requests = (f"r{turn}" for turn in range(5000))
        with pytest.raises(LedgerError) as refusal:
            any(book.charge(request, key(), TENTH).state != "new" for request in requests)
        granted = int(next(requests)[1:]) - 1
        assert refusal.value.code == "SRD-603"
        assert not refusal.value.spent
        assert book.budget.exact["spent"] == granted * Fraction(1, 10)
        assert book.charge("r0", key(), TENTH).state == "open"
        subprocess.run(["mount", "-o", "remount,size=4m", small_disk], check=True)
        assert book.charge("more", key(), TENTH).state == "new"
        assert len(book.entries()) == granted + 1
        assert book.verify()
    with open_book(small_disk / "people.ledger", epsilon=1000) as book:
        assert book.budget.exact["spent"] == (granted + 1) * Fraction(1, 10)


def test_a_full_disk_under_the_witness_refuses_the_opening(small_disk, tmp_path):
    (small_disk / "ballast").write_bytes(b"x" * (512 * 1024 - 4096))
    with pytest.raises(LedgerError) as refusal:
        open_book(tmp_path / "people.ledger", state=small_disk / "state")
    assert refusal.value.code == "SRD-603"
    (small_disk / "ballast").unlink()
    with open_book(tmp_path / "people.ledger", state=small_disk / "state") as book:
        assert book.charge("r", key(), TENTH).state == "new"


def test_a_file_nobody_may_write_refuses_cleanly(tmp_path, state):
    folder = tmp_path / "closed"
    folder.mkdir()
    for path in (tmp_path, *tmp_path.parents):
        if path == Path("/tmp"):
            break
        path.chmod(0o755)
    told = finish(start_writer("read_only", where=str(folder / "people.ledger"), state=str(state)))
    assert told == {"code": "SRD-603", "spent": False}
    folder.chmod(0o755)
    (folder / "people.ledger").chmod(0o644)
    with open_book(folder / "people.ledger", epsilon=100_000) as book:
        assert [entry.request for entry in book.entries()] == ["early"]


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(LedgerError, match="SRD-603"):
        open_book(tmp_path / "none" / "people.ledger")


def test_a_busy_ledger_is_refused_in_time_and_works_afterwards(tmp_path):
    import fcntl

    with open_book(tmp_path / "people.ledger", patience=2) as book:
        book.charge("r", key(), TENTH)
        holder = os.open(tmp_path / "people.ledger.lock", os.O_RDWR)
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(LedgerError) as refusal:
            book.charge("s", key(), TENTH)
        assert (refusal.value.code, "busy" in str(refusal.value)) == ("SRD-603", True)
        os.close(holder)
        assert book.charge("s", key(), TENTH).state == "new"
        assert book.budget.exact["spent"] == Fraction(1, 5)


def test_a_database_of_somebody_else_is_refused(tmp_path):
    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("CREATE TABLE t(x)")
    connection.commit()
    connection.close()
    with pytest.raises(LedgerError, match="SRD-604"):
        open_book(tmp_path / "other.db")


def test_an_answer_of_a_few_megabytes_comes_back_whole(tmp_path):
    answer = os.urandom(3_000_000)
    with open_book(tmp_path / "people.ledger") as book:
        book.seal(book.charge("r", key(), TENTH), answer)
        assert book.recall(key()) == [answer]
        assert book.verify()


def test_a_refused_file_is_left_as_it_was(tmp_path):
    path = tmp_path / "other.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t(x)")
    connection.commit()
    connection.close()
    before = path.read_bytes()
    store = SqliteStore(path)
    for attempt in (store.head, store.head, lambda: store.transact(lambda page: None), lambda: store.transact(lambda page: None)):
        with pytest.raises(LedgerError, match="SRD-604"):
            attempt()
    assert path.read_bytes() == before


def test_a_stamp_changes_with_every_charge_and_seal_of_anybody_and_with_nothing_else(tmp_path, state):
    where = str(tmp_path / "people.ledger")
    with open_book(where, epsilon=40, state=state) as ours, open_book(where, epsilon=40, state=state) as theirs:
        seen = [ours.stamp]
        for book in (ours, theirs):
            entry = book.charge(f"{id(book)}", key("q"), TENTH)
            seen.append(ours.stamp)
            book.seal(entry, b"{}")
            seen.append(ours.stamp)
        assert len(set(seen)) == 5
        assert ours.recall(key("q"))
        assert ours.find("nobody") is None
        assert ours.stamp == seen[-1], "who only reads changes nothing"
