"""A legal statement becomes a question of our own algebra; what it may not say is refused with a rewrite."""

import datetime as dt
import random
from fractions import Fraction

import pytest

from schema.worlds import COLUMNS, grow
from sordino.errors import QueryError
from sordino.plan.arrangement import Arrangement, OrderBy
from sordino.plan.condition import parse_predicate
from sordino.plan.recall import context, frame, question
from sordino.plan.select import read_select
from sordino.plan.sql_expression import Catalogue
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.expression import PARTS, Arithmetic, Call, Case, Cast, Compare, Constant, DatePart, IsNull, Leaf, Literal, Name, Truth
from sordino.schema.frame import Public, fit
from sordino.schema.interval import derive
from sordino.schema.spelling import describe, phrase
from sordino.statistics.column_variance import Variance
from sordino.statistics.row_count import Present

PERSON = PrivacyUnit("person", max_rows=3, max_groups=2)
TOWNS = Public("towns", {"sex": Column("sex", "cat"), "size": Column("size", "int", (0, 9))}, ("sex",), {"sex": ["f"], "size": [3]})
CATALOGUE = Catalogue({"people": COLUMNS}, {"towns": TOWNS}, "person")
AGE, KIDS, INCOME, PRICE, BORN, SEEN, SEX = (Leaf(COLUMNS[name]) for name in ("age", "kids", "income", "price", "born", "seen", "sex"))
NEW_YEAR = dt.datetime(2020, 1, 2, 3, tzinfo=dt.UTC)


def read(text):
    return read_select(text, CATALOGUE)


def made(text):
    """The expression behind one aggregate."""
    (statistic,) = read(f"SELECT SUM({text}) AS x FROM people").asked.statistics.values()
    return read(f"SELECT SUM({text}) AS x FROM people").asked.columns[statistic.column].expression


OLD = Compare(">=", Name("age"), Literal(65))
GAP = Arithmetic("-", Arithmetic("/", AGE, Constant(2)), KIDS)
EXPRESSIONS = [
    ("age + 1", Arithmetic("+", AGE, Constant(1))),
    ("-age", Arithmetic("-", Constant(0), AGE)),
    ("age - -1", Arithmetic("-", AGE, Constant(-1))),
    ("age * 0.50", Arithmetic("*", AGE, Constant(Fraction(1, 2)))),
    ("people.income / 12", Arithmetic("/", INCOME, Constant(12))),
    ("age + kids * 2", Arithmetic("+", AGE, Arithmetic("*", KIDS, Constant(2)))),
    ("(age + kids) * 2", Arithmetic("*", Arithmetic("+", AGE, KIDS), Constant(2))),
    ("age - kids - 1", Arithmetic("-", Arithmetic("-", AGE, KIDS), Constant(1))),
    ("CAST(seen AS DATE) - born", Arithmetic("-", Cast(SEEN, "date"), BORN)),
    ("CAST(age AS DOUBLE)", Cast(AGE, "float")),
    ("age::DECIMAL(9,2)", Cast(AGE, "decimal", 2)),
    ("TRY_CAST(price AS INTEGER)", Cast(PRICE, "int")),
    ("EXTRACT(year FROM born)", DatePart("year", BORN)),
    ("MONTH(born)", DatePart("month", BORN)),
    ("DAYOFWEEK(born)", DatePart("dow", BORN)),
    ("ABS(age - 5)", Call("abs", (Arithmetic("-", AGE, Constant(5)),))),
    ("ROUND(income, 2)", Call("round", (INCOME,), 2)),
    ("CEILING(price)", Call("ceil", (PRICE,))),
    ("LEAST(age, 5, kids)", Call("least", (AGE, Constant(5), KIDS))),
    ("IFNULL(age, 0)", Call("coalesce", (AGE, Constant(0)))),
    ("CASE WHEN age >= 65 THEN 1 ELSE 0 END", Case(((OLD, Constant(1)),), Constant(0))),
    ("CASE age WHEN 65 THEN 1 END", Case(((Compare("=", Name("age"), Literal(65)), Constant(1)),))),
    ("NULLIF(age, 3)", Case(((Compare("=", Name("age"), Literal(3)), Constant(None)),), AGE)),
    ("CASE WHEN age / 2 > kids THEN age END", Case(((Compare(">", Name("(age / 2) - kids", GAP), Literal(Fraction(0))), AGE),))),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expression"), EXPRESSIONS, ids=range(len(EXPRESSIONS)))
def test_legal_expressions(text, expression):
    assert made(text) == fit(expression, None)


def flat(dice, depth):
    """A condition as a reader leaves it: no AND inside an AND."""
    return parse_predicate(describe(grow(dice, depth)), COLUMNS)


def any_expression(dice, depth=3):
    """An expression with a type, over the small world."""
    if depth == 0:
        return dice.choice([AGE, KIDS, INCOME, PRICE, Constant(dice.choice([1, -7, Fraction(5, 4), Fraction(-1, 8)]))])
    part = lambda: any_expression(dice, depth - 1)  # noqa: E731  a recursion in one letter less
    return dice.choice([
        lambda: Arithmetic(dice.choice("+-*/"), part(), part()),
        lambda: Call(dice.choice(["abs", "floor", "ceil"]), (part(),)),
        lambda: Call("round", (part(),), dice.choice([0, 2])),
        lambda: Call(dice.choice(["least", "greatest", "coalesce"]), (part(), part())),
        lambda: DatePart(dice.choice(PARTS), dice.choice([SEEN, Cast(BORN, "timestamp"), Constant(NEW_YEAR)])),
        lambda: Arithmetic("-", BORN, dice.choice([Cast(SEEN, "date"), Constant(dt.date(2000, 2, 3))])),
        lambda: Cast(part(), *dice.choice([("int",), ("float",), ("decimal", 2)])),
        lambda: Case(((flat(dice, 2), part()), (flat(dice, 1), Constant(None))), dice.choice([None, part()])),
        lambda: Cast(Truth(flat(dice, 1)), "int"),
    ])()  # fmt: skip


def test_reading_an_expression_back_gives_the_same_one():
    dice, read_back = random.Random(17), 0
    while read_back < 250:
        item = fit(any_expression(dice), None)
        try:
            column = derive(item)
        except QueryError:
            continue
        if isinstance(item, Leaf | Constant) or len(phrase(item)) > 3_000:
            continue
        if isinstance(item, Cast) and item.type == "decimal" and max(map(abs, column.bounds)) >= 10**16:
            continue  # it is written as DECIMAL(18,2), which is too small
        found = read(f"SELECT AVG({phrase(item)}) AS x FROM people").asked.columns
        assert found[column.name] == column
        read_back += 1


def test_a_condition_on_an_expression_reads_back_too():
    said = read("SELECT COUNT(*) FROM people WHERE (age + kids) * 2 > 7 AND CASE WHEN age > 3 THEN 'a' END = 'a'").asked.where
    assert read(f"SELECT COUNT(*) FROM people WHERE {describe(said)}").asked.where == said


def test_subqueries_are_flattened_onto_the_table():
    text = """
        WITH grown AS (SELECT age, income / 12 AS monthly, person AS who FROM people WHERE age >= 18),
             paid AS (SELECT g.monthly * 2 AS twice, g.age AS years, who FROM grown AS g WHERE g.monthly > 100)
        SELECT AVG(twice) AS a, COUNT(DISTINCT who) AS n FROM paid WHERE years < 65"""
    asked = read(text).asked
    monthly = Arithmetic("/", INCOME, Constant(12))
    assert asked.table == "people"
    assert describe(asked.where) == "age >= 18 AND (income / 12) > 100 AND age < 65"
    assert asked.columns["(income / 12) * 2"].expression == Arithmetic("*", monthly, Constant(2))
    assert frame(asked, PERSON).columns[0].bounds == (0.0, 1_000_000 / 12 * 2)


def test_a_filter_of_a_subquery_narrows_what_is_outside():
    asked = read("SELECT SUM(age * 2) AS s FROM (SELECT age FROM people WHERE age BETWEEN 20 AND 29) AS x").asked
    assert frame(asked, PERSON).columns[0].bounds == (40, 58)
    assert context(asked, PERSON).columns["age * 2"].bounds == (40, 58)


def test_a_column_that_is_named_like_an_expression_is_not_that_expression():
    columns = {"a": Column("a", "int", (0, 9)), "a + 1": Column("a + 1", "int", (0, 5))}
    asked = read_select('SELECT SUM(a + 1) AS x, SUM("a + 1") AS y FROM t', Catalogue({"t": columns}, {})).asked
    assert [statistic.column for statistic in asked.statistics.values()] == ["(a + 1)", "a + 1"]
    assert question(asked, PrivacyUnit())["columns"]["a + 1"]["grid"] == ["1", 0, 5]


def test_aggregates_become_statistics():
    asked = read("SELECT VARIANCE(age), STDDEV_SAMP(age), VAR_POP(age), COUNT(sex) FROM people").asked
    assert list(asked.statistics) == ["var_samp(age)", "stddev_samp(age)", "variance(age)", "count(sex)"]
    assert asked.statistics["var_samp(age)"] == Variance("age", sample=True)
    assert asked.statistics["count(sex)"] == Present("sex")


def test_joined_columns_have_names_of_their_own():
    asked = read("SELECT AVG(size) AS s FROM people JOIN towns ON people.sex = towns.sex WHERE towns.size > 1").asked
    assert [join.on for join in asked.joins] == [(("sex", "sex"),)]
    assert asked.statistics["s"].column == "towns.size"
    assert frame(asked, PERSON).columns[0].bounds == (2, 9)
    assert context(asked, PrivacyUnit(None), size=5).filtered
    twice = read("SELECT AVG(a.size + b.size) AS s FROM people JOIN towns a USING (sex) LEFT JOIN towns b ON people.sex = b.sex").asked
    assert [join.name for join in twice.joins] == ["towns", "towns 2"]


def test_how_an_answer_is_shown_is_no_part_of_the_question():
    plain = read("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex")
    shown = read("SELECT sex AS s, COUNT(*) AS n FROM people GROUP BY s ORDER BY n DESC NULLS FIRST, 1 LIMIT 5")
    assert plain.asked == shown.asked
    assert plain.arrangement is None
    assert shown.arrangement == Arrangement((("sex", "s"),), (OrderBy("n", True, True), OrderBy("sex")), 5)


def test_released_rows_are_sorted_with_nulls_at_one_end_and_ties_in_key_order():
    cells = {"k": ["a", "b", "c", "d", "e"], "n": [2, None, 1, 2, float("nan")]}
    assert Arrangement(order=(OrderBy("n"),)).rows(cells, 5) == [2, 0, 3, 1, 4]
    assert Arrangement(order=(OrderBy("n", True),)).rows(cells, 5) == [0, 3, 2, 1, 4]
    assert Arrangement(order=(OrderBy("n", True, True),), limit=3).rows(cells, 5) == [1, 4, 0]
    assert Arrangement(order=(OrderBy("n"), OrderBy("k", True))).rows(cells, 5) == [2, 3, 0, 4, 1]
    assert Arrangement(order=(OrderBy("gone"),)).rows(cells, 5) == [0, 1, 2, 3, 4]


HINTS = [
    ("SELECT COUNT(DISTINCT age, sex) FROM people", "Count one column"),
    ("SELECT SUM(DISTINCT age) FROM people", "COUNT(DISTINCT city) cities"),
    ("SELECT sex, COUNT(*) FROM people GROUP BY sex HAVING age > 5", "Filter rows in WHERE"),
    ("SELECT SUM(age) OVER () FROM people", "GROUP BY"),
    ("SELECT COUNT(*) FROM people AS a JOIN people AS b ON a.sex = b.sex", "public tables only"),
    ("SELECT COUNT(*) FROM people UNION SELECT 1", "combine the releases"),
    ("SELECT COUNT(*) FROM people OFFSET 3", "yours to slice"),
    ("SELECT * FROM people", "Name what you ask for"),
    ("SELECT age, COUNT(*) FROM people", "Add it to GROUP BY"),
    ("SELECT DISTINCT sex FROM people", "GROUP BY the columns"),
    ("SELECT COUNT(*) FROM people WHERE age IN (SELECT 1)", "IN (1, 2)"),
    ("SELECT COUNT(*) FROM people WHERE EXISTS (SELECT 1)", "filter and group the table itself"),
    ("SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM people) AS x", "how far one person moves"),
    ("SELECT COUNT(*) FROM (SELECT age FROM people LIMIT 5) AS x", "depend on their values only"),
    ("SELECT SIN(SUM(age)) FROM people", "Use + - * /"),
    ("SELECT SUM(DISTINCT age) FILTER (WHERE age > 5) FROM people", "GROUP BY them first"),
    ("SELECT AVG(age[1]) FROM people", "Lists are for quantiles"),
    ("SELECT LIST(age) FROM people", "Use COUNT, SUM"),
    ("SELECT AVG(age & 2) FROM people", "+ - * /"),
    ("SELECT AVG(SIN(age)) FROM people", "ABS, ROUND"),
    ("SELECT AVG(1 / income) FROM people", "GREATEST"),
    ("SELECT COUNT(*) FROM people GROUP BY price", "at most 1,000 values"),
    ("SELECT COUNT(*) FROM people GROUP BY income / 2", "FLOOR(x / 10)"),
    ("SELECT AVG(age) FROM people GROUP BY ROLLUP (sex)", "derive"),
    ("SELECT sex, COUNT(*) FROM people GROUP BY sex ORDER BY AVG(age)", "aggregate of the SELECT"),
    ("SELECT SUM(born) FROM people", "MEDIAN"),
    ("SELECT AVG(persn) FROM people", "Known columns"),
    ("SELECT COUNT(*) FROM peple", "Did you mean 'people'"),
    ("SELECT COUNT(*) FROM people WHERE sex = \"f\"", "single quotes"),
    ("SELECT COUNT(*) FROM people WHERE age BETWEEN kids AND 9", "x >= a AND x <= b"),
    ("SELECT COUNT(*) FROM people JOIN towns ON people.age = towns.size", "unique columns"),
    ("SELECT COUNT(*) FROM towns", "Start FROM a private table"),
    ("SELECT COUNT(*) FROM people; SELECT 1", "one SELECT at a time"),
    ("SELECT COUNT(*) FROM people WHERE age = ?", "constant itself"),
    ("DELETE FROM people", "A statement is SELECT"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "hint"), HINTS)
def test_the_hint_fits_the_mistake(text, hint):
    with pytest.raises(QueryError) as caught:
        read(text)
    assert hint in str(caught.value)


def test_unreadable_columns_are_not_named_in_hints():
    with pytest.raises(QueryError) as caught:
        read("SELECT AVG(perso) FROM people")
    assert "person" not in caught.value.fix
    for text in ("SELECT AVG(person) FROM people", "SELECT COUNT(*) FROM people WHERE note IS NULL", "SELECT COUNT(person) FROM people"):
        with pytest.raises(QueryError, match="SRD-203"):
            read(text)


def test_a_null_test_on_an_expression_needs_no_bounds_of_its_own():
    asked = read("SELECT COUNT(*) FROM people WHERE age / kids IS NULL").asked
    assert asked.where == IsNull(Name("age / kids", Arithmetic("/", AGE, KIDS)))
