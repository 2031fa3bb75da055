"""How long a release takes from source to answer, through the same door as a user's.

    python bench/tables.py [--only people|groups] [--repeats 3] [--json]

people: 80,000 rows of 20,000 people in 50 zip codes; open the table and release the median income of every zip. groups: 10 million rows of
a million people in 10,000 groups; count, sum and mean, against the same bounded query written by hand and run in the same database.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import duckdb
import numpy as np

import sordino as sd
from engine import best, many_rows, peak_while, report

GATES = {"public keys, seconds": 0.5, "private keys, seconds": 1.0, "against hand-written": 1.5, "GB": 2.0}


def people(repeats: int) -> dict[str, float]:
    rng = np.random.default_rng(1)
    rows = {
        "person": np.sort(rng.integers(0, 20_000, 80_000)),
        "zip": np.array([f"10{z:03d}" for z in rng.integers(0, 50, 80_000)]),
        "income": np.round(rng.lognormal(10, 1, 80_000)),
    }
    limits = {"unit": "person", "max_rows": 32, "max_groups": 4, "max_rows_per_group": 8}
    words = {**limits, "bounds": {"income": (0, 1_000_000)}, "ledger": ":memory:"}

    def run(**keys: object) -> None:
        with sd.table(rows, **words, **keys, budget=sd.Budget(epsilon=3, delta=1e-6)) as table:
            assert len(table.group_by("zip").median("income").release(epsilon=1).keys["zip"]) == 50

    public, private = best(repeats, lambda: run(keys={"zip": [f"10{z:03d}" for z in range(50)]}), run)
    return {"people, public keys, seconds": public, "people, private keys, seconds": private}


def groups(repeats: int) -> dict[str, float]:
    found: dict[str, float] = {}
    with many_rows() as path, tempfile.TemporaryDirectory() as state:
        os.environ["SORDINO_STATE"] = state
        for rows, most in ((8, 4), (10, 10)):
            hand = f"""SELECT g, count(*), sum(v), avg(v) FROM (SELECT g, v,
                row_number() OVER (PARTITION BY person, g ORDER BY hash(17, person, g, v)) AS r,
                dense_rank() OVER (PARTITION BY person ORDER BY hash(17, person, g)) AS place
                FROM '{path}' WHERE person IS NOT NULL) WHERE place <= {most} AND r <= {rows} GROUP BY g"""

            def written(hand: str = hand) -> None:
                with duckdb.connect() as connection:
                    connection.execute("SET memory_limit = '3GB'")
                    connection.execute(hand).fetchnumpy()

            def ours(path: Path = path, rows: int = rows, most: int = most) -> None:
                with sd.table(
                    path,
                    unit="person", max_rows=rows * most, max_groups=most, max_rows_per_group=rows,
                    bounds={"v": (0, 1_000)}, keys={"g": list(range(10_000))},
                    budget=sd.Budget(epsilon=3), ledger=":memory:",
                ) as table:  # fmt: skip
                    asked = table.group_by("g").agg(n=sd.count(), total=sd.sum("v"), average=sd.mean("v"))
                    assert len(asked.release(epsilon=1).to_dict()["n"]) == 10_000

            name = f"groups, max_rows={rows}, max_groups={most}"
            by_hand, released = best(repeats, written, ours)
            found |= {f"{name}, seconds": released, f"{name}, hand-written seconds": by_hand}
            found |= {f"{name}: against hand-written": released / by_hand, f"{name}: GB": peak_while(ours)}
    return found


if __name__ == "__main__":
    report(__doc__, (people, groups), GATES, repeats=3)
