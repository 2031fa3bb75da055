"""What a card says about a filter can be read back to the same filter."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot.dialects.dialect import Dialect

from sordino.plan.condition import parse_predicate
from sordino.schema.column import Column
from sordino.schema.expression import And, Compare, In, IsNull, Like, Literal, Name, Not, Or, canonical
from sordino.schema.spelling import describe, number_text

from .worlds import COLUMNS, predicates


@settings(max_examples=1500, deadline=None)
@given(predicates)
def test_reading_back_what_was_described_gives_the_same_filter(predicate):
    text = describe(predicate)
    again = parse_predicate(text, COLUMNS)
    assert canonical(again) == canonical(predicate)
    assert describe(parse_predicate(describe(again), COLUMNS)) == describe(again)


def _words():
    dialect = Dialect.get_or_raise("duckdb")
    parser, words = type(dialect.parser()), set(dialect.tokenizer_class.KEYWORDS)
    words |= {key for table in vars(parser).values() if isinstance(table, dict) for key in table if isinstance(key, str)}
    words |= set(parser.NO_PAREN_FUNCTION_PARSERS) | {"if", "now", "rowid", "random", "current_role", "true", "IF", "Date"}
    return sorted({form for word in words if word.isidentifier() for form in (word, word.lower())})


def test_every_word_of_sql_can_be_a_column_name():
    for word in _words():
        columns = {word: Column(word, "cat"), "other": Column("other", "cat")}
        item = Name(word)
        same, listed, alike = Compare("=", item, Literal("x")), In(item, (Literal("x"), Literal("y"))), Like(item, "x%")
        for predicate in (
            same,
            Or((Not(same), Not(IsNull(item)))),
            And((IsNull(item), Not(listed), alike)),
            Compare("<>", Name("other"), item),
        ):
            assert parse_predicate(describe(predicate), columns) == predicate, word


@given(st.text(min_size=1, max_size=20), st.text(max_size=20))
def test_any_name_and_any_text_survive(name, value):
    name, value = name.replace("\x00", "0"), value.replace("\x00", "0")
    predicate = Compare("=", Name(name), Literal(value))
    assert parse_predicate(describe(predicate), {name: Column(name, "cat")}) == predicate


@given(
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20, places=12).map(Fraction), st.integers(-40, 40)
)
def test_numbers_are_written_exactly(number, power):
    value = number * Fraction(10) ** power
    assert Fraction(number_text(value)) == value


def test_cards_read_well():
    texts = [
        "age >= 18 AND sex IN ('f', 'm')",
        "NOT (age = 1 OR smoker = TRUE)",
        "born BETWEEN DATE '2000-01-01' AND DATE '2001-01-01'",
        "income > 0.5 AND (sex = 'it''s' OR sex IS NOT NULL)",
        "seen < TIMESTAMP '2020-01-01 10:00:00'",
        "age NOT IN (1, 2)",
    ]
    for text in texts:
        assert describe(parse_predicate(text, COLUMNS)) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (Fraction(1, 4), "0.25"),
        (-Fraction(1, 8), "-0.125"),
        (10**9, "1e9"),
        (1_000_000, "1000000"),
        (Fraction(1, 10**12), "1e-12"),
        (Fraction(1, 3), "1/3"),
        (-120, "-120"),
    ],
)
def test_number_texts(value, text):
    assert number_text(value) == text
