"""Processor seconds of group-by releases by two trees of the source, taking turns in one run.

    python bench/groups_speed.py --before FOLDER [--rows 300000] [--turns 3] [--json]

FOLDER holds an earlier tree: `git archive COMMIT src | tar x -C FOLDER`. Each turn is a process of its own that opens the same Parquet
file with the package of one tree, asks every question once to warm up, then again, and reports processor seconds of all threads; of all
turns the least counts, and the ratio is after to before. Rows of a tenth as many people, in 200 groups, ten rows and ten groups of a
person count.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PRICE = {"epsilon": "1", "delta": "1e-6", "fresh": True}
AGAIN = 3


def questions(table: Any) -> dict[str, Callable[[], Any]]:
    listed, private = table.group_by("g"), table.group_by("name")
    return {
        "count, listed keys": listed.count,
        "sum, listed keys": lambda: listed.sum("v"),
        "mean, listed keys": lambda: listed.mean("v"),
        "median, listed keys": lambda: listed.median("v"),
        "count, private keys": private.count,
        "sum, private keys": lambda: private.sum("v"),
        "people, private keys": private.count_units,
        "median, private keys": lambda: private.median("v"),
    }


def measured(path: str) -> dict[str, float]:
    """The least processor seconds of each question, with the package that is imported here."""
    import sordino as sd

    limits = {"max_rows": 10, "max_groups": 10, "max_rows_per_group": 1}
    facts = {"keys": {"g": list(range(200))}, "bounds": {"v": (0, 1_000)}, "columns": {"name": "cat", "g": "int"}}
    out = {}
    budget = sd.Budget(epsilon=10**6, delta=0.01)
    with sd.table(path, unit="person", budget=budget, ledger=":memory:", **limits, **facts) as table:
        for label, asked in questions(table).items():
            times = []
            for _ in range(1 + AGAIN):
                start = time.process_time()
                asked().release(**PRICE)
                times.append(time.process_time() - start)
            out[label] = min(times[1:])
    return out


def compared(before: Path, rows: int, turns: int) -> dict[str, tuple[float, float]]:
    """Seconds before and after, question by question."""
    import duckdb

    found: dict[str, list[dict[str, float]]] = {"before": [], "after": []}
    path = Path(os.environ.get("TMPDIR", "/tmp")) / f"groups-{os.getpid()}.parquet"
    made = f"SELECT hash(i) % {rows // 10} AS person, CAST(hash(i, 1) % 200 AS INT) AS g, 'key ' || (hash(i, 2) % 200) AS name"
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({made}, CAST(hash(i, 3) % 1001 AS DOUBLE) AS v FROM range({rows}) AS r(i)) TO '{path}'")
    try:
        for _ in range(turns):
            for side, source in (("before", before / "src"), ("after", HERE.parent / "src")):
                command = [sys.executable, str(Path(__file__)), "--one", str(path)]
                ran = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, "PYTHONPATH": str(source)})
                found[side].append(json.loads(ran.stdout.strip().splitlines()[-1]))
    finally:
        path.unlink()
    return {label: tuple(min(turn[label] for turn in found[side]) for side in ("before", "after")) for label in found["before"][0]}  # type: ignore[misc]


def lines(before: Path, rows: int, turns: int) -> list[str]:
    out = ["| release by group | before | after | ratio |", "|---|---|---|---|"]
    for label, (old, new) in compared(before, rows, turns).items():
        out.append(f"| {label} | {old:.3f} | {new:.3f} | {new / old:.2f} |")
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--one", help="a file to measure with the package imported here")
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(measured(asked.one)))
        return
    if asked.before is None:
        parser.error("--before names the folder of an earlier tree")
    print("\n".join(lines(asked.before, asked.rows, asked.turns)))


if __name__ == "__main__":
    main()
