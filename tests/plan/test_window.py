"""Windows over released rows: the numbers a database would compute over the same table, and what is refused."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.plan.arrangement import over_columns
from sordino.plan.formula import parse_formula, value

CELLS: dict[str, list[Any]] = {
    "k": ["a", "a", "a", "b", "b", "c"], "m": [1, 2, 3, 1, 2, 1], "n": [5, 3, 5, 8, -2, 4], "x": [1.5, None, 0.25, 4.0, 2.0, -3.0],
}  # fmt: skip
WINDOWS = [
    "SUM(n) OVER ()", "n / SUM(n) OVER (PARTITION BY k)", "AVG(x) OVER (ORDER BY k, m)", "COUNT(*) OVER (PARTITION BY k)",
    "SUM(n) OVER (PARTITION BY k ORDER BY m DESC)", "SUM(n) OVER (ORDER BY m)", "MAX(n) OVER (PARTITION BY k ORDER BY m)",
    "AVG(n) OVER (ORDER BY k, m ROWS BETWEEN 2 PRECEDING AND CURRENT ROW)", "LAG(n) OVER (ORDER BY k, m)",
    "LEAD(n, 2) OVER (ORDER BY k, m)",
    "RANK() OVER (ORDER BY n DESC)", "DENSE_RANK() OVER (PARTITION BY m ORDER BY n)", "ROW_NUMBER() OVER (ORDER BY k DESC, m)",
    "NTILE(4) OVER (ORDER BY k, m)", "FIRST_VALUE(n) OVER (PARTITION BY k ORDER BY m)", "MIN(x) OVER ()", "COUNT(x) OVER ()",
    "100.0 * (n - LAG(n) OVER (ORDER BY k, m)) / LAG(n) OVER (ORDER BY k, m)",
    "SUM(n) OVER (ORDER BY k, m ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)",
]  # fmt: skip


@pytest.mark.parametrize("text", WINDOWS)
def test_a_window_is_what_a_database_makes_of_the_same_rows(text: str) -> None:
    formula, looked = over_columns(parse_formula(text, list(CELLS)), CELLS, list(range(6)))
    table = {**CELLS, **looked}
    mine = [value(formula, {name: column[row] for name, column in table.items()}) for row in range(6)]
    rows = ", ".join(f"({i}, '{k}', {m}, {n}, {'NULL' if x is None else f'{x}::DOUBLE'})"
                     for i, (k, m, n, x) in enumerate(zip(*CELLS.values(), strict=True)))  # fmt: skip
    theirs = duckdb.sql(f"SELECT {text} AS v FROM (VALUES {rows}) AS t(i, k, m, n, x) ORDER BY i").fetchall()
    for found, (right,) in zip(mine, theirs, strict=True):
        assert (found is None) == (right is None)
        assert found is None or np.isclose(float(found), float(right))


def test_having_comes_first_and_qualify_last() -> None:
    table = sd.table(
        {"ward": ["x"] * 60 + ["y"] * 30 + ["z"] * 10}, keys={"ward": ["x", "y", "z"]}, budget=sd.Budget(epsilon=1e6), ledger=":memory:"
    )
    text = "SELECT ward, COUNT(*) AS n, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM t GROUP BY ward HAVING COUNT(*) > 20"
    assert table.sql(text).release(epsilon=1e4).to_dict()["share"] == [60 / 90, 30 / 90]
    first = table.sql(f"{text} QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*)) = 1").release(epsilon=1e4)
    assert first.to_dict()["ward"] == ["y"]
    assert first.recalled


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("SELECT RANK() OVER (ORDER BY cost), COUNT(*) FROM t", "PARTITION BY the person"),
        ("SELECT SUM(cost) OVER () FROM t", "PARTITION BY the person"),
        ("SELECT CUME_DIST() OVER (ORDER BY COUNT(*)) FROM t", "RANK"),
        ("SELECT SUM(SUM(COUNT(*)) OVER ()) OVER () FROM t", "Derive the inner one first"),
        ("SELECT SUM(COUNT(*)) OVER (ORDER BY COUNT(*) RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) FROM t", "ROWS BETWEEN"),
        ("SELECT LAG(COUNT(*), -1) OVER () FROM t", "whole number"),
    ],
)
def test_other_windows_are_refused_with_the_rewrite(text: str, word: str) -> None:
    table = sd.table({"cost": [1, 2]}, bounds={"cost": (0, 5)}, budget=sd.Budget(epsilon=1), ledger=":memory:")
    with pytest.raises(QueryError, match="Nothing was spent") as error:
        table.sql(text)
    assert word in str(error.value)
    assert table.budget.spent == 0
