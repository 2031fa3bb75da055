"""Filters that say the same have one form; a form means what its filter means, on every row."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sordino.plan.condition import parse_predicate
from sordino.schema.expression import And, Compare, Literal, Name, Not, Or, canonical, constant, encode

from .worlds import COLUMNS, form_holds, holds, predicates, rows


@settings(max_examples=1500, deadline=None)
@given(predicates, st.lists(rows, min_size=1, max_size=8))
def test_the_normal_form_means_the_same_on_every_row(predicate, table):
    form = canonical(predicate)
    assert json.loads(encode(form)) == form
    for row in table:
        assert form_holds(form, row) == holds(predicate, row)


@settings(max_examples=300, deadline=None)
@given(predicates, predicates, predicates)
def test_order_repeats_double_negation_and_de_morgan_do_not_matter(a, b, c):
    assert canonical(And((a, b, c))) == canonical(And((c, And((b, a)), a)))
    assert canonical(Or((a, b, c))) == canonical(Or((Or((c, b)), a, b)))
    assert canonical(Not(Not(a))) == canonical(a)
    assert canonical(Not(And((a, b)))) == canonical(Or((Not(b), Not(a))))


SAME = [
    ("age >= 18 AND sex = 'f'", "sex = 'f' AND age >= 18"),
    ("age > 17", "age >= 18"),
    ("18 <= age", "age >= 18"),
    ("NOT age < 18", "age >= 18"),
    ("age > 17.5", "age >= 18"),
    ("age BETWEEN 1 AND 5", "age <= 5 AND age >= 1"),
    ("age BETWEEN 0.5 AND 5.9", "age BETWEEN 1 AND 5"),
    ("sex IN ('f','m')", "sex = 'm' OR sex = 'f'"),
    ("sex IN ('f','f')", "sex = 'f'"),
    ("sex NOT IN ('f','m')", "sex <> 'm' AND sex <> 'f'"),
    ("sex LIKE 'f'", "sex = 'f'"),
    ("smoker", "smoker = TRUE"),
    ("NOT smoker", "smoker <> TRUE"),
    ("smoker = FALSE", "smoker <> TRUE"),
    ("income = 0.5", "income = 5e-1"),
    ("income > .50", "0.5 < income"),
    ("born > '2020-01-01'", "born > DATE '2020-01-01'"),
    ("seen > '2020-01-01 02:00+02:00'", "seen > TIMESTAMP '2020-01-01'"),
    ("age < kids", "kids > age"),
    ("age IS NOT NULL", "NOT age IS NULL"),
    ("(age = 1)", "age = 1"),
    ("age != 3", "age <> 3"),
    ("age == 3", "age = 3"),
    ("NOT (age = 1 OR sex = 'f')", "sex <> 'f' AND age <> 1"),
    ("age NOT BETWEEN 1 AND 5", "age < 1 OR age > 5"),
    ("sex NOT LIKE 'f%'", "NOT (sex LIKE 'f%')"),
    ('"age" = 1', "age = 1"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_two_spellings_are_one_question(one, other):
    assert canonical(parse_predicate(one, COLUMNS)) == canonical(parse_predicate(other, COLUMNS))


DIFFERENT = [
    "age = 1",
    "age <> 1",
    "age < 1",
    "age <= 1",
    "age > 1",
    "age >= 1",
    "kids = 1",
    "income = 1",
    "income < 1",
    "income <= 1",
    "sex = '1'",
    "sex = 'f'",
    "sex = 'F'",
    "sex = 'f '",
    "sex LIKE 'f%'",
    "sex NOT LIKE 'f%'",
    "sex IS NULL",
    "sex IS NOT NULL",
    "age IS NULL",
    "smoker",
    "NOT smoker",
    "smoker IN (TRUE, FALSE)",
    "born = '2020-01-01'",
    "seen = '2020-01-01'",
    "age = kids",
    "age <> kids",
    "age < kids",
    "age <= kids",
    "age > kids",
    "age = 1 AND kids = 1",
    "age = 1 OR kids = 1",
    "age = 1 AND (kids = 1 OR sex = 'f')",
    "(age = 1 AND kids = 1) OR sex = 'f'",
    "age IN (1, 2)",
    "age IN (1, 2, 3)",
    "age NOT IN (1, 2)",
    "sex = 'and'",
    "sex IN ('f', 'm')",
    "sex = 'f,m'",
    "income = 0.1",
    "income = 0.10000000000000000001",
    "price = 0.1",
]


def test_different_questions_have_different_forms():
    forms = [encode(canonical(parse_predicate(text, COLUMNS))) for text in DIFFERENT]
    assert len(set(forms)) == len(forms)


def test_a_constant_carries_its_kind():
    assert len({encode(constant(value)) for value in (1, True, "1", None, "null", 0.5)}) == 6
    assert constant(0.1) == ["number", "1/10"]
    for whole in (0, -7, 10**30, np.int64(5)):
        assert constant(whole) == ["number", str(Fraction(int(whole)))], "the text keys were always made of"


def test_filters_built_by_hand_with_the_constant_first_are_mirrored():
    assert canonical(Compare("<", Literal(3), Name("age"))) == canonical(Compare(">", Name("age"), Literal(3)))
    assert canonical(Compare("<", Literal(3), Literal(4)))[0] == "constants"
