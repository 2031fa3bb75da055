"""A book that was edited, cut or copied by a fork: it says so with a code, and hands nothing out."""

from __future__ import annotations

import logging
import multiprocessing
import random
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import sordino as sd
from sordino.errors import LedgerError, SordinoError

FLIPS = 120


def table(path: Any) -> Any:
    return sd.table({"x": [1, 2, 3] * 50}, bounds={"x": (0, 10)}, budget=sd.Budget(epsilon=100, delta=1e-6), ledger=path)


@pytest.fixture
def book(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SORDINO_STATE", str(tmp_path / "state"))
    path = tmp_path / "a.ledger"
    with table(path) as people:
        for least in range(6):
            people.where(f"x > {least}").count().release(epsilon=0.1)
        people.median("x").release(epsilon=1, request="median")
    return path


def test_one_bit_anywhere_is_noticed_or_matters_to_nothing(book: Path, tmp_path: Path) -> None:
    whole, rng, refused, codes = book.read_bytes(), random.Random(3), 0, set()
    shutil.copytree(tmp_path / "state", tmp_path / "kept")
    for _ in range(FLIPS):
        shutil.rmtree(tmp_path / "state")
        shutil.copytree(tmp_path / "kept", tmp_path / "state")
        for end in ("-wal", "-shm"):
            Path(f"{book}{end}").unlink(missing_ok=True)
        damaged = bytearray(whole)
        damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        book.write_bytes(damaged)
        try:
            with table(book) as people:
                for least in range(6):
                    people.where(f"x > {least}").count().release(epsilon=0.1)
                if not people.ledger.verify():
                    refused += 1
                    continue
                assert len(people.ledger.entries()) == 7
                people.sum("x").release(epsilon=0.1)
        except LedgerError as error:
            codes.add(error.code)
            refused += 1
    assert refused > FLIPS / 5
    assert codes <= {"SRD-601", "SRD-602", "SRD-604"}


def test_a_recorded_answer_that_was_edited_is_not_recalled(book: Path) -> None:
    with sqlite3.connect(book) as connection:
        rows = connection.execute("SELECT number, answer FROM entry WHERE answer IS NOT NULL").fetchall()
        for number, answer in rows:
            edited = answer.replace(b'"epsilon":"1', b'"epsilon":"9', 1)
            connection.execute("UPDATE entry SET answer = ? WHERE number = ?", (edited, number))
    connection.close()
    with table(book) as people:
        with pytest.raises(LedgerError, match="SRD-601"):
            people.median("x").release(epsilon=1)
        with pytest.raises(LedgerError, match="SRD-601"):
            people.median("x").release(epsilon=1, request="median", fresh=True)


def _spend(people: Any, out: Any) -> None:
    try:
        people.count().release(epsilon=50, fresh=True)
        out.put("spent")
    except SordinoError as error:
        out.put(f"{error.code} {error.fix}")


def test_a_book_in_memory_is_frozen_in_a_fork() -> None:
    logging.disable(logging.WARNING)
    context = multiprocessing.get_context("fork")
    try:
        with table(":memory:") as people:
            said = context.Queue()
            children = [context.Process(target=_spend, args=(people, said)) for _ in range(4)]
            for child in children:
                child.start()
            words = [said.get(timeout=60) for _ in children]
            for child in children:
                child.join(60)
            assert all(word.startswith("SRD-603") and "ledger= a path" in word for word in words), words
            assert people.budget.spent == 0
            people.count().release(epsilon=50)
    finally:
        logging.disable(logging.NOTSET)


def test_many_poor_counts_do_not_change_what_a_good_one_says() -> None:
    with sd.table({"x": [1] * 500}, bounds={"x": (0, 10)}, budget=sd.Budget(epsilon=100), ledger=":memory:") as people:
        people.count().release(epsilon=1)
        good = people.mean("x").priced(within=1).cost.epsilon
        for _ in range(20):
            people.count().release(epsilon="0.000001", fresh=True)
        assert people.mean("x").priced(within=1).cost.epsilon == pytest.approx(float(good), rel=0.05)
    with sd.table({"x": [1] * 500}, bounds={"x": (0, 10)}, budget=sd.Budget(epsilon=100), ledger=":memory:") as people:
        for _ in range(20):
            people.count().release(epsilon="0.000001", fresh=True)
        with pytest.raises(sd.errors.QueryError, match="size="):  # nothing is known of the rows, whichever count came out largest
            people.mean("x").release(within=1)
