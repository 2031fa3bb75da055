"""A server over Spark: two worlds that differ in one awkward person, the same draws; every byte, status, header and time is equal."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from server.hall import columns, write
from server.test_twin import World, both, paying

STATEMENTS = (
    "SELECT COUNT(*) AS n FROM admissions WHERE age >= 18 OR age IS NULL",
    "SELECT MEDIAN(cost) AS m FROM admissions",
    "SELECT ward, COUNT(*) AS n FROM admissions GROUP BY ward",
    "SELECT COUNT(*) AS n FROM admissions WHERE ward LIKE '%a%b%'",
    "SELECT nothing FROM admissions",
)
PAGE = "SELECT sex, COUNT(*) AS n FROM admissions GROUP BY sex"
VIEW = "admissions_of_twins"


def drive(world: World) -> None:
    """Ask, pay, pay again under the same name, look it up, ask for what cannot be asked; and one question on the pages."""
    world.ask("GET", "/v1/datasets")
    for number, sql in enumerate(STATEMENTS):
        plan = world.ask("POST", "/v1/plans", json={"sql": sql}).json().get("id", "none")
        world.ask("GET", f"/v1/plans/{plan}/preview?epsilon=1")
        for key in (f"k{number}", f"k{number}", f"again{number}"):
            paid = world.ask("POST", f"/v1/plans/{plan}/release", key=key, json={"epsilon": "1"})
        world.ask("GET", f"/v1/releases/{paid.json().get('id', 'none')}/card")
    world.ask("GET", "/v1/ledger")
    world.post("/login", token=world.token)
    page = world.ask("GET", f"/ask?{urlencode({'sql': PAGE, 'epsilon': '1'})}").text
    place = world.post("/pay", **paying(page)).headers["location"].partition("?")[0]
    for ending in ("", ".csv", ".card.html"):
        world.ask("GET", place + ending)
    world.ask("GET", "/history")


def test_nothing_a_server_over_spark_shows_depends_on_one_person(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def in_spark(folder: Path, *, rows: list[str], **declared: Any) -> Path:
        table = columns(rows)
        spark.createDataFrame(
            list(zip(*table.values(), strict=True)), ", ".join(f"{name} STRING" for name in table)
        ).createOrReplaceTempView(VIEW)
        return write(folder, rows=rows, source=f"spark:{VIEW}", deadline=10_000, **declared)  # a session takes long to start

    one, other = both(tmp_path, monkeypatch, drive, store=in_spark)
    assert len(one) > 38
    assert sum(status == 200 for _, _, status, *_ in one) > 25
    assert {place[1] for _, path, status, *_ in one if status == 200 for place in [path.split("?")[0].split("/")]} >= {
        "ask",
        "releases",
        "history",
    }
    for here, there in zip(one, other, strict=True):
        assert here == there
