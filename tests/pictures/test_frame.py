"""Axes, ticks and pens."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sordino.pictures.picture import PENS, Axis, number, path, shorten

finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.floats()), st.booleans())
def test_an_axis_takes_any_numbers_and_keeps_within_its_paper(values, log):
    axis = Axis.over(values, 10, 90, log=log)
    assert axis.low < axis.high
    assert all(10 <= axis.at(v) <= 90 for v in values if axis.shows(v))
    ticks = axis.ticks()
    assert len(ticks) <= 12
    assert ticks == sorted(ticks)


@given(finite, finite)
def test_order_on_the_axis_is_order_on_paper(a, b):
    axis = Axis.over([a, b], 0, 100)
    assert (axis.at(a) <= axis.at(b)) == (a <= b) or math.isclose(axis.at(a), axis.at(b))


@pytest.mark.parametrize(
    ("low", "high", "log", "ticks"),
    [
        (0, 1, False, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (-1, 3, False, [-1, 0, 1, 2, 3]),
        (1, 1000, True, [1, 10, 100, 1000]),
        (0, 7, False, [0, 2, 4, 6]),
    ],
)
def test_ticks_are_round(low, high, log, ticks):
    assert Axis(low, high, 0, 1, log).ticks() == pytest.approx(ticks)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (0.0, "0"),
        (1234.0, "1,234"),
        (0.12345, "0.1235"),
        (1e9, "1e9"),
        (1.5e-7, "1.5e-7"),
        (-2.5, "-2.5"),
        (math.nan, "none"),
        (math.inf, "inf"),
    ],
)
def test_numbers_are_short(value, said):
    assert number(value) == said


def test_long_text_is_cut_and_line_breaks_vanish():
    assert shorten("one\ntwo", 80) == "one two"
    assert shorten("abcdef", 4) == "abc…"


def test_a_gap_lifts_the_pen():
    assert path([(0, 0), (1, 1), None, (2, 2), (3, 3)]) == "M0 0L1 1M2 2L3 3"


def contrast(one, other):
    def light(colour):
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    a, b = sorted((light(one), light(other)))
    return (b + 0.05) / (a + 0.05)


@pytest.mark.parametrize("ground", ["#ffffff", "#14171a"])
def test_every_pen_is_seen_by_day_and_by_night(ground):
    assert min(contrast(pen.colour, ground) for pen in PENS) >= 3


def test_pens_differ_without_colour():
    assert len({pen.dash for pen in PENS}) == len({pen.marker for pen in PENS}) == len(PENS)
