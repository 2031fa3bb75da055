"""Three tables of people joined in any order, with any of several equal columns, are one question; other joins stay as they are."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

from plan.outside_tables import opened


@pytest.fixture(scope="module")
def flights() -> Any:
    return opened("flights")


def keys(data: Any, texts: list[str]) -> set[Any]:
    return {data.sql(text).key() for text in texts}


def test_three_tables_are_one_question_in_every_order(flights: Any) -> None:
    on = {
        frozenset("pb"): "b.passenger_id = p.passenger_id",
        frozenset("bs"): "s.booking_id = b.booking_id",
    }
    names, texts = {"p": "passengers", "b": "bookings", "s": "segments"}, []
    for order in itertools.permutations("pbs"):
        joins, done = f"{names[order[0]]} {order[0]}", {order[0]}
        for alias in order[1:]:
            said = [text for pair, text in on.items() if alias in pair and (pair - {alias}) <= done]
            if not said:
                break
            joins += f" JOIN {names[alias]} {alias} ON {said[0]}"
            done.add(alias)
        if len(done) == 3:
            texts.append(f"SELECT p.tier, SUM(s.distance) AS miles FROM {joins} WHERE b.channel = 'web' GROUP BY p.tier")
    texts += [
        "SELECT p.tier, SUM(s.distance) FROM passengers p, segments s, bookings b"
        " WHERE s.booking_id = b.booking_id AND b.passenger_id = p.passenger_id AND b.channel = 'web' GROUP BY p.tier",
        "SELECT tier, SUM(distance) FROM segments JOIN bookings USING (booking_id) JOIN passengers USING (passenger_id)"
        " WHERE channel = 'web' GROUP BY tier",
        "SELECT p.tier, SUM(s.distance) FROM bookings b JOIN passengers p ON p.passenger_id = b.passenger_id AND b.channel = 'web'"
        " JOIN segments s ON s.booking_id = b.booking_id GROUP BY p.tier",
    ]
    assert len(texts) == 7
    assert len(keys(flights, texts)) == 1


def test_public_tables_beside_them_and_other_joins_stay(flights: Any) -> None:
    both = [
        "SELECT a.region, COUNT(*) FROM segments s JOIN bookings b ON b.booking_id = s.booking_id JOIN airports a ON a.code = s.origin"
        " JOIN passengers p ON p.passenger_id = b.passenger_id WHERE p.tier = 'gold' GROUP BY a.region",
        "SELECT a.region, COUNT(*) FROM passengers p JOIN bookings b ON p.passenger_id = b.passenger_id"
        " JOIN segments s ON b.booking_id = s.booking_id JOIN airports a ON a.code = s.origin WHERE p.tier = 'gold' GROUP BY a.region",
    ]
    assert len(keys(flights, both)) == 1
    left = "SELECT COUNT(*) FROM passengers p LEFT JOIN bookings b ON b.passenger_id = p.passenger_id"
    left += " LEFT JOIN segments s ON s.booking_id = b.booking_id"
    assert flights.sql(left).key() != flights.sql(left.replace("LEFT ", "")).key()


def test_the_numbers_are_those_of_the_join_as_written(flights: Any) -> None:
    text = "SELECT COUNT(*) AS n FROM passengers p JOIN bookings b ON b.passenger_id = p.passenger_id"
    found = flights.sql(f"{text} JOIN segments s ON s.booking_id = b.booking_id WHERE s.distance > 1000").release(epsilon=10_000).value
    assert found == sum(300 + 40 * i > 1000 for i in range(90))
