"""pipeline-dp: person-level aggregations over any iterable, here its local backend on tuples in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pipeline_dp as pdp
from work import DELTA, FEW, RICH, drawn, repeated, serve, shown, timed

BY = pdp.DataExtractors(privacy_id_extractor=lambda r: r[0], partition_extractor=lambda r: r[1], value_extractor=lambda r: r[2])


def released(rows: Any, epsilon: float, metrics: list[Any], public: Any, *, most: int = 1, upper: float = 1e6, delta: float = 0.0) -> Any:
    accountant = pdp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=delta)
    engine = pdp.DPEngine(accountant, pdp.LocalBackend())
    params = pdp.AggregateParams(
        metrics=metrics, max_partitions_contributed=most, max_contributions_per_partition=1, min_value=0, max_value=upper
    )
    found = engine.aggregate(rows, params, BY, public_partitions=public)
    accountant.compute_budgets()
    return list(found)


def one(rows: Any, epsilon: float, metrics: list[Any], upper: float = 1e6) -> list[float]:
    return list(released(rows, epsilon, metrics, [0], upper=upper)[0][1])


def income(folder: Path, *, draws: int, seconds: float) -> Any:
    rows = [(i, 0, v) for i, v in enumerate(np.load(folder / "income.npy").tolist())]
    percentile = pdp.Metrics.PERCENTILE

    def spread(epsilon: float) -> float:
        found = released(rows, epsilon, [percentile(25), percentile(75)], [0])[0][1]
        return float(found[1] - found[0])

    questions = {
        "count": lambda e: one([r for r in rows if r[2] >= RICH], e, [pdp.Metrics.COUNT])[0],
        "sum": lambda e: one(rows, e, [pdp.Metrics.SUM])[0],
        "mean": lambda e: one(rows, e, [pdp.Metrics.MEAN])[0],
        "median": lambda e: one(rows, e, [percentile(50)])[0],
        "quantile .9": lambda e: one(rows, e, [percentile(90)])[0],
        "iqr": spread,
        "variance": lambda e: one(rows, e, [pdp.Metrics.VARIANCE])[0],
    }
    return repeated(questions, draws, seconds)


def outliers(folder: Path, *, draws: int, seconds: float) -> Any:
    rows = [(i, 0, v) for i, v in enumerate(np.load(folder / "outliers.npy").tolist())]
    return repeated({"mean": lambda e: one(rows, e, [pdp.Metrics.MEAN], 1e4)[0]}, draws, seconds)


def keys(folder: Path, *, draws: int, seconds: float) -> Any:
    rows = [(i, key, 0.0) for i, key in enumerate(np.load(folder / "keys.npy").tolist())]
    count = [pdp.Metrics.COUNT]
    return drawn(lambda _: shown((k, v[0]) for k, v in released(rows, 1.0, count, None, delta=DELTA)), draws, seconds, FEW)


def groups(folder: Path, *, file: str, rows: int) -> Any:
    import duckdb

    columns = duckdb.execute(f"SELECT person, g, v FROM '{folder / file}'").fetchnumpy()
    table = list(zip(*(column.tolist() for column in columns.values()), strict=True))
    metrics = [pdp.Metrics.COUNT, pdp.Metrics.SUM]
    return {"seconds": timed(lambda: released(table, 1.0, metrics, list(range(10_000)), most=10, upper=1_000))}


def zips(folder: Path) -> Any:
    import duckdb

    columns = duckdb.execute(f"SELECT person, zip, income FROM '{folder / 'zips.parquet'}'").fetchnumpy()
    table = list(zip(*(column.tolist() for column in columns.values()), strict=True))
    public = [f"10{z:03d}" for z in range(50)]
    return {"seconds": timed(lambda: released(table, 1.0, [pdp.Metrics.PERCENTILE(50)], public, most=4))}


def start(folder: Path) -> Any:
    return one([(i, 0, v) for i, v in enumerate(np.load(folder / "income.npy").tolist())], 1.0, [pdp.Metrics.COUNT])[0]


def named(folder: Path, *, file: str, epsilon: float, delta: float, groups: int, rows: int, draws: int) -> Any:
    """Keys alone at the whole price, each run anew; where rows are counted, with their counts."""
    import duckdb

    columns = duckdb.execute(f"SELECT person, key FROM '{folder / file}'").fetchnumpy()
    table = [(person, key, 0.0) for person, key in zip(*(column.tolist() for column in columns.values()), strict=True)]
    found = []
    for _ in range(draws):
        accountant = pdp.NaiveBudgetAccountant(total_epsilon=epsilon, total_delta=delta)
        engine = pdp.DPEngine(accountant, pdp.LocalBackend())
        if rows == 1:
            wish: Any = pdp.SelectPartitionsParams(max_partitions_contributed=groups)
            shown_keys = engine.select_partitions(table, wish, BY)
        else:
            wish = pdp.AggregateParams(
                metrics=[pdp.Metrics.COUNT],
                max_partitions_contributed=groups,
                max_contributions_per_partition=rows,
                min_value=0,
                max_value=1,
            )
            shown_keys = engine.aggregate(table, wish, BY)
        accountant.compute_budgets()
        found.append(len(list(shown_keys)))
    return found


serve({"income": income, "outliers": outliers, "keys": keys, "groups": groups, "zips": zips, "start": start, "named": named})
