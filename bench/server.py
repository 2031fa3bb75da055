"""The server under 64 analysts who ask against a cap: nothing is overspent, and how fast it is beside its own ledger.

python bench/server.py [--asks 10000] [--analysts 64] [--folder DIR]
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

import sordino as sd
from ledger import spends
from sordino.server.plan import Plan
from sordino.server.token import Tokens

EACH, PAID, PATIENCE = Fraction(1, 1000), 2_000, 0.1
DATASET = """
[dataset]
name = "bench"
ledger = "bench.ledger"
[privacy]
[budget]
epsilon = {cap}
[tables.t]
source = "bench.csv"
size = 2_000
[tables.t.columns]
age = {{ type = "int", bounds = [0, 120] }}
[server]
tick_ms = 10
"""
RUN = "from sordino.cli import main; raise SystemExit(main())"


def start(file: Path) -> tuple[subprocess.Popen[str], str]:
    command = [sys.executable, "-c", RUN, "serve", str(file), "--port", "0", "--log", str(file.with_suffix(".log"))]
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=dict(os.environ))
    assert running.stderr is not None
    found = re.search(r"127\.0\.0\.1:\d+", running.stderr.readline())
    assert found
    return running, found[0]


class Analyst:
    """One connection that is kept, and how long its answers took."""

    def __init__(self, place: str, token: str) -> None:
        self.line, self.token = http.client.HTTPConnection(place, timeout=120), token
        self.waits: dict[str, list[float]] = {"preview": [], "release": []}

    def ask(self, kind: str, method: str, path: str, body: str | None = None, **headers: str) -> tuple[int, bytes]:
        head = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json", **headers}
        while True:
            begin = time.perf_counter()
            try:
                self.line.request(method, path, body, head)
                answer = self.line.getresponse()
                content = answer.read()
            except (ConnectionError, http.client.RemoteDisconnected):  # an idle line was closed; the same key is charged once
                self.line.close()
                continue
            if answer.status != 429:
                self.waits[kind].append(time.perf_counter() - begin)
                return answer.status, content
            time.sleep(0.05)


def question(number: int) -> str:
    return Plan("bench", f"SELECT COUNT(*) AS n FROM t WHERE age < {1 + number % 110} AND age > -{number // 110}").id


def everybody(people: list[Analyst], work: object) -> float:
    threads = [threading.Thread(target=work, args=(who, person)) for who, person in enumerate(people)]  # type: ignore[arg-type]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begin


def p99(waits: list[float]) -> float:
    return sorted(waits)[int(0.99 * (len(waits) - 1))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--asks", type=int, default=10_000)
    parser.add_argument("--analysts", type=int, default=64)
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        os.environ["SORDINO_STATE"] = str(folder / "state")
        paid = min(PAID, options.asks // 2)
        (folder / "bench.csv").write_text("age\n" + "".join(f"{i % 101}\n" for i in range(2_000)), encoding="utf-8")
        file = folder / "bench.toml"
        file.write_text(DATASET.format(cap=float(EACH * paid)), encoding="utf-8")
        tokens = [Tokens.beside(file).add(f"analyst{i}") for i in range(options.analysts)]
        own = spends(folder, 64, 3.0)["per_second"]
        running, place = start(file)
        try:
            people = [Analyst(place, token) for token in tokens]

            def look(who: int, person: Analyst) -> None:
                for _ in range(40):
                    person.ask("preview", "GET", f"/v1/plans/{question(who)}/preview")

            previews = everybody(people[:8], look)
            seen: Counter[int] = Counter()
            lock = threading.Lock()
            first: list[float] = []

            def spend(who: int, person: Analyst) -> None:
                for turn in range(who, options.asks, options.analysts):
                    body = json.dumps({"epsilon": str(float(EACH))})
                    path, key = f"/v1/plans/{question(turn)}/release", {"Idempotency-Key": f"k{turn}"}
                    status, _ = person.ask("release", "POST", path, body, **key)
                    with lock:
                        seen[status] += 1
                        if status == 402 and not first:
                            first.append(time.perf_counter())

            begin = time.perf_counter()
            took = everybody(people, spend)
        finally:
            running.terminate()
            running.wait(60)
        with sd.open(file) as opened:
            spent, whole = opened.budget.exact["spent"], bool(opened.ledger.verify())
        waits = sorted(wait for person in people for wait in person.waits["release"])
        slow = p99([wait for person in people[:8] for wait in person.waits["preview"]])
        rate = seen[200] / ((first[0] if first else begin + took) - begin)
        assert whole
        assert set(seen) <= {200, 402}, seen
        assert spent == EACH * seen[200] <= EACH * paid, "overspent"
        print(f"{options.asks:,} asks by {options.analysts} analysts: {seen[200]:,} paid, {seen[402]:,} refused, overspent 0")
        print(f"asks a second {options.asks / took:,.0f}; releases a second while the budget lasts {rate:,.0f}")
        print(f"release: p50 {1e3 * waits[len(waits) // 2]:.0f} ms, p99 {1e3 * p99(waits):.0f} ms (tick 10 ms)")
        said = "reached" if slow < PATIENCE else "missed"
        print(f"preview, 8 analysts: p99 {1e3 * slow:.0f} ms, {said} (target 100 ms); {320 / previews:,.0f} /s")
        said = "reached" if rate >= 0.25 * own else "missed"
        print(f"ledger alone, 64 writers: {own:,.0f} charges/s; the server reaches {rate / own:.3f} of it, {said} (target 0.25)")


if __name__ == "__main__":
    main()
