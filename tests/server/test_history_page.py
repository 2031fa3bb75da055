"""Answers and what was asked before: an audit log one can search, files that say what they are about, saved questions, tokens that end."""

from __future__ import annotations

import csv
import io
import re
from urllib.parse import parse_qs, urlsplit

import pyarrow.parquet as pq
import pytest

from sordino.server import auth
from sordino.server.auth import Tokens

from .hall import PURSES, Visitor, write
from .test_ask_page import COUNT, SEX, Browser

BOTH = "SELECT sex, AVG(age) AS m, COUNT(*) AS n FROM admissions WHERE age >= 18 AND sex IN ('f', 'm') GROUP BY sex"


@pytest.fixture
def rich(tmp_path):
    visitor = Visitor(write(tmp_path, epsilon=500, purses=""))
    yield visitor
    visitor.close()


def paid(hall: Visitor, token: str, sql: str, key: str, **wish: object) -> tuple[str, str]:
    return hall.pay(token, sql, key, **wish).json()["id"], hall.plan(token, sql)


def test_the_history_says_when_who_what_and_at_which_price_and_can_be_searched(rich):
    amina, boss = rich.token(), rich.token("boss", "owner")
    for turn in range(60):
        paid(rich, amina if turn % 2 else boss, COUNT, f"k{turn}", epsilon="0.1", fresh=True)
    paid(rich, amina, BOTH, "both", epsilon="1")
    browser = Browser(rich, amina)
    page = browser.get("/history").text
    assert "mean(age), count by sex of admissions where age &gt;= 18 AND sex IN (&#x27;f&#x27;, &#x27;m&#x27;)" in page
    assert re.search(r"<td>20\d\d-\d\d-\d\d \d\d:\d\d:\d\d</td>", page)
    assert "61 of 61 charges, 1 to 50" in page
    older = re.search(r'href="(/history\?[^"]*cursor=50[^"]*)"', page)[1].replace("&amp;", "&")
    assert "51 to 61" in browser.get(older).text
    assert "1 of 61 charges" in browser.get("/history", q="age sex").text
    assert "30 of 61 charges" in browser.get("/history", who="another analyst").text
    assert "Nothing like that" in browser.get("/history", q="zebra").text
    rows = list(csv.reader(io.StringIO(browser.get("/history.csv", who="amina").text)))
    assert rows[0] == ["id", "time", "who", "asked", "table", "epsilon", "state"]
    assert len(rows) == 32
    assert {row[2] for row in rows[1:]} == {"amina"}
    assert "boss" not in browser.get("/history.csv").text, "whose a charge was is its payer's and the owner's"
    assert "boss" in Browser(rich, boss).get("/history.csv").text
    assert browser.get("/history", cursor="x" * 9).status_code == 200


def test_an_answer_has_a_picture_for_every_statistic_files_copies_and_a_card_without_python(rich):
    token = rich.token()
    id, plan = paid(rich, token, BOTH, "k", epsilon="4")
    browser = Browser(rich, token)
    page = browser.get(f"/releases/{id}", plan=plan).text
    assert (page.count("<figure"), page.count("<svg")) == (2, 4), "each for wide and for narrow paper"
    assert page.index('class="about"') < page.index("<h1>"), "what it is about comes first"
    assert "Do the differences survive the noise?" in page
    card = page[page.index("Claim card</h2>") :]
    assert re.findall(r'<th scope="row">([^<]*)</th>', card)[:3] == ["in one sentence", "about", "asked"]
    words = re.sub(r"<[^>]+>", " ", card).replace("&#39;", "'")
    assert not re.search(r"\[\[|\{'|'\]|\bNone\b|\bTrue\b|\bFalse\b|Fraction", words)
    assert f'href="/releases/{id}"' in page, "a permanent link"
    assert "remote.sql(" in page
    assert f"/v1/releases/{id}" in page
    assert "https://testserver" in page
    svg = browser.get(f"/releases/{id}.svg", plan=plan, of="n")
    assert svg.headers["content-type"].startswith("image/svg+xml")
    assert svg.text.startswith("<svg")
    assert browser.get(f"/releases/{id}.svg", of="nothing").status_code == 404
    table = pq.read_table(io.BytesIO(rich.ask("GET", f"/releases/{id}.parquet").content))
    assert b"sordino.about" in table.schema.metadata
    assert "in one sentence" in browser.get(f"/releases/{id}.card.html").text


def test_differences_are_judged_all_together(rich):
    from sordino.server.result_page import compared, family
    from sordino.session.release import Release

    token = rich.token()
    found = rich.pay(token, SEX, "k", epsilon="2").json()
    query = rich.app.app.app.state.house.query(rich.tokens.find(token), rich.plan(token, SEX))[2]
    release = Release.from_bytes(query.sealed()[0], query=query)
    wide = family(release)
    assert wide.level == pytest.approx(1 - 0.05 / 3)
    for low, wider in zip(release.answers["n_low"], wide.answers["n_low"], strict=True):
        assert wider <= low
    alone, together = compared(release), compared(wide)
    assert len(alone) == len(together) == 3
    assert all(pair.survives for pair, both in zip(alone, together, strict=True) if both.survives), "never more together than alone"
    assert found["columns"]["n"] == release.answers["n"]
    page = Browser(rich, token).get(f"/releases/{found['id']}", plan=rich.plan(token, SEX)).text
    assert "All pairs together: with at least 95%" in page


def test_saved_questions_are_refreshed_for_nothing_and_are_each_analysts_own(rich):
    token = rich.token()
    browser = Browser(rich, token)
    plan = rich.plan(token, COUNT)
    browser.get("/answers")
    assert "Save a question" in browser.page
    form = browser.field("form")
    assert browser.post("/answers", form=form, plan=plan, name="all rows").status_code == 303
    page = browser.get("/answers").text
    assert "No answer is recorded yet" in page
    spent = rich.spent(token)
    id, _ = paid(rich, token, COUNT, "k", epsilon="1")
    assert f'href="/releases/{id}?plan={plan}"' in browser.get("/answers").text
    better, _ = paid(rich, token, COUNT, "k2", epsilon="3")
    now = rich.spent(token)
    assert f'href="/releases/{better}?plan={plan}"' in browser.get("/answers").text
    assert rich.spent(token) == now > spent, "looking is free"
    assert "all rows" not in Browser(rich, rich.token("bela")).get("/answers").text
    again = Browser(rich, token)
    number = re.search(r'name="forget" value="(\d+)"', again.get("/answers").text)[1]
    again.post("/answers", form=again.field("form"), dataset="hospital", forget=number)
    assert "all rows" not in again.get("/answers").text
    assert again.post("/answers", form=again.field("form"), plan="nonsense").status_code == 404
    assert again.post("/answers", form="", plan=plan).status_code == 403


def test_an_owner_makes_scopes_ends_and_revokes_tokens_on_the_console(hall, monkeypatch):
    boss = Browser(hall, hall.token("boss", "owner"))
    boss.get("/owner")
    form = boss.field("form")
    made = boss.post("/owner/tokens", form=form, dataset="hospital", name="cleo", role="analyst", scope="hospital", days="30")
    token = re.search(r"srd_[\w-]{43}", made.text)[0]
    assert hall.ask("GET", "/v1/datasets", token).status_code == 200
    assert hall.tokens.find(token).scope == ("hospital",)
    assert token not in boss.get("/owner").text, "shown once"
    for wrong in (
        {"name": "cleo"},
        {"name": "x y"},
        {"name": "dan", "days": "soon"},
        {"name": "dan", "days": "0"},
        {"name": "dan", "role": "king"},
    ):
        assert boss.post("/owner/tokens", form=form, dataset="hospital", **wrong).status_code == 422
    assert boss.post("/owner/tokens", form=form, dataset="hospital", name="dan", scope="elsewhere").status_code == 404
    assert boss.post("/owner/tokens", form=form, dataset="hospital", revoke="cleo").status_code == 303
    assert hall.ask("GET", "/v1/datasets", token).status_code == 401
    analyst = Browser(hall, hall.token("eve"))
    analyst.get("/datasets")
    assert analyst.post("/owner/tokens", form=analyst.field("form"), dataset="hospital", name="mallory", role="owner").status_code == 403


def test_a_token_ends_by_itself(tmp_path, monkeypatch):
    tokens = Tokens(tmp_path / "t.tokens")
    token = tokens.add("amina", days=1)
    assert tokens.find(token).name == "amina"

    class Later(auth.dt.datetime):
        @classmethod
        def now(cls, zone=None):
            return auth.dt.datetime(2099, 1, 1, tzinfo=zone)

    monkeypatch.setattr(auth.dt, "datetime", Later)
    assert tokens.find(token) is None
    assert tokens.add("amina") != token, "an ended one is in nobody's way"


def test_a_reason_reaches_the_owner_a_note_the_analyst_and_a_badge_counts(tmp_path):
    hall = Visitor(write(tmp_path, approve="approve_above = 0.3", purses=PURSES))
    try:
        amina, owner = hall.token("amina"), hall.token("owner", "owner")
        assert hall.pay(amina, COUNT, "k", epsilon="0.4", reason="annual report").status_code == 402
        boss = Browser(hall, owner)
        page = boss.get("/datasets").text
        assert 'aria-label="1 waiting"' in page
        assert "annual report" in boss.get("/owner").text
        asked = hall.ask("GET", "/v1/approvals", owner).json()[0]
        assert asked["reason"] == "annual report"
        said = hall.ask("POST", f"/v1/approvals/{asked['id']}", owner, json={"verdict": "refused", "note": "ask next year"}).json()
        assert said["note"] == "ask next year"
        assert "ask next year" in hall.pay(amina, COUNT, "k", epsilon="0.4").json()["detail"]
        browser = Browser(hall, amina)
        assert "ask next year" in browser.get("/approvals").text
        assert "waiting" not in browser.get("/datasets").text
    finally:
        hall.close()


def test_a_page_of_the_answer_is_reached_from_its_own_price(rich):
    browser = Browser(rich, rich.token())
    place = browser.pay(COUNT, "30").headers["location"]
    assert set(parse_qs(urlsplit(place).query)) == {"plan"}
    assert "with 95% between" in browser.get(place).text
