"""The price is the charge: what a button says is paid, or nothing is; every question opens with a price; purses; free answers."""

from __future__ import annotations

import html
import re

import pytest

from .hall import Visitor, write
from .test_ask_page import Browser

HISTOGRAM = '{"ask": {"given": ["age"], "named": {"bins": [0, 30, 60, 90, 120]}, "verb": "histogram"}, "table": "admissions"}'
EVERYDAY = [
    "SELECT COUNT(*) AS n FROM admissions", "SELECT COUNT(*) AS n FROM admissions WHERE age >= 18",
    "SELECT COUNT(DISTINCT patient) AS people FROM admissions", "SELECT SUM(cost) AS s FROM admissions",
    "SELECT AVG(cost) AS m FROM admissions", "SELECT AVG(cost) AS m FROM admissions WHERE sex = 'f'",
    "SELECT MEDIAN(cost) AS m FROM admissions", "SELECT MEDIAN(cost) AS m FROM admissions WHERE age > 30",
    "SELECT QUANTILE_CONT(cost, 0.9) AS q FROM admissions", "SELECT VARIANCE(age) AS v FROM admissions",
    "SELECT STDDEV(age) AS v FROM admissions",
    "SELECT AVG(n) AS m FROM (SELECT patient, LEAST(COUNT(*), 10) AS n FROM admissions GROUP BY patient) AS each_person",
    "SELECT MIN(age) AS a FROM admissions", "SELECT MAX(age) AS a FROM admissions", "SELECT MODE(sex) AS m FROM admissions",
    "SELECT sex, COUNT(*) AS n FROM admissions GROUP BY sex", "SELECT sex, AVG(age) AS m FROM admissions GROUP BY sex",
    "SELECT ward, COUNT(*) AS n FROM admissions GROUP BY ward", "SELECT sex, MEDIAN(cost) AS m FROM admissions GROUP BY sex",
    "SELECT sex, ward, COUNT(*) AS n FROM admissions GROUP BY sex, ward", "SELECT AVG(age) AS a, SUM(cost) AS s FROM admissions", HISTOGRAM,
]  # fmt: skip
CARRIED = ("form", "plan", "key", "at_most", "within", "epsilon", "percent", "interval", "fresh")


def carried(page: str) -> dict[str, str]:
    form = re.search(r'action="/pay".*?</form>', page, re.DOTALL)[0]
    return {name: html.unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', form) if name in CARRIED}


def said_on(page: str) -> float:
    return float(re.search(r"Pay epsilon ([\d.,e-]+)", page)[1].replace(",", ""))


def spent(hall: Visitor) -> float:
    return hall.app.app.app.state.house.datasets["hospital"].budget.spent


@pytest.fixture
def rich(tmp_path):
    visitor = Visitor(write(tmp_path, epsilon=500, purses=""))
    yield visitor
    visitor.close()


def test_every_everyday_question_opens_with_a_price_in_words_of_people(rich):
    browser = Browser(rich, rich.token())
    for sql in EVERYDAY:
        page = browser.get("/ask", sql=sql).text
        assert said_on(page) > 0, sql
        assert 'class="problem"' not in page, sql
        words = page[page.index('<section id="price"') :]
        assert re.search(r'<figure class="card spread">.*?<svg.*?<p class="odds">[^<]*simulated', words, re.DOTALL), (
            "what it may be, before paying"
        )
        assert html.unescape(re.search(r'class="asked"><code>(.*?)</code>', words)[1]) == sql, "the card prints the statement it prices"
        words = re.sub(r"<code>.*?</code>|<[^>]+>", " ", words)
        assert not re.search(r"\b[a-z_]+=|\bNone\b|\bTrue\b|\bFalse\b|Fraction\(", words), f"Python on the page of {sql}"


def test_twenty_four_means_are_charged_what_the_button_says(rich):
    browser, equal = Browser(rich, rich.token()), 0
    for turn in range(24):
        column, other = ("age", "cost") if turn % 2 else ("cost", "age")
        wish = {} if turn % 3 == 0 else {"within": str((3, 5000)[column == "cost"] * (1 + turn))}
        where = "" if turn < 4 else f" WHERE {other} > {turn}"
        if turn % 4 == 1:  # what is publicly known grows while they ask
            assert (
                browser.post(
                    "/pay", **carried(browser.get("/ask", sql=f"SELECT COUNT(*) AS n FROM admissions{where}", epsilon="1").text)
                ).status_code
                == 303
            )
        page = browser.get(
            "/ask", sql=f"SELECT AVG({column}) AS m FROM admissions{where}", **(wish if not where or turn % 4 == 1 else {})
        ).text
        before = spent(rich)
        assert browser.post("/pay", **carried(page)).status_code == 303
        equal += round(spent(rich) - before, 6) == round(said_on(page), 6)
    assert equal == 24


def test_a_price_that_rose_since_it_was_shown_is_refused_for_nothing_and_shown_anew(rich):
    browser = Browser(rich, rich.token())
    fields = carried(browser.get("/ask", sql="SELECT AVG(age) AS m FROM admissions", within="12").text)
    dearer = browser.post("/pay", **{**fields, "at_most": "0.01"})
    assert dearer.status_code == 303
    assert dearer.headers["location"].startswith("/ask?")
    page = browser.get(dearer.headers["location"]).text
    assert "The price has changed" in page
    assert carried(page)["within"] == "12.0"
    assert spent(rich) == 0
    assert browser.post("/pay", **{**fields, "at_most": "much"}).status_code == 422
    close = str(0.995 * float(fields["at_most"]))
    assert browser.post("/pay", **{**fields, "at_most": close}).headers["location"].startswith("/releases/"), "as close as prices are found"
    assert spent(rich) <= float(close), "and never above what was agreed to"


def test_over_http_a_ceiling_is_kept_too(rich):
    token = rich.token()
    refused = rich.pay(token, "SELECT COUNT(*) AS n FROM admissions", "k", within=30, at_most="0.1")
    assert (refused.status_code, refused.json()["code"], refused.json()["spent"]) == (409, "SRD-512", False)
    paid = rich.pay(token, "SELECT COUNT(*) AS n FROM admissions", "k", within=30, at_most=1)
    assert paid.json()["paid"] is True
    assert spent(rich) <= 1


def test_a_recorded_answer_is_the_main_button_and_a_fresh_one_is_paid_as_said(rich):
    browser = Browser(rich, rich.token())
    sql = "SELECT COUNT(*) AS n FROM admissions"
    browser.post("/pay", **carried(browser.get("/ask", sql=sql, within="30").text))
    page = browser.get("/ask", sql=sql, within="40").text
    assert re.search(r'class="button strong" href="/releases/[^"]+">Show the recorded answer, free</a>', page)
    assert 'button class="strong"' not in page, "nothing else is as strong"
    before, fields = spent(rich), carried(page)
    assert fields["fresh"] == "1"
    assert browser.post("/pay", **fields).status_code == 303
    assert spent(rich) - before == pytest.approx(float(fields["at_most"]))


def test_prices_and_how_many_more_obey_the_analysts_purse_and_free_answers_are_offered(tmp_path):
    hall = Visitor(write(tmp_path, epsilon=50, purses="[budget.analysts]\namina = { epsilon = 0.6 }\nboss = { epsilon = 40 }"))
    try:
        boss, amina = Browser(hall, hall.token("boss")), None
        assert boss.pay("SELECT COUNT(*) AS n FROM admissions", "60").status_code == 303
        amina = Browser(hall, hall.token("amina"))
        page = amina.get("/ask", sql="SELECT SUM(age) AS s FROM admissions").text
        assert said_on(page) <= 0.6, "the page opens with a price the purse can pay"
        assert "your purse (0.6 left) pays for 1 of these" in page
        page = amina.get("/ask", sql="SELECT COUNT(*) AS n FROM admissions", within="10").text
        assert "your purse has 0.6 left" in page
        assert "Pay epsilon" not in page
        assert "Show a recorded answer, free: ± 6" in page
        assert "pays for" in page
        lone = Browser(hall, hall.token("nobody"))
        page = lone.get("/ask", sql="SELECT SUM(age) AS s FROM admissions").text
        assert "Pay epsilon" not in page
        assert "look at them" in page
    finally:
        hall.close()


def test_a_quantile_is_asked_as_an_interval_or_as_one_number_by_rank(rich):
    browser = Browser(rich, rich.token())
    sql = "SELECT MEDIAN(age) AS m FROM admissions"
    assert "Quantiles as" in browser.get("/ask", sql=sql).text
    page = browser.get("/ask", sql=sql, interval="false", percent="20").text
    fields = carried(page)
    assert (fields["percent"], fields["interval"]) == ("20.0", "false")
    result = browser.get(browser.post("/pay", **fields).headers["location"]).text
    assert "ranks off with 95%" in result
    assert spent(rich) == pytest.approx(said_on(page))
    page = browser.get("/ask", sql=sql, interval="false", epsilon="0.2").text
    assert "Show the recorded answer, free" in page
    interval = browser.get(browser.post("/pay", **carried(browser.get("/ask", sql=sql, epsilon="1").text)).headers["location"]).text
    assert "with 95% between" in interval


def test_counting_less_of_one_person_is_cheaper_and_the_card_says_what_is_kept(rich):
    browser = Browser(rich, rich.token())
    said = {"build": "1", "dataset": "hospital", "table": "admissions", "statistic": "count", "within": "30"}
    prices = {}
    for rows in ("", "1"):
        page = browser.get(browser.get("/ask", **said, limit_rows=rows).headers["location"]).text
        prices[rows] = said_on(page)
    assert prices["1"] < prices[""]
    assert "at most 1 admission" in page
    assert 'name="limit_rows" inputmode="numeric" autocomplete="off" value="1"' in page


def test_before_paying_the_card_says_odds_and_shows_where_the_answer_will_fall(rich):
    page = Browser(rich, rich.token()).get("/ask", sql="SELECT COUNT(*) AS n FROM admissions", within="30").text
    assert "multiplies the odds by at most" in page
    assert "Before you pay: where the answer will fall" in page
    assert "19 of 20" in page
