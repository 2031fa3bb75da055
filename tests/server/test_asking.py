"""What pages compute from releases and price lists: the slider, the builder, which differences survive."""

from __future__ import annotations

import asyncio

import httpx
import pytest

from sordino.errors import QueryError
from sordino.privacy.cost import Cost
from sordino.server.app import create_classroom
from sordino.server.ask_page import Slider, built, number, unbuilt
from sordino.server.result_page import compared
from sordino.session.release import Paid, Release
from sordino.summaries import Refused


def test_the_builder_writes_sql_and_quotes_every_name():
    said = {"table": "t", "statistic": "median", "column": 'odd "name"', "where": "age > 3", "by": "sex"}
    assert built(said) == 'SELECT "sex", MEDIAN("odd ""name""") AS median FROM "t" WHERE (age > 3) GROUP BY "sex"'
    assert built({"table": "t"}) == 'SELECT COUNT(*) AS count FROM "t"'
    for wrong in ({"statistic": "mean"}, {"statistic": "drop"}):
        with pytest.raises(QueryError, match="SRD-208"):
            built(wrong)


@pytest.mark.parametrize("statistic", ["count", "sum", "mean", "median", "variance", "std", "min", "max", "mode"])
@pytest.mark.parametrize("where", ["", "age >= 18 AND sex = 'f'", '"odd ""name""" = 1 OR NOT age IS NULL'])
@pytest.mark.parametrize("by", ["", "sex"])
def test_a_statement_of_the_builder_comes_back_as_its_fields(statistic, where, by):
    said = {"table": "t", "statistic": statistic, "column": "" if statistic == "count" else 'odd "name"', "where": where, "by": by}
    sql = built(said)
    assert built(unbuilt(sql)) == sql
    assert {name: word for name, word in unbuilt(sql).items() if name != "where"} == {n: w for n, w in said.items() if n != "where"}


def test_a_statement_that_says_more_is_no_builders():
    for sql in (
        "SELECT COUNT(*), SUM(age) FROM t", "SELECT COUNT(DISTINCT patient) FROM t", "SELECT AVG(a + b) FROM t", "SELECT 1", "SELECT", "",
        "SELECT AVG(age) FROM t GROUP BY sex", "SELECT sex, ward, COUNT(*) FROM t GROUP BY sex, ward", "SELECT COUNT(*) FROM t LIMIT 3",
        "SELECT sex, COUNT(*) FROM t GROUP BY ward", "SELECT COUNT(*) FROM t JOIN r ON t.a = r.a", "SELECT COUNT(*) FROM (SELECT * FROM t)",
        "WITH x AS (SELECT * FROM t) SELECT COUNT(*) FROM x", "SELECT sex, COUNT(*) AS n FROM t GROUP BY sex ORDER BY n",
        "SELECT COUNT(age) FROM t", "SELECT QUANTILE_CONT(age, 0.9) FROM t",
    ):  # fmt: skip
        assert unbuilt(sql) is None, sql


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
