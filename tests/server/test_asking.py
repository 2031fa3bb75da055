"""What pages compute from releases and price lists: the slider, the builder, which differences survive."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from sordino.errors import QueryError
from sordino.privacy.cost import Cost
from sordino.server.app import create_classroom
from sordino.server.builder import BuiltFilter, BuiltQuestion, BuiltStatistic, unbuilt
from sordino.server.built_person import BuiltPerson
from sordino.server.price_card import Slider, Wished, number
from sordino.server.result_page import compared
from sordino.session.release import Paid, Release
from sordino.summaries import Refused

COLUMNS = [
    {"name": "age", "type": "int", "bounds": ["0", "120"], "values": None},
    {"name": "sex", "type": "cat", "bounds": None, "values": ["f", "m"]},
    {"name": "seen", "type": "date", "bounds": ["2020-01-01", "2021-01-01"], "values": None},
]  # fmt: skip


def said(text):
    return BuiltQuestion.of([tuple(part.split("=", 1)) for part in text.split("&")])


def test_the_builder_writes_sql_and_quotes_every_name():
    found = said('table=t&statistic=median&of=odd "name"&where=age > 3&by=sex')
    assert found.text() == 'SELECT "sex", MEDIAN("odd ""name""") AS median FROM "t" WHERE (age > 3) GROUP BY "sex"'
    assert said("table=t").text() == 'SELECT COUNT(*) AS count FROM "t"'
    for wrong in ("statistic=mean", "statistic=drop", "statistic=quantile&of=age", "statistic=quantile&of=age&share=x", "statistic=people"):
        with pytest.raises(QueryError, match="SRD-208"):
            said(f"table=t&{wrong}").text(COLUMNS)


def test_several_statistics_keys_and_filters_become_one_statement_and_come_back():
    asked = (BuiltStatistic("mean", "age"), BuiltStatistic("quantile", "age", "0.9"), BuiltStatistic("people"))
    tests = (
        BuiltFilter("age", "between", "18 to 65"), BuiltFilter("sex", "in", "f, m"), BuiltFilter("seen", ">=", "2020-03-01"),
        BuiltFilter("sex", "like", "o'k"), BuiltFilter("age", "present"), BuiltFilter("sex", "=", "7"),
    )  # fmt: skip
    built = BuiltQuestion("t", asked, tests, ("sex", "ward"))
    text = built.text(COLUMNS, "patient")
    assert text == (
        'SELECT "sex", "ward", AVG("age") AS mean_age, QUANTILE_CONT("age", 0.9) AS quantile_age_0_9, COUNT(DISTINCT "patient") AS people '
        """FROM "t" WHERE ("age" BETWEEN 18 AND 65) AND ("sex" IN ('f', 'm')) AND ("seen" >= DATE '2020-03-01') AND """
        """("sex" LIKE '%o''k%') AND ("age" IS NOT NULL) AND ("sex" = '7') GROUP BY "sex", "ward\""""
    )
    assert unbuilt(text) == built
    distinct = BuiltQuestion("t", (BuiltStatistic("distinct", "ward"), BuiltStatistic("people")))
    assert unbuilt(distinct.text(COLUMNS, "patient"), lambda table: "patient") == distinct


def test_a_histogram_is_a_call_with_bins_between_the_declared_bounds():
    built = BuiltQuestion("t", (BuiltStatistic("histogram", "age"),), (BuiltFilter("age", "<", "60"),))
    text = built.text(COLUMNS)
    assert '"bins": [0, 12, 24, 36, 48, 60, 72, 84, 96, 108, 120]' in text
    assert unbuilt(text) == built
    for wrong in ("statistic=histogram", "statistic=histogram&of=age&by=sex", "statistic=histogram&of=seen"):
        with pytest.raises(QueryError, match="SRD-208"):
            said(f"table=t&{wrong}").text(COLUMNS)


def test_a_limit_to_be_drawn_is_a_call_of_its_own():
    built = BuiltQuestion("t", (BuiltStatistic("row_limit"),), (BuiltFilter("age", "<", "60"),), ("sex",))
    text = built.text(COLUMNS, "patient")
    assert '"ask": {"verb": "row_limit"}' in text
    assert unbuilt(text) == built
    for wrong in ("statistic=row_limit&statistic=count", "statistic=count&statistic=row_limit&limit_rows=1"):
        with pytest.raises(QueryError, match="on its own"):
            said(f"table=t&{wrong}").text(COLUMNS, "patient")


def test_limits_make_a_call_of_several_statistics_which_comes_back_as_fields():
    built = said(
        "table=t&statistic=count&statistic=quantile&of=&of=age&share=&share=0.9&by=sex&column=age&is=>&value=3&limit_rows=1&limit_groups="
    )
    text = built.text(COLUMNS, "patient")
    assert '"limit": {"rows": 1}' in text
    assert '"quantile_age_0_9": {"given": ["age", "0.9"], "verb": "quantile"}' in text
    assert unbuilt(text) == built
    with pytest.raises(QueryError, match="SRD-208"):
        said("table=t&limit_rows=many")
    assert unbuilt('{"table": "t", "agg": {"n": {"verb": "regress"}}}') is None


@pytest.mark.parametrize("statistic", ["count", "sum", "mean", "median", "variance", "std", "min", "max", "mode"])
@pytest.mark.parametrize("where", ["", "age >= 18 AND sex = 'f'", '"odd ""name""" = 1 OR NOT age IS NULL'])
@pytest.mark.parametrize("by", [(), ("sex",), ("sex", "ward")])
def test_a_statement_of_the_builder_comes_back_as_its_fields(statistic, where, by):
    built = BuiltQuestion("t", (BuiltStatistic(statistic, "" if statistic == "count" else 'odd "name"'),), (), by, where)
    found = unbuilt(built.text())
    assert (found.table, found.statistics, found.by) == (built.table, built.statistics, built.by)
    assert unbuilt(found.text()) == found, "once more says the same"
    assert bool(found.where) is ("OR" in where), "what rows of filters cannot say stays as text"


def test_a_statement_that_says_more_is_no_builders():
    for sql in (
        "SELECT COUNT(*), AVG(a + b) FROM t", "SELECT AVG(a + b) FROM t", "SELECT 1", "SELECT", "", "{", '{"table": 3}',
        "SELECT AVG(age) FROM t GROUP BY sex", "SELECT COUNT(*) FROM t LIMIT 3", "SELECT sex, COUNT(*) FROM t GROUP BY ROLLUP (sex)",
        "SELECT sex, COUNT(*) FROM t GROUP BY ward", "SELECT COUNT(*) FROM t JOIN r ON t.a = r.a", "SELECT COUNT(*) FROM (SELECT * FROM t)",
        "WITH x AS (SELECT * FROM t) SELECT COUNT(*) FROM x", "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex ORDER BY n",
        "SELECT COUNT(age) FROM t", "SELECT " + ", ".join(["COUNT(*)"] * 7) + " FROM t",
    ):  # fmt: skip
        assert unbuilt(sql) is None, sql


def test_an_accuracy_comes_before_a_price_and_ranks_are_for_one_number():
    assert Wished.of({"within": "5", "epsilon": "1"}) == Wished(within=5)
    assert Wished.of({"epsilon": "1"}) == Wished(epsilon=1)
    assert Wished.of({"percent": "2", "interval": "false", "epsilon": "1"}) == Wished(percent=2, interval=False)
    assert Wished.of({"percent": "2", "epsilon": "1"}) == Wished(epsilon=1), "an interval has no rank wish"
    assert Wished.of({}).empty


def test_a_typed_number_is_positive_and_finite_or_refused():
    assert number("1,250", "within") == 1250
    assert number("  ", "within") is None
    for text in ("nan", "inf", "0", "-3", "three", "1e999"):
        with pytest.raises(QueryError, match="SRD-103"):
            number(text, "within")


def test_the_slider_runs_from_cheap_to_accurate_on_a_logarithmic_scale():
    assert [Slider(1, 100, at).place for at in (100, 10, 1, 1000, 0.1)] == [0, 50, 100, 0, 100]
    assert Slider(5, 5, 5).place == 50


def test_differences_survive_only_where_intervals_do_not_meet():
    answers = {"n": [10, 20, 12, Refused("few")], "n_low": [8, 18, 7, None], "n_high": [12, 22, 17, None]}
    cost = Paid(Cost.pure(1))
    release = Release(answers, {"sex": ["f", "m", "x", "?"]}, ("n",), cost, "Laplace", "exact")
    found = {(pair.one, pair.other): (pair.difference, pair.survives) for pair in compared(release)}
    assert found == {("f", "m"): (10, True), ("f", "x"): (2, False), ("m", "x"): (-8, True)}
    assert compared(Release({"n": [1]}, {}, ("n",), cost, "Laplace")) == []
    assert compared(Release({"n": [1, 2]}, {"k": ["a", "b"]}, ("n",), cost, "Laplace")) == []


def test_the_classroom_needs_no_dataset_and_no_token():
    async def visit():
        transport = httpx.ASGITransport(create_classroom())
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return [await client.get(path) for path in ("/learn", "/learn/median.html", "/static/page.js", "/datasets")]

    page, lesson, script, other = asyncio.run(visit())
    assert page.headers["location"] == "/learn/index.html"
    assert "How far can one person move a median?" in lesson.text
    assert script.status_code == 200
    assert other.status_code == 404


@pytest.mark.parametrize(
    ("person", "number"),
    [
        (BuiltPerson("count", high="50"), "LEAST(COUNT(*), 50) AS count_each"),
        (BuiltPerson("sum", "age", "-5", "900"), 'LEAST(GREATEST(SUM("age"), -5), 900) AS sum_age_each'),
        (BuiltPerson("mean", "age"), 'AVG("age") AS mean_age_each'),
        (BuiltPerson("max", "age", "", "90.5"), 'LEAST(MAX("age"), 90.5) AS max_age_each'),
        (BuiltPerson("distinct", "sex", high="2"), 'LEAST(COUNT(DISTINCT "sex"), 2) AS distinct_sex_each'),
    ],
)
def test_a_number_of_each_person_becomes_a_subquery_and_comes_back(person, number):
    asked = (BuiltStatistic("mean"), BuiltStatistic("quantile", "", "0.9"), BuiltStatistic("count"))
    built = BuiltQuestion("t", asked, (BuiltFilter("age", ">", "3"),), person=person)
    text = built.text(COLUMNS, "patient")
    assert f'FROM (SELECT "patient", {number} FROM "t" WHERE ("age" > 3) GROUP BY "patient") AS each_person' in text
    assert text.startswith(f'SELECT AVG("{person.label}") AS mean_')
    assert unbuilt(text, lambda table: "patient") == built
    assert unbuilt(text, lambda table: "doctor") is None
    for more in (" WHERE 1 = 1", " GROUP BY patient"):
        assert unbuilt(text + more, lambda table: "patient") is None


def test_how_much_of_a_person_counts_has_a_default_that_is_said_in_the_statement():
    for fields, total in (
        ("person_total=count", "LEAST(COUNT(*), 10)"), ("person_total=sum&person_of=age", 'LEAST(GREATEST(SUM("age"), 0), 1200)'),
        ("person_total=distinct&person_of=sex", 'LEAST(COUNT(DISTINCT "sex"), 2)'), ("person_total=min&person_of=age", 'MIN("age")'),
    ):  # fmt: skip
        built = said(f"table=t&statistic=mean&{fields}")
        text = built.text(COLUMNS, "patient")
        assert f'"patient", {total} AS' in text
        assert unbuilt(text, lambda table: "patient").text(COLUMNS, "patient") == text
    wrong = (
        "person_total=sum", "person_total=drop", "person_total=count&person_high=x", "person_total=count&person_low=5&person_high=2",
        "person_total=sum&person_of=seen", "person_total=count&by=sex", "person_total=count&limit_rows=2",
        "person_total=count&statistic=histogram&of=age",
    )  # fmt: skip
    for fields in wrong:
        with pytest.raises(QueryError, match="SRD-208"):
            said(f"table=t&{fields}").text(COLUMNS, "patient")
    with pytest.raises(QueryError, match="every row is a person"):
        said("table=t&person_total=count").text(COLUMNS, None)
