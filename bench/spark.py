"""What privacy costs on Spark: counts and sums of 10,000 groups released, beside the same bounded query written by hand.

    python bench/spark.py [--rows 10000000] [--repeats 2] [--json]

Both run in one local[2] session whose only Java process holds the driver and two executor threads. The hand-written query bounds by the
same windows and sums doubles; it keeps nothing and draws nothing. Ours is a whole release of a table: rehearsal, charge, look, noise, seal.
Driver memory is the limit of the Java heap plus what the Python process held at most.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
import sordino as sd
from engine import best, many_rows

GATES = {"against hand-written": 1.5, "driver GB": 1.0}
HEAP = "768m"
GROUPS = 10_000
LIMITS = ((8, 4), (10, 10))  # rows of a person in a group, groups of a person


def session(folder: str) -> Any:
    from pyspark.sql import SparkSession

    settings = {
        "spark.master": "local[2]",
        "spark.driver.memory": HEAP,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": folder,
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.sql.shuffle.partitions": "8",
    }
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    found = builder.getOrCreate()
    found.sparkContext.setLogLevel("ERROR")
    return found


def hand(path: Path, rows: int, most: int) -> str:
    return f"""SELECT g, count(*) AS n, sum(v) AS total FROM (SELECT g, v,
        row_number() OVER (PARTITION BY person, g ORDER BY xxhash64(17, person, g, v)) AS r FROM (SELECT person, g, v,
        dense_rank() OVER (PARTITION BY person ORDER BY xxhash64(17, person, g), g) AS place
        FROM parquet.`{path}` WHERE person IS NOT NULL) WHERE place <= {most}) WHERE r <= {rows} GROUP BY g"""


def release(path: Path, rows: int, most: int) -> None:
    limits = {"unit": "person", "max_rows": rows * most, "max_groups": most, "max_rows_per_group": rows}
    facts = {**limits, "bounds": {"v": (0, 1_000)}, "keys": {"g": list(range(GROUPS))}}
    with sd.table(path, **facts, budget=sd.Budget(epsilon=1), ledger=":memory:", engine="spark") as table:
        found = table.group_by("g").agg(n=sd.count(), total=sd.sum("v")).release(epsilon=1)
        assert len(found.to_dict()["n"]) == GROUPS


def groups(rows: int, repeats: int) -> dict[str, float]:
    found: dict[str, float] = {}
    with many_rows(rows, GROUPS) as path, many_rows(rows // 20, GROUPS) as few, tempfile.TemporaryDirectory() as folder:
        spark = session(folder)
        for limits in LIMITS:
            release(few, *limits)  # both find a warm machine
            spark.sql(hand(few, *limits)).toArrow()
            private, plain = best(
                repeats, lambda limits=limits: release(path, *limits), lambda limits=limits: spark.sql(hand(path, *limits)).toArrow()
            )
            most_rows, most_groups = limits
            name = f"{rows:,} rows, 10,000 groups, max_rows={most_rows}, max_groups={most_groups}"
            found |= {f"{name}, hand-written seconds": plain, f"{name}, seconds": private, f"{name}: against hand-written": private / plain}
        heap = spark._jvm.java.lang.Runtime.getRuntime().maxMemory() / 2**30
        held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        found |= {"the limit of the driver's heap, GB": heap, "what Python held at most, GB": held, "together: driver GB": heap + held}
        spark.stop()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.environ.pop("PYSPARK_SUBMIT_ARGS", None)
    found = groups(options.rows, options.repeats)
    missed = [name for name, value in found.items() for gate, limit in GATES.items() if name.endswith(gate) and value >= limit]
    if options.json:
        print(json.dumps(found))
    else:
        for name, value in found.items():
            print(f"{name:82s} {value:8.3f}{'   MISSED' if name in missed else ''}")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
