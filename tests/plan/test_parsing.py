"""A legal filter becomes our own algebra, and means what a database takes it to mean."""

import datetime as dt
import random
from fractions import Fraction

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import parse_one

from schema.worlds import COLUMNS, VALUES, holds, leaf
from sordino.errors import QueryError
from sordino.plan.condition import parse_predicate, predicate_of
from sordino.schema.column import Column
from sordino.schema.expression import And, Between, Compare, In, IsNull, Like, Literal, Name, Not, Or
from sordino.schema.spelling import describe

AGE, SEX, INCOME, BORN, SEEN, SMOKER = (Name(name) for name in ("age", "sex", "income", "born", "seen", "smoker"))
NINE = dt.datetime(2020, 1, 1, 9, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("text", "predicate"),
    [
        ("age >= 18", Compare(">=", AGE, Literal(18))),
        ("18 <= age", Compare(">=", AGE, Literal(18))),
        ("age != 3", Compare("<>", AGE, Literal(3))),
        ("age < 17.5", Compare("<=", AGE, Literal(17))),
        ("age <= 17.5", Compare("<=", AGE, Literal(17))),
        ("age > -0.5", Compare(">=", AGE, Literal(0))),
        ("age >= 17.5", Compare(">=", AGE, Literal(18))),
        ("age = 1e2", Compare("=", AGE, Literal(100))),
        ("age = 5.0", Compare("=", AGE, Literal(5))),
        ("income = 0.1", Compare("=", INCOME, Literal(Fraction(1, 10)))),
        ("income > -1e-3", Compare(">", INCOME, Literal(Fraction(-1, 1000)))),
        ("income = 18", Compare("=", INCOME, Literal(Fraction(18)))),
        ("price <= 9.999", Compare("<=", Name("price"), Literal(Fraction(9999, 1000)))),
        ("sex = 'it''s'", Compare("=", SEX, Literal("it's"))),
        ("sex IN ('f', 'm', 'f')", In(SEX, (Literal("f"), Literal("m")))),
        ("sex NOT IN ('f')", Not(In(SEX, (Literal("f"),)))),
        ("sex LIKE 'f%'", Like(SEX, "f%")),
        ("sex NOT LIKE '_'", Not(Like(SEX, "_"))),
        ("sex IS NULL", IsNull(SEX)),
        ("sex IS NOT NULL", Not(IsNull(SEX))),
        ("NOT sex IS NULL", Not(IsNull(SEX))),
        ("NOT NOT sex IS NULL", IsNull(SEX)),
        ("age BETWEEN 1 AND 5", Between(AGE, Literal(1), Literal(5))),
        ("age BETWEEN 0.5 AND 5.5", Between(AGE, Literal(1), Literal(5))),
        ("age NOT BETWEEN 1 AND 5", Not(Between(AGE, Literal(1), Literal(5)))),
        ("born = '2020-01-01'", Compare("=", BORN, Literal(dt.date(2020, 1, 1)))),
        ("born < DATE '2020-01-01'", Compare("<", BORN, Literal(dt.date(2020, 1, 1)))),
        ("seen = '2020-01-01 10:00:00+01:00'", Compare("=", SEEN, Literal(NINE))),
        ("seen = TIMESTAMP '2020-01-01 09:00:00'", Compare("=", SEEN, Literal(NINE))),
        ("seen = TIMESTAMPTZ '2020-01-01 09:00:00Z'", Compare("=", SEEN, Literal(NINE))),
        ("seen > DATE '2020-01-01'", Compare(">", SEEN, Literal(dt.datetime(2020, 1, 1, tzinfo=dt.UTC)))),
        ("smoker", Compare("=", SMOKER, Literal(True))),
        ("smoker = FALSE", Compare("=", SMOKER, Literal(False))),
        ("NOT smoker", Not(Compare("=", SMOKER, Literal(True)))),
        ("age < kids", Compare("<", AGE, Name("kids"))),
        ("age = income", Compare("=", AGE, INCOME)),
        ('sex = "odd \'name"""', Compare("=", SEX, Name("odd 'name\""))),
        (
            "age = 1 AND (sex = 'f' AND smoker)",
            And((Compare("=", AGE, Literal(1)), Compare("=", SEX, Literal("f")), Compare("=", SMOKER, Literal(True)))),
        ),
        (
            "age = 1 OR sex = 'f' AND smoker",
            Or((Compare("=", AGE, Literal(1)), And((Compare("=", SEX, Literal("f")), Compare("=", SMOKER, Literal(True)))))),
        ),
        ("NOT age = 1 AND smoker", And((Not(Compare("=", AGE, Literal(1))), Compare("=", SMOKER, Literal(True))))),
        ("((age)) = ((1))", Compare("=", AGE, Literal(1))),
    ],
)
def test_legal_filters(text, predicate):
    assert parse_predicate(text, COLUMNS) == predicate


def _text(dice, depth=4):
    """A condition with as few parentheses as its author dared."""
    kind = dice.choice(["leaf", "not", "and", "or", "paren"]) if depth else "leaf"
    if kind == "leaf":
        return describe(leaf(dice))
    if kind == "not":
        return f"NOT {_text(dice, depth - 1)}"
    if kind == "paren":
        return f"({_text(dice, depth - 1)})"
    return f"{_text(dice, depth - 1)} {kind} {_text(dice, depth - 1)}"


TYPES = {
    "int": "BIGINT",
    "float": "DOUBLE",
    "decimal": "DECIMAL(12,2)",
    "cat": "VARCHAR",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
    "bool": "BOOLEAN",
}


def _plain(value):
    if isinstance(value, Fraction):
        return float(value)
    return value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value


def test_a_database_takes_the_same_text_to_mean_the_same():
    dice = random.Random(7)
    table = [{name: dice.choice(values) for name, values in VALUES.items()} for _ in range(60)]
    with duckdb.connect() as base:
        names = ", ".join('"' + name.replace('"', '""') + '" ' + TYPES[COLUMNS[name].type] for name in VALUES)
        base.execute(f"CREATE TABLE people (place BIGINT, {names})")
        marks = ", ".join("?" for _ in range(len(VALUES) + 1))
        base.executemany(f"INSERT INTO people VALUES ({marks})", [[place, *map(_plain, row.values())] for place, row in enumerate(table)])
        for _ in range(400):
            text = _text(dice)
            kept = [place for (place,) in base.execute(f"SELECT place FROM people WHERE {text} ORDER BY place").fetchall()]
            predicate = parse_predicate(text, COLUMNS)
            assert kept == [place for place, row in enumerate(table) if holds(predicate, row)], text


@settings(max_examples=400, deadline=None)
@given(st.text(max_size=60) | st.text(alphabet="age()= <>'\"-.,;1eNOTINAD\x00[]{}$@#:/*%_\\", max_size=60))
def test_no_text_crashes(text):
    try:
        predicate = parse_predicate(text, COLUMNS)
    except QueryError:
        return
    assert parse_predicate(describe(predicate), COLUMNS) == predicate


def test_a_qualified_name_must_be_this_tables():
    assert parse_predicate("people.age = 1", COLUMNS, table="people") == Compare("=", AGE, Literal(1))
    for text in ("people.age = 1", "other.age = 1", "x.people.age = 1"):
        with pytest.raises(QueryError):
            parse_predicate(text, COLUMNS, table=None if text.startswith("people") else "people")


def test_names_match_exactly():
    columns = {"Age": Column("Age", "int"), "größe": Column("größe", "float")}
    assert parse_predicate("Age = 1 OR größe > 2", columns) == Or(
        (Compare("=", Name("Age"), Literal(1)), Compare(">", Name("größe"), Literal(Fraction(2))))
    )
    with pytest.raises(QueryError, match="SRD-201"):
        parse_predicate("age = 1", columns)


def test_a_tree_of_a_larger_statement_is_walked_by_the_same_rules():
    tree = parse_one("SELECT count(*) FROM people WHERE age > 5 AND people.sex = 'f'", read="duckdb")
    assert predicate_of(tree.args["where"].this, COLUMNS, table="people") == parse_predicate("age > 5 AND sex = 'f'", COLUMNS)
    with pytest.raises(QueryError, match="SRD-206"):
        predicate_of(parse_one("SELECT 1 FROM t WHERE age IN (SELECT 1)").args["where"].this, COLUMNS)


def test_unreadable_columns_are_refused_without_their_values():
    for text in ("person = 'x'", "note IS NULL", "age = person"):
        with pytest.raises(QueryError, match="SRD-203"):
            parse_predicate(text, COLUMNS)
    with pytest.raises(QueryError) as caught:
        parse_predicate("persn = 'x'", COLUMNS)
    assert "person" not in caught.value.fix
