"""The same rows as every kind of source a table can be made of."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

Rows = dict[str, list[Any]]


def parquet(data: Rows, folder: Path) -> Any:
    pq.write_table(pa.table(data), folder / "rows.parquet")
    return folder / "rows.parquet"


def parts(data: Rows, folder: Path) -> Any:
    whole = pa.table(data)
    pq.write_table(whole.slice(0, 100), folder / "part-1.parquet")
    pq.write_table(whole.slice(100), folder / "part-2.parquet")
    return str(folder / "part-*.parquet")


def csv(data: Rows, folder: Path) -> Any:
    pd.DataFrame(data).to_csv(folder / "rows.csv", index=False)
    return str(folder / "rows.csv")


def database(data: Rows, folder: Path) -> Any:
    with duckdb.connect(str(folder / "rows.duckdb")) as connection:
        connection.register("held", pa.table(data))
        connection.execute("CREATE TABLE people AS SELECT * FROM held")
    return f"{folder / 'rows.duckdb'}::people"


SOURCES: dict[str, Callable[[Rows, Path], Any]] = {
    "dict of lists": lambda data, _: data,
    "dict of arrays": lambda data, _: {name: np.array(values) for name, values in data.items()},
    "pandas": lambda data, _: pd.DataFrame(data),
    "polars": lambda data, _: pl.DataFrame(data),
    "pyarrow": lambda data, _: pa.table(data),
    "parquet": parquet,
    "parquet parts": parts,
    "csv": csv,
    "duckdb": database,
}
