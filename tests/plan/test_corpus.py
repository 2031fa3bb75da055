"""The statements analysts write: most are answered, and who is refused pays nothing and hears what to write."""

from __future__ import annotations

from typing import Any

import pytest

import sordino as sd
from plan.corpus import ANSWERED, STATEMENTS
from sordino.errors import QueryError

GOAL = 0.85


@pytest.fixture(scope="module")
def hospital() -> Any:
    days = [f"2024-{1 + i % 12:02d}-{1 + i % 28:02d}" for i in range(60)]
    return sd.dataset(
        {
            "patients": {"patient_id": list(range(20)), "sex": ["f", "m"] * 10, "age": list(range(20, 40)), "smoker": [True, False] * 10,
                         "bmi": [20.5] * 20, "born": ["1980-01-01"] * 20, "name": ["n"] * 20},
            "visits": {"visit_id": list(range(60)), "patient_id": [i % 15 for i in range(60)], "cost": [10 * i for i in range(60)],
                       "ward": ["north", "south", "east"] * 20, "day": days, "diagnosis": ["J45", "I10", None] * 20,
                       "emergency": [True, False, False] * 20},
            "items": {"visit_id": [i % 60 for i in range(90)], "price": [i % 50 for i in range(90)], "quantity": [1, 2, 3] * 30},
            "wards": {"ward": ["north", "south", "east"], "kind": ["old", "new", "new"], "beds": [10, 20, 30]},
        },
        person={"patients": "patient_id", "visits": "patient_id", "items": {"via": "visits", "on": "visit_id"}},
        unique={"patients": ["patient_id"], "visits": ["visit_id"]},
        public={"wards": ["ward"]},
        columns={"visit_id": "id", "cost": {"type": "int", "bounds": (0, 1000)}, "age": {"type": "int", "bounds": (0, 120)},
                 "bmi": {"type": "float", "bounds": (10, 60)}, "day": {"type": "date", "bounds": ("2024-01-01", "2024-12-31")},
                 "born": {"type": "date", "bounds": ("1920-01-01", "2024-12-31")}, "smoker": "bool", "emergency": "bool",
                 "name": {"access": "never"}, "price": {"type": "int", "bounds": (0, 100)}, "quantity": {"type": "int", "bounds": (1, 9)},
                 "beds": {"type": "int", "bounds": (0, 99)}},
        keys={"sex": ["f", "m"], "ward": ["north", "south", "east"], "kind": ["old", "new"]},
        max_rows=8, max_groups=3, max_rows_per_group=8, size=20, budget=sd.Budget(epsilon=100_000, delta=0.01), ledger=":memory:",
    )  # fmt: skip


def test_most_of_what_analysts_write_is_answered_and_a_refusal_costs_nothing(hospital: Any) -> None:
    assert len(STATEMENTS) >= 150
    answered, refused = list[str](), dict[str, str]()
    for text in STATEMENTS:
        try:
            hospital.sql(text).settle("1")
        except QueryError as error:
            refused[text] = error.fix
            continue
        answered.append(text)
    assert hospital.budget.spent == 0
    assert all(refused.values())
    missed = set(ANSWERED) - set(answered)
    assert not missed, missed
    assert len(answered) / len(STATEMENTS) >= GOAL


@pytest.mark.parametrize("first", range(0, len(ANSWERED), 5))
def test_what_is_answered_can_be_released(hospital: Any, first: int) -> None:
    answer = hospital.sql(ANSWERED[first]).release(epsilon=5)
    assert answer.to_dict()
    assert answer.about
