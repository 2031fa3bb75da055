"""Constants at the door are exact, or nothing; and nothing hangs."""

import datetime as dt
import time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from sordino.schema.column import as_day, as_moment, as_number, is_text, shown


@pytest.mark.parametrize(
    ("given", "number"),
    [
        (0.1, Fraction(1, 10)),
        (3, Fraction(3)),
        ("2.50", Fraction(5, 2)),
        (Decimal("0.3"), Fraction(3, 10)),
        (Fraction(1, 3), Fraction(1, 3)),
        (np.int64(7), Fraction(7)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (1e300, Fraction(10**300)),
        ("-1e-3", Fraction(-1, 1000)),
        (".5", Fraction(1, 2)),
        ("5.", Fraction(5)),
        (-0.0, Fraction(0)),
    ],
)
def test_a_number_is_what_was_written(given, number):
    assert as_number(given) == number


@pytest.mark.parametrize(
    "given",
    [
        True,
        None,
        float("nan"),
        float("inf"),
        -float("inf"),
        "nan",
        "inf",
        "1e999999999",
        "1_000",
        "0x10",
        "１",
        "",
        " ",
        "1/3",
        "1e",
        1.1e300,
        Decimal("1e999999999"),
        Decimal("NaN"),
        Decimal("1e-999999999"),
        "9" * 1000,
        [],
        object(),
        b"1",
        np.array([1.0, 2.0]),
        1j,
    ],
)
def test_what_is_no_number_is_none_and_costs_nothing(given):
    start = time.thread_time()
    assert as_number(given) is None
    assert time.thread_time() - start < 0.1


def test_an_integer_too_long_to_print_is_no_number():
    assert as_number(10**5000) is None


def test_days_are_written_one_way():
    assert as_day("2020-02-29") == dt.date(2020, 2, 29)
    assert as_day(dt.date(2020, 1, 1)) == dt.date(2020, 1, 1)
    for bad in (
        "2021-02-29",
        "20200101",
        "2020-W01-1",
        "2020-1-1",
        "2020-01-01 ",
        "２０２０-01-01",
        2020,
        None,
        dt.datetime(2020, 1, 1),
        "0000-01-01",
    ):
        assert as_day(bad) is None


def test_moments_are_utc():
    noon = dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC)
    for same in (
        "2020-01-01 12:00",
        "2020-01-01T12:00:00Z",
        "2020-01-01 14:00:00+02:00",
        "2020-01-01 14:00 +0200",
        noon,
        noon.replace(tzinfo=None),
    ):
        assert as_moment(same) == noon
    assert as_moment("2020-01-01") == as_moment(dt.date(2020, 1, 1)) == dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    for bad in ("2020-01-01 25:00", "2020-01-01 12:00:00.1234567", "noon", 5, None, "0001-01-01 00:00+10:00", "20200101T120000"):
        assert as_moment(bad) is None


def test_text_is_what_every_engine_can_hold():
    assert is_text("é😀\n")
    assert not any(is_text(bad) for bad in ("a\x00", "\ud800", b"a", None, 1))


def test_what_is_shown_is_short_and_printable():
    assert shown("a") == "'a'"
    assert len(shown("x" * 1000)) == 80
    assert shown(10**5000) == "a number too long to print"
    assert shown("a\u202eb\x07").isprintable()
