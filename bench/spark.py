"""What privacy costs on Spark: the bounded sums of 10,000 groups, beside the same bounded query written by hand.

    python bench/spark.py [--rows 10000000] [--repeats 2] [--json]

Both run in one local[2] session whose only process has a heap of 1 GB: the driver and two executor threads share it. The hand-written query
bounds by the same windows and sums doubles; it keeps nothing and draws nothing.
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
from engine import best, many_rows

GATES = {"against hand-written": 1.5, "driver GB": 1.0}
HEAP = "1g"


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


def groups(rows: int, repeats: int) -> dict[str, float]:
    from sordino.engines.spark import Spark
    from sordino.privacy.relation import PrivacyUnit
    from sordino.schema.column import Column
    from sordino.schema.frame import Frame
    from sordino.summaries.totals import Item, Totals

    unit, group, value = Column("person", "id"), Column("g", "int", bounds=(0, 9_999)), Column("v", "float", bounds=(0, 1_000))
    found: dict[str, float] = {}
    with many_rows(rows) as path, tempfile.TemporaryDirectory() as folder:
        spark = session(folder)
        engine = Spark(path, (unit, group, value))
        spark.sql(f"SELECT count(*) FROM parquet.`{path}`").collect()  # both find a warm machine
        for most_rows, most_groups in ((8, 4), (10, 10)):
            frame = Frame(PrivacyUnit("person", max_rows=most_rows, max_groups=most_groups), unit, by=(group,), columns=(value,))

            def ours(frame: Frame = frame) -> None:
                with engine.bounded(frame, 17) as bounded:
                    bounded.ask(Totals((Item("rows"), Item("sum", "v"))))

            def written(text: str = hand(path, most_rows, most_groups)) -> None:
                spark.sql(text).toArrow()

            plain, private = best(repeats, written, ours)
            name = f"{rows:,} rows, 10,000 groups, max_rows={most_rows}, max_groups={most_groups}"
            found |= {f"{name}, hand-written seconds": plain, f"{name}, seconds": private, f"{name}: against hand-written": private / plain}
        found["the driver's heap, GB"] = spark._jvm.java.lang.Runtime.getRuntime().maxMemory() / 2**30
        found["what Python held at most: driver GB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
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
            print(f"{name:78s} {value:8.3f}{'   over the gate' if name in missed else ''}")
    sys.exit(bool(missed))


if __name__ == "__main__":
    main()
