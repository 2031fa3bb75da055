"""Lines, steps and ROC curves."""

import math
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.errors import QueryError
from sordino.pictures import lines, roc, steps

SVG = "{http://www.w3.org/2000/svg}"
XS = [1, 2, 3, 4]


def parts(picture, tag):
    return ElementTree.fromstring(picture.svg).findall(f"{SVG}{tag}")


def test_a_line_picture_says_what_it_shows():
    picture = lines({"Laplace": (XS, [4, 3, 2, 1])}, title="Error", x="epsilon", y="width")
    assert parts(picture, "title")[0].text == "Error"
    assert parts(picture, "desc")[0].text == "width by epsilon. Laplace: from 4 at 1 to 1 at 4."
    root = ElementTree.fromstring(picture.svg)
    assert root.get("role") == "img"
    assert root.get("aria-labelledby").split() == [parts(picture, "title")[0].get("id"), parts(picture, "desc")[0].get("id")]
    assert "Laplace" in picture.text
    assert "4 to 1" in picture.text


def test_two_different_pictures_never_share_an_id():
    one, two = (parts(lines({"a": (XS, ys)}), "title")[0].get("id") for ys in ([1, 2, 3, 4], [1, 2, 3, 5]))
    assert one != two


def test_series_differ_in_dash_and_marker():
    picture = lines(dict.fromkeys("abc", (XS, XS)))
    dashes = {part.get("stroke-dasharray") for part in parts(picture, "path") if part.get("stroke-width") == "2"}
    assert len(dashes) == 3


def test_nothing_moves_and_nothing_is_fetched():
    svg = lines({"a": (XS, XS)}).svg
    assert "prefers-color-scheme:dark" in svg
    assert "currentColor" in svg
    assert not any(word in svg for word in ("<script", "href", "url(", "@import", "onload"))


def test_what_a_scale_cannot_hold_is_counted():
    picture = lines({"a": (XS, [None, 0, -1, 10])}, log_y=True)
    assert "3 points could not be drawn." in picture.svg
    assert "NaN" not in picture.svg
    assert "nan" not in picture.svg


def test_stairs_turn_only_at_right_angles():
    drawn = next(part.get("d") for part in parts(steps({"a": (XS, [1, 5, 2, 3])}), "path") if part.get("stroke-width") == "2")
    corners = [tuple(map(float, corner.split())) for corner in drawn[1:].split("L")]
    assert all(a[0] == b[0] or a[1] == b[1] for a, b in pairwise(corners))


def test_roc_reports_area_and_hits_at_small_false_alarm_rates():
    picture = roc({"tracing": ([0, 0.01, 0.1, 1], [0, 0.4, 0.6, 1]), "blind": ([0, 1], [0, 1])}, title="Tracing")
    head, first, second = picture.text.splitlines()[1:]
    assert head.split()[0] == "AUC"
    assert first.split() == ["tracing", "0.767", "0.000", "0.400", "0.600"]
    assert second.split()[:2] == ["blind", "0.500"]
    assert "guessing" in picture.svg
    assert roc({"a": ([0, 0.001, 1], [0, 0.5, 1])}, log=True).svg


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.text(), st.lists(st.tuples(st.floats(), st.floats()), max_size=9), max_size=8), st.text(), st.booleans())
def test_any_numbers_and_any_names_make_a_readable_picture(series, title, log):
    picture = lines(
        {k: ([a for a, _ in v], [b for _, b in v]) for k, v in series.items()}, title=title, x=title, y=title, log_x=log, log_y=log
    )
    ElementTree.fromstring(picture.svg)
    assert all(len(line) <= 80 for line in picture.text.split("\n"))


@pytest.mark.parametrize("wrong", [[1, 2], {"a": 3}, {"a": ([1], [1, 2])}, {"a": (["x"], [1])}, {"a": ([1], [2], [3])}])
def test_wrong_series_are_refused(wrong):
    with pytest.raises(QueryError):
        lines(wrong)


def test_rates_beyond_one_are_refused():
    for wrong in (2.0, -0.1, math.nan):
        with pytest.raises(QueryError, match="rates"):
            roc({"a": ([0, 1], [0, wrong])})
