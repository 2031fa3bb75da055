# ruff: noqa: E501
"""105 statements of four houses, written down before they were tried: 59 were answered then. A refusal names the word, and is free."""

from __future__ import annotations

from typing import Any

import pytest

from plan.outside_tables import NAMES, later, opened, statements
from sordino.errors import QueryError

GOAL = 0.85
AT_FIRST = 59
OPEN = {  # places of those that are still refused, by house
    "hospital": {9, 21},
    "insurance": {6, 11, 14, 16, 23},
    "flights": {16, 25},
    "retail": {5, 7, 11, 14, 17},
}
PLAIN = {14, 18, 20, 34, 39, 46, 50, 54, 60}
UNSEEN = {6, 13, 23, 32}


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
    assert len(refused) == 6
    assert all(error.fix and "something outside" not in str(error) for error in refused)


@pytest.mark.parametrize(("file", "most"), [("plain", PLAIN), ("unseen", UNSEEN)])
def test_of_those_written_after_that_the_rest_is_refused_by_name_and_for_nothing(file: str, most: set[int]) -> None:
    """34 of the 60 in `plain` were answered when they were tried first, and 34 of the 40 in `unseen`, which were written after the mending."""
    data, refused = dict[str, Any](), {}
    for place, (name, text) in enumerate(later(file), 1):
        data.setdefault(name, opened(name))
        try:
            data[name].sql(text).settle("1")
        except QueryError as error:
            refused[place] = error
    assert set(refused) == most
    assert all(house.budget.spent == 0 for house in data.values())
    assert all(error.fix and "something outside" not in str(error) for error in refused.values())
    asked = [(name, text) for place, (name, text) in enumerate(later(file), 1) if place not in refused]
    assert all(data[name].sql(text).release(epsilon=5).to_dict() for name, text in asked)


@pytest.mark.parametrize(
    ("house", "text", "truth"),
    [
        ("retail", "SELECT COUNT(DISTINCT CASE WHEN total > 300 THEN customer_id END) AS n FROM orders", 5),
        ("retail", "SELECT COUNT(DISTINCT customer_id) FILTER (WHERE channel = 'web') AS n FROM orders", 15),
        ("retail", "SELECT COUNT(DISTINCT o.customer_id) AS n FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id", 15),
        ("retail", "SELECT COUNT(DISTINCT c.customer_id) AS n FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id", 20),
        ("retail", "SELECT COUNT(DISTINCT o.order_id) AS n FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id", 60),
        ("retail", "SELECT COUNT(DISTINCT CASE WHEN total > 300 THEN order_id END) AS n FROM orders", 20),
        ("retail", "SELECT COUNT(*) AS n FROM (SELECT order_id FROM order_lines GROUP BY order_id HAVING COUNT(*) > 1) x", 30),
        ("retail", "SELECT COUNT(*) AS n FROM (SELECT DISTINCT order_id FROM order_lines) x", 60),
        ("retail", "SELECT COUNT(*) AS n FROM orders o WHERE (SELECT COUNT(*) FROM order_lines l WHERE l.order_id = o.order_id) = 2", 30),
        ("retail", "SELECT COUNT(*) AS n FROM customers c WHERE (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.customer_id) < 1", 5),
        ("retail", "SELECT COUNT(*) AS n FROM customers c WHERE 4 <= (SELECT COUNT(*) FROM orders o WHERE o.customer_id = c.customer_id)", 15),
        ("retail", "SELECT COUNT(*) AS n FROM customers c WHERE (SELECT MAX(total) FROM orders o WHERE o.customer_id = c.customer_id) < 100", 10),
        ("retail", "SELECT COUNT(DISTINCT o.order_id) AS n FROM orders o JOIN order_lines l ON l.order_id = o.order_id WHERE l.quantity > 1", 45),
        ("retail", "SELECT COUNT(DISTINCT o.order_id) AS n FROM orders o LEFT JOIN order_lines l ON l.order_id = o.order_id", 60),
        ("retail", "SELECT COUNT(DISTINCT l.order_id) AS n FROM order_lines l WHERE l.quantity > 3", 15),
        ("retail", "SELECT COUNT(*) AS n FROM (SELECT customer_id, YEAR(order_date) AS y FROM orders GROUP BY 1, 2 HAVING COUNT(*) > 1) x", 30),
        ("retail", "SELECT COUNT(DISTINCT CASE WHEN l.quantity > 3 THEN l.order_id END) AS n FROM order_lines l", 15),
        ("retail", "SELECT COUNT(DISTINCT o.order_id) FILTER (WHERE l.product_id = 1) AS n FROM orders o JOIN order_lines l USING (order_id)", 20),
        ("retail", "SELECT SUM(CAST(strftime('%m', order_date) AS INTEGER)) AS n FROM orders", 390),
        ("bank", "SELECT COUNT(*) AS n FROM transactions WHERE description LIKE ANY ('%ATM%', '%CASH%')", 60),
        ("bank", "SELECT COUNT(*) AS n FROM transactions WHERE description NOT ILIKE ANY ('%atm%', 'cash')", 30),
        ("bank", "SELECT REGR_COUNT(income, age) AS n FROM clients", 16),
        ("bank", "SELECT SUM(DECODE(kind, 'credit', 2, 'savings', 1, 0)) AS n FROM main.accounts", 60),
    ],
)  # fmt: skip
def test_counts_of_people_of_keys_and_of_rows_of_a_person_are_those_of_sql(house: str, text: str, truth: int) -> None:
    assert opened(house).sql(text).release(epsilon=2000).to_dict()["n"] == [truth]


def test_groups_of_ten_are_listed_in_tens() -> None:
    found = opened("bank").sql("SELECT FLOOR(age / 10) * 10 AS decade, COUNT(*) AS n FROM clients GROUP BY decade ORDER BY decade")
    assert found.release(epsilon=2000).to_dict()["decade"] == [*range(10, 120, 10)]


def test_the_share_is_the_one_that_is_said() -> None:
    said = sum(len(statements(name)) for name in NAMES)
    assert said == 105
    assert AT_FIRST / said == pytest.approx(0.562, abs=0.001)
    assert 1 - sum(map(len, OPEN.values())) / said >= GOAL
