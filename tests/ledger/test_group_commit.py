"""Group commit: together when there is company, alone when not, and nobody sleeps for ever."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from itertools import count

import pytest

from sordino.errors import BudgetExceeded, LedgerError
from sordino.ledger import transaction
from sordino.ledger.transaction import GroupCommit


def until(condition, seconds=20):
    """Wait for another thread, however busy the machine is."""
    ends = time.monotonic() + seconds
    while not condition() and time.monotonic() < ends:
        time.sleep(0.005)
    return condition()


def ride_all(line, wishes):
    results: dict[object, object] = {}

    def ride(wish):
        try:
            results[wish] = line.ride(wish)
        except Exception as error:
            results[wish] = error

    for wish in wishes:
        threading.Thread(target=ride, args=(wish,), daemon=True).start()
    until(lambda: len(results) == len(wishes))
    return results


def test_those_who_wait_ride_together():
    sizes = []

    def commit(take):
        until(lambda: len(line._waiting) + sum(sizes) == 40)
        tickets = take()
        sizes.append(len(tickets))
        for ticket in tickets:
            ticket.result = ticket.wish * 2

    line = GroupCommit(commit, patience=10)
    assert ride_all(line, range(40)) == {wish: wish * 2 for wish in range(40)}
    assert sizes == [40]


def test_a_failed_commit_is_told_to_everybody_in_it_and_the_next_one_is_new():
    fail = [True]

    def commit(take):
        take()
        if fail[0]:
            raise LedgerError("SRD-603", "the disk is full.", reason="x")

    line = GroupCommit(commit, patience=20)
    told = ride_all(line, range(8))
    assert {type(news) for news in told.values()} == {LedgerError}
    assert len({id(news) for news in told.values()}) == 8
    fail[0] = False
    assert line.ride("again") is None


def test_a_refusal_reaches_only_its_own_caller():
    def commit(take):
        for ticket in take():
            if ticket.wish % 2:
                ticket.error = BudgetExceeded("SRD-301", "no.")

    told = ride_all(GroupCommit(commit, patience=10), range(10))
    assert [isinstance(told[wish], BudgetExceeded) for wish in range(10)] == [bool(wish % 2) for wish in range(10)]


def test_a_line_that_does_not_move_is_left_in_time_and_nothing_is_spent():
    release, served = threading.Event(), []

    def commit(take):
        release.wait(10)
        served.extend(ticket.wish for ticket in take())

    line = GroupCommit(commit, patience=0.1)
    told = ride_all(line, ["a", "b"])
    assert [news.code for news in told.values()] == ["SRD-603", "SRD-603"]
    release.set()
    line._patience = 20
    assert line.ride("c") is None
    assert served == ["c"]


def test_whoever_is_already_in_a_transaction_waits_for_its_end():
    def commit(take):
        tickets = take()
        time.sleep(2)
        for ticket in tickets:
            ticket.result = "done"

    assert GroupCommit(commit, patience=1).ride("a") == "done"


def test_a_broken_chain_of_wakings_is_mended(monkeypatch):
    """If the first sleeper never passes the word on, the driver does."""
    called = count(1)

    def commit(take):
        until(lambda: len(line._waiting) == 12)
        assert len(take()) == 12

    def deaf(self):
        if next(called) != 2:
            real(self)

    real = transaction.Ticket.wake
    monkeypatch.setattr(transaction.Ticket, "wake", deaf)
    line = GroupCommit(commit, patience=20)
    assert ride_all(line, range(12)) == dict.fromkeys(range(12))


def test_an_idle_driver_goes_home_and_a_forgotten_line_is_collected(monkeypatch):
    monkeypatch.setattr(transaction, "IDLE", 0.05)
    line = GroupCommit(lambda take: [None for _ in take()] and None, patience=5)
    for _ in range(3):
        line.ride("x")
        assert until(lambda line=line: line._driver is None)
    ghost = weakref.ref(line)
    del line
    assert until(lambda: gc.collect() >= 0 and ghost() is None)


def test_many_riders_over_many_rounds_are_all_served():
    served = [0]

    def commit(take):
        served[0] += len(take())

    line = GroupCommit(commit, patience=10)
    threads = [threading.Thread(target=lambda: [line.ride(1) for _ in range(100)]) for _ in range(24)]
    [thread.start() for thread in threads]
    [thread.join(120) for thread in threads]
    assert served[0] == 2400


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError()])
def test_even_a_strange_failure_wakes_everybody(error):
    def commit(take):
        take()
        raise error

    with pytest.raises(type(error)):
        GroupCommit(commit, patience=5).ride("x")
