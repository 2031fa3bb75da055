"""The server under 64 analysts who ask against a cap, killed and restarted in the middle: nothing is overspent, and how fast it is.

python bench/server.py [--asks 10000] [--analysts 64] [--folder DIR]
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import duckdb

import sordino as sd
from ledger import spends
from sordino.server.auth import Tokens
from sordino.server.datasets import PlannedQuestion

EACH, PAID = Fraction(1, 1000), 2_000
PATIENCE, SHARE = 0.1, 0.25  # seconds for a price list, 99 times in 100; of the ledger's own rate
LOOKS, EVERY = 150, 10  # price lists of each analyst before the load, and how many asks there are for one more
DATASET = """
[dataset]
format = 2
name = "bench"
ledger = "bench.ledger"
[privacy]
[budget]
epsilon = {cap}
[tables.t]
source = "bench.parquet"
size = 2_000
[tables.t.columns]
age = {{ type = "int", bounds = [0, 120] }}
"""


def serve(file: str, port: int) -> None:
    """The server as the command line starts it, without deadlines and without a limit on how often one may ask."""
    from sordino.cli.serve import _run, _write_log
    from sordino.server.app import ServerLimits, create_app

    _write_log(Path(file).with_suffix(".log"))
    _run(create_app(file, limits=ServerLimits(rate=1e9, burst=1e9, deadline=0)), "127.0.0.1", port, "datasets")


class Served:
    """A server in a process of its own that can be killed and comes back at the same place."""

    def __init__(self, file: Path) -> None:
        self.file, self.port = file, 0
        self.start()

    def start(self) -> None:
        command = [sys.executable, __file__, "--serve", str(self.file), "--port", str(self.port)]
        self.running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
        assert self.running.stderr is not None
        said = self.running.stderr.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)", said)
        assert found, said + self.running.stderr.read()
        self.port = int(found[1])

    def kill(self) -> None:
        self.running.send_signal(signal.SIGKILL)
        self.running.wait()

    def stop(self) -> None:
        self.running.terminate()
        self.running.wait(60)


class Analyst:
    """One connection that is kept, and how long its answers took. A broken one is opened again: the same key is charged once."""

    def __init__(self, port: int, token: str) -> None:
        self.line, self.token = http.client.HTTPConnection("127.0.0.1", port, timeout=120), token
        self.looks: list[float] = []

    def ask(self, method: str, path: str, body: str | None = None, **headers: str) -> tuple[int, bytes, float]:
        head = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **headers}
        while True:
            begin = time.perf_counter()
            try:
                self.line.request(method, path, body, head)
                answer = self.line.getresponse()
                return answer.status, answer.read(), time.perf_counter() - begin
            except (OSError, http.client.HTTPException):
                self.line.close()
                time.sleep(0.02)

    def look(self, number: int) -> None:
        status, _, took = self.ask("GET", f"/v1/plans/{question(number)}/preview")
        assert status == 200
        self.looks.append(took)

    def pay(self, number: int) -> tuple[int, bytes, float]:
        body = json.dumps({"epsilon": str(float(EACH)), "fresh": True})
        return self.ask("POST", f"/v1/plans/{question(number)}/release", body, **{"Idempotency-Key": f"k{number}"})


def question(number: int) -> str:
    return PlannedQuestion("bench", f"SELECT COUNT(*) AS n FROM t WHERE age < {10 + number % 100}").id


def everybody(people: list[Analyst], work: Callable[[int, Analyst], None]) -> float:
    threads = [threading.Thread(target=work, args=(who, person)) for who, person in enumerate(people)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begin


def at(waits: list[float], share: float) -> str:
    return f"{1e3 * sorted(waits)[int(share * (len(waits) - 1))]:.0f} ms"


class Load:
    """Every ask once, every answer kept; the server dies when half of the budget is spent."""

    def __init__(self, served: Served, people: list[Analyst], asks: int, paid: int) -> None:
        self.served, self.people, self.asks, self.half = served, people, asks, paid // 2
        self.lock, self.dying = threading.Lock(), threading.Event()
        self.fates: dict[int, tuple[int, bytes]] = {}
        self.waits: list[float] = []
        self.before = 0  # answers somebody held when the server died
        self.lived = 0.0
        self.again = 0  # answers that were asked for once more

    def work(self, who: int, person: Analyst) -> None:
        for turn in range(who, self.asks, len(self.people)):
            if turn // len(self.people) % EVERY == 0:
                person.look(turn)
            status, body, took = person.pay(turn)
            with self.lock:
                self.fates[turn] = status, body
                self.waits.append(took)
                paid = sum(1 for fate, _ in self.fates.values() if fate == 200) if not self.dying.is_set() else 0
            if paid >= self.half:
                self.dying.set()

    def run(self) -> float:
        killer = threading.Thread(target=self._kill, args=(time.perf_counter(),), daemon=True)
        killer.start()
        took = everybody(self.people, self.work)
        assert self.dying.is_set(), "the load was too small for a death in its middle"
        killer.join()
        return took

    def _kill(self, begin: float) -> None:
        self.dying.wait()
        with self.lock:
            self.before, self.lived = sum(fate == 200 for fate, _ in self.fates.values()), time.perf_counter() - begin
        self.served.kill()
        self.served.start()

    def check(self) -> Counter[str]:
        """What is promised about deaths: an answer that was seen comes back to the byte, a lost one says so, and nothing else happened."""
        person = Analyst(self.served.port, "")
        for turn, (status, body) in list(self.fates.items())[:: max(1, len(self.fates) // 400)]:
            person.token = self.people[turn % len(self.people)].token
            again = person.pay(turn)
            self.again += status != 402
            assert status == 402 or again[:2] == (status, body), "a repeat must be the same to the byte"
        words = {200: "paid", 402: "refused"}
        counted = Counter(words.get(status) or json.loads(body)["code"] for status, body in self.fates.values())
        assert set(counted) <= {"paid", "refused", "SRD-402"}, counted
        return counted


def in_process(folder: Path, seconds: float = 3.0) -> float:
    """Releases a second of the same questions by one caller who has the library and no server."""
    file = folder / "alone.toml"
    shutil.copy(folder / "bench.parquet", folder / "alone.parquet")  # data have one ledger
    file.write_text(DATASET.format(cap=1_000_000).replace("bench", "alone"), encoding="utf-8")
    with sd.open(file) as opened:
        asked = [opened.sql(PlannedQuestion.of(question(number)).sql) for number in range(100)]
        for query in asked:
            query.release(epsilon=str(float(EACH)), fresh=True)
        done, begin = 0, time.perf_counter()
        while time.perf_counter() < begin + seconds:
            asked[done % len(asked)].release(epsilon=str(float(EACH)), fresh=True)
            done += 1
        return done / (time.perf_counter() - begin)


def verdict(good: bool) -> str:
    return "reached" if good else "MISSED"


def main(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        os.environ["SORDINO_STATE"] = str(folder / "state")
        paid = min(PAID, options.asks // 2)
        duckdb.sql(f"COPY (SELECT CAST(i % 101 AS INTEGER) AS age FROM range(2000) t(i)) TO '{folder / 'bench.parquet'}'")
        file = folder / "bench.toml"
        file.write_text(DATASET.format(cap=float(EACH * paid)), encoding="utf-8")
        tokens = [Tokens.beside(file).add(f"analyst{i}") for i in range(options.analysts)]
        own, alone = spends(folder, 64, 3.0)["per_second"], in_process(folder)
        served = Served(file)
        try:
            people = [Analyst(served.port, token) for token in tokens]
            looking = everybody(people, lambda who, person: [person.look(who) for _ in range(LOOKS)] and None)
            first = [person.looks[0] for person in people]
            quiet = [took for person in people for took in person.looks]
            for person in people:
                person.looks.clear()
            load = Load(served, people, options.asks, paid)
            took = load.run()
            counted = load.check()
        finally:
            served.stop()
        with sd.open(file) as opened:
            spent, whole, entries = opened.budget.exact["spent"], bool(opened.ledger.verify()), opened.ledger.entries()
        assert whole
        assert len({entry.request for entry in entries}) == len(entries), "a request was charged twice"
        lost = [entry for entry in entries if entry.answer is None]
        assert spent == EACH * len(entries) <= EACH * paid, "overspent"
        assert len(entries) == counted["paid"] + counted["SRD-402"]
        assert len(lost) == counted["SRD-402"], "a sealed answer was lost"
        busy = [wait for person in people for wait in person.looks]
        print(
            f"{options.asks:,} asks by {options.analysts} analysts: {counted['paid']:,} paid, {counted['refused']:,} refused, overspent 0"
        )
        print(f"killed with -9 after {load.before:,} answers and restarted: {len(lost)} charged and lost, {load.again} repeats the same")
        print(f"asks a second {options.asks / took:,.0f}; release p50 {at(load.waits, 0.5)}, p99 {at(load.waits, 0.99)} (tick 0)")
        slow = sorted([*quiet, *busy])[int(0.99 * (len(quiet) + len(busy) - 1))]
        print(f"preview, the first of each question, all at once: p50 {at(first, 0.5)}, p99 {at(first, 0.99)}")
        print(f"preview, nobody pays: p50 {at(quiet, 0.5)}, p99 {at(quiet, 0.99)}, {len(quiet) / looking:,.0f} a second")
        print(f"preview, all of them pay meanwhile: p50 {at(busy, 0.5)}, p99 {at(busy, 0.99)}")
        print(f"preview, all together: p99 {1e3 * slow:.0f} ms, {verdict(slow < PATIENCE)} (target 100 ms)")
        rate = load.before / load.lived
        print(f"releases a second until it was killed {rate:,.0f}; the ledger alone, 64 writers: {own:,.0f} charges a second")
        print(f"that is {rate / own:.3f} of it, {verdict(rate >= SHARE * own)} (target {SHARE})")
        print(f"for comparison, of the ledger's rate: price lists from memory, no charge, no data {len(quiet) / looking / own:.3f}")
        print(f"one caller in one process without HTTP: {alone:,.0f} releases a second, so the server makes {rate / alone:.2f} of that")
        sys.exit(slow >= PATIENCE or rate < SHARE * own)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--asks", type=int, default=10_000)
    parser.add_argument("--analysts", type=int, default=64)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--serve", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, default=0, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, given.port)
    else:
        main(given)
