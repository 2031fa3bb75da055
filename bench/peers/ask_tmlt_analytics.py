"""tmlt.analytics: person-level queries on Spark, here with two local threads."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import SparkSession
from tmlt.analytics import (
    AddOneRow,
    AddRowsWithID,
    ApproxDPBudget,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    MaxRowsPerID,
    PureDPBudget,
    QueryBuilder,
    Session,
)
from work import DELTA, FEW, RICH, drawn, repeated, serve, shown, timed


def running() -> Any:
    os.environ["PYSPARK_PYTHON"] = sys.executable
    folder = tempfile.mkdtemp()
    settings = {
        "spark.master": "local[2]",
        "spark.driver.memory": "4g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.local.dir": folder,
    }
    builder = SparkSession.builder
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def session(frame: Any, change: Any, budget: Any = None) -> Any:
    return Session.from_dataframe(budget or PureDPBudget(float("inf")), "t", frame, change)


def column(folder: Path, name: str) -> Any:
    values = np.load(folder / f"{name}.npy").tolist()
    return running().createDataFrame([(v,) for v in values], ["v"]).cache()


def numbers(opened: Any, questions: dict[str, Any], draws: int, seconds: float) -> Any:
    def ask(query: Any, epsilon: float) -> float:
        return float(opened.evaluate(query, PureDPBudget(epsilon)).collect()[0][0])

    return repeated({what: lambda e, q=q: ask(q, e) for what, q in questions.items()}, draws, seconds, (1.0,))


def income(folder: Path, *, draws: int, seconds: float) -> Any:
    opened, table = session(column(folder, "income"), AddOneRow()), QueryBuilder("t")
    ends = {"low": 0.0, "high": 1e6}
    questions = {
        "count": table.filter(f"v >= {RICH}").count(),
        "sum": table.sum("v", **ends),
        "mean": table.average("v", **ends),
        "median": table.median("v", **ends),
        "quantile .9": table.quantile("v", 0.9, **ends),
        "variance": table.variance("v", **ends),
    }
    return numbers(opened, questions, draws, seconds)


def outliers(folder: Path, *, draws: int, seconds: float) -> Any:
    opened, table = session(column(folder, "outliers"), AddOneRow()), QueryBuilder("t")
    questions = {"mean": table.average("v", low=0.0, high=1e4), "median": table.median("v", low=0.0, high=1e4)}
    return numbers(opened, questions, draws, seconds)


def keys(folder: Path, *, draws: int, seconds: float) -> Any:
    """Half of epsilon for the keys, half for their counts."""
    frame = running().createDataFrame([(int(k),) for k in np.load(folder / "keys.npy")], ["key"]).cache()

    def once(_: int) -> dict[str, float]:
        opened = session(frame, AddOneRow(), ApproxDPBudget(1.0, DELTA))
        shown_keys = opened.evaluate(QueryBuilder("t").get_groups(["key"]), ApproxDPBudget(0.5, DELTA)).toPandas()
        public = KeySet.from_dict({"key": [int(k) for k in shown_keys["key"]]})
        counts = opened.evaluate(QueryBuilder("t").groupby(public).count(), ApproxDPBudget(0.5, 0.0)).toPandas()
        return shown(zip(counts["key"], counts["count"], strict=True))

    return drawn(once, draws, seconds, FEW)


def groups(folder: Path, *, file: str, rows: int) -> Any:
    frame = running().read.parquet(str(folder / file))
    public = KeySet.from_dict({"g": list(range(10_000))})

    def once() -> None:
        opened = session(frame, AddRowsWithID("person"))
        bounded = QueryBuilder("t").enforce(MaxRowsPerID(10))
        opened.evaluate(bounded.groupby(public).count(), PureDPBudget(0.5)).toPandas()
        opened.evaluate(bounded.groupby(public).sum("v", low=0.0, high=1_000.0), PureDPBudget(0.5)).toPandas()

    return {"seconds": timed(once)}


def zips(folder: Path) -> Any:
    frame = running().read.parquet(str(folder / "zips.parquet"))
    public = KeySet.from_dict({"zip": [f"10{z:03d}" for z in range(50)]})
    bounded = QueryBuilder("t").enforce(MaxGroupsPerID("zip", 4)).enforce(MaxRowsPerGroupPerID("zip", 8))
    asked = bounded.groupby(public).median("income", low=0.0, high=1e6)
    opened = session(frame, AddRowsWithID("person"))
    return {"seconds": timed(lambda: opened.evaluate(asked, PureDPBudget(1.0)).toPandas())}


def start(folder: Path) -> Any:
    opened = session(column(folder, "income"), AddOneRow())
    return opened.evaluate(QueryBuilder("t").count(), PureDPBudget(1.0)).collect()[0][0]


def named(folder: Path, *, file: str, epsilon: float, delta: float, groups: int, rows: int, draws: int) -> Any:
    """Keys alone at the whole price, each run anew; where rows are counted, at half of it, as the other half counts them."""
    frame = running().read.parquet(str(folder / file)).cache()
    bounded = QueryBuilder("t").enforce(MaxGroupsPerID("key", groups)).enforce(MaxRowsPerGroupPerID("key", rows))
    found = []
    for _ in range(draws):
        opened = session(frame, AddRowsWithID("person"), ApproxDPBudget(epsilon, delta))
        share = ApproxDPBudget(epsilon if rows == 1 else epsilon / 2, delta)
        found.append(opened.evaluate(bounded.get_groups(["key"]), share).count())
    return found


serve({"income": income, "outliers": outliers, "keys": keys, "groups": groups, "zips": zips, "start": start, "named": named})
