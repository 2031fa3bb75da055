"""A hill of simulated numbers."""

from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.pictures import density

SVG = "{http://www.w3.org/2000/svg}"


def test_a_hill_stands_around_zero_and_says_how_far_it_reaches():
    picture = density([k / 10 for k in range(-100, 101)], {"half": 5, "19 of 20": 9.5}, title="Answers", x="distance")
    root = ElementTree.fromstring(picture.svg)
    assert root.findtext(f"{SVG}desc") == "distance: half within 5; 19 of 20 within 9.5."
    rects = root.findall(f"{SVG}rect")
    assert len(rects) == 41
    assert {r.get("fill-opacity") for r in rects} == {None, "0.35"}, "what lies outside the last mark is faint"
    assert float(rects[0].get("x")) + float(rects[-1].get("x")) + float(rects[0].get("width")) == pytest.approx(640, abs=1)
    assert "half within 5" in picture.text


@settings(max_examples=40, deadline=None)
@given(st.lists(st.floats(), max_size=30), st.floats(0, 1e100), st.text())
def test_any_numbers_make_a_readable_picture_on_wide_and_narrow_paper(values, half, title):
    picture = density(values, {title: half}, title=title, x=title)
    for svg in (picture.svg, picture.narrow):
        ElementTree.fromstring(svg)
        assert "nan" not in svg.replace(title, "")
    assert all(len(line) <= 80 for line in picture.text.split("\n"))
