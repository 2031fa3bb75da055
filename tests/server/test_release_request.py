"""A release on its way: it holds a place to compute, steps aside while it waits, and is never locked out by slow ones."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from sordino.errors import LedgerError
from sordino.privacy.cost import Cost
from sordino.server import deadline
from sordino.server.deadline import Timed

from .hall import Still


class Book:
    """A book that looks how many places are free while it is asked."""

    def __init__(self, slots):
        self.slots, self.seen = slots, []

    def look(self):
        free = self.slots.acquire(blocking=False)
        self.seen.append(free)
        if free:
            self.slots.release()

    def charge(self, *_):
        self.look()
        return SimpleNamespace(state="new")

    def find(self, _):
        self.look()

    def seal(self, *_):
        self.look()
        raise LedgerError("SRD-603", "the disk is full.")


def test_whoever_waits_for_the_book_makes_room():
    slots, clock = threading.Semaphore(1), Still()
    book = Book(slots)
    timed = Timed(book, clock, slots, deadline=1.0)
    with timed.compute():
        assert not slots.acquire(blocking=False)
        timed.find("k")  # a look into the book takes no longer than stepping aside
        entry = timed.charge("k", b"key", Cost.pure(1))
        with pytest.raises(LedgerError):
            timed.seal(entry, b"answer")
        assert not slots.acquire(blocking=False), "back at work"
    assert book.seen == [False, True, True]
    assert clock.now() == 1.0
    assert slots.acquire(blocking=False)
    assert not slots.acquire(blocking=False), "every place was given back once"


def test_slow_releases_do_not_lock_quick_ones_out(monkeypatch):
    monkeypatch.setattr(deadline, "CROWDED", 0.01)
    slots = threading.Semaphore(1)
    slots.acquire()  # somebody slow
    timed = Timed(Book(slots), Still(), slots, deadline=1.0)
    with timed.compute():
        assert not timed.computing
        timed.find("k")
    slots.release()
    assert slots.acquire(blocking=False)
    assert not slots.acquire(blocking=False), "a place that was never held is not given back"
