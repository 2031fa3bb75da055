"""Steps one after the other."""

from xml.etree import ElementTree

from sordino.pictures import chain

SVG = "{http://www.w3.org/2000/svg}"


def test_a_chain_has_a_box_per_step_and_says_them_in_order():
    picture = chain(["rows of t", "where <a> & b", "count"], title="A question")
    root = ElementTree.fromstring(picture.svg)
    assert len(root.findall(f"{SVG}rect")) == 3
    assert root.findtext(f"{SVG}desc") == "rows of t; then where <a> & b; then count"
    assert picture.text.splitlines() == ["A question", "rows of t", "-> where <a> & b", "-> count"]


def test_a_long_step_is_cut_and_no_step_is_a_picture_too():
    picture = chain(["x" * 500])
    assert max(map(len, picture.text.splitlines())) <= 80
    assert "x" * 500 in picture.svg, "the description is whole"
    assert chain([]).text == ""
