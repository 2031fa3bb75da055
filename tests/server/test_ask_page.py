"""The pages without a browser: logging in, forms that must come from here, every page for analyst and owner, exports."""

from __future__ import annotations

import re
from urllib.parse import urlencode

import pytest

from sordino.server.owner_page import _place

from .hall import Still, Visitor, people, write

COUNT = "SELECT COUNT(*) AS n FROM admissions"
SEX = "SELECT sex, COUNT(*) AS n FROM admissions GROUP BY sex"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Browser:
    """Just enough of a browser: a cookie and the fields of the last page."""

    def __init__(self, hall: Visitor, token: str) -> None:
        self.hall, self.page = hall, ""
        self.entered = self.post("/login", token=token)

    def get(self, path: str, **fields: str):
        answer = self.hall.ask("GET", f"{path}?{urlencode(fields)}" if fields else path)
        self.page = answer.text
        return answer

    def post(self, path: str, headers: dict[str, str] | None = None, **fields: str):
        return self.hall.ask("POST", path, content=urlencode(fields).encode(), headers={**FORM, **(headers or {})})

    def field(self, name: str) -> str:
        return re.search(rf'name="{name}" value="([^"]*)"', self.page)[1].replace("&amp;", "&")

    def pay(self, sql: str, within: str = "60"):
        self.get("/ask", sql=sql, within=within)
        return self.post("/pay", **{name: self.field(name) for name in ("form", "plan", "key", "within")})


@pytest.fixture
def browser(hall):
    return Browser(hall, hall.token())


def test_a_token_becomes_a_cookie_and_nothing_is_shown_without_it(hall):
    for path in ("/datasets", "/ask", "/history", "/owner", "/owner/fit?run=1", "/risk", "/why", "/releases/x", "/releases/x.csv"):
        answer = hall.ask("GET", path)
        assert (answer.status_code, answer.headers["location"]) == (303, f"/login?{urlencode({'next': path})}")
    assert hall.ask("GET", "/").headers["location"] == "/datasets"
    wrong = Browser(hall, "srd_wrong").entered
    assert wrong.status_code == 401
    assert "set-cookie" not in wrong.headers
    token = hall.token()
    entered = Browser(hall, token).entered
    cookie = entered.headers["set-cookie"]
    assert cookie.startswith("__Host-sordino=")
    for word in ("HttpOnly", "Secure", "SameSite=lax", "Path=/"):
        assert word in cookie
    assert token not in cookie
    assert hall.ask("GET", "/datasets").status_code == 200
    hall.tokens.revoke("amina")
    assert hall.ask("GET", "/datasets").status_code == 303, "a revoked token is out at once"


def test_a_session_ends_by_itself_and_by_logging_out(tmp_path):
    clock = Still()
    hall = Visitor(write(tmp_path), clock=clock)
    try:
        browser = Browser(hall, hall.token())
        assert browser.get("/datasets").status_code == 200
        assert browser.post("/logout", form=browser.field("form")).headers["location"] == "/login"
        assert browser.get("/datasets").status_code == 303
        hall.tokens.revoke("amina")
        browser = Browser(hall, hall.token())
        clock.move(9 * 3600)
        assert browser.get("/datasets").status_code == 303
    finally:
        hall.close()


def test_a_form_from_elsewhere_pays_nothing(hall, browser):
    browser.get("/ask", sql=COUNT, within="60")
    good = {name: browser.field(name) for name in ("form", "plan", "key", "within")}
    assert browser.post("/pay", **{**good, "form": ""}).status_code == 403
    assert browser.post("/pay", **{**good, "form": "0" * 64}).status_code == 403
    assert browser.post("/pay", **{**good, "form": "é"}).status_code == 403
    for site in ("cross-site", "same-site"):
        assert browser.post("/pay", {"Sec-Fetch-Site": site}, **good).status_code == 403
        assert browser.post("/login", {"Sec-Fetch-Site": site}, token="x").status_code == 403
    assert browser.post("/pay", **{**good, "key": ""}).status_code == 422
    assert hall.ask("POST", "/pay", json=good).status_code == 422
    assert hall.ask("GET", "/pay").status_code == 405
    assert hall.app.app.app.state.house.datasets["hospital"].budget.spent == 0
    first = browser.post("/pay", {"Sec-Fetch-Site": "same-origin"}, **good)
    again = browser.post("/pay", **good)
    assert first.status_code == 303
    assert first.headers["location"] == again.headers["location"], "sent twice, paid once"
    assert len(hall.app.app.app.state.house.datasets["hospital"].ledger.entries()) == 1


def test_a_question_from_the_builder_to_the_exported_answer(hall, browser):
    said = {"dataset": "hospital", "table": "admissions", "statistic": "count", "column": "", "where": "age >= 18", "by": "sex"}
    built = browser.get("/ask", build="1", **said)
    assert built.status_code == 303
    page = browser.get(built.headers["location"]).text
    assert "Price list" in page
    assert "Nothing was spent" not in page
    paid = browser.pay(SEX, "40")
    result = browser.get(paid.headers["location"])
    assert result.status_code == 200
    for words in ("Do the differences survive the noise?", "Claim card", "<svg", "survives the noise"):
        assert words in result.text
    id = paid.headers["location"].split("/")[-1].partition("?")[0]
    assert f'href="/releases/{id}?plan=' in browser.get("/ask", sql=SEX, within="45").text
    link = re.search(rf'href="(/releases/{id}\.csv\?plan=[^"]+)"', result.text)[1]
    first, head = hall.ask("GET", link).text.splitlines()[:2]
    assert first.startswith('"# about at most 4 admissions of one patient')
    assert head == "sex,n,n_low,n_high"
    table = hall.ask("GET", f"/releases/{id}.csv")
    assert table.text.splitlines()[1] == "sex,count,count_low,count_high"
    assert table.headers["content-disposition"] == f'attachment; filename="{id}.csv"'
    assert hall.ask("GET", f"/releases/{id}.json").json()["card"]["release"] == id
    assert "Claim card" in hall.ask("GET", f"/releases/{id}.card.html").text
    assert browser.get("/history").text.count(id) >= 1
    assert "verified" in browser.page
    assert browser.get("/why", plan=re.search(r"plan=([\w-]+)", paid.headers["location"])[1], epsilon="0.5").status_code == 200
    assert "Theorem." in browser.page


def test_a_better_answer_is_one_more_draw_averaged_with_the_first(hall, browser):
    first = browser.pay(COUNT, "80")
    plan = re.search(r"plan=([\w-]+)", first.headers["location"])[1]
    assert "All recorded answers together" not in browser.get(first.headers["location"]).text
    assert "Show the prices" in browser.get("/improve", plan=plan).text
    page = browser.get("/improve", plan=plan, within="50").text
    assert "One more draw" in page
    prices = [float(found) for found in re.findall(r'name="epsilon" value="([\d.]+)"', page)]
    assert prices[0] < prices[1], "one more draw is cheaper than a release of its own"
    spent = hall.app.app.app.state.house.datasets["hospital"].budget.spent
    fields = {name: browser.field(name) for name in ("form", "plan", "key", "epsilon", "fresh")}
    second = browser.post("/pay", **fields)
    assert second.headers["location"] != first.headers["location"]
    assert hall.app.app.app.state.house.datasets["hospital"].budget.spent == pytest.approx(spent + prices[0])
    page = browser.get(second.headers["location"]).text
    assert "All recorded answers together" in page
    assert "inverse-variance mean" in page
    assert "nothing is to pay" in browser.get("/improve", plan=plan, within="50").text
    assert "SRD-103" in browser.get("/improve", plan=plan, within="-1").text
    assert "out of reach" in browser.get("/improve", plan=plan, within="0.0001").text


def test_wrong_questions_are_explained_on_the_page_and_pages_have_no_inline_code(browser):
    page = browser.get("/ask", sql="SELECT cost FROM admissions").text
    assert "SRD-209" in page
    assert browser.get("/ask", sql=COUNT, within="much").text.count("SRD-103") == 1
    assert browser.get("/ask", sql=COUNT, within="0.0001").status_code == 200
    assert "out of reach" in browser.page
    assert "SRD-208" in browser.get("/ask", build="1", statistic="mean", table="admissions").text
    assert browser.get("/releases/none").status_code == 404
    assert browser.get("/nothing").status_code == 404
    hostile = "<script>alert(1)</script>"
    assert hostile not in browser.get("/ask", sql=f"SELECT '{hostile}'", within=hostile).text
    priced = f"/ask?{urlencode({'sql': SEX, 'within': 60})}"
    for path in ("/datasets", "/ask", "/history", "/learn/index.html", "/learn/median.html", priced):
        text = browser.get(path).text
        assert not re.search(r"<script(?! src=)|<style|\son\w+=|\sstyle=", text), path


def test_private_keys_say_what_will_be_withheld(browser):
    page = browser.get("/ask", sql="SELECT ward, COUNT(*) AS n FROM admissions GROUP BY ward", within="200").text
    assert "Withheld:" in page


def test_owners_have_a_console_and_a_page_of_risk_and_analysts_do_not(hall):
    analyst = Browser(hall, hall.token("amina"))
    for path in ("/owner", "/risk"):
        assert analyst.get(path).status_code == 403
    analyst.pay(COUNT)
    assert "another analyst" not in analyst.get("/history").text
    owner = Browser(hall, hall.token("boss", "owner"))
    page = owner.get("/owner").text
    for words in ("amina", "Witness", "agrees", "a purse, not a guarantee", "Cards to publish"):
        assert words in page
    assert str(hall.tokens.path.parent) not in page
    page = owner.get("/risk", population="40000", birth_date="1984-05-17", sex="f").text
    assert "Not private." in page
    assert "sure to be the only one" in page
    assert "SRD-103" in owner.get("/risk", population="many", birth_date="1984-05-17").text
    assert "amina" in owner.get("/history").text
    other = Browser(hall, hall.token("bela"))
    assert "another analyst" in other.get("/history").text
    assert "amina" not in other.page


def test_the_place_of_a_ledger_is_shown_without_its_password():
    assert _place("postgres://amina:secret@db.example/books") == "postgres://db.example/books"
    assert _place("/srv/data/hospital.ledger") == "hospital.ledger"


def test_the_course_needs_no_token_and_a_server_of_datasets_opens_no_rooms(hall):
    assert hall.ask("GET", "/learn").headers["location"] == "/learn/index.html"
    assert hall.ask("GET", "/learn/index.html").status_code == 200
    assert hall.ask("GET", "/learn/nothing.html").status_code == 404
    assert hall.ask("POST", "/learn/class").status_code == 405
    assert hall.ask("GET", "/static/look.css").headers["content-type"].startswith("text/css")
    assert hall.ask("GET", "/static/../app.py").status_code == 404


def test_an_owner_sees_how_unique_people_are_in_chosen_columns_and_how_to_say_less(hall):
    from sordino.lab import uniqueness

    owner = Browser(hall, hall.token("boss", "owner"))
    shown = hall.ask("GET", "/risk?column=cost&column=age&column=sex&target=5")
    assert shown.status_code == 200
    assert shown.headers["cache-control"] == "no-store"
    assert shown.text.count("Not private.") == 2
    rows = [row.split(",") for row in people()]
    frame = {name: [row[at] for row in rows] for at, name in enumerate(("patient", "cost", "age", "sex"))}
    frame |= {name: [float(cell) for cell in frame[name]] for name in ("cost", "age")}
    found = uniqueness(frame, ["cost", "age", "sex"], unit="patient")
    assert f"{100 * found.share_unique:.1f}%</strong> of {found.people:,} people" in shown.text
    for way in found.coarser:
        for column, how in way.changes:
            assert f"{column} {how}" in shown.text
    assert "Coarser" in shown.text
    for wrong in ("column=nothing", "column=age&target=x", "column=age&target=-1", "&".join(["column=age"] * 7)):
        assert 'role="alert"' in owner.get(f"/risk?{wrong}").text
    assert hall.app.app.app.state.house.datasets["hospital"].budget.spent == 0
    analyst = Browser(hall, hall.token("amina"))
    refused = analyst.get("/risk?column=age")
    assert refused.status_code == 403
    assert "people are the only one" not in refused.text


def test_the_fit_check_is_the_owners_alone_and_is_kept_nowhere(hall):
    from sordino.session.owner import WARNING

    opened = hall.app.app.app.state.house.datasets["hospital"]
    book = opened.ledger.export()
    analyst = Browser(hall, hall.token("amina"))
    for path in ("/owner/fit", "/owner/fit?run=1", "/owner/fit?run=1&table=admissions"):
        refused = analyst.get(path)
        assert refused.status_code == 403
        assert "NOT PRIVATE" not in refused.text
    assert "Fit" not in analyst.get("/datasets").text
    assert hall.ask("GET", "/owner/fit?run=1").status_code == 403
    owner = Browser(hall, hall.token("boss", "owner"))
    assert "rows cut" not in owner.get("/owner/fit").text  # nothing is read before it is asked for
    shown = owner.get("/owner/fit", run="1", table="admissions")
    assert shown.status_code == 200
    assert shown.headers["cache-control"] == "no-store"
    assert WARNING in shown.text
    assert shown.text.count("NOT PRIVATE") > 3
    for words in ("1,200 rows", "max_rows", "rows cut", "max_groups by sex", "Suggested"):
        assert words in shown.text
    assert opened.budget.spent == 0
    assert opened.ledger.export() == book
    assert "rows cut" not in owner.get("/owner/fit").text
    assert "/owner/fit" not in hall.ask("GET", "/v1/openapi.json").text
