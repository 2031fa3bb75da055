"""How fast the engine bounds, totals and ranks, beside plain queries measured in the same run.

    python bench/engine.py [--only people|groups|median] [--repeats 2] [--json]

people: 80,000 rows of 20,000 people in 50 zip codes, medians of every zip. groups: 10 million rows, 10,000 groups, a million people,
against the same bounded query written by hand and against the plain group-by without any bounding; beside them what numbering the rows
of each person alone costs, which no bounding by ranks can do without. median: of 10 million doubles,
against numpy's partition.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from multiprocessing import get_context
from pathlib import Path

import duckdb
import numpy as np

from sordino.engines.source import open_source
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.summaries.totals import Item, Ranks, Totals

HALF = (Fraction(1, 2),)
GATES = {"groups against hand-written": 1.5, "groups against plain": 10.0, "groups GB": 2.0, "median against partition": 4.0}


def best(repeats: int, *actions: Callable[[], object]) -> list[float]:
    """The shortest run of each, taking turns: other work on the machine only ever adds time, and adds it to all."""
    times: list[list[float]] = [[] for _ in actions]
    for _ in range(repeats):
        for action, mine in zip(actions, times, strict=True):
            start = time.perf_counter()
            action()
            mine.append(time.perf_counter() - start)
    return [min(mine) for mine in times]


def people(repeats: int) -> dict[str, float]:
    rng = np.random.default_rng(1)
    rows = {
        "person": np.sort(rng.integers(0, 20_000, 80_000)),
        "zip": np.array([f"10{z:03d}" for z in rng.integers(0, 50, 80_000)]),
        "income": np.round(rng.lognormal(10, 1, 80_000)),
    }
    unit, income = Column("person", "id"), Column("income", "int", bounds=(0, 1_000_000))
    found = {}
    for name, keys in (("public", tuple(f"10{z:03d}" for z in range(50))), ("private", None)):
        place = Column("zip", "cat", keys=keys)
        frame = Frame(PrivacyUnit("person", max_rows=32, max_groups=4, max_rows_per_group=8), unit, by=(place,), columns=(income,))

        def run(place: Column = place, frame: Frame = frame) -> None:
            with contextlib.closing(open_source(rows, (unit, place, income))) as engine, engine.bounded(frame, 1) as bounded:
                list(bounded.ask(Ranks("income", HALF, 200)))

        found[f"people, {name} keys, seconds"] = best(repeats, run)[0]
    return found


@contextlib.contextmanager
def many_rows(n: int = 10_000_000, groups: int = 10_000, people: int | None = None) -> Iterator[Path]:
    """Rows of people in groups of very different sizes, ten rows a person unless said otherwise; made elsewhere, for memory is measured."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        child = get_context("spawn").Process(target=write_rows, args=(path, n, groups, people or max(n // 10, 1)))
        child.start()
        child.join()
        yield path


def write_rows(path: Path, n: int, groups: int, people: int) -> None:
    rng = np.random.default_rng(1)
    weights = np.arange(1, groups + 1) ** -0.5
    rows = {
        "person": rng.integers(0, people, n),
        "g": np.searchsorted(np.cumsum(weights / weights.sum()), rng.random(n)).clip(0, groups - 1),
        "v": np.minimum(rng.lognormal(3, 1, n), 1_000),
    }
    with duckdb.connect() as connection:
        connection.register("rows", rows)
        connection.execute(f"COPY rows TO '{path}' (FORMAT parquet)")


def peak_while(action: Callable[[], object]) -> float:
    """Gigabytes this process holds at most while the action runs in a fresh child."""
    child = os.fork()
    if child == 0:
        action()
        os._exit(0)
    _, _, usage = os.wait4(child, 0)
    return usage.ru_maxrss / 2**20


def groups(repeats: int) -> dict[str, float]:
    unit, group, value = Column("person", "id"), Column("g", "int", bounds=(0, 9_999)), Column("v", "float", bounds=(0, 1_000))
    items = (Item("rows"), Item("sum", "v"))
    found = {}
    with many_rows() as path:
        plain = f"SELECT g, count(*), sum(v), avg(v) FROM '{path}' GROUP BY g"
        place = "row_number() OVER (PARTITION BY person::UBIGINT ORDER BY (hash(person, g) >> 32)::UINTEGER)"
        number = f"SELECT g, count(*), sum(v), avg(v) FROM (SELECT g, v, {place} AS r FROM '{path}') WHERE r <= {{}} GROUP BY g"

        def query(text: str) -> None:
            with duckdb.connect() as connection:
                connection.execute("SET memory_limit = '3GB'")
                connection.execute(text).fetchnumpy()

        for rows, most in ((8, 4), (1, 10), (10, 10)):
            hand = f"""SELECT g, count(*), sum(v), avg(v) FROM (SELECT g, v,
                row_number() OVER (PARTITION BY person, g ORDER BY hash(17, person, g, v)) AS r,
                dense_rank() OVER (PARTITION BY person ORDER BY hash(17, person, g)) AS place
                FROM '{path}' WHERE person IS NOT NULL) WHERE place <= {most} AND r <= {rows} GROUP BY g"""
            person = PrivacyUnit("person", max_rows=rows * most, max_groups=most, max_rows_per_group=rows)
            frame = Frame(person, unit, by=(group,), columns=(value,))

            def ours(frame: Frame = frame, memory: str = "3GB") -> None:
                with (
                    contextlib.closing(open_source(path, (unit, group, value), memory=memory)) as engine,
                    engine.bounded(frame, 17) as bounded,
                ):
                    bounded.ask(Totals(items))

            name = f"groups, max_rows={rows}, max_groups={most}"
            numbered = number.format(rows * most)
            actions = (lambda hand=hand: query(hand), ours, lambda: query(plain), lambda numbered=numbered: query(numbered))
            written, bounded, bare, alone = best(repeats, *actions)
            found |= {f"{name}, seconds": bounded, f"{name}, hand-written seconds": written, f"{name}, plain group-by seconds": bare}
            found[f"{name}: one sort by person against plain"] = alone / bare
            found |= {
                f"{name}: groups against hand-written": bounded / written,
                f"{name}: groups against plain": bounded / bare,
            }
            found[f"{name}: groups GB"] = peak_while(ours)
    return found


def median(repeats: int) -> dict[str, float]:
    values = np.random.default_rng(1).lognormal(3, 1, 10_000_000)
    column = Column("v", "float", bounds=(0, 1_000))
    frame = Frame(PrivacyUnit(), columns=(column,))

    def run() -> None:
        with contextlib.closing(open_source({"v": values}, (column,))) as engine, engine.bounded(frame, 1) as bounded:
            list(bounded.ask(Ranks("v", HALF, 1_000)))

    ours, numpy = best(repeats, run, lambda: np.partition(values, len(values) // 2))
    return {"median, seconds": ours, "partition, seconds": numpy, "median against partition": ours / numpy}


def report(words: str | None, parts: Sequence[Callable[[int], dict[str, float]]], gates: dict[str, float], repeats: int = 2) -> None:
    """The command line of a bench with parts: their figures, and exit code 1 if one is over its gate."""
    parser = argparse.ArgumentParser(description=words, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=[part.__name__ for part in parts])
    parser.add_argument("--repeats", type=int, default=repeats)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    found: dict[str, float] = {}
    for part in parts:
        if options.only in (None, part.__name__):
            found |= part(options.repeats)
    missed = [name for name, value in found.items() for gate, limit in gates.items() if name.endswith(gate) and value >= limit]
    if options.json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name:62s} {value:8.3f}{'   MISSED' if name in missed else ''}")
    sys.exit(bool(missed))


if __name__ == "__main__":
    report(__doc__, (people, median, groups), GATES)
