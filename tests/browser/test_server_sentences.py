"""What the pages promise, sentence by sentence, in a real browser; the walks through every page are in test_server_pages.py.

One server with small purses; every test asks its own questions, so that none depends on another.
"""

from __future__ import annotations

import re
import socket
from pathlib import Path
from urllib.parse import urlencode

import pytest
from playwright.sync_api import expect

from server.hall import write
from server.process import Process
from server.test_oidc import provider
from sordino.server.auth import Tokens

from .test_server_pages import LETTERS, enter, look

PURSES = "[budget.analysts]\namina = { epsilon = 40 }\nbela = { epsilon = 0.15 }\nowner = { epsilon = 1 }"


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SORDINO_STATE", str(tmp_path_factory.mktemp("state")))
        file = write(tmp_path_factory.mktemp("sentences"), epsilon=50, purses=PURSES, deadline=1000)
        tokens = Tokens.beside(file)
        server = Process(file)
        server.amina, server.bela, server.owner = tokens.add("amina"), tokens.add("bela"), tokens.add("owner", "owner")
        yield server
        server.stop()


def asked(page, served, sql, **words):
    page.goto(f"{served.url}/ask?{urlencode({'sql': sql, **words})}")
    return page


def paid(page, served, sql, **words):
    asked(page, served, sql, **words).get_by_role("button", name=re.compile("Pay epsilon")).click()
    page.get_by_role("heading", name="Claim card").wait_for()


def test_the_price_is_the_charge_and_prices_obey_the_purse(page, served):
    enter(page, served, served.amina)
    asked(page, served, "SELECT COUNT(*) AS n FROM admissions WHERE age < 31", within="50")
    said = float(page.get_by_role("button", name=re.compile("Pay epsilon")).inner_text().split()[2])
    assert page.locator(".asked code").inner_text() == "SELECT COUNT(*) AS n FROM admissions WHERE age < 31"
    assert float(page.locator(".pay [name=at_most]").input_value()) == pytest.approx(said, rel=1e-3)
    page.get_by_role("button", name=re.compile("Pay epsilon")).click()
    page.get_by_role("heading", name="Claim card").wait_for()
    page.goto(f"{served.url}/history")
    assert float(page.locator("tbody tr").first.locator("td").nth(3).inner_text()) == pytest.approx(said, rel=1e-3)
    asked(page, served, "SELECT COUNT(*) AS n FROM admissions WHERE age < 31", within="60")
    free = page.get_by_role("link", name="Show the recorded answer, free")
    assert "strong" in free.get_attribute("class")
    assert page.locator("button.strong:visible").count() == 0, "nothing else is as strong"
    page.context.clear_cookies()
    enter(page, served, served.bela)
    asked(page, served, "SELECT COUNT(*) AS n FROM admissions WHERE age < 32")
    expect(page.locator(".offer")).to_contain_text("your purse (0.15 left) pays")
    assert float(page.get_by_role("button", name=re.compile("Pay epsilon")).inner_text().split()[2]) <= 0.15
    dear = page.locator("tbody tr", has=page.get_by_role("rowheader", name="2", exact=True))
    assert dear.locator("td").last.inner_text() == "0", "how many more is what the purse pays for"
    asked(page, served, "SELECT COUNT(*) AS n FROM admissions WHERE age < 31", within="5")
    expect(page.locator(".offer")).to_contain_text("your purse has 0.15 left")
    page.get_by_role("link", name=re.compile("Show a recorded answer, free")).click()
    page.get_by_role("heading", name="Claim card").wait_for()
    look(page)


def test_one_number_for_each_person_is_built_first_and_sql_follows_both_ways(page, served):
    enter(page, served, served.amina)
    page.goto(f"{served.url}/ask")
    sql = page.get_by_label("The same as SQL")
    page.get_by_text("First one number for each patient").click()
    page.get_by_label("For each patient").select_option("sum")
    page.get_by_label("of their column").select_option("cost")
    page.get_by_label("and up to").fill("50000")
    page.get_by_label("Statistic", exact=True).select_option("median")
    expect(sql).to_have_value(re.compile(r'MEDIAN\("sum_cost_each"\).*LEAST\(GREATEST\(SUM\("cost"\), 0\), 50000\).*GROUP BY "patient"'))
    expect(page.locator(".asked code")).to_contain_text("sum_cost_each")
    expect(page.get_by_role("figure", name="Before you pay")).to_contain_text("simulated on 300 made-up rows")
    sql.fill(sql.input_value().replace("50000", "70000").replace("MEDIAN", "AVG"))
    expect(page.get_by_label("and up to")).to_have_value("70000")
    expect(page.get_by_label("Statistic", exact=True)).to_have_value("mean")
    expect(page.locator(".asked code")).to_contain_text("70000")
    look(page, "per-person")
    page.get_by_role("button", name=re.compile("Pay epsilon")).click()
    expect(page.locator("p.about")).to_contain_text("one row for each patient")


def test_an_answer_is_large_drawn_copied_kept_and_linked_for_good(page, served):
    enter(page, served, served.amina)
    paid(page, served, "SELECT sex, AVG(age) AS m, COUNT(*) AS n FROM admissions GROUP BY sex", epsilon="1")
    assert page.locator("main p").first.get_attribute("class") == "about", "what it is about comes first"
    assert page.locator("figure").count() >= 2, "a picture for every statistic"
    for kind in ("Python", "SQL", "curl"):
        page.get_by_text(f"Copy as {kind}", exact=True).click()
        expect(page.locator(f"#as-{kind.lower()}")).not_to_be_empty()
    with page.expect_download() as download:
        page.get_by_role("link", name="Parquet", exact=True).click()
    assert Path(download.value.path()).read_bytes().startswith(b"PAR1")
    with page.expect_download() as download:
        page.get_by_role("link", name=re.compile("SVG of")).first.click()
    assert Path(download.value.path()).read_text(encoding="utf-8").startswith("<svg")
    card = page.get_by_label("Claim card")
    assert card.locator("th").first.inner_text() == "in one sentence"
    assert not re.search(r"Fraction\(|\bNone\b|\bTrue\b|\{'", card.inner_text())
    link = page.get_by_role("link", name=re.compile("^release ")).get_attribute("href")
    page.goto(served.url + link)
    page.get_by_role("heading", name="Claim card").wait_for()
    page.emulate_media(media="print")
    assert page.locator("header nav").is_hidden()
    assert page.locator("figure svg:visible").count() >= 2
    paper = [size for _, size in page.evaluate(LETTERS)]
    assert min(paper) >= 11
    page.emulate_media(media="screen")
    paid(page, served, "SELECT SUM(age) AS total FROM admissions WHERE age > 77", epsilon="1")
    assert float(page.locator(".large strong").evaluate("e => getComputedStyle(e).fontSize").removesuffix("px")) >= 36
    asked(page, served, "SELECT ward, COUNT(*) AS n FROM admissions GROUP BY ward", epsilon="1")
    expect(page.locator(".withheld", has_text="Withheld:")).to_contain_text("held by fewer than about")


def test_an_owner_sets_a_threshold_scopes_a_token_and_takes_an_archive_away(page, served):
    enter(page, served, served.owner)
    page.goto(f"{served.url}/owner")
    page.get_by_label(re.compile("Releases above this epsilon wait")).fill("30")
    page.get_by_role("button", name="Set the threshold").click()
    page.get_by_text("A release above epsilon 30 waits here").wait_for()
    page.get_by_label(re.compile("Most epsilon of one release")).fill("45")
    page.get_by_role("button", name="Set the cap of one release").click()
    page.get_by_text("One release may cost 45.").wait_for()
    page.get_by_label("New token for").fill("dora")
    page.locator("[name=scope]").select_option("hospital")
    page.get_by_label("Days it lasts").fill("7")
    page.get_by_role("button", name="Make a token").click()
    expect(page.locator("tr", has_text="dora")).to_contain_text("hospital")
    with page.expect_download() as download:
        page.get_by_role("link", name=re.compile("archive", re.IGNORECASE)).first.click()
    assert Path(download.value.path()).read_bytes().startswith(b"PK")
    look(page)


def test_a_link_survives_login_the_history_is_exported_and_the_api_is_shown_with_examples(page, served):
    wanted = f"{served.url}/ask?{urlencode({'sql': 'SELECT COUNT(*) AS n FROM admissions WHERE age < 9', 'within': '70'})}"
    page.goto(wanted)
    page.get_by_label("Your token").fill(served.amina)
    page.get_by_role("button", name="Log in").click()
    expect(page.locator(".asked code")).to_contain_text("age < 9")
    assert page.locator("[aria-live=polite]#said").count() == 1, "one polite live region"
    page.goto(f"{served.url}/history?q=nothing+like+this")
    expect(page.locator("tbody")).to_contain_text("Nothing like that was asked")
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV of these").click()
    assert "who,asked,table,epsilon" in Path(download.value.path()).read_text(encoding="utf-8")
    page.goto(f"{served.url}/api")
    assert page.locator("pre", has_text="SELECT COUNT(*)").count() >= 1
    look(page)
    answer = page.request.get(f"{served.url}/healthz")
    assert (answer.status, page.request.get(f"{served.url}/readyz").status) == (200, 200)
    assert "sordino_" in page.request.get(f"{served.url}/metrics").text()


def test_one_of_a_group_logs_in_with_a_provider_and_a_stranger_is_turned_away(chromium, tmp_path, monkeypatch):
    monkeypatch.setenv("SORDINO_STATE", str(tmp_path / "state"))
    with provider() as issuer, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        lines = f'issuer = "{issuer}"\nclient_id = "sordino"\naddress = "http://127.0.0.1:{port}"\nclient_secret_file = "hush"\n'
        (tmp_path / "hush").write_text("secret")
        (tmp_path / "oidc.toml").write_text(f'{lines}[groups]\nlabs = {{ role = "analyst" }}\n')
        server = Process(write(tmp_path), "--port", str(port), "--oidc", str(tmp_path / "oidc.toml"))
        try:
            for who, seen in (("s-amina", "History"), ("s-eve", "no group of yours may ask here")):
                page = chromium.new_context().new_page()
                page.goto(f"{server.url}/history")
                page.get_by_role("link", name="Log in with 127.0.0.1").click()
                page.get_by_placeholder("sub").fill(who)
                page.get_by_role("button", name="Authorize", exact=True).click()
                expect(page.locator("body")).to_contain_text(seen)
                page.context.close()
        finally:
            server.stop()
