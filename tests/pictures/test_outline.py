"""What hangs together, drawn."""

from xml.etree import ElementTree

from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.pictures import matrix, outline

SVG = "{http://www.w3.org/2000/svg}"
NODES = [(0, "one patient", "protected", False), (1, "visits", "by patient_id", False), (2, "labs", "by visit_id", False),
         (0, "wards (public)", "joined on ward", True)]  # fmt: skip


def test_an_outline_has_a_box_for_everything_and_a_line_to_what_it_hangs_from():
    picture = outline(NODES, title="hospital")
    for svg in (picture.svg, picture.narrow):
        root = ElementTree.fromstring(svg)
        assert len(root.findall(f"{SVG}rect")) == 4
        assert len(root.findall(f"{SVG}path")) == 2, "visits under the patient, labs under visits"
        assert [box.get("stroke-dasharray") for box in root.findall(f"{SVG}rect")] == [None, None, None, "5 4"]
    assert picture.text.splitlines() == ["hospital", "one patient: protected", "  visits: by patient_id", "    labs: by visit_id",
                                         "wards (public): joined on ward"]  # fmt: skip


def test_pairs_are_darker_the_worse_and_framed_where_they_were_measured():
    picture = matrix(["age", "sex", "cost"], {(0, 1): 0.01, (0, 2): 0.04}, {(0, 1)}, title="Pairs")
    root = ElementTree.fromstring(picture.svg)
    first, second, missing = root.findall(f"{SVG}rect")
    assert float(first.get("fill-opacity")) < float(second.get("fill-opacity"))
    assert (first.get("stroke-width"), second.get("stroke-width")) == ("2", None)
    assert missing.get("fill-opacity") == "0.00"
    assert root.findtext(f"{SVG}desc") == "age, sex: 0.01 (framed); age, cost: 0.04"


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 4), st.text(), st.text(), st.booleans()), max_size=6), st.lists(st.text(), max_size=9), st.text())
def test_any_names_make_a_readable_picture(nodes, names, title):
    pairs = {(a, b): 1 / (1 + a + b) for b in range(len(names)) for a in range(b)}
    for picture in (outline(nodes, title=title), matrix(names, pairs, set(list(pairs)[::2]), title=title, x=title)):
        ElementTree.fromstring(picture.svg)
        ElementTree.fromstring(picture.narrow)
        assert all(len(line) <= 80 for line in picture.text.split("\n"))
