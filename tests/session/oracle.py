"""A small hospital in Sordino and in a plain database: the same statement is asked of both, without noise to speak of."""

from __future__ import annotations

import datetime as dt
import math
import random
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb

import sordino as sd
from sordino.engines.source import read_public
from sordino.schema.declaration import declare

EPSILON = 1_000_000
NULL = None
DAY = dt.date(2020, 1, 1)
BOUNDS = {"income": (0, 100_000), "score": (-2.5, 2.5)}
COLUMNS: dict[str, Any] = {
    "age": {"type": "int", "bounds": (0, 100)},
    "price": {"type": "decimal(8,2)", "bounds": (0, 500)},
    "born": {"type": "date", "bounds": ("1950-01-01", "2009-12-31")},
    "seen": {"type": "timestamp", "bounds": ("2020-01-01", "2020-12-31 23:59:59")},
    "ok": "bool",
    "region": {"type": "int", "bounds": (0, 9), "keys": [0, 1, 2, 3]},
}
KEYS = {"sex": ["f", "m"]}
REGIONS = "region,name,beds,rate\n0,north,10,0.50\n1,south,20,1.25\n2,south,,2.00\n7,east,40,9.99\n"
PUBLIC = {
    "region": {"type": "int", "bounds": (0, 9)},
    "name": {"type": "cat", "values": ["north", "south", "east"]},
    "beds": {"type": "int", "bounds": (0, 100)},
    "rate": {"type": "decimal(6,2)", "bounds": (0, 10)},
}
TYPES = {
    "person": "VARCHAR", "sex": "VARCHAR", "income": "DOUBLE", "score": "DOUBLE", "age": "BIGINT", "price": "DECIMAL(8,2)", "born": "DATE",
    "seen": "TIMESTAMP", "ok": "BOOLEAN", "region": "BIGINT",
}  # fmt: skip


def rows(number: int = 401, seed: int = 3) -> dict[str, list[Any]]:
    """Nulls, ties, values at and beyond the bounds, days and moments, exact decimals."""
    dice = random.Random(seed)

    def often(value: Any) -> Any:
        return NULL if dice.random() < 0.06 else value

    return {
        "person": [f"p{dice.randrange(150)}" for _ in range(number)],
        "sex": [often(dice.choice("ffmmx")) for _ in range(number)],
        "income": [often(dice.choice([round(dice.lognormvariate(10, 1), 2), 30_000.0, -5.0, 1e9])) for _ in range(number)],
        "score": [often(dice.choice([dice.gauss(0, 1), 0.0, 1.5])) for _ in range(number)],
        "age": [often(dice.choice([dice.randrange(0, 95), 40, 140])) for _ in range(number)],
        "price": [often(Decimal(dice.randrange(0, 60_000)) / 100) for _ in range(number)],
        "born": [often(dt.date(1950, 1, 1) + dt.timedelta(days=dice.randrange(0, 21_900))) for _ in range(number)],
        "seen": [often(dt.datetime(2020, 1, 1) + dt.timedelta(seconds=dice.randrange(0, 31_622_400))) for _ in range(number)],
        "ok": [often(dice.random() < 0.4) for _ in range(number)],
        "region": [often(dice.choice([0, 0, 1, 2, 3, 7])) for _ in range(number)],
    }


def clamp(name: str, value: Any) -> Any:
    limits = BOUNDS.get(name) or COLUMNS.get(name, {}).get("bounds") if isinstance(COLUMNS.get(name, {}), dict) else None
    if value is None or limits is None or name == "region":  # a group column is compared as it is
        return value
    low, high = limits
    if isinstance(value, dt.datetime):
        low, high = dt.datetime.fromisoformat(low), dt.datetime.fromisoformat(high)
    elif isinstance(value, dt.date):
        low, high = dt.date.fromisoformat(low), dt.date.fromisoformat(high)
    return max(type(value)(low) if isinstance(value, float | Decimal) else low, min(high, value))


def database(data: dict[str, list[Any]], regions: Path) -> duckdb.DuckDBPyConnection:
    """The clamped rows as a database would hold them; a division by zero is null there too."""
    base = duckdb.connect()
    base.execute("SET error_on_division_by_zero = false")
    base.execute("SET ieee_floating_point_ops = false")
    base.execute("SET TimeZone = 'UTC'")
    base.execute(f"CREATE TABLE t ({', '.join(f'{name} {kind}' for name, kind in TYPES.items())})")
    marks = ", ".join("?" for _ in TYPES)
    lines = zip(*([clamp(name, value) for value in data[name]] for name in TYPES), strict=True)
    base.executemany(f"INSERT INTO t VALUES ({marks})", [list(line) for line in lines])
    types = "{'region': 'BIGINT', 'name': 'VARCHAR', 'beds': 'BIGINT', 'rate': 'DECIMAL(6,2)'}"
    base.execute(f"CREATE TABLE regions AS SELECT * FROM read_csv('{regions}', columns = {types}, header = true)")
    return base


def table(data: dict[str, list[Any]], regions: Path, *, unit: str | None = None, **extra: Any) -> Any:
    """The raw rows behind Sordino; limits per person are wide enough for everybody."""
    assert max(data["person"].count(who) for who in set(data["person"])) <= 10
    limits = {} if unit is None else {"unit": unit, "max_rows": 10, "max_groups": 10}
    budget = sd.Budget(epsilon=EPSILON, delta=0.01)
    opened = sd.table(data, bounds=BOUNDS, columns=COLUMNS, keys=KEYS, budget=budget, ledger=":memory:", **limits, **extra)
    return replace(opened, publics={"regions": read_public("regions", regions, declare(PUBLIC), ("region",))})


def found(base: duckdb.DuckDBPyConnection, text: str) -> dict[str, list[Any]]:
    cursor = base.execute(text)
    names = [part[0] for part in cursor.description]
    lines = cursor.fetchall()
    return {name: [line[i] for line in lines] for i, name in enumerate(names)}


def close(ours: Any, theirs: Any, tolerance: float) -> bool:
    return math.isclose(float(ours), float(theirs), rel_tol=tolerance, abs_tol=tolerance)
