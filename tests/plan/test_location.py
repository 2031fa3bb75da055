"""An error quotes the line that is wrong."""

from sordino.plan.document import line_of, to_text

TEXT = """[dataset]
name = "x"

[tables.a.columns]
cost = { type = "int" }
"odd name" = "int"
b.c = 1
[ tables . 'q t' ]  # comment
source = 1
[[list]]
x = 1"""


def test_the_deepest_line_that_says_the_path_is_found():
    assert line_of(TEXT, ("dataset", "name")) == 2
    assert line_of(TEXT, ("dataset", "nothing")) == 1
    assert line_of(TEXT, ("tables", "a", "columns", "cost", "type")) == 5
    assert line_of(TEXT, ("tables", "a", "columns", "odd name")) == 6
    assert line_of(TEXT, ("tables", "a", "columns", "b", "c")) == 7
    assert line_of(TEXT, ("tables", "q t", "source")) == 9
    assert line_of(TEXT, ("list", "x")) == 11
    assert line_of(TEXT, ("nowhere",)) is None
    assert line_of("", ("a",)) is None


def test_the_quoted_line_is_short_and_printable():
    assert to_text(TEXT, 5) == 'line 5: cost = { type = "int" }'
    assert to_text(TEXT, None) == to_text(TEXT, 99) == ""
    assert len(to_text("x" * 1000, 1)) < 120
    assert to_text("a\x1b[31m\u202eb", 1).isprintable()
