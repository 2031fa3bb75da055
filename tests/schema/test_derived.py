"""Derived columns: types and bounds follow by interval arithmetic, and every value lies inside them."""

import datetime as dt
import random
from fractions import Fraction

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engines.derived import grow, legal, made
from schema.worlds import COLUMNS, D, M
from sordino.errors import QueryError
from sordino.lab.awkward_tables import POOL
from sordino.lab.reference_value import kind
from sordino.schema.column import Column
from sordino.schema.expression import (
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Compare,
    Constant,
    DatePart,
    IsNull,
    Leaf,
    Literal,
    Name,
    Not,
    Or,
    Truth,
    leaves,
    names,
    reads,
)
from sordino.schema.extent import Extent
from sordino.schema.frame import fit, fit_column, fit_predicate
from sordino.schema.interval import MOST_VALUES, days, derive, extent, values

AGE, KIDS, INCOME, PRICE, BORN, SEEN, SEX, SMOKER = (
    Leaf(COLUMNS[name]) for name in ("age", "kids", "income", "price", "born", "seen", "sex", "smoker")
)
OLD = Compare(">=", Name("age"), Literal(65))


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**64 - 1))
def test_every_value_lies_in_the_extent_of_its_expression(seed):
    dice = random.Random(seed)
    item = grow(dice)
    assume(legal(item))
    found = extent(item)
    assert found.type == kind(item)
    for _ in range(12):
        value = made(item, {column: dice.choice(pool) for column, pool in POOL.items()})
        if value is not None and found.type != "cat":
            assert found.low <= (value * 10**found.scale if found.exact else value) <= found.high


@settings(max_examples=200, deadline=None)
@given(st.integers(0, 2**64 - 1))
def test_a_narrowed_expression_has_narrower_bounds_and_the_same_values_on_kept_rows(seed):
    dice = random.Random(seed)
    item = grow(dice)
    assume(legal(item))
    low, high = sorted((dice.randint(-10, 130), dice.randint(-10, 130)))
    where = And((Compare(">=", Name("age"), Literal(low)), Compare("<=", Name("age"), Literal(high)), Not(IsNull(Name("price")))))
    narrow = fit(item, where)
    wide, tight = extent(item), extent(narrow)
    if wide.type != "cat":
        assert wide.low <= tight.low
        assert tight.high <= wide.high
    for _ in range(12):
        row = {column: dice.choice(pool) for column, pool in POOL.items()}
        if made(Truth(where), row) == 1:
            assert made(narrow, row) == made(item, row)


BOUNDS = [
    (Arithmetic("+", AGE, Constant(1)), "int", (1, 121)),
    (Arithmetic("-", Constant(0), AGE), "int", (-120, 0)),
    (Arithmetic("*", PRICE, Constant(Fraction(1, 2))), "decimal", (0, Fraction(999, 2))),
    (Arithmetic("*", Arithmetic("-", AGE, Constant(60)), Constant(-2)), "int", (-120, 120)),
    (Arithmetic("/", INCOME, Constant(12)), "float", (0.0, 1_000_000 / 12)),
    (Arithmetic("/", AGE, KIDS), "float", (0.0, 120.0)),
    (Arithmetic("/", Constant(1), PRICE), "float", (1 / 999, 100.0)),
    (Arithmetic("-", Cast(SEEN, "date"), BORN), "int", ((D(2000, 1, 1) - D(2030, 1, 1)).days, (D(2030, 1, 1) - D(1900, 1, 1)).days)),
    (Call("abs", (Arithmetic("-", AGE, Constant(60)),)), "int", (0, 60)),
    (Call("floor", (Arithmetic("/", AGE, Constant(10)),)), "int", (0, 12)),
    (Call("round", (INCOME,), 1), "decimal", (0, 1_000_000)),
    (Call("least", (INCOME, Constant(5))), "float", (0.0, 5.0)),
    (Call("greatest", (INCOME, Constant(5))), "float", (5.0, 1e6)),
    (Call("greatest", (AGE, KIDS)), "int", (0, 120)),
    (Call("coalesce", (KIDS, Constant(99))), "int", (0, 99)),
    (DatePart("year", BORN), "int", (1900, 2030)),
    (DatePart("month", Leaf(Column("d", "date", (D(2020, 3, 5), D(2020, 7, 1))))), "int", (3, 7)),
    (Cast(INCOME, "int"), "int", (0, 1_000_000)),
    (Cast(PRICE, "int"), "int", (0, 999)),
    (Cast(BORN, "timestamp"), "timestamp", (M("1900-01-01"), M("2030-01-01"))),
    (Case(((OLD, Constant(1)),), Constant(0)), "int", (0, 1)),
    (Case(((OLD, AGE),), PRICE), "decimal", (0, 999)),
    (Case(((OLD, AGE), (IsNull(Name("sex")), INCOME))), "float", (0.0, 1e6)),
    (Constant(7), "int", (0, 7)),
    (Constant(Fraction(-5, 2)), "decimal", (Fraction(-5, 2), 0)),
    (Constant(0), "int", (0, 1)),
    (Constant(D(2020, 1, 1)), "date", (D(2019, 12, 31), D(2020, 1, 1))),
    (Truth(OLD), "bool", None),
    (Case(((OLD, Constant("old")),)), "cat", None),
]


@pytest.mark.parametrize(("item", "kind", "bounds"), BOUNDS, ids=range(len(BOUNDS)))
def test_bounds_of_an_expression(item, kind, bounds):
    column = derive(item)
    assert (column.type, column.bounds) == (kind, bounds)
    if column.number:
        assert column.grid().width >= 1


def test_a_filter_narrows_through_an_expression():
    where = And((Compare(">=", Name("age"), Literal(18)), Compare("<", Name("age"), Literal(65))))
    tens = derive(Call("floor", (Arithmetic("/", AGE, Constant(10)),)))
    assert fit_column(tens, where).bounds == (1, 6)
    assert fit_column(tens, where).keys == (1, 2, 3, 4, 5, 6)
    own = Compare(">", Name(tens.name, tens.expression), Literal(3))
    assert fit_column(tens, own).bounds == (4, 12)
    assert fit_column(tens, own).keys == tuple(range(4, 13))
    branch = derive(Case(((OLD, AGE),), Constant(70)))
    assert branch.bounds == (0, 120)
    assert fit_column(branch, None).bounds == (65, 120)


def test_the_filter_itself_may_be_narrowed():
    """A row that fails one part of a filter is dropped, whatever the narrowed other part says about it."""
    twice = Arithmetic("*", AGE, Constant(2))
    where = And((Compare(">=", Name("age"), Literal(18)), Or((Compare("<", Name("age * 2", twice), Literal(50)), IsNull(Name("sex"))))))
    narrow = fit_predicate(where, where)
    assert narrow != where
    assert [leaf.bounds for name in names(narrow) if name.expression for leaf in leaves(name.expression)] == [(18, 120)]


WRONG = [
    (Arithmetic("/", Constant(1), INCOME), "SRD-202", "GREATEST"),
    (Arithmetic("/", AGE, Constant(0)), "SRD-202", "Divide by something else"),
    (Arithmetic("+", Leaf(Column("x", "int")), Constant(1)), "SRD-202", "Declare bounds"),
    (Arithmetic("*", Leaf(Column("x", "int", (0, 2**40))), Leaf(Column("y", "int", (0, 2**40)))), "SRD-202", "CAST a part of it AS DOUBLE"),
    (Call("least", (Leaf(Column("x", "int", (0, 2**60))), Constant(Fraction(1, 2)))), "SRD-202", "CAST a part of it AS DOUBLE"),
    (Arithmetic("*", INCOME, Constant(10**149)), "SRD-202", "Narrow the bounds"),
    (Arithmetic("+", SEX, AGE), "SRD-203", "Use numbers"),
    (Arithmetic("+", SMOKER, AGE), "SRD-203", "CAST a bool AS INT"),
    (Arithmetic("-", SEEN, SEEN), "SRD-203", "subtract two dates"),
    (Arithmetic("+", AGE, Constant(None)), "SRD-203", "Use numbers"),
    (DatePart("year", AGE), "SRD-203", "declared as date"),
    (DatePart("hour", BORN), "SRD-203", "Only a timestamp"),
    (DatePart("year", Leaf(Column("d", "date"))), "SRD-202", "Declare bounds"),
    (Cast(SEX, "int"), "SRD-203", "Declare the column's type"),
    (Cast(AGE, "date"), "SRD-203", "Declare the column's type"),
    (Case(((OLD, AGE),), SEX), "SRD-203", "CAST them to one"),
    (Case(((OLD, Constant(None)),)), "SRD-203", "Give it a value"),
    (Call("least", (SEX, Constant("a"))), "SRD-203", "numbers or dates"),
    (Call("abs", (BORN,)), "SRD-203", "Use numbers"),
    (Constant(None), "SRD-203", "Name a column"),
]


@pytest.mark.parametrize(("item", "code", "fix"), WRONG, ids=range(len(WRONG)))
def test_an_expression_without_a_type_or_bounds_is_refused_with_the_fix(item, code, fix):
    with pytest.raises(QueryError) as caught:
        derive(item)
    assert caught.value.code == code
    assert fix in caught.value.fix


def test_public_values_of_an_expression():
    assert values(Case(((OLD, Constant("b")), (IsNull(Name("sex")), Constant("a"))), Constant("b"))) == ("b", "a")
    assert values(Case(((OLD, SEX),), Constant("young"))) == ("f", "m", "young")
    assert values(KIDS) == (0, 1, 2)
    assert values(Call("coalesce", (SEX, Constant("none")))) == ("f", "m", "none")
    assert values(Arithmetic("*", KIDS, Constant(MOST_VALUES))) == (0, MOST_VALUES, 2 * MOST_VALUES)
    assert values(Arithmetic("-", Constant(1), KIDS)) == (1, 0, -1)
    assert values(Arithmetic("*", INCOME, Constant(2))) is None
    assert values(Case(((OLD, Leaf(COLUMNS["odd 'name\""])),), Constant("x"))) is None
    assert values(INCOME) is None


def test_a_name_that_is_taken_gets_parentheses():
    item = Arithmetic("+", AGE, KIDS)
    assert derive(item).name == "age + kids"
    assert derive(item, {"age + kids"}).name == "(age + kids)"
    assert derive(AGE) is COLUMNS["age"]


def test_what_an_expression_reads():
    item = Case(((And((OLD, Compare(">", Name("price * 2", Arithmetic("*", PRICE, Constant(2))), Literal(3)))), AGE),), KIDS)
    assert list(dict.fromkeys(reads(item))) == ["age", "price", "kids"]
    assert {column.name for column in leaves(item)} == {"price", "age", "kids"}


def test_doubles_round_once_per_operation():
    """The ends are computed by the operations of the engines, so that no value is an ulp outside."""
    tenth = Leaf(Column("x", "float", (Fraction(1, 10), Fraction(3, 10))))
    assert extent(Arithmetic("+", tenth, tenth)) == Extent("float", 0.1 + 0.1, 0.3 + 0.3)
    assert extent(Arithmetic("*", tenth, Constant(3))) == Extent("float", 0.1 * 3.0, 0.3 * 3.0)


def test_one_day_has_another_beside_it_even_where_the_calendar_ends():
    """Bounds differ; before the first day that has a name there is none, and none after the last."""
    for at, word, ends in (
        (dt.date.min, "least", (D(1, 1, 1), D(1, 1, 2))),
        (dt.date.max, "greatest", (D(9999, 12, 30), D(9999, 12, 31))),
        (D(1990, 1, 1), "", (D(1989, 12, 31), D(1990, 1, 1))),
        (M("0001-01-01"), "", (M("0001-01-01"), M("0001-01-02"))),
        (M("0001-01-01 23:00"), "", (M("0001-01-01 23:00"), M("0001-01-02 23:00"))),
    ):
        assert derive(Call(word, (BORN, Constant(at))) if word else Constant(at)).bounds == ends
    assert days((D(9999, 12, 30), D(9999, 12, 31))) == (D(9999, 12, 30), D(9999, 12, 31))
    for unit, first in {"week": D(9999, 12, 27), "month": D(9999, 12, 1), "quarter": D(9999, 10, 1), "year": D(9999, 1, 1)}.items():
        assert days((D(9999, 12, 31), D(9999, 12, 31)), unit) == (first,)


def test_dates_keep_their_kind():
    day = derive(Call("greatest", (BORN, Constant(dt.date(1990, 1, 1)))))
    assert (day.type, day.bounds) == ("date", (D(1990, 1, 1), D(2030, 1, 1)))
