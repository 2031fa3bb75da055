"""pyqrlew: rewrites SQL into SQL that adds noise; DuckDB runs the text. It has no medians (it panics)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import sqlalchemy as sa
from pyqrlew import Dataset, Dialect
from work import DELTA, FEW, RICH, drawn, repeated, serve, shown, timed


def dataset(columns: dict[str, str], rows: int, ranges: dict[str, tuple[float, float]]) -> Any:
    """What qrlew knows of a table: names, types, ranges and the number of rows, here those of an empty schema filled with nulls."""
    engine = sa.create_engine("sqlite://", poolclass=sa.pool.StaticPool)
    with engine.begin() as connection:
        connection.execute(sa.text("ATTACH ':memory:' AS s"))
        connection.execute(sa.text(f"CREATE TABLE s.t ({', '.join(f'{name} {kind}' for name, kind in columns.items())})"))
        count = f"WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < {rows}) SELECT i FROM c"
        connection.execute(sa.text(f"INSERT INTO s.t ({next(iter(columns))}) {count}"))
    found = Dataset.from_database("d", engine, "s")
    for name, (low, high) in ranges.items():
        found = found.with_range("s", "t", name, low, high)
    return found


def rewritten(of: Any, text: str, epsilon: float, most: float) -> str:
    private = of.relation(text).rewrite_with_differential_privacy(
        of, [("t", [], "person")], {"epsilon": epsilon, "delta": DELTA}, max_multiplicity=most, max_multiplicity_share=1.0
    )
    if "NoOp" in str(private.dp_event()):
        raise ValueError("the rewritten query adds no noise")
    return str(private.relation().to_query(Dialect.PostgreSql))


def holding(view: str) -> Any:
    connection = duckdb.connect()
    connection.execute(f"CREATE SCHEMA s; CREATE VIEW s.t AS {view}")
    return connection


def numbers(x: Any, questions: dict[str, str], upper: float, draws: int, seconds: float) -> Any:
    of = dataset({"person": "integer", "v": "float"}, len(x), {"v": (0.0, upper)})
    connection = duckdb.connect()
    connection.register("rows", {"person": np.arange(len(x)), "v": x})
    connection.execute("CREATE SCHEMA s; CREATE TABLE s.t AS SELECT * FROM rows")

    def ask(text: str, epsilon: float) -> float:
        return float(connection.execute(rewritten(of, text, epsilon, 1.0)).fetchone()[0])

    return repeated({what: lambda e, text=text: ask(text, e) for what, text in questions.items()}, draws, seconds)


def income(folder: Path, *, draws: int, seconds: float) -> Any:
    aggregates = {"count": "COUNT(v)", "sum": "SUM(v)", "mean": "AVG(v)", "variance": "VARIANCE(v)"}
    texts = {name: f"SELECT {a} AS x FROM s.t" + (f" WHERE v >= {RICH}" if name == "count" else "") for name, a in aggregates.items()}
    return numbers(np.load(folder / "income.npy"), texts, 1e6, draws, seconds)


def outliers(folder: Path, *, draws: int, seconds: float) -> Any:
    return numbers(np.load(folder / "outliers.npy"), {"mean": "SELECT AVG(v) AS x FROM s.t"}, 1e4, draws, seconds)


def keys(folder: Path, *, draws: int, seconds: float) -> Any:
    x = np.load(folder / "keys.npy")
    of = dataset({"person": "integer", "key": "integer"}, len(x), {"key": (0, 99_999)})
    connection = duckdb.connect()
    connection.register("rows", {"person": np.arange(len(x)), "key": x})
    connection.execute("CREATE SCHEMA s; CREATE TABLE s.t AS SELECT * FROM rows")
    text = "SELECT key, COUNT(person) AS n FROM s.t GROUP BY key"
    return drawn(lambda _: shown(connection.execute(rewritten(of, text, 1.0, 1.0)).fetchall()), draws, seconds, FEW)


def groups(folder: Path, *, file: str, rows: int) -> Any:
    of = dataset({"person": "integer", "g": "integer", "v": "float"}, min(rows, 100_000), {"v": (0.0, 1_000.0), "g": (0, 9_999)})

    def once() -> None:
        text = rewritten(of, "SELECT g, COUNT(v) AS n, SUM(v) AS total FROM s.t GROUP BY g", 1.0, 10.0)
        holding(f"SELECT * FROM '{folder / file}'").execute(text).fetchnumpy()

    return {"seconds": timed(once)}


def start(folder: Path) -> Any:
    return income(folder, draws=1, seconds=1)["count"]["1.0"][0]


serve({"income": income, "outliers": outliers, "keys": keys, "groups": groups, "start": start})
