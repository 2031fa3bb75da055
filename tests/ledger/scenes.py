"""What the ledger tests share: an opener, keys, a private PostgreSQL server, and writers that run in processes of their own."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from glob import glob
from hashlib import sha256
from pathlib import Path
from typing import Any

from sordino.errors import BudgetExceeded, LedgerError, ReleaseFailed
from sordino.ledger import Book, Budget, open_ledger
from sordino.privacy.cost import Cost

TENTH = Cost.laplace("0.1")
PURSES: dict[str, Any] = {"epsilon": 3, "delta": 1e-6, "accounting": "zcdp", "analysts": {"amina": 2, "bela": 1}}


def key(text: str = "question") -> bytes:
    return sha256(text.encode()).digest()


def open_book(where: Any, *, epsilon: Any = 1, dataset: str = "people", budget: Budget | None = None, **more: Any) -> Book:
    terms = {"relation": "add_remove", "unit": None, "version": "1"} | more
    return open_ledger(where, budget=budget or Budget(epsilon), dataset=dataset, **terms)


class Server:
    """One private PostgreSQL server on a Unix socket; it is ours alone and dies with the tests."""

    def __init__(self) -> None:
        on_path = shutil.which("postgres")
        programs = [*([str(Path(on_path).parent)] if on_path else []), *sorted(glob("/usr/lib/postgresql/*/bin"))]
        if not programs:
            raise FileNotFoundError("no PostgreSQL server is installed (apt-get install postgresql)")
        self.bin = Path(programs[-1])
        self.folder = Path(tempfile.mkdtemp(prefix="sordino-pg-"))
        self.user = "postgres" if os.getuid() == 0 else None  # the server refuses to run as root
        if self.user:
            shutil.chown(self.folder, self.user)
        data = self.folder / "data"
        subprocess.run(
            [self.bin / "initdb", "-D", data, "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C"],
            check=True, user=self.user, capture_output=True, cwd=self.folder,
        )  # fmt: skip
        self.address = f"postgresql://postgres@/postgres?host={self.folder}"
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    def start(self) -> None:
        import psycopg

        self.process = subprocess.Popen(
            [self.bin / "postgres", "-D", self.folder / "data", "-k", self.folder, "-c", "listen_addresses=", "-c", "shared_buffers=32MB"],
            user=self.user, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for _ in range(400):
            try:
                psycopg.connect(self.address).close()
                return
            except psycopg.OperationalError:
                time.sleep(0.05)
        raise RuntimeError("the private PostgreSQL server did not start")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        assert self.process is not None
        self.process.send_signal(how)
        self.process.wait(30)

    def close(self) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


def start_writer(name: str, **settings: Any) -> subprocess.Popen[str]:
    """Run one of the functions below in a process of its own."""
    command = [sys.executable, str(Path(__file__).with_name("writer.py")), name, json.dumps(settings)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})


def finish(process: subprocess.Popen[str], timeout: float = 300) -> Any:
    out, _ = process.communicate(timeout=timeout)
    assert process.returncode == 0, f"a writer ended with {process.returncode}"
    return json.loads(out)


def note(log: int, *words: str) -> None:
    os.write(log, (" ".join(words) + "\n").encode())


def spend(book: Book, request: str, log: int, cost: Cost = TENTH) -> str:
    """One release as a session does it, writing down what this caller was told and when."""
    note(log, "asked", request)
    try:
        entry = book.charge(request, key(request), cost)
    except BudgetExceeded:
        note(log, "refused", request)
        return "refused"
    except ReleaseFailed:
        note(log, "lost", request)
        return "lost"
    except LedgerError as error:
        note(log, "error", request, error.code)
        return "error"
    if entry.state != "new":
        note(log, entry.state, request)
        return entry.state
    note(log, "charged", request)
    answer = sha256(request.encode()).hexdigest()
    try:
        book.seal(entry, answer.encode())
    except ReleaseFailed:
        note(log, "unsealed", request)
        return "unsealed"
    note(log, "sealed", request, answer)
    return "sealed"


def check_promises(book: Book, log: Path, cost: Cost = TENTH) -> dict[str, int]:
    """What must hold whatever was killed: whoever was told "charged" is in the book once, and sealed answers are there to the byte."""
    told: dict[str, list[list[str]]] = {}
    for line in log.read_text().splitlines():
        word, request, *rest = line.split()
        told.setdefault(word, []).append([request, *rest])
    entries = {entry.request: entry for entry in book.entries()}
    charged = [request for request, *_ in told.get("charged", [])]
    assert len(set(charged)) == len(charged), "two callers were told that the same charge was theirs"
    assert set(charged) <= set(entries), "an acknowledged charge is gone"
    assert set(entries) <= {request for request, *_ in told.get("asked", [])}, "the book has a charge nobody asked for"
    assert {request for request, *_ in told.get("lost", [])} | set(charged) | {r for r, *_ in told.get("asked", [])} >= set(entries)
    for request, answer in told.get("sealed", []):
        assert entries[request].answer == answer.encode(), "a sealed answer changed"
    balance = book.budget
    assert balance.exact["spent"] == len(entries) * cost.epsilon, "the sum is not that of the entries"
    assert balance.exact["spent"] <= balance.exact["cap"], "more was spent than the cap"
    assert book.verify(), str(book.verify())
    return {"entries": len(entries), "charged": len(charged), "sealed": len(told.get("sealed", []))}
