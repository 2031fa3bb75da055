"""A server over Spark: two worlds that differ in one awkward person, the same draws; every byte, status, header and time is equal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from server import test_twin
from server.hall import write
from server.test_twin import World, both

STATEMENTS = (
    "SELECT COUNT(*) AS n FROM admissions WHERE age >= 18 OR age IS NULL",
    "SELECT MEDIAN(cost) AS m FROM admissions",
    "SELECT ward, COUNT(*) AS n FROM admissions GROUP BY ward",
    "SELECT COUNT(*) AS n FROM admissions WHERE ward LIKE '%a%b%'",
    "SELECT nothing FROM admissions",
)
NAMES = ("patient", "cost", "age", "sex", "ward")


def drive(world: World) -> None:
    """Ask, pay, pay again under the same name, look it up, and ask for what cannot be asked."""
    world.ask("GET", "/v1/datasets")
    for number, sql in enumerate(STATEMENTS):
        plan = world.ask("POST", "/v1/plans", json={"sql": sql}).json().get("id", "none")
        world.ask("GET", f"/v1/plans/{plan}/preview?epsilon=1")
        for key in (f"k{number}", f"k{number}", f"again{number}"):
            paid = world.ask("POST", f"/v1/plans/{plan}/release", key=key, json={"epsilon": "1"})
        world.ask("GET", f"/v1/releases/{paid.json().get('id', 'none')}/card")
    world.ask("GET", "/v1/ledger")


def test_nothing_a_server_over_spark_shows_depends_on_one_person(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def in_spark(folder: Path, *, rows: list[str], **facts: Any) -> Path:
        file, view = (
            write(folder, rows=rows, **{**facts, "deadline": 10_000}),
            f"admissions_{folder.name}",
        )  # a session takes long to start
        cells = [dict(zip(NAMES, [*row.split(",", 4), None, None, None], strict=False)) for row in rows]
        spark.createDataFrame(cells, ", ".join(f"{name} STRING" for name in NAMES)).createOrReplaceTempView(view)
        file.write_text(file.read_text(encoding="utf-8").replace('source = "hospital.csv"', f'source = "spark:{view}"'), encoding="utf-8")
        return file

    monkeypatch.setattr(test_twin, "write", in_spark)
    one, other = both(tmp_path, monkeypatch, drive)
    assert len(one) > 30
    assert sum(status == 200 for _, _, status, *_ in one) > 20
    for here, there in zip(one, other, strict=True):
        assert here == there
