"""The floor under every price of the server: nothing is free to repeat, and a wish that needs less is sold at the floor and says so."""

from __future__ import annotations

from fractions import Fraction

import pytest

import sordino as sd
from sordino.server.rules import SHARE

from .hall import Visitor, write

COUNT = "SELECT COUNT(*) AS n FROM admissions"


def hall_of(folder, **facts):
    return Visitor(write(folder, **{"purses": "", **facts}))


@pytest.fixture(params=["default", "declared", "zcdp", "zcdp declared"])
def sold(request, tmp_path):
    """A hall, the least price it sells, and a price just below that."""
    kind = request.param
    facts = {"floor": ""}
    if "zcdp" in kind:
        facts["ceiling"] = 'accounting = "zcdp"'
    if "declared" in kind:
        facts["floor"] = "least_epsilon = 0.02"
    hall = hall_of(tmp_path, **facts)
    yield hall, kind
    hall.close()


def test_a_price_below_the_floor_is_refused_for_nothing_and_one_at_it_is_sold(sold):
    hall, kind = sold
    token, house = hall.token(), hall.app.app.app.state.house
    query = house.datasets["hospital"].sql(COUNT)
    least = house.floors["hospital"].epsilon(query)
    if kind == "default":
        assert least == Fraction(3, SHARE)
    if "declared" in kind:
        assert least == Fraction(1, 50)
    below = hall.pay(token, COUNT, "low", epsilon=str(float(least * Fraction(9, 10))), fresh=True)
    assert (below.status_code, below.json()["code"], below.json()["spent"]) == (422, "SRD-305", False)
    assert house.floors["hospital"].said(query.table.ledger) in below.json()["detail"]
    assert hall.spent(token) == 0
    assert hall.pay(token, COUNT, "at", epsilon=str(least), fresh=True).status_code == 200
    spent = house.datasets["hospital"].ledger.budget
    if "declared" not in kind:
        least = spent.filter.cap.loss / SHARE * (1 - Fraction(1, 10**6))
        assert spent.tally.spent.loss >= least, "a ten-thousandth of the cap, in the unit of the book"


def test_a_wish_that_needs_less_is_sold_at_the_floor_and_says_so_everywhere(sold):
    hall, _ = sold
    token, house = hall.token(), hall.app.app.app.state.house
    book = house.datasets["hospital"].ledger
    said = house.floors["hospital"].said(book)
    plan = hall.plan(token, COUNT)
    wide = {"within": 200_000}
    shown = hall.ask("GET", f"/v1/plans/{plan}/preview?within=200000", token).json()
    assert any(said in note for note in shown["notes"])
    paid = hall.ask("POST", f"/v1/plans/{plan}/release", token, "wide", json=wide)
    assert paid.status_code == 200, paid.text
    assert said in paid.json()["card"]["floor"]
    assert house.floors["hospital"].met(book, book.entries()[-1].cost)
    assert shown["best"]["epsilon"] == pytest.approx(float(Fraction(paid.json()["cost"]["epsilon"])), rel=0.05)
    again = hall.ask("POST", f"/v1/plans/{plan}/release", token, "wide", json=wide)
    assert again.content == paid.content
    narrow = hall.pay(token, "SELECT COUNT(*) AS n FROM admissions WHERE age > 7", "narrow", within=60)
    assert "floor" not in narrow.json()["card"]


def test_prices_that_are_not_sold_are_not_on_the_list(tmp_path):
    hall = hall_of(tmp_path, floor="least_epsilon = 0.15")
    try:
        token = hall.token()
        lines = hall.ask("GET", f"/v1/plans/{hall.plan(token, COUNT)}/preview", token).json()["lines"]
        assert min(line["epsilon"] for line in lines) == 0.2
        assert hall.ask("GET", "/v1/datasets", token).json()[0]["least_epsilon"] == "epsilon 0.15"
    finally:
        hall.close()


def test_no_more_than_so_many_paid_answers_exist(tmp_path):
    """The floor bounds repetition: with the default one, ten thousand releases are the whole budget."""
    hall = hall_of(tmp_path, floor="least_epsilon = 0.5")
    try:
        token = hall.token()
        statuses = [hall.pay(token, COUNT, f"k{turn}", epsilon="0.5", fresh=True).status_code for turn in range(8)]
        assert statuses == [200] * 6 + [402] * 2
    finally:
        hall.close()


def test_the_library_has_no_floor_and_no_deadline(tmp_path):
    with sd.open(write(tmp_path, floor="least_epsilon = 0.5", deadline=600_000, purses="")) as opened:
        assert opened.sql(COUNT).release(epsilon="0.0001").cost.epsilon == pytest.approx(0.0001)
