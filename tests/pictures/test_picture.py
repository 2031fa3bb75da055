"""A finished picture: its four faces and its files."""

from xml.etree import ElementTree

import pytest

from sordino.errors import QueryError
from sordino.pictures import Picture, bars, chain, density, intervals, ladder, lines, roc, steps
from sordino.pictures.picture import NARROW, Axis, safe


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


SVG = "{http://www.w3.org/2000/svg}"
EVERY = {
    "lines": lambda: lines(
        {"a long name of a curve": ([0.05, 2], [240, 6]), "b": ([0.1, 2], [3, 1])},
        title="Error and price of something with a long title that does not fit", x="epsilon", y="95% within", log_x=True, log_y=True,
        mark=(0.2, 60, "your wish: ± 60"),
    ),
    "steps": lambda: steps({"a": ([1, 2, 3], [1_000_000, 2_000_000, 3_000_000])}, title="Stairs"),
    "roc": lambda: roc({"a": ([0, 0.001, 1], [0, 0.5, 1])}, log=True),
    "bars": lambda: bars(["a label of many words and more", "b"], [123_456, 2], band=([1, 1], [200_000, 3]), title="Bars"),
    "intervals": lambda: intervals(["north", "south"], [20_000, 30_000], [15_000, 29_000], [25_000, 31_000], title="Answers", x="euro"),
    "ladder": lambda: ladder(["good", "bad"], [1, 1], [0.9, 2]),
    "chain": lambda: chain(["rows of a table with a name that is long enough for two lines", "count"]),
    "density": lambda: density(range(-50, 51), {"half": 25, "19 of 20": 48}, x="distance from the exact number"),
}  # fmt: skip


@pytest.mark.parametrize("name", EVERY)
def test_on_narrow_paper_words_keep_their_size_and_stay_on_it(name):
    root = ElementTree.fromstring(EVERY[name]().narrow)
    wide, tall = (float(root.get(word)) for word in ("width", "height"))
    assert wide == NARROW
    for part in root.findall(f"{SVG}text"):
        size, text, at = float(part.get("font-size")), part.text or "", float(part.get("x"))
        assert size >= 12
        assert float(part.get("y")) < tall
        share = {"start": 0.0, "middle": 0.5, "end": 1.0}[part.get("text-anchor")]
        long = 0.5 * size * len(text)
        assert at - share * long > -4, text
        assert at + (1 - share) * long < wide + 4, text


def test_a_point_that_matters_is_marked_with_lines_to_both_axes():
    picture = EVERY["lines"]()
    assert "your wish: ± 60: 60 at 0.2." in ElementTree.fromstring(picture.svg).findtext(f"{SVG}desc")
    assert 'stroke-dasharray="3 3"' in picture.svg


def test_logarithmic_ticks_are_powers_with_small_marks_between_and_never_touch():
    axis = Axis(0.05, 2000, 0, 200, log=True)
    assert axis.labelled() == pytest.approx([0.1, 1, 10, 100, 1000])
    assert axis.between()[:6] == pytest.approx([0.05, 0.06, 0.07, 0.08, 0.09, 0.1])
    assert Axis(0.05, 2, 0, 400, log=True).labelled() == pytest.approx([0.05, 0.1, 0.2, 0.5, 1, 2])
    assert Axis(0, 1, 0, 100).between() == []
    for room in (30, 60, 120, 500):
        for low, high, log in ((0.05, 2, True), (1, 1e6, True), (0, 100_000, False), (-3e6, 3e6, False)):
            assert Axis(low, high, 0, room, log)._apart(Axis(low, high, 0, room, log).labelled())
