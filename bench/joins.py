"""A join of visits and patients with its bounding, against the same join and the same bounding written by hand in DuckDB.

python bench/joins.py [visits]
"""

from __future__ import annotations

import sys
import time

import duckdb
import numpy as np

import sordino as sd

ROWS = 8
STATEMENT = "SELECT p.sex, SUM(v.cost) AS s FROM visits v JOIN patients p ON v.patient_id = p.patient_id GROUP BY p.sex"
RANK = "CAST(hash(hash(CAST(17 AS UBIGINT), CAST(4 AS UBIGINT), CAST(u AS VARCHAR), k, q)) >> 32 AS UINTEGER)"
BY_HAND = (
    """CREATE OR REPLACE TEMP TABLE joined AS
        SELECT v.patient_id AS u, p.sex AS k, greatest(0, least(1000, v.cost)) AS q
        FROM visits v JOIN patients p ON v.patient_id = p.patient_id
        WHERE p.sex IN ('f', 'm') AND v.patient_id IS NOT NULL""",
    f"""CREATE OR REPLACE TEMP TABLE bounded AS SELECT u, k, q FROM (
        SELECT u, k, q, row_number() OVER (PARTITION BY u ORDER BY {RANK}, k, q) AS place FROM joined) WHERE place <= {ROWS}""",
    "SELECT k, sum(q), count(*) FROM bounded GROUP BY k",
)


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
    ours = []
    for _ in range(5):
        start = time.perf_counter()
        hospital.sql(STATEMENT).release(epsilon=1, fresh=True)
        ours.append(time.perf_counter() - start)
    hand = []
    with duckdb.connect(":memory:") as connection:
        connection.register("patients", patients)
        connection.register("visits", seen)
        for _ in range(5):
            start = time.perf_counter()
            for statement in BY_HAND:
                connection.execute(statement).fetchall()
            hand.append(time.perf_counter() - start)
    print(f"{visits:,} visits: ours {min(ours):.3f} s, by hand {min(hand):.3f} s, ratio {min(ours) / min(hand):.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
