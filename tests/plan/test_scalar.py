"""Lists of quantiles and subqueries about the same rows, said in other words; values that are no key, said with the answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sordino as sd
from sordino.errors import QueryError

ROWS = {"ward": ["x"] * 60 + ["y"] * 40, "age": list(range(100)), "stay": [i % 7 for i in range(100)]}


@pytest.fixture(scope="module")
def table() -> Any:
    return sd.table(ROWS, columns={"age": {"type": "int", "bounds": (0, 5_000)}, "stay": {"type": "int", "bounds": (0, 9)}},
                    keys={"ward": ["x", "y"]}, budget=sd.Budget(epsilon=1e6), ledger=":memory:")  # fmt: skip


def test_a_list_of_quantiles_is_a_column_each(table: Any) -> None:
    found = table.sql("SELECT QUANTILE_CONT(stay, [0.25, 0.75]) AS q FROM t")
    assert list(found.asked.statistics) == ["q_0.25", "q_0.75"]
    assert (
        table.sql("SELECT APPROX_QUANTILES(stay, 4)[OFFSET(1)] FROM t").key() == table.sql("SELECT QUANTILE_CONT(stay, 0.25) FROM t").key()
    )


def test_a_total_of_the_same_rows_is_that_of_the_groups(table: Any) -> None:
    found = table.sql("SELECT ward, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM t) AS share FROM t GROUP BY ward").release(epsilon=1e4)
    assert found.to_dict()["share"] == [0.6, 0.4]
    assert "OVER ()" in found.about
    with pytest.raises(QueryError, match="question of their own"):
        table.sql("SELECT ward, COUNT(*) / (SELECT COUNT(*) FROM t WHERE age > 5) FROM t GROUP BY ward")
    with pytest.raises(QueryError, match="question of their own"):
        table.sql("SELECT ward, AVG(age) - (SELECT AVG(age) FROM t) FROM t GROUP BY ward")


def test_a_value_that_is_no_key_is_said_before_and_with_the_answer(table: Any) -> None:
    asked = table.sql("SELECT COUNT(*) FROM t WHERE ward = 'X'")
    assert "none of its declared keys" in str(asked.preview())
    assert "none of its declared keys" in asked.release(epsilon=1).about


def test_keys_are_asked_for_in_the_words_of_the_declaration(table: Any, tmp_path: Path) -> None:
    with pytest.raises(QueryError, match=r"keys=\{'age'"):
        table.sql("SELECT age, COUNT(*) FROM t GROUP BY age")
    (tmp_path / "p.csv").write_text("person,age\n1,3\n2,4\n")
    (tmp_path / "d.toml").write_text(
        '[dataset]\nformat = 2\nname = "d"\nledger = "l"\n[privacy]\nunit_column = "person"\nmax_rows = 2\nmax_groups = 1\n'
        "[budget]\nepsilon = 1\n"
        '[tables.p]\nsource = "p.csv"\n[tables.p.columns]\nage = { type = "int", bounds = [0, 5000] }\n'
    )
    with sd.open(tmp_path / "d.toml") as data, pytest.raises(QueryError) as error:
        data.sql("SELECT age, COUNT(*) FROM p GROUP BY age")
    assert "[tables.p.columns] age = {" in str(error.value)
    assert "keys={" not in str(error.value)


def test_a_filter_sets_the_bounds_of_a_persons_total() -> None:
    data = sd.dataset({"v": {"p": [1, 1, 2] * 10, "c": [5] * 30}}, person={"v": "p"}, bounds={"c": (0, 10)}, max_rows=3, max_groups=3,
                      budget=sd.Budget(epsilon=100), ledger=":memory:")  # fmt: skip
    inner = "(SELECT p, COUNT(*) AS n, SUM(c) AS s FROM v GROUP BY p)"
    with pytest.raises(QueryError, match="LEAST"):
        data.sql(f"SELECT AVG(s) FROM {inner} x")
    assert data.sql(f"SELECT AVG(s) FROM {inner} x WHERE s < 500").asked.narrowed["s"].bounds == (0, 500)
    assert data.sql(f"SELECT n, COUNT(*) FROM {inner} x WHERE n <= 20 GROUP BY n").release(epsilon=50).to_dict()["n"] == list(range(1, 21))


def test_top_is_a_limit_after_select_and_a_name_elsewhere() -> None:
    table = sd.table({"top": [1, 2, 3] * 10, "ward": ["x", "y", "z"] * 10}, columns={"top": {"type": "int", "bounds": (0, 5)}},
                     keys={"ward": ["x", "y", "z"]}, budget=sd.Budget(epsilon=100), ledger=":memory:")  # fmt: skip
    assert len(table.sql("SELECT TOP 2 ward, COUNT(*) AS n FROM t GROUP BY ward ORDER BY n DESC").release(epsilon=1).to_dict()["n"]) == 2
    assert table.sql("SELECT top, COUNT(*) AS n FROM t GROUP BY top").release(epsilon=1).to_dict()["top"] == list(range(6))
    assert table.sql("SELECT SUM(t.top) AS top FROM t WHERE top > 1").release(epsilon=1).to_dict()["top"]
