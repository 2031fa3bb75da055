"""How cost grows with rows, groups, people and the width of a window; and, on paper, what a trillion rows cost on a cluster.

    python bench/scale.py [--most 10000000] [--repeats 2] [--no-spark] [--page docs/scale.md]

--page puts the tables into that page, between its two marks; nothing there is typed. What reaches the driver is counted as it arrives.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from engine import many_rows
from sordino.engines.answer import EngineAnswer
from sordino.engines.source import open_source
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.summaries.totals import Item, Ranks, Totals

BEGIN, END = "<!-- measured -->", "<!-- end of what was measured -->"
TOTALS = Totals((Item("rows"), Item("sum", "v")))
UNIT, VALUE = Column("person", "id"), Column("v", "float", bounds=(0, 1_000))
WIDTH = 24  # bytes of a clipped row: a unit, a key, an integer


@dataclass(frozen=True)
class Cost:
    """Seconds on the clock, seconds of processors, and bytes that reached the driver."""

    clock: float
    processor: float
    arrived: int


def frame(groups: int, *, rows: int = 8, most: int = 4) -> Frame:
    by = (Column("g", "int", bounds=(0, groups - 1)),) if groups > 1 else ()
    return Frame(PrivacyUnit("person", max_rows=rows * most, max_groups=most, max_rows_per_group=rows), UNIT, by=by, columns=(VALUE,))


@contextlib.contextmanager
def arrivals() -> Iterator[list[int]]:
    """The size of every answer a database gives, while the block runs."""
    sizes: list[int] = []
    fetch = EngineAnswer._fetch

    def counted(self: EngineAnswer, statement: str) -> dict[str, Any]:
        found = fetch(self, statement)
        sizes.append(sum(values.nbytes for values in found.values()))
        return found

    EngineAnswer._fetch = counted  # type: ignore[method-assign]
    try:
        yield sizes
    finally:
        EngineAnswer._fetch = fetch  # type: ignore[method-assign]


def cost(engine: Any, asked: Frame, request: Any, processor: Callable[[], float], repeats: int) -> Cost:
    """The cheapest of several runs: other work on the machine only ever adds."""
    runs = []
    for salt in range(repeats):
        with arrivals() as sizes:
            clock, used = time.perf_counter(), processor()
            with engine.bounded(asked, salt) as bounded:
                answer = bounded.ask(request)
                if isinstance(request, Ranks):
                    for _ in answer:
                        pass
            runs.append(Cost(time.perf_counter() - clock, processor() - used, sum(sizes)))
    return min(runs, key=lambda run: run.processor)


def duckdb(n: int, groups: int, people: int, request: Any, repeats: int, **limits: int) -> Cost:
    with many_rows(n, groups, people) as path, open_source(path, (UNIT, Column("g", "int", bounds=(0, groups)), VALUE)) as engine:
        return cost(engine, frame(groups, **limits), request, time.process_time, repeats)


def table(title: str, head: str, rows: list[tuple[str, Cost]]) -> list[str]:
    lines = [f"**{title}**", "", f"| {head} | seconds | processor seconds | to the driver |", "|---:|---:|---:|---:|"]
    lines += [f"| {label} | {run.clock:.2f} | {run.processor:.2f} | {size(run.arrived)} |" for label, run in rows]
    return [*lines, ""]


def size(count: float) -> str:
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if count < 1_000 or unit == "TB":
            return f"{count:.3g} {unit}"
        count /= 1_000
    raise AssertionError


def short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def growth(most: int, repeats: int) -> list[str]:
    """Each quantity by itself, the others as they are in the middle of the table."""
    n, usual = min(most, 1_000_000), 1_000
    lines: list[str] = []
    steps = [most // 100, most // 10, most]
    found = [(f"{rows:,}", duckdb(rows, usual, rows // 10, TOTALS, repeats)) for rows in steps]
    lines += table(f"Rows: counts and sums of {usual:,} groups, ten rows a person", "rows", found)
    found = [(f"{g:,}", duckdb(n, g, n // 10, TOTALS, repeats)) for g in (1, 100, 10_000, 100_000)]
    lines += table(f"Groups: the same of {n:,} rows", "groups", found)
    found = [(f"{p:,}", duckdb(n, usual, p, TOTALS, repeats)) for p in (1_000, 100_000, 1_000_000)]
    lines += table(f"People: {n:,} rows, {usual:,} groups", "people", found)
    windows = [(k, Ranks("v", (Fraction(1, 2),), k)) for k in (10, 100, 1_000, 10_000, 100_000)]
    tall = min(most, 4_000_000)  # more than is read at once
    found = [(f"{k:,}", duckdb(tall, 1, tall, window, repeats, rows=1, most=1)) for k, window in windows]
    return lines + table(f"Window: the 2K + 1 ranks around the median of {tall:,} rows", "K", found)


def spark(most: int, repeats: int) -> tuple[list[str], float]:
    """Bounded sums on two local threads, and the processor seconds one more million rows take there."""
    from sordino.engines.spark import Spark
    from spark import session

    with tempfile.TemporaryDirectory() as folder:
        os.environ.pop("PYSPARK_SUBMIT_ARGS", None)
        running = session(folder)
        machine = running.sparkContext._gateway.proc.pid
        found: list[tuple[str, Cost]] = []
        steps = (min(most, 2_000_000) // 10, min(most, 2_000_000))
        for rows in (steps[0], *steps):  # the first one warms the machine
            with many_rows(rows, 10_000) as path:
                engine = Spark(path, (UNIT, Column("g", "int", bounds=(0, 9_999)), VALUE))
                found.append((f"{rows:,}", cost(engine, frame(10_000), TOTALS, lambda: used_by(machine), repeats)))
        running.stop()
    first, last = found[1][1], found[-1][1]
    slope = (last.processor - first.processor) / ((steps[-1] - steps[0]) / 1e6)
    return table("Spark, local[2]: counts and sums of 10,000 groups", "rows", found[1:]), slope


def used_by(process: int) -> float:
    """Processor seconds of a process and of those it started."""
    total = 0.0
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if process in (int(entry.name), int(fields[1])):
                total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def paper(slope: float) -> list[str]:
    """Linear in rows: a sort costs the logarithm of a task's rows for each of them, and a larger table has more tasks, not larger ones."""
    lines = [
        f"One million more rows took {slope:.2f} processor seconds on Spark above. A larger table has more tasks, not larger ones, so a",
        f"cluster does that much for every million rows. A clipped row has {WIDTH} bytes, and the sort moves each one once.",
        "",
        "| rows | core hours | moved between machines | minutes on 1,000 cores |",
        "|---:|---:|---:|---:|",
    ]
    for power in (7, 9, 10, 11, 12):
        seconds = slope * 10**power / 1e6
        lines.append(f"| 10^{power} | {short(seconds / 3600)} | {size(WIDTH * 10.0**power)} | {short(seconds / 60_000)} |")
    lines += ["", "| what reaches the driver, however many rows | bytes | for 10,000 groups, K = 1,000 |", "|---|---|---:|"]
    groups, k = 10_000, 1_000
    for what, formula, count in (
        ("a count and a sum", "groups x (key + 8 + 8)", groups * 24),
        ("products of d = 10 terms (`Gram`)", "groups x (key + 16 d (d + 1) / 2)", groups * (8 + 16 * 55)),
        ("one gradient of d = 10 terms", "groups x (key + 16 d)", groups * (8 + 160)),
        ("a window of ranks", "groups x (2K + 2) x 24, at most 24 MB at a time", groups * (2 * k + 2) * 24),
        ("a window of one group of any size", "histograms of 4,096 cells, then 2K + 2 ranks", 5 * 4_096 * 16 + (2 * k + 2) * 8),
    ):
        lines.append(f"| {what} | {formula} | {size(count)} |")
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=1_000_000, help="rows of the largest table")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--no-spark", action="store_true")
    parser.add_argument("--page", type=Path, help="write the tables into this page")
    options = parser.parse_args()
    where = f"{os.cpu_count()} processors ({platform.machine()}), {platform.system()}, Python {platform.python_version()}"
    command = f"python bench/scale.py --most {options.most} --repeats {options.repeats} --page docs/scale.md"
    lines = [f"Measured by `{command}` on {where}. DuckDB unless another engine is named.", ""]
    lines += growth(options.most, options.repeats)
    if not options.no_spark:
        more, slope = spark(options.most, options.repeats)
        lines += [*more, "### On paper: to a trillion rows", "", *paper(slope)]
    text = "\n".join(lines)
    print(text)
    if options.page:
        page = options.page.read_text(encoding="utf-8")
        before, after = page.split(BEGIN)[0], page.split(END)[1]
        options.page.write_text(f"{before}{BEGIN}\n\n{text}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
