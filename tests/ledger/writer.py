"""Writers in processes of their own, and the killing of them. Run by the tests: python writer.py NAME '{"setting": ...}'."""

from __future__ import annotations

import json
import os
import random
import resource
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from ledger.scenes import PURSES, TENTH, check_promises, key, open_book, spend
from sordino.errors import BudgetExceeded, LedgerError
from sordino.ledger import Book, Budget, place, postgres_store, sqlite_store
from sordino.privacy.cost import Cost


def die(*_: Any, **__: Any) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def race(*, where: str, dataset: str, epsilon: int, state: str, go: str, who: int, attempts: int) -> dict[str, Any]:
    """Ask for grants as fast as possible and say how many came."""
    book = open_book(where, dataset=dataset, epsilon=epsilon, state=state)
    Path(f"{go}.{who}").touch()
    while not Path(go).exists():
        time.sleep(0.002)
    granted = 0
    for turn in range(attempts):
        with suppress(BudgetExceeded):
            granted += book.charge(f"{who}-{turn}", key(f"{who}-{turn}"), TENTH).state == "new"
    book.close()
    return {"granted": granted}


def purses(*, where: str, dataset: str, state: str, go: str, who: int, attempts: int) -> dict[str, Any]:
    """Spend from the purse of one of two analysts as fast as possible, in a book that adds rho."""
    book = open_book(where, dataset=dataset, budget=Budget(**PURSES), state=state)
    Path(f"{go}.{who}").touch()
    while not Path(go).exists():
        time.sleep(0.002)
    granted, analyst = 0, ("amina", "bela")[who % 2]
    for turn in range(attempts):
        with suppress(BudgetExceeded):
            granted += book.charge(f"{who}-{turn}", key(f"{who}-{turn}"), TENTH, analyst).state == "new"
    book.close()
    return {"analyst": analyst, "granted": granted}


def load(*, where: str, dataset: str, epsilon: int, state: str, log: str, who: int, go: str) -> dict[str, Any]:
    """Spend until told to go, whatever happens to the server meanwhile."""
    book = open_book(where, dataset=dataset, epsilon=epsilon, state=state)
    note = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    outcomes: dict[str, int] = {}
    turn = 0
    while not Path(go).exists():
        outcome = spend(book, f"{who}-{turn}", note)
        outcomes[outcome] = outcomes.get(outcome, 0) + 1
        turn += 1
    book.close()
    return outcomes


def _fork(work: Any) -> int:
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(0)
    return child


STEPS = ("before charge", "inside charge", "before witness", "after charge", "after compute", "inside seal", "after seal")


def steps(where: str, dataset: str, state: str, log: str, rounds: int) -> dict[str, Any]:
    """Die by kill -9 at every step of a release, look at the book afterwards, and repeat the request."""
    note = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    store_page = postgres_store.PostgresPage if where.startswith("postgres") else sqlite_store.SqlitePage
    append, killed, cost = store_page.append, 0, Cost.laplace("0.1")

    def die_after_append(self: Any, *given: Any) -> None:
        append(self, *given)
        die()

    def release(step: str, request: str) -> None:
        book = open_book(where, dataset=dataset, epsilon=1000, state=state)
        os.write(note, f"asked {request}\n".encode())
        if step == "before charge":
            die()
        if step == "inside charge":
            store_page.append = die_after_append  # type: ignore[method-assign]
        if step == "before witness":
            place.WitnessFile.write = die  # type: ignore[method-assign]
        entry = book.charge(request, key(request), cost)
        os.write(note, f"charged {request}\n".encode())
        if step == "after charge":
            die()
        answer = b"answer to " + request.encode()
        if step == "after compute":
            die()
        if step == "inside seal":
            store_page.append = die_after_append  # type: ignore[method-assign]
        book.seal(entry, answer)
        die()

    for turn in range(rounds):
        for step in STEPS:
            request = f"{step.replace(' ', '-')}-{turn}"
            child = _fork(lambda step=step, request=request: release(step, request))
            _, status = os.waitpid(child, 0)
            assert os.WIFSIGNALED(status), f"{step}: not killed"
            assert os.WTERMSIG(status) == signal.SIGKILL, f"{step}: not killed"
            killed += 1
            with open_book(where, dataset=dataset, epsilon=1000, state=state) as book:
                spent = {entry.request for entry in book.entries()}
                assert (request in spent) == (step not in ("before charge", "inside charge")), f"{step}: spent is wrong"
                check_promises(book, Path(log), cost)
                if request in spent:
                    before = book.budget.exact["spent"]
                    again = book.charge(request, key(request), cost)
                    assert again.state == ("sealed" if step == "after seal" else "open"), f"{step}: {again.state}"
                    assert again.answer == (b"answer to " + request.encode() if step == "after seal" else None)
                    assert book.budget.exact["spent"] == before
    return {"killed": killed}


def moments(folder: str, state: str, rounds: int, seed: int) -> dict[str, Any]:
    """Kill three writers at a random moment, again and again, and look at the book each time."""
    chance, totals = random.Random(seed), {"kills": 0, "entries": 0, "charged": 0, "sealed": 0}
    for turn in range(rounds):
        place = Path(folder) / f"{turn // 10}.ledger"
        log = Path(folder) / f"{turn // 10}.log"
        note = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

        def write(who: int, turn: int = turn, place: Path = place, note: int = note) -> None:
            book = open_book(place, epsilon=100_000, state=state)
            for count in range(1_000_000):
                spend(book, f"{turn}-{who}-{count}", note)

        before = log.stat().st_size
        children = [_fork(lambda who=who: write(who)) for who in range(3)]
        patience = time.monotonic() + 60
        awaited = (b"", b"asked", b"charged", b"charged")[turn % 4]  # they may be opening, at the first charge, or at work
        while awaited not in log.read_bytes()[before:] and time.monotonic() < patience:
            time.sleep(0.001)  # however slow the disk
        time.sleep(chance.uniform(0.0, 0.08))
        for child in chance.sample(children, 3):
            os.kill(child, signal.SIGKILL)
        for child in children:
            os.waitpid(child, 0)
        with open_book(place, epsilon=100_000, state=state) as book:
            found = check_promises(book, log)
        os.close(note)
        totals["kills"] += 3
        if turn % 10 == 9:
            for word in ("entries", "charged", "sealed"):
                totals[word] += found[word]
    return totals


def _spend_until_refused(book: Book, name: str, limit: int) -> tuple[int, str]:
    for turn in range(limit):
        try:
            book.charge(f"{name}-{turn}", key(name), TENTH)
        except LedgerError as error:
            return turn, error.code
    return limit, "never"


def file_limit(where: str, state: str) -> dict[str, Any]:
    """No file may grow beyond a limit: the disk is full for this process only."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    book = open_book(where, epsilon=100_000, state=state)
    for turn in range(5):
        book.charge(f"early-{turn}", key("early"), TENTH)
    size = os.path.getsize(f"{where}-wal")
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 20_000, resource.RLIM_INFINITY))
    granted, code = _spend_until_refused(book, "filling", 500)
    again = [_spend_until_refused(book, f"full-{turn}", 1) for turn in range(3)]
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    late = book.charge("late", key("late"), TENTH)
    spent = str(book.budget.exact["spent"] * 10)
    whole = bool(book.verify())
    book.close()
    return {"granted": granted, "code": code, "again": again, "late": late.state, "spent": spent, "whole": whole}


def read_only(where: str, state: str) -> dict[str, Any]:
    """Give up the right to write, then try to spend."""
    with open_book(where, epsilon=100_000, state=state) as book:
        book.charge("early", key("early"), TENTH)
    os.chmod(where, 0o444)
    os.chmod(Path(where).parent, 0o555)
    if os.getuid() == 0:
        os.chmod(state, 0o755)
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)
    assert sqlite_store is not None
    try:
        with open_book(where, epsilon=100_000, state=state) as book:
            book.charge("late", key("late"), TENTH)
    except LedgerError as error:
        return {"code": error.code, "spent": error.spent}
    return {"code": "none"}


if __name__ == "__main__":
    chosen = {f.__name__: f for f in (race, purses, load, steps, moments, file_limit, read_only)}[sys.argv[1]]
    print(json.dumps(chosen(**json.loads(sys.argv[2]))))
