"""A dataset file of format 1 is refused with the lines to write, and rewritten so that it means the same."""

from __future__ import annotations

import tomllib

import pytest

from sordino.errors import QueryError
from sordino.plan.dataset import read_dataset
from sordino.plan.document import format_of, new_lines, upgraded

OLD = """# our patients
[dataset]   # who
name = "hospital"
ledger = "hospital.ledger"
[privacy]
unit_column = "patient"
max_rows = 8     # of one patient
max_groups = 4
[budget]
epsilon = 3
[tables.t]
source = "t.csv"
"""
ROWS = OLD.replace('unit_column = "patient"\nmax_rows = 8     # of one patient\nmax_groups = 4\n', "")
INLINE = 'dataset = { name = "h", ledger = "l" }\n' + OLD[OLD.index("[privacy]") :]
NEW = OLD.replace("[dataset]   # who\n", "[dataset]   # who\nformat = 2\n")
NEW = NEW.replace("max_rows = 8     # of one patient\n", "max_rows = 32     # of one patient\nmax_rows_per_group = 8\n")


def read(tmp_path, text):
    file = tmp_path / "hospital.toml"
    file.write_text(text, encoding="utf-8")
    return read_dataset(file)


def test_a_file_without_a_format_is_refused_with_the_lines_to_write(tmp_path):
    for text in (OLD, OLD.replace("[dataset]", "[dataset]\nformat = 1")):
        with pytest.raises(QueryError, match="SRD-204") as refusal:
            read(tmp_path, text)
        for words in ("format = 2", "max_rows = 32, max_rows_per_group = 8", "sordino config upgrade hospital.toml"):
            assert words in refusal.value.fix
        assert "rows of one person in all" in refusal.value.what
        assert refusal.value.facts["line"] == 2
    with pytest.raises(QueryError) as refusal:
        read(tmp_path, ROWS)
    assert "max_rows" not in refusal.value.fix


@pytest.mark.parametrize("format", ["3", "0", "-1", "2.5", "true", "false", '"2"', "[2]"])
def test_any_other_format_is_refused(tmp_path, format):
    with pytest.raises(QueryError, match="SRD-204") as refusal:
        read(tmp_path, OLD.replace("[dataset]", f"[dataset]\nformat = {format}"))
    assert "reads format 2" in refusal.value.what


def test_an_upgraded_file_means_the_same_and_keeps_its_comments(tmp_path):
    assert upgraded(OLD, "hospital.toml") == NEW
    unit = read(tmp_path, NEW).unit
    assert (unit.max_rows, unit.max_groups, unit.rows_per_group) == (32, 4, 8)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        (ROWS, {"dataset": ["format = 2"]}),
        (OLD.replace("max_groups = 4", "max_groups = 1"), {"dataset": ["format = 2"]}),
        (OLD.replace("max_groups = 4", "max_groups = 4\nmax_rows_per_group = 3"), {"dataset": ["format = 2"]}),
        (OLD, {"dataset": ["format = 2"], "privacy": ["max_rows = 32", "max_rows_per_group = 8"]}),
    ],
)
def test_only_what_changed_is_written(text, lines):
    said = tomllib.loads(text)
    assert (format_of(said), new_lines(said)) == (1, lines)
    new = tomllib.loads(upgraded(text, "x.toml"))
    assert format_of(new) == 2
    assert (new["privacy"] == said["privacy"]) == ("privacy" not in lines)
    assert new["tables"] == said["tables"]


@pytest.mark.parametrize(
    "text",
    [
        OLD.replace("\n", "\r\n"),
        OLD.replace("max_rows = 8", "  max_rows=8"),
        OLD.replace("max_rows = 8", '"max_rows" = 8'),
        OLD.replace("max_rows = 8", "max_rows = 1_0"),
        "# first\n" + OLD + "# last, without an end of line",
    ],
)
def test_other_layouts_are_rewritten_too(text):
    said, new = tomllib.loads(text), tomllib.loads(upgraded(text, "x.toml"))
    rows = said["privacy"]["max_rows"]
    assert new["privacy"] == {**said["privacy"], "max_rows": 4 * rows, "max_rows_per_group": rows}


@pytest.mark.parametrize("text", [INLINE, OLD.replace("max_rows = 8", "max_rows = 0x8")])
def test_a_layout_that_cannot_be_rewritten_is_refused_with_the_lines(text):
    with pytest.raises(QueryError, match="line by line") as refusal:
        upgraded(text, "x.toml")
    assert "format = 2" in refusal.value.fix
