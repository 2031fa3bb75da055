"""A finished picture: its four faces and its files."""

from xml.etree import ElementTree

import pytest

from sordino.errors import QueryError
from sordino.pictures import Picture, bars
from sordino.pictures.picture import safe


def test_text_is_escaped_everywhere():
    assert safe("<a href='x' b=\"y\">&") == "&lt;a href=&#x27;x&#x27; b=&quot;y&quot;&gt;&amp;"


def test_characters_xml_cannot_hold_are_replaced():
    assert safe("a\x00b\x1bc\ud800d\uffff") == "a\ufffdb\ufffdc\ufffdd\ufffd"
    assert safe("ε\t😀") == "ε\t😀"


def test_a_terminal_sees_the_text_and_a_notebook_the_drawing():
    picture = bars(["a"], [1])
    assert repr(picture) == str(picture) == picture.text
    assert picture._repr_html_() == picture.svg


def test_a_picture_is_a_value():
    assert Picture("<svg/>", "x") == Picture("<svg/>", "x")
    with pytest.raises(AttributeError):
        Picture("<svg/>", "x").text = "y"


@pytest.mark.parametrize("ending", ["svg", "html", "txt", "SVG"])
def test_a_picture_is_saved_by_its_ending(tmp_path, ending):
    picture = bars(["<b>", "\ud800"], [1, 2], title="<script>alert(1)</script>")
    file = picture.save(tmp_path / f"p.{ending}")
    content = file.read_text(encoding="utf-8")
    assert "<script" not in content or ending == "txt"
    if ending.lower() == "svg":
        assert ElementTree.parse(file).getroot().tag.endswith("svg")


@pytest.mark.parametrize("name", ["p", "p.png", "p.js"])
def test_other_endings_are_refused(tmp_path, name):
    with pytest.raises(QueryError, match="svg"):
        bars(["a"], [1]).save(tmp_path / name)
    assert not list(tmp_path.iterdir())
