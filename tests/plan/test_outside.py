"""105 statements of four houses, written down before they were tried: 59 were answered then. A refusal names the word, and is free."""

from __future__ import annotations

import pytest

from plan.outside_tables import NAMES, later, opened, statements
from sordino.errors import QueryError

GOAL = 0.85
AT_FIRST = 59
OPEN = {  # places of those that are still refused, by house
    "hospital": {9, 21},
    "insurance": {6, 7, 11, 14, 16, 23},
    "flights": {16, 25},
    "retail": {5, 7, 11, 14, 17},
}


@pytest.mark.parametrize("name", NAMES)
def test_what_analysts_write_is_answered_and_a_refusal_costs_nothing(name: str) -> None:
    data, refused = opened(name), {}
    for place, text in enumerate(statements(name), 1):
        try:
            data.sql(text).settle("1")
        except QueryError as error:
            refused[place] = error
    assert set(refused) == OPEN[name]
    assert data.budget.spent == 0
    assert all(error.fix and "something outside" not in str(error) for error in refused.values())
    assert all(data.sql(text).release(epsilon=5).to_dict() for place, text in enumerate(statements(name), 1) if place not in refused)


def test_of_forty_further_ones_the_rest_is_refused_by_name() -> None:
    """26 of them were answered when they were tried first."""
    data, refused = {name: opened(name) for name in NAMES}, []
    for name, text in later():
        try:
            assert data[name].sql(text).release(epsilon=5).to_dict()
        except QueryError as error:
            refused.append(error)
    assert len(refused) == 8
    assert all(error.fix and "something outside" not in str(error) for error in refused)


def test_the_share_is_the_one_that_is_said() -> None:
    said = sum(len(statements(name)) for name in NAMES)
    assert said == 105
    assert AT_FIRST / said == pytest.approx(0.562, abs=0.001)
    assert 1 - sum(map(len, OPEN.values())) / said >= GOAL
