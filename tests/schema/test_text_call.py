"""Functions of text: their values where keys are public, and how long their results are."""

from __future__ import annotations

import pytest

from sordino.errors import QueryError
from sordino.schema.column import Column
from sordino.schema.expression import Call, Constant, Leaf
from sordino.schema.interval import extent, text_part, values

SEX, TOWN = Leaf(Column("sex", "cat", keys=("f", "m", None))), Leaf(Column("town", "cat", max_length=30))


def test_public_keys_stay_public_through_functions_of_text() -> None:
    assert values(Call("concat", (SEX, Constant("-"), Call("upper", (SEX,))))) == ("f-F", "f-M", None, "m-F", "m-M")
    assert values(Call("right", (SEX, Constant(3)))) == ("f", "m", None)
    assert values(Call("trim", (Constant("  a "),))) == ("a",)
    assert values(Call("concat", (SEX, TOWN))) is None


def test_every_part_of_a_text_is_as_engines_have_it() -> None:
    assert [text_part(word, " Ab ", []) for word in ("trim", "ltrim", "rtrim", "lower", "upper")] == ["Ab", "Ab ", " Ab", " ab ", " AB "]
    assert text_part("right", "abc", [2]) == "bc"
    assert text_part("right", "abc", [9]) == "abc"
    assert text_part("trim", "\u00a0a", []) == "\u00a0a"


def test_lengths_follow_from_what_a_text_is_made_of() -> None:
    assert extent(Call("length", (Call("concat", (TOWN, Constant(", "), TOWN)),))).high == 62
    assert extent(Call("length", (Call("right", (TOWN, Constant(4))),))).high == 4
    assert extent(Call("length", (Call("trim", (TOWN,)),))).high == 30
    with pytest.raises(QueryError, match="no"):
        extent(Call("concat", (SEX, Leaf(Column("age", "int", bounds=(0, 9))))))
