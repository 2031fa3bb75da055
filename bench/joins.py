"""A join of visits and patients with its bounding, against the same join and the same bounding written by hand in DuckDB.

python bench/joins.py [visits]

By hand the key is text, as it is in a file: of a numpy array of text DuckDB makes an ENUM, whose hash is not the hash of the text,
so other rows would be kept. The same statements with the ENUM are measured beside.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np

import sordino as sd

ROWS, ROUNDS = 8, 12
STATEMENT = "SELECT p.sex, SUM(v.cost) AS s FROM visits v JOIN patients p ON v.patient_id = p.patient_id GROUP BY p.sex"
RANK = "CAST(hash(hash(CAST(17 AS UBIGINT), CAST(4 AS UBIGINT), CAST(u AS VARCHAR), k, q)) >> 32 AS UINTEGER)"
BY_HAND = (
    """CREATE OR REPLACE TEMP TABLE joined AS
        SELECT v.patient_id AS u, CAST(p.sex AS VARCHAR) AS k, greatest(0, least(1000, v.cost)) AS q
        FROM visits v JOIN patients p ON v.patient_id = p.patient_id
        WHERE p.sex IN ('f', 'm') AND v.patient_id IS NOT NULL""",
    f"""CREATE OR REPLACE TEMP TABLE bounded AS SELECT u, k, q FROM (
        SELECT u, k, q, row_number() OVER (PARTITION BY u ORDER BY {RANK}, k, q) AS place FROM joined) WHERE place <= {ROWS}""",
    "SELECT k, sum(q), count(*) FROM bounded GROUP BY k",
)
BY_ENUM = tuple(statement.replace("CAST(p.sex AS VARCHAR)", "p.sex") for statement in BY_HAND)


def main(visits: int) -> None:
    rng = np.random.default_rng(1)
    people = visits // 10
    patients = {"patient_id": np.arange(people), "sex": np.array(["f", "m"])[rng.integers(0, 2, people)]}
    seen = {"patient_id": rng.integers(0, people, visits), "cost": rng.integers(0, 1200, visits)}
    hospital = sd.dataset(
        {"patients": patients, "visits": seen}, person={"patients": "patient_id", "visits": "patient_id"},
        unique={"patients": ["patient_id"]}, columns={"cost": {"type": "int", "bounds": (0, 1000)}}, keys={"sex": ["f", "m"]},
        max_rows=ROWS, max_groups=2, max_rows_per_group=ROWS, budget=sd.Budget(epsilon=1000), ledger=":memory:",
    )  # fmt: skip
    ours, hand, other = list[tuple[float, float]](), list[tuple[float, float]](), list[tuple[float, float]]()
    with duckdb.connect(":memory:") as connection:
        connection.register("patients", patients)
        connection.register("visits", seen)

        def by_hand(statements: tuple[str, ...]) -> None:
            for statement in statements:
                connection.execute(statement).fetchall()

        for _ in range(ROUNDS):  # in turn, so that what else the machine does falls on all of them
            ours.append(_timed(lambda: hospital.sql(STATEMENT).release(epsilon=1, fresh=True)))
            hand.append(_timed(lambda: by_hand(BY_HAND)))
            other.append(_timed(lambda: by_hand(BY_ENUM)))
    for place, word in enumerate(("processor seconds", "seconds")):
        mine, theirs, enum = (min(one[place] for one in times) for times in (ours, hand, other))
        print(f"{visits:,} visits, {word}: ours {mine:.3f}, by hand {theirs:.3f}, ratio {mine / theirs:.2f}")
        print(f"  with an ENUM, which keeps other rows: {enum:.3f}, ratio {mine / enum:.2f}")


def _timed(run: Callable[[], Any]) -> tuple[float, float]:
    """Processor seconds of all threads, and seconds."""
    before, start = time.process_time(), time.perf_counter()
    run()
    return time.process_time() - before, time.perf_counter() - start


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
