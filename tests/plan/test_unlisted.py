"""A value that is no declared key is said on the price list and before a release is paid."""

from __future__ import annotations

import logging
from typing import Any

import pytest

import sordino as sd
from sordino.errors import QueryError

WARD = "'nroth', which is none of its declared keys. Did you mean 'north'?"


@pytest.fixture
def hospital() -> Any:
    return sd.dataset(
        {"patients": {"id": [1, 2], "sex": ["f", "m"]},
         "visits": {"id": [1, 1, 2], "ward": ["north", "south", "north"], "cost": [5, 7, 9]}},
        person={"patients": "id", "visits": "id"}, unique={"patients": ["id"]}, bounds={"cost": (0, 10)},
        keys={"sex": ["f", "m"], "ward": ["north", "south"]}, max_rows=8, max_groups=2, budget=sd.Budget(epsilon=9), ledger=":memory:",
    )  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM visits WHERE ward = 'nroth'",
        "SELECT COUNT(*) FROM visits WHERE cost > 3 AND NOT (ward IN ('south', 'nroth'))",
        "SELECT COUNT(*) FILTER (WHERE ward = 'nroth') AS n FROM visits",
        "SELECT SUM(CASE WHEN ward <> 'nroth' THEN cost ELSE 0 END) AS s FROM visits",
        "SELECT COUNT(*) FROM patients p JOIN visits v ON v.id = p.id WHERE v.ward = 'nroth'",
        "SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.id = p.id AND v.ward = 'nroth')",
        "SELECT AVG(n) FROM (SELECT id, LEAST(COUNT(*), 9) AS n FROM visits WHERE ward = 'nroth' GROUP BY id)",
    ],
)
def test_the_price_list_says_which_value_is_no_key(hospital: Any, text: str) -> None:
    notes = hospital.sql(text).preview(epsilons=[1]).notes
    assert any(WARD in note for note in notes), notes


def test_python_hears_it_too_and_before_paying(hospital: Any, caplog: Any) -> None:
    query = hospital.visits.where("ward = 'nroth'").count()
    assert any(WARD in note for note in query.preview().notes)
    assert not any("declared keys" in note for note in hospital.visits.where("ward = 'north'").count().preview().notes)
    with caplog.at_level(logging.WARNING, "sordino"), pytest.raises(QueryError):
        query.release(epsilon=1, delta="no")
    assert not caplog.records  # what is refused is not paid, and the sentence belongs to the payment
    with caplog.at_level(logging.WARNING, "sordino"):
        query.release(epsilon=1)
    assert [record.getMessage() for record in caplog.records] == [f"sordino: the condition compares ward with {WARD}"]
