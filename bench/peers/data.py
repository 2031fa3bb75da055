"""The data sets of the comparison, written to a folder: the same bytes for everybody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np

BETA = np.linspace(-0.1, 0.1, 10)
LOW = (18, 1, 15, 50, 80, 30, 20, 1, 3, 50)
HIGH = (90, 2, 50, 150, 320, 260, 110, 10, 7, 140)
BMI = 2
Floats = np.ndarray[Any, Any]


def incomes() -> Floats:
    return np.clip(np.random.default_rng(1).lognormal(np.log(40_000), 0.8, 1_000), 0, 1e6)


def outliers() -> tuple[Floats, float]:
    """Rows of which one in a hundred is at the upper bound, and the mean of the others."""
    x = np.random.default_rng(1).normal(50, 5, 10_000)
    truth = float(x[100:].mean())
    x[:100] = 1e4
    return x, truth


def keys(rows: int = 100_000) -> Floats:
    weights = np.arange(1, 100_001) ** -1.07
    return np.random.default_rng(1).choice(100_000, rows, p=weights / weights.sum())


def synthetic(seed: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    x = rng.uniform(-1, 1, (10_000, 10))
    return x, np.clip(x @ BETA + rng.normal(0, 0.1, 10_000), -1, 1)


def diabetes() -> tuple[Floats, Floats]:
    """One predictor and the outcome, both within [-1, 1]."""
    from sklearn.datasets import load_diabetes

    table = load_diabetes(scaled=False)
    x = np.clip((table.data[:, BMI] - LOW[BMI]) / (HIGH[BMI] - LOW[BMI]) * 2 - 1, -1, 1)
    return x, np.clip(table.target, 0, 400) / 200 - 1


def digits(split: int) -> tuple[Floats, Floats, Floats, Floats]:
    """Handwritten digits, 0-4 against 5-9: rows and labels to learn from, rows and labels held out."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    table = load_digits()
    x, held, y, answer = train_test_split(table.data, (table.target >= 5).astype(int), test_size=0.25, random_state=split)
    return x, y, held, answer


def visits(path: Path, rows: int, groups: int = 10_000) -> None:
    """Rows of people in groups of very different sizes, ten rows a person on average."""
    rng = np.random.default_rng(1)
    weights = np.arange(1, groups + 1) ** -0.5
    columns = {
        "person": rng.integers(0, max(rows // 10, 1), rows),
        "g": np.searchsorted(np.cumsum(weights / weights.sum()), rng.random(rows)).clip(0, groups - 1),
        "v": np.minimum(rng.lognormal(3, 1, rows), 1_000),
    }
    _parquet(path, columns)


def zips(path: Path) -> None:
    rng = np.random.default_rng(1)
    columns = {
        "person": np.sort(rng.integers(0, 20_000, 80_000)),
        "zip": np.array([f"10{z:03d}" for z in rng.integers(0, 50, 80_000)]),
        "income": np.clip(np.round(rng.lognormal(10, 1, 80_000)), 0, 1_000_000),
    }
    _parquet(path, columns)


def _parquet(path: Path, columns: dict[str, Any]) -> None:
    with duckdb.connect() as connection:
        connection.register("rows", columns)
        connection.execute(f"COPY rows TO '{path}' (FORMAT parquet)")


def write(folder: Path, *, tables: int, splits: int, large: int, middle: int) -> None:
    """Everything the tasks read."""
    np.save(folder / "income.npy", incomes())
    np.save(folder / "outliers.npy", outliers()[0])
    np.save(folder / "keys.npy", keys())
    for name, arrays in (("x", [synthetic(seed)[0] for seed in range(tables)]), ("y", [synthetic(seed)[1] for seed in range(tables)])):
        np.save(folder / f"synthetic_{name}.npy", np.stack(arrays))
    np.save(folder / "diabetes.npy", np.stack(diabetes()))
    for split in range(splits):
        x, y, held, _ = digits(split)
        np.savez(folder / f"digits{split}.npz", x=x, y=y, held=held)
    np.save(folder / "values.npy", np.random.default_rng(1).lognormal(3, 1, large))
    visits(folder / "visits.parquet", large)
    visits(folder / "visits_small.parquet", middle)
    zips(folder / "zips.parquet")
