"""Bars, intervals and ladders."""

import math
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import QueryError
from sordino.pictures import bars, intervals, ladder

SVG = "{http://www.w3.org/2000/svg}"


def description(picture):
    return ElementTree.fromstring(picture.svg).findtext(f"{SVG}desc")


def test_bars_are_as_long_as_their_numbers():
    picture = bars(["one", "two", "minus"], [1, 2, -1], title="Bars")
    one, two, minus = (float(r.get("width")) for r in ElementTree.fromstring(picture.svg).findall(f"{SVG}rect"))
    assert two == pytest.approx(2 * one, abs=0.2)
    assert minus == pytest.approx(one, abs=0.2)
    assert description(picture) == "one: 1; two: 2; minus: -1"
    assert picture.text.count("█") > 20


def test_a_missing_bar_is_named_and_not_drawn():
    picture = bars(["there", "not"], [1, None])
    assert "not: none" in description(picture)
    assert picture.svg.count("<rect") == 1


def test_a_band_is_a_whisker_on_every_bar_and_is_said():
    picture = bars(["a", "b", "none"], [10, 20, 5], band=([8, 17, None], [12, 23, None]), title="Counts")
    assert description(picture) == "a: 10, 8 to 12; b: 20, 17 to 23; none: 5, none to none"
    assert picture.svg.count('stroke="currentColor" stroke-width="2"') == 2
    assert "20 [17, 23]" in picture.text


def test_intervals_show_value_and_ends():
    picture = intervals(["mean", "refused", "open"], [2, None, 1], [1, None, -math.inf], [3, None, 2], title="Answers")
    assert description(picture) == "mean: 2, 1 to 3; refused: none, none to none; open: 1, -inf to 2"
    ruler = picture.text.splitlines()[1]
    assert ruler.index("[") < ruler.index("*") < ruler.index("]")


def test_a_ladder_names_the_broken_rungs():
    picture = ladder(["good", "bad", "unmeasured"], [1, 1, 1], [0.97, 2.1, None])
    assert description(picture) == (
        "good: claimed 1, measured 0.97, holds; bad: claimed 1, measured 2.1, refuted; unmeasured: claimed 1, measured none, open"
    )
    assert picture.svg.count(">refuted<") == 1
    assert [line.split()[-1] for line in picture.text.splitlines()[-3:]] == ["holds", "refuted", "open"]


number = st.none() | st.floats()


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.text(), number, number, number), max_size=9), st.text(), st.booleans())
def test_any_numbers_and_any_labels_make_a_readable_picture(rows, title, log):
    labels, values, some, others = ([row[k] for row in rows] for k in range(4))
    ends = [(a, b) if a is None or b is None or not a > b else (b, a) for a, b in zip(some, others, strict=True)]
    for picture in (
        bars(labels, values, title=title, x=title, log_x=log),
        intervals(labels, values, [a for a, _ in ends], [b for _, b in ends], title=title, x=title, log_x=log),
        ladder(labels, some, others, title=title),
    ):
        ElementTree.fromstring(picture.svg)
        assert all(len(line) <= 80 for line in picture.text.split("\n"))


def test_wrong_columns_are_refused():
    with pytest.raises(QueryError, match="one value per label"):
        bars(["a"], [1, 2])
    with pytest.raises(QueryError, match="numbers"):
        bars(["a"], ["much"])
    with pytest.raises(QueryError, match="reversed"):
        intervals(["a"], [1], [2], [0])
