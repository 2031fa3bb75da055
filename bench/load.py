"""How much of what one caller makes a server keeps, by processor seconds, whoever else is on the machine.

python bench/load.py [--asks 400] [--folder DIR]

Counts and medians, each fresh: one caller in one process; one server with 1, 8 and 32 clients; two workers with 32; deadlines at zero, and
once with the default deadlines against clients over the deadline. Recorded answers against a trivial request, in two histories.
"""

from __future__ import annotations

import argparse
import itertools
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from fractions import Fraction
from pathlib import Path

import duckdb

import sordino as sd
from server import DATASET, Analyst, at, everybody, verdict
from sordino.server.auth import Tokens
from sordino.server.datasets import PlannedQuestion

EACH = Fraction(1, 1000)
KINDS = {"count": "SELECT COUNT(*) AS n FROM t WHERE age < {}", "median": "SELECT MEDIAN(age) AS m FROM t WHERE age < {}"}
KEPT, SHARED, RECALL = 0.8, 1.6, 2.0  # of one caller; two workers of one; a recorded answer of a trivial request
TURNS = 4  # in which one worker and two are asked
TICKS = os.sysconf("SC_CLK_TCK")


def serve(file: str, workers: int, deadlines: bool) -> None:
    from functools import partial

    from sordino.cli.serve import _run, _write_log
    from sordino.server.app import ServerLimits, create_app

    _write_log(Path(file).with_suffix(".log"))
    limits = ServerLimits(rate=1e9, burst=1e9, deadline=None if deadlines else 0)
    made = partial(create_app, file, limits=limits, workers=workers)
    _run(made() if workers == 1 else made, "127.0.0.1", 0, "datasets", workers=workers)


class Running:
    """A server in processes of its own, and the processor seconds each has used."""

    def __init__(self, file: Path, workers: int = 1, *, deadlines: bool = False) -> None:
        command = [sys.executable, __file__, "--serve", str(file), "--workers", str(workers), *(["--deadlines"] if deadlines else [])]
        self.running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
        assert self.running.stderr is not None
        found = re.search(r"127\.0\.0\.1:(\d+)", self.running.stderr.readline())
        assert found
        self.port, self.workers = int(found[1]), workers
        while len(self.seconds()) < workers:  # the address is said before the workers begin
            time.sleep(0.05)

    def seconds(self) -> list[float]:
        """Of every process that answers."""
        parent = self.running.pid
        ids = [parent]
        if self.workers > 1:
            ids = [int(id) for id in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]
        stats = [Path(f"/proc/{id}/stat").read_text().rpartition(")")[2].split() for id in ids]
        return [(int(stat[11]) + int(stat[12])) / TICKS for stat in stats]

    def stop(self) -> None:
        self.running.send_signal(signal.SIGTERM)
        self.running.wait(60)
        assert self.running.stderr is not None
        self.running.stderr.close()


class Burst:
    """So many fresh releases by so many clients; how long they took and what they cost the servers."""

    def __init__(self, served: Running, tokens: list[str], kind: str, asks: int, keys: itertools.count[int]) -> None:
        self.served, self.kind, self.asks, self.keys = served, kind, asks, keys
        self.people = [Analyst(served.port, token) for token in tokens]
        self.waits: list[float] = []
        self.lock = threading.Lock()

    def work(self, who: int, person: Analyst) -> None:
        for turn in range(who, self.asks, len(self.people)):
            plan = PlannedQuestion("bench", KINDS[self.kind].format(10 + turn % 100)).id
            body = f'{{"epsilon": "{float(EACH)}", "fresh": true}}'
            status, answer, took = person.ask("POST", f"/v1/plans/{plan}/release", body, **{"Idempotency-Key": f"k{next(self.keys)}"})
            assert status == 200, answer
            with self.lock:
                self.waits.append(took)

    def run(self) -> tuple[float, list[float]]:
        """Releases a second, and processor seconds of each process."""
        before = self.served.seconds()
        took = everybody(self.people, self.work)
        return self.asks / took, [after - start for start, after in zip(before, self.served.seconds(), strict=True)]


def alone(file: Path, kind: str, asks: int) -> float:
    """Releases a processor second of one caller who has the library and no server."""
    with sd.open(file) as opened:
        asked = [opened.sql(KINDS[kind].format(10 + number)) for number in range(100)]
        for query in asked[:20]:
            query.release(epsilon=str(float(EACH)), fresh=True)
        begin = time.process_time()
        for number in range(asks):
            asked[number % 100].release(epsilon=str(float(EACH)), fresh=True)
        return asks / (time.process_time() - begin)


def recalled(served: Running, token: str, looks: int = 200) -> tuple[float, float]:
    """Median seconds of a recorded answer and of a trivial request."""
    person = Analyst(served.port, token)
    plan = PlannedQuestion("bench", KINDS["count"].format(11)).id
    body, found = f'{{"epsilon": "{float(EACH)}"}}', []
    assert person.ask("POST", f"/v1/plans/{plan}/release", body, **{"Idempotency-Key": "first"})[0] == 200
    for turn in range(looks):
        trivial = person.ask("GET", "/v1/datasets")[2]
        again = person.ask("POST", f"/v1/plans/{plan}/release", body, **{"Idempotency-Key": f"again{time.monotonic_ns()}-{turn}"})
        assert again[0] == 200
        found.append((again[2], trivial))
    middle = len(found) // 2
    return sorted(a for a, _ in found)[middle], sorted(b for _, b in found)[middle]


def dataset(folder: Path, name: str, cap: int = 10) -> Path:
    place = folder / name
    place.mkdir()
    duckdb.sql(f"COPY (SELECT CAST(i % 101 AS INTEGER) AS age FROM range(2000) t(i)) TO '{place / 'bench.parquet'}'")
    file = place / "bench.toml"
    file.write_text(DATASET.format(cap=cap), encoding="utf-8")
    return file


def shared(folder: Path, kind: str, asks: int, keys: itertools.count[int]) -> float:
    """What two workers make of one, by processor seconds of the busiest; both stand beside each other and are asked in turns, so that
    whatever else the machine does slows both. Every process has seen every question before."""
    held: list[tuple[Running, list[str], list[float]]] = []
    try:
        for workers in (1, 2):
            file = dataset(folder, f"{kind} beside {workers}")
            tokens = [Tokens.beside(file).add(f"analyst{number}") for number in range(32)]
            held.append((Running(file, workers), tokens, [0.0] * workers))
            Burst(held[-1][0], tokens, kind, 200 * workers, keys).run()
        for _ in range(TURNS):
            for served, tokens, used in held:
                _, more = Burst(served, tokens, kind, asks // TURNS, keys).run()
                used[:] = [a + b for a, b in zip(used, more, strict=True)]
    finally:
        for served, _, _ in held:
            served.stop()
    one, two = (max(used) for _, _, used in held)
    print(f"{kind}: processor seconds of one worker {one:.2f}, of each of two {', '.join(f'{u:.2f}' for u in held[1][2])}")
    return one / two


def checked(file: Path) -> None:
    """Nothing overspent, nothing charged twice."""
    with sd.open(file) as opened:
        exact, entries = opened.budget.exact["spent"], opened.ledger.entries()
    assert exact == EACH * len(entries), "overspent"
    assert len({entry.request for entry in entries}) == len(entries), "a request was charged twice"


def main(asks: int, folder: Path) -> bool:
    good, keys = True, itertools.count()
    for kind in KINDS:
        own = alone(dataset(folder, f"alone {kind}"), kind, asks)
        print(f"{kind}: one caller in one process makes {own:,.1f} a processor second")
        for clients, workers in ((1, 1), (8, 1), (32, 1), (32, 2)):
            file = dataset(folder, f"{kind} {clients} {workers}")
            tokens = [Tokens.beside(file).add(f"analyst{number}") for number in range(clients)]
            served = Running(file, workers)
            try:
                Burst(served, tokens, kind, 2 * clients + 20, keys).run()
                burst = Burst(served, tokens, kind, asks, keys)
                rate, used = burst.run()
            finally:
                served.stop()
            checked(file)
            able = asks / max(used)  # what it would make with a processor for each process
            words = f"{able:,.1f} a processor second of the busiest, {rate:,.1f} a second here"
            turn = clients / rate  # what each waits if everybody's turn comes evenly
            waits = f"p50 {at(burst.waits, 0.5)}, p99 {at(burst.waits, 0.99)}"
            ratios = ", ".join(f"{sorted(burst.waits)[int(share * (asks - 1))] / turn:.2f}" for share in (0.5, 0.99))
            print(
                f"{kind}: {clients} clients, {workers} worker(s): {words}, {waits}, {ratios} of an even turn; no error, overspent 0",
                flush=True,
            )
            if (clients, workers) == (32, 1):
                good &= able >= KEPT * own
                print(f"{kind}: the server makes {able / own:.2f} of one caller, {verdict(able >= KEPT * own)} (target {KEPT})")
        ratio = shared(folder, kind, asks, keys)
        good &= ratio >= SHARED
        print(f"{kind}: two workers make {ratio:.2f} of one, {verdict(ratio >= SHARED)} (target {SHARED})", flush=True)
    file = dataset(folder, "recall")
    token = Tokens.beside(file).add("amina")
    served = Running(file)
    try:
        for history in (0, asks):
            if history:
                Burst(served, [token], "count", history, keys).run()
            again, trivial = recalled(served, token)
            good &= again <= RECALL * trivial
            words = f"{again / trivial:.2f} of a trivial request ({1e3 * trivial:.1f} ms)"
            print(f"a recorded answer after {history:,} more charges takes {words}, {verdict(again <= RECALL * trivial)} (target {RECALL})")
    finally:
        served.stop()
    file = dataset(folder, "deadlines")
    tokens = [Tokens.beside(file).add(f"analyst{number}") for number in range(32)]
    served = Running(file, deadlines=True)
    try:
        rate, _ = Burst(served, tokens, "count", 32, keys).run()
    finally:
        served.stop()
    print(f"with default deadlines 32 clients make {rate:.1f} releases a second, {rate / 16:.2f} of clients over the deadline of 2 s")
    return good


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--asks", type=int, default=400)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--workers", type=int, default=1, help=argparse.SUPPRESS)
    parser.add_argument("--deadlines", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, given.workers, given.deadlines)
        sys.exit()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        os.environ["SORDINO_STATE"] = str(Path(name) / "state")
        sys.exit(not main(given.asks, Path(name)))
