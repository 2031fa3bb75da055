"""Hostile text is refused in milliseconds, whatever it is, with a hint and without a trace."""

import logging

import pytest

from schema.worlds import COLUMNS
from sordino.errors import QueryError
from sordino.plan.condition import parse_predicate
from sordino.plan.refusal import DEPTH, LENGTH, TOKENS

from .hostile import HOSTILE, LEGAL
from .stopwatch import FAST, slowest


def _outcome(text):
    try:
        return parse_predicate(text, COLUMNS, table="people")
    except QueryError as error:
        return error


@pytest.fixture(autouse=True, scope="module")
def _warm():
    parse_predicate("age = 1", COLUMNS)


def test_the_corpus_is_large():
    assert len(HOSTILE) >= 400


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_text_is_refused_with_a_hint(text, caplog):
    with caplog.at_level(logging.DEBUG):
        error = _outcome(text)
    assert isinstance(error, QueryError), error
    assert error.code in ("SRD-201", "SRD-203", "SRD-206")
    assert error.fix
    assert len(str(error)) < 600
    assert str(error).isprintable()
    assert not caplog.records


@pytest.mark.parametrize("text", LEGAL, ids=range(len(LEGAL)))
def test_harmless_text_that_looks_hostile_is_accepted(text):
    assert not isinstance(_outcome(text), QueryError)


def test_no_text_takes_long():
    assert slowest(_outcome, [*HOSTILE, *LEGAL]) < FAST


@pytest.mark.parametrize("bad", [None, 5, b"age = 1", ["age = 1"], object()])
def test_a_filter_is_text(bad):
    with pytest.raises(QueryError, match="SRD-206"):
        parse_predicate(bad, COLUMNS)


def test_limits_are_said():
    for text, limit in (
        ("(" * 40 + "age = 1" + ")" * 40, DEPTH),
        ("age = 1" + " " * LENGTH, LENGTH),
        ("age = 1 AND " * 400 + "age = 1", TOKENS),
    ):
        assert f"{limit:,}" in str(_outcome(text))


def test_a_deep_caller_gets_an_error_and_no_crash():
    def dive(levels):
        return dive(levels - 1) if levels else _outcome("(" * DEPTH + "age = 1" + ")" * DEPTH)

    assert isinstance(dive(600), QueryError)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("sex ILIKE 'f'", "Use LIKE"),
        ("age IN (SELECT 1)", "columns of one row"),
        ("lower(sex) = 'f'", "functions"),
        ("age + 1 = 2", "arithmetic"),
        ("age = NULL", "IS NULL"),
        ("age::text = '1'", "Declare the column's type"),
        ("age = ?", "constant itself"),
        ('sex = "f"', "single quotes"),
        ("age = '1'", "without quotes"),
        ("sex = 5", "single quotes"),
        ("born = '1.1.2020'", "YYYY-MM-DD"),
        ("smoker = 1", "TRUE or FALSE"),
        ("agee = 1", "Did you mean 'age'"),
        ("Age = 1", "Did you mean 'age'"),
        ("t.age = 1", "this table: age"),
        ("age = 1; DROP TABLE x", "one condition"),
        ("age = 1 -- x", "without comments"),
        ("sex < 'f'", "IN or IS NULL"),
        ("age <=> 1", "a IS NULL AND b IS NULL"),
        ("smoker IS TRUE", "= TRUE"),
        ("CASE WHEN age = 1 THEN TRUE END", "AND and OR"),
        ("1 = 1", "Leave that condition out"),
        ("age = 1.5", "whole number"),
        ("age AND smoker", "IS NOT NULL"),
    ],
)
def test_the_hint_fits_the_mistake(text, hint):
    assert hint in str(_outcome(text))
