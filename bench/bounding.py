"""What bounding costs beside the plain group-by, where few people exceed their limits and where many do, and how that grows.

    python bench/bounding.py [--rows 3000000 --rows 30000000] [--case few --case many --case most] [--repeats 3] [--json]

Parquet rows of a tenth as many people in 10,000 groups, ten rows a person on average. All is measured in turns in one run and given as a
ratio to `SELECT g, count(*), sum(v), avg(v) GROUP BY g`, in processor seconds, which other work on the machine moves less than seconds on
the wall; both are printed. few: 20 rows in 20 groups count, which 0.16% of people exceed. many: 10 groups of 10 rows, which 42% exceed.
most: 4 groups of 8 rows, which 97% exceed. Beside them what one hash aggregate by person costs, and ranking everybody in one sort, which is
what bounding was before people within their limits passed untouched.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path

import duckdb

from engine import many_rows
from sordino.engines import text as texts
from sordino.engines.source import open_source
from sordino.engines.text import Text
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.summaries.totals import Item, Totals

WHO, GROUP, VALUE = Column("person", "id"), Column("g", "int", bounds=(0, 9_999)), Column("v", "float", bounds=(0, 1_000))
ASKED = Totals((Item("rows"), Item("sum", "v")))
CASES = {"few": (20, 20, 20), "many": (100, 10, 10), "most": (32, 4, 8)}  # rows in all, groups, rows in a group
FEW, GROWTH = 13.0, 1.3


def query(text: str) -> None:
    with duckdb.connect() as connection:
        connection.execute("SET memory_limit = '3GB'")
        connection.execute("SET enable_progress_bar = false")
        connection.execute(text).fetchnumpy()


def bounded(path: Path, limits: tuple[int, int, int]) -> list[int]:
    rows, groups, each = limits
    unit = PrivacyUnit("person", max_rows=rows, max_groups=groups, max_rows_per_group=each)
    frame = Frame(unit, WHO, by=(GROUP,), columns=(VALUE,))
    with contextlib.closing(open_source(path, (WHO, GROUP, VALUE))) as engine, engine.bounded(frame, 17) as found:
        return [int(total) for values in found.ask(ASKED).values.values() for total in values]


def ranked(path: Path, limits: tuple[int, int, int]) -> list[int]:
    """The same rows, chosen by ranking everybody."""
    before = texts.LARGE, Text.bound
    Text.bound = lambda self, keep, number: keep("bounded", self.ranked(self.clipped())) or "bounded"  # type: ignore[method-assign]
    try:
        return bounded(path, limits)
    finally:
        texts.LARGE, Text.bound = before  # type: ignore[method-assign]


def timed(action: Callable[[], object]) -> tuple[float, float, object]:
    wall, processor = time.perf_counter(), time.process_time()
    found = action()
    return time.perf_counter() - wall, time.process_time() - processor, found


def ratios(rows: int, repeats: int, cases: dict[str, tuple[int, int, int]]) -> dict[str, float]:
    """The best of each, taking turns, against the best plain group-by."""
    with many_rows(rows, 10_000) as path:
        actions: dict[str, Callable[[], object]] = {
            "plain": lambda: query(f"SELECT g, count(*), sum(v), avg(v) FROM '{path}' GROUP BY g"),
            "one aggregate by person": lambda: query(f"SELECT max(n) FROM (SELECT person, count(*) AS n FROM '{path}' GROUP BY person)"),
        }
        for name, limits in cases.items():
            actions[name] = lambda limits=limits: bounded(path, limits)
            actions[f"{name}, everybody ranked"] = lambda limits=limits: ranked(path, limits)
        times: dict[str, list[tuple[float, float]]] = {name: [] for name in actions}
        for _ in range(repeats):
            answers = {}
            for name, action in actions.items():
                wall, processor, answers[name] = timed(action)
                times[name].append((wall, processor))
                print(f"{rows:,} rows, {name}: {wall:.2f} s, {processor:.2f} processor seconds", file=sys.stderr, flush=True)
            for name in cases:
                assert answers[name] == answers[f"{name}, everybody ranked"], name
    least = {name: [min(part) for part in zip(*measured, strict=True)] for name, measured in times.items()}
    found = {f"{rows:,} rows, plain, processor seconds": least["plain"][1]}
    for name in list(actions)[1:]:
        found[f"{rows:,} rows, {name}"] = least[name][1] / least["plain"][1]
        found[f"{rows:,} rows, {name}, on the wall"] = least[name][0] / least["plain"][0]
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, action="append")
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    sizes = options.rows or [3_000_000, 30_000_000]
    found: dict[str, float] = {}
    for rows in sizes:
        found |= ratios(rows, options.repeats, {name: CASES[name] for name in options.case or CASES})
    first, last = (f"{rows:,} rows, few" for rows in (sizes[0], sizes[-1]))
    missed = [name for name in (first, last) if found.get(name, 0) > FEW]
    if len(sizes) > 1 and first in found:
        found["growth of few"] = found[last] / found[first]
        alone = [found[f"{rows:,} rows, one aggregate by person"] for rows in (sizes[0], sizes[-1])]
        found["growth of one aggregate by person"] = alone[1] / alone[0]  # whoever bounds must count the rows of each person
        missed += ["growth of few"] * (found["growth of few"] > GROWTH)
    for name in (f"{rows:,} rows, many" for rows in sizes):
        slower = name in found and found[name] > 1.05 * found[f"{name}, everybody ranked"]  # a twentieth is within what runs differ by
        missed += [name] * slower
    if options.json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name:56s} {value:8.2f}{'   MISSED' if name in missed else ''}")
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
