"""How many durable charges a second, beside the machine's raw fsync rate measured in the same run.

python bench/ledger.py [--seconds 3] [--folder DIR] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import threading
import time
from hashlib import sha256
from pathlib import Path

from sordino.ledger import Book, Budget, open_ledger
from sordino.privacy.cost import Cost

TARGET = 3.0  # 64 writers of one process against raw fsync


def raw_fsync(folder: Path, seconds: float) -> float:
    """Appends of one page, each followed by fsync: what a ledger without group commit could at best do."""
    descriptor = os.open(folder / "raw", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    page, count, start = b"x" * 4096, 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        os.write(descriptor, page)
        os.fsync(descriptor)
        count += 1
    elapsed = time.perf_counter() - start
    os.close(descriptor)
    return count / elapsed


def spends(folder: Path, writers: int, seconds: float) -> dict[str, float]:
    """Charges a second by this many threads on one ledger, and how long one charge waited."""
    book: Book = open_ledger(
        folder / f"{writers}.ledger", budget=Budget(1_000_000), relation="add_remove", unit=None, dataset="bench", state=folder / "state"
    )
    cost, waits, go, stop = Cost.laplace("0.001"), [[] for _ in range(writers)], threading.Barrier(writers + 1), threading.Event()

    def write(who: int) -> None:
        mine, turn = waits[who], 0
        go.wait()
        while not stop.is_set():
            start = time.perf_counter()
            book.charge(f"{who}-{turn}", sha256(b"%d-%d" % (who, turn)).digest(), cost)
            mine.append(time.perf_counter() - start)
            turn += 1

    threads = [threading.Thread(target=write, args=(who,)) for who in range(writers)]
    for thread in threads:
        thread.start()
    go.wait()
    start = time.perf_counter()
    time.sleep(seconds)
    stop.set()
    for thread in threads:
        thread.join()
    elapsed = time.perf_counter() - start
    every = sorted(wait for mine in waits for wait in mine)
    assert book.budget.exact["spent"] * 1000 == len(every), "a charge was lost or doubled"
    assert book.verify(), "the chain is broken"
    book.close()
    p99 = every[int(0.99 * len(every))]
    return {"writers": writers, "per_second": len(every) / elapsed, "p50_ms": 1e3 * statistics.median(every), "p99_ms": 1e3 * p99}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = Path(name)
        runs, rates = [], [raw_fsync(folder, options.seconds / 3)]
        for writers in (1, 8, 64):  # a shared disk changes its mind from second to second, so each run has the raw rate on both sides
            runs.append(spends(folder, writers, options.seconds))
            rates.append(raw_fsync(folder, options.seconds / 3))
            runs[-1]["ratio"] = 2 * runs[-1]["per_second"] / (rates[-2] + rates[-1])
        raw = statistics.mean(rates)
    if options.json:
        print(json.dumps({"raw_fsync_per_second": raw, "runs": runs, "target": TARGET}))
        return
    print(f"raw fsync (append one page)   {raw:9.0f} /s")
    for run in runs:
        print(
            f"{run['writers']:3d} writers, one process     {run['per_second']:9.0f} charges/s   {run['ratio']:5.2f} x raw fsync"
            f"   p50 {run['p50_ms']:.2f} ms   p99 {run['p99_ms']:.2f} ms"
        )
    verdict = "reached" if runs[-1]["ratio"] >= TARGET else "NOT reached"
    print(f"group commit at 64 writers: {runs[-1]['ratio']:.2f} x raw fsync, {verdict} (target {TARGET:g} x)")


if __name__ == "__main__":
    main()
