"""Text of eighty columns."""

from sordino.pictures.picture import Axis
from sordino.pictures.row import spark, table


def test_a_sparkline_rises_with_its_values_and_marks_gaps():
    axis = Axis(0, 7, 0, 1)
    assert spark([0, 1, 2, 3, 4, 5, 6, 7], axis) == "▁▂▃▄▅▆▇█"
    assert spark([0, float("nan"), 7], axis) == "▁·█"


def test_many_values_share_characters():
    assert len(spark(list(range(1000)), Axis(0, 999, 0, 1), width=32)) <= 32


def test_a_table_aligns_and_cuts():
    text = table("T", ["", "a", "b"], [["x" * 50, "1", "2"], ["y", "3", "4"]])
    lines = text.splitlines()
    assert lines[0] == "T"
    assert "…" in lines[2]
    assert all(len(line) <= 80 for line in lines)
    assert lines[2].index(" 1") == lines[3].index(" 3")
