"""smartnoise-sql: SQL over a pandas frame; it prices every column, so AVG is billed as two. It has no medians."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import snsql
from snsql import Privacy
from work import DELTA, FEW, RICH, drawn, repeated, serve, shown, timed


def described(rows: int, *, row_privacy: bool, max_ids: int = 1, **columns: Any) -> dict[str, Any]:
    facts = {"row_privacy": row_privacy, "rows": rows, "max_ids": max_ids, "censor_dims": "key" in columns, "clamp_counts": False}
    return {"": {"s": {"t": {**facts, **columns}}}}


def reader(frame: Any, meta: Any, epsilon: float) -> Any:
    return snsql.from_df(frame, privacy=Privacy(epsilon=epsilon, delta=DELTA), metadata=meta)


def numbers(x: Any, questions: dict[str, tuple[str, int]], upper: float, draws: int, seconds: float) -> Any:
    """Each question with the number of columns it is billed for: epsilon is divided by that."""
    frame = pd.DataFrame({"v": x})
    meta = described(len(x), row_privacy=True, v={"type": "float", "lower": 0.0, "upper": upper})

    def ask(text: str, billed: int, epsilon: float) -> float:
        where = f" WHERE v >= {RICH}" if text == "COUNT(*)" else ""
        return float(reader(frame, meta, epsilon / billed).execute(f"SELECT {text} AS x FROM s.t{where}")[1][0])

    return repeated({what: lambda e, q=q: ask(*q, e) for what, q in questions.items()}, draws, seconds)


def income(folder: Path, *, draws: int, seconds: float) -> Any:
    questions = {"count": ("COUNT(*)", 1), "sum": ("SUM(v)", 1), "mean": ("AVG(v)", 2), "variance": ("VAR(v)", 3)}
    return numbers(np.load(folder / "income.npy"), questions, 1e6, draws, seconds)


def outliers(folder: Path, *, draws: int, seconds: float) -> Any:
    return numbers(np.load(folder / "outliers.npy"), {"mean": ("AVG(v)", 2)}, 1e4, draws, seconds)


def keys(folder: Path, *, draws: int, seconds: float) -> Any:
    x = np.load(folder / "keys.npy")
    frame = pd.DataFrame({"person": np.arange(len(x)), "key": [f"k{i}" for i in x]})
    meta = described(len(x), row_privacy=False, person={"type": "int", "private_id": True}, key={"type": "string"})

    def once() -> dict[str, float]:
        found = reader(frame, meta, 1.0).execute("SELECT key, COUNT(DISTINCT person) AS n FROM s.t GROUP BY key")
        return shown((key[1:], n) for key, n in found[1:])

    return drawn(lambda _: once(), draws, seconds, FEW)


def groups(folder: Path, *, file: str, rows: int) -> Any:
    frame = pd.read_parquet(folder / file)
    value = {"type": "float", "lower": 0.0, "upper": 1_000.0}
    meta = described(rows, row_privacy=False, max_ids=10, person={"type": "int", "private_id": True}, g={"type": "int"}, v=value)
    text = "SELECT g, COUNT(*) AS n, SUM(v) AS total FROM s.t GROUP BY g"
    return {"seconds": timed(lambda: reader(frame, meta, 0.5).execute(text))}


def start(folder: Path) -> Any:
    return income(folder, draws=1, seconds=1)["count"]["1.0"][0]


serve({"income": income, "outliers": outliers, "keys": keys, "groups": groups, "start": start})
