"""Days that are moved and clocks elsewhere: against the calendar of the standard library, and against every moment of a change."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest

from sordino.errors import QueryError
from sordino.schema.column import Column
from sordino.schema.expression import Call, Constant, Leaf
from sordino.schema.extent import changes, later, local, zone_of
from sordino.schema.interval import extent, values

LOW, HIGH = dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.datetime(2024, 12, 31, tzinfo=dt.UTC)
SEEN = Leaf(Column("seen", "timestamp", bounds=(LOW, HIGH)))
DAY = Leaf(Column("day", "date", bounds=("2024-01-31", "2024-03-31")))


@pytest.mark.parametrize("name", ["Europe/Zurich", "America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "Africa/Casablanca"])
def test_a_clock_shows_what_the_standard_library_says_and_stays_within_its_extent(name: str) -> None:
    found = changes(name, LOW, HIGH)
    assert found is not None
    whole = extent(Call("zone", (SEEN, Constant(name))))
    near = [start + dt.timedelta(seconds=s) for start, _ in found[1:] for s in (-1, 0, 1)]
    for moment in [LOW, HIGH, *near, *(LOW + dt.timedelta(hours=977 * i) for i in range(40))]:
        shown = local(moment, found)
        assert shown.replace(tzinfo=None) == moment.astimezone(ZoneInfo(name)).replace(tzinfo=None)
        assert whole.low <= shown <= whole.high


def test_months_end_on_their_last_day_and_bounds_move_along() -> None:
    assert later(dt.date(2024, 1, 31), 1, "month") == dt.date(2024, 2, 29)
    assert later(dt.date(2024, 3, 31), -13, "month") == dt.date(2023, 2, 28)
    assert later(LOW, 90, "second") == LOW + dt.timedelta(seconds=90)
    moved = Call("move", (DAY, Constant(1), Constant("month")))
    assert (extent(moved).low, extent(moved).high) == (dt.date(2024, 2, 29), dt.date(2024, 4, 30))
    assert len(values(moved) or ()) == 62


def test_what_has_no_clock_or_no_calendar_is_refused_with_the_fix() -> None:
    for expression, fix in (
        (Call("zone", (DAY, Constant("Europe/Zurich"))), "Only a timestamp"),
        (Call("move", (DAY, Constant(9), Constant("second"))), "CAST it AS TIMESTAMP"),
        (Call("move", (DAY, Constant(10**6), Constant("month"))), "narrower bounds"),
        (Call("move", (Constant("x"), Constant(1), Constant("day"))), "declared as date"),
    ):
        with pytest.raises(QueryError) as caught:
            extent(expression)
        assert fix in caught.value.fix
    assert zone_of("Mars/Base") is None
    assert zone_of("../../etc/passwd") is None
