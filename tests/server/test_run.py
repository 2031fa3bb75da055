"""What whoever runs a server needs: health, counts, HEAD, headers, pages of lists, prefixes, sessions and turns of several processes."""

from __future__ import annotations

import asyncio
import io
import json
import logging
import re
import shutil
import sqlite3
import zipfile
from pathlib import Path

import psycopg
import pytest

from ledger.conftest import POSTGRES, postgres  # noqa: F401
from sordino.cli import main
from sordino.server.auth import Tokens
from sordino.server.sessions import Sessions, Turns
from sordino.server.sessions_postgres import PostgresSessions, PostgresTurns

from .hall import QUICK, Visitor, write
from .process import Process
from .test_ask_page import COUNT, FORM, Browser

NEAR = {"x-forwarded-for": "203.0.113.9"}


def test_alive_ready_and_counted(hall):
    assert hall.ask("GET", "/healthz").text == "ok\n"
    assert hall.ask("GET", "/readyz").text == "ready\n"
    token, owner = hall.token(), hall.token("boss", "owner")
    assert hall.pay(token, COUNT, "k", epsilon=1).json()["paid"]
    assert not hall.pay(token, COUNT, "again", epsilon=1).json()["paid"]
    assert hall.pay(token, COUNT, "much", epsilon=9).status_code == 402
    hall.ask("GET", "/v1/budget", "srd_wrong")
    found = hall.ask("GET", "/metrics", owner)
    assert found.headers["content-type"].startswith("text/plain; version=0.0.4")
    said = found.text
    assert re.search(r'sordino_requests_total\{method="POST",route="/v1/plans/\{id\}/release",status="200",process="\d+"\} 2', said)
    assert re.search(r"sordino_charges_total\{[^}]*\} 1\n", said)
    assert re.search(r"sordino_recalls_total\{[^}]*\} 1\n", said)
    assert re.search(r'sordino_refusals_total\{code="SRD-302"[^}]*\} 1', said)
    assert re.search(r'sordino_refusals_total\{code="SRD-501"[^}]*\} 1', said)
    assert not re.search("second|duration|bucket", said), "how long anything took is nobody's"
    assert hall.ask("GET", "/metrics", headers=NEAR).status_code == 403, "a proxy on this machine is not its owner"
    assert hall.ask("GET", "/metrics", token, headers=NEAR).status_code == 403
    assert hall.ask("GET", "/metrics", owner, headers=NEAR).status_code == 200
    assert hall.ask("GET", "/metrics").status_code == 200, "a collector on the same machine"


def test_a_ledger_that_cannot_be_read_is_not_ready(hall, monkeypatch):
    from sordino.errors import LedgerError

    book = type(hall.app.app.app.state.house.datasets["hospital"].ledger)
    monkeypatch.setattr(book, "head", property(lambda _: (_ for _ in ()).throw(LedgerError("SRD-603", "no disk."))))
    assert hall.ask("GET", "/readyz").status_code == 503
    assert hall.ask("GET", "/healthz").status_code == 200


@pytest.mark.parametrize("what", ["an answer", "the sums"])
def test_what_was_edited_in_the_book_is_served_by_no_route(hall, tmp_path, what):
    token = hall.token()
    made = hall.pay(token, COUNT, "k", epsilon=1).json()["id"]
    with sqlite3.connect(next(tmp_path.rglob("*.ledger"))) as book:
        if what == "an answer":
            edited = """CAST(replace(CAST(answer AS TEXT), '"epsilon":"1"', '"epsilon":"2"') AS BLOB)"""
            book.execute(f"UPDATE entry SET answer = {edited} WHERE answer IS NOT NULL")
        else:
            book.execute("""UPDATE head SET state = replace(state, '"loss":"1"', '"loss":"0"')""")
        assert book.total_changes == 1
    book.close()
    if what == "the sums":
        assert hall.ask("GET", "/readyz").status_code == 503
        assert hall.ask("GET", "/v1/budget", token).status_code == 503
        return
    browser = Browser(hall, token)
    for path in (f"/v1/releases/{made}", f"/v1/releases/{made}/card"):
        found = hall.ask("GET", path, token)
        assert (found.status_code, found.json()["code"]) == (503, "SRD-601")
    assert browser.get("/history").status_code == 503
    assert hall.ask("GET", "/readyz").status_code == 503, "once somebody has seen it"


def test_head_is_get_without_a_body_and_headers_say_what_is_left(hall):
    token = hall.token()
    got, head = hall.ask("GET", "/v1/datasets", token), hall.ask("HEAD", "/v1/datasets", token)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == got.headers["content-length"]
    assert hall.ask("HEAD", "/login").status_code == 200
    assert got.headers["ratelimit-limit"] == "10000"
    assert 0 < int(head.headers["ratelimit-remaining"]) < 10_000
    assert "ratelimit-reset" in got.headers
    assert re.fullmatch("[0-9a-f]{16}", got.headers["x-request-id"])
    assert got.headers["strict-transport-security"] == "max-age=63072000", "the test's client speaks https"
    assert hall.ask("GET", "http://testserver/v1/datasets", token).headers.get("strict-transport-security") is None
    assert hall.ask("GET", "/static/look.css").headers["cache-control"] == "public, max-age=3600"


def test_the_owners_log_has_ids_durations_and_codes(hall, caplog):
    with caplog.at_level(logging.INFO, "sordino.server"):
        answer = hall.ask("GET", "/v1/releases/none", hall.token())
    line = next(found for found in map(json.loads, caplog.messages) if found.get("id") == answer.headers["x-request-id"])
    assert line["code"] == "SRD-505"
    assert line["seconds"] >= 0
    assert line["who"] == "amina"


def test_lists_come_in_pages(hall):
    token, owner = hall.token(), hall.token("owner", "owner")
    for turn in range(5):
        assert hall.pay(token, COUNT, f"k{turn}", epsilon="0.1", fresh=True).status_code == 200
    seen, place = [], "/v1/ledger?limit=2"
    while place:
        page = hall.ask("GET", place, owner)
        seen += page.json()["entries"]
        link = page.headers.get("link")
        place = re.match(r'<([^>]+)>; rel="next"', link)[1] if link else None
        assert (page.json()["next"] is None) is (place is None)
    assert len(seen) == 5
    assert seen == hall.ask("GET", "/v1/ledger", owner).json()["entries"]
    assert seen[0]["at"]
    assert hall.ask("GET", "/v1/ledger?limit=0", owner).status_code == 422
    assert hall.ask("GET", "/v1/approvals?limit=1&cursor=7", token).json() == []


def test_a_description_is_asked_over_http(hall):
    token = hall.token()
    plan = hall.ask("POST", "/v1/plans", token, json={"call": {"table": "admissions", "ask": {"verb": "describe"}}}).json()
    assert {"count", "mean(age)", "mean(cost)"} <= set(plan["statistics"])
    one = {"table": "admissions", "ask": {"verb": "describe", "given": [["age"]]}}
    plan = hall.ask("POST", "/v1/plans", token, json={"call": one}).json()["id"]
    found = hall.ask("POST", f"/v1/plans/{plan}/release", token, "k", json={"epsilon": "2"}).json()
    assert {"count", "mean(age)", "std(age)"} <= set(found["columns"])
    assert hall.ask("POST", "/v1/plans", token, json={"call": {**one, "by": ["sex"]}}).status_code == 422


def test_under_a_prefix_every_link_and_every_way_back_keeps_it(tmp_path):
    hall = Visitor(write(tmp_path), prefix="/private/sordino")
    try:
        token = hall.token()
        assert hall.ask("GET", "/private/sordino/datasets").headers["location"] == "/private/sordino/login?next=%2Fdatasets"
        browser = Browser(hall, token)
        assert browser.entered.headers["location"] == "/private/sordino/datasets"
        for place in ("/private/sordino/ask?sql=SELECT+COUNT(*)+AS+n+FROM+admissions&within=60", "/ask", "/history", "/api", "/datasets"):
            page = browser.get(place)
            assert page.status_code == 200
            links = re.findall(r'\b(?:href|action|src|hx-get)="(/[^"]*)"', page.text)
            assert links
            assert all(link.startswith("/private/sordino/") for link in links), links
        assert hall.ask("GET", "/v1/openapi.json").json()["servers"] == [{"url": "/private/sordino"}]
    finally:
        hall.close()


def test_a_link_survives_logging_in_and_nobody_is_sent_elsewhere(hall):
    place = "/history?dataset=hospital"
    door = hall.ask("GET", place).headers["location"]
    assert door == "/login?next=%2Fhistory%3Fdataset%3Dhospital"
    assert 'name="next" value="/history?dataset=hospital"' in hall.ask("GET", door).text
    token = hall.token()
    for wanted, gone in ((place, place), ("//evil.example", "/datasets"), ("https://evil.example", "/datasets"), ("/\\evil", "/datasets")):
        entered = hall.ask("POST", "/login", data={"token": token, "next": wanted}, headers=FORM)
        assert entered.headers["location"] == gone


def test_sessions_outlive_a_restart_and_are_shared_and_only_hashes_are_kept(tmp_path):
    file = write(tmp_path)
    one = Visitor(file)
    token = one.token()
    cookie = Browser(one, token).entered.headers["set-cookie"].partition(";")[0]
    other = Visitor(file)
    try:
        assert other.ask("GET", "/datasets", headers={"Cookie": cookie}).status_code == 200, "another process knows the session"
    finally:
        one.close()
        other.close()
    kept = Sessions.beside(file).path
    assert kept.stat().st_mode & 0o077 == 0
    assert cookie.partition("=")[2].encode() not in kept.read_bytes()
    sessions = Sessions(tmp_path / "s")
    sessions.open("secret", "hash", 10.0, 0.0)
    assert sessions.find("secret", 9.0) == "hash"
    assert sessions.find("secret", 11.0) is None
    sessions._boot = "another start of the machine"
    assert sessions.find("secret", 9.0) is None


def turned(turns, begun=0.01):
    async def walk():
        seen = []

        async def work(place):
            async with turns[place].of("amina"):
                seen.append(("in", place))
                await asyncio.sleep(0.02)
                seen.append(("out", place))

        both = asyncio.gather(work(0), work(1))
        await asyncio.sleep(begun)
        await turns[2].quiet("amina")
        assert len(seen) in (2, 4), "not beside a release"
        await turns[2].quiet("bela")
        await both
        return seen

    return [word for word, _ in asyncio.run(walk())]


def test_turns_are_one_after_the_other_and_whoever_asks_beside_them_waits(tmp_path):
    assert turned([Turns(tmp_path / "turns") for _ in range(3)]) == ["in", "out", "in", "out"]


@POSTGRES
def test_with_a_ledger_in_postgres_sessions_and_turns_are_in_its_database(tmp_path, request):
    address = request.getfixturevalue("postgres").address
    machines = [tmp_path / name for name in ("one", "other")]
    halls = []
    for folder in machines:
        folder.mkdir()
        halls.append(Visitor(write(folder, name="shared", ledger=address)))
    one, other = halls
    try:
        token = one.token()
        shutil.copy(next(machines[0].glob("*.tokens")), machines[1])
        cookie = Browser(one, token).entered.headers["set-cookie"].partition(";")[0]
        assert other.ask("GET", "/datasets", headers={"Cookie": cookie}).status_code == 200, "another machine knows the session"
    finally:
        one.close()
        other.close()
    assert not list(tmp_path.rglob("*.sessions"))
    sessions = PostgresSessions(address)
    sessions.open("secret", "hash", 60.0, 0.0)
    assert sessions.find("secret", 1e9) == "hash", "by the database's clock"
    sessions.open("old", "hash", -1.0, 0.0)
    assert sessions.find("old", 0.0) is None
    sessions.close("secret")
    assert sessions.find("secret", 0.0) is None
    with psycopg.connect(address, autocommit=True) as rows:
        assert not rows.execute("SELECT 1 FROM sordino_session WHERE mark LIKE '%secret%' OR token LIKE '%secret%'").fetchall()
        rows.execute("SELECT pg_terminate_backend(%s)", (sessions._line._open.info.backend_pid,))
    assert sessions.find("secret", 0.0) is None, "a broken connection is made again"
    turns = [PostgresTurns(address, "shared") for _ in range(3)]
    assert turned(turns, begun=0.5) == ["in", "out", "in", "out"]
    for opened in (sessions, *turns):
        opened.stop()


def test_an_archive_holds_everything_but_rows_and_can_be_put_back(tmp_path, monkeypatch, capsys):
    (tmp_path / "here").mkdir()
    file = write(tmp_path / "here", approve="approve_above = 0.8")
    hall = Visitor(file)
    try:
        token, owner = hall.token(), hall.token("boss", "owner")
        paid = hall.pay(token, COUNT, "k", epsilon="0.5").json()
        hall.pay(token, COUNT, "dear", epsilon="1.5")
        assert Browser(hall, token).get("/owner/archive").status_code == 403
        content = Browser(hall, owner).get("/owner/archive")
    finally:
        hall.close()
    assert content.headers["content-disposition"] == 'attachment; filename="hospital.zip"'
    with zipfile.ZipFile(io.BytesIO(content.content)) as zipped:
        names = set(zipped.namelist())
        assert {"hospital.toml", "hospital.ledger", "ledger.jsonl", "hospital.tokens", "hospital.approvals", "README.txt"} <= names
        assert not any(name.endswith(".csv") for name in names)
        assert not any(token.encode() in zipped.read(name) or owner.encode() in zipped.read(name) for name in names)
    assert main(["archive", str(tmp_path / "a.zip"), "--config", str(file), "--json"]) == 0
    assert main(["archive", str(tmp_path / "a.zip"), "--config", str(file)]) != 0, "never written over"
    assert main(["restore", str(tmp_path / "a.zip"), str(tmp_path / "there")]) == 0
    assert main(["restore", str(tmp_path / "a.zip"), str(tmp_path / "there")]) != 0
    source = Path(tmp_path / "here" / "hospital.csv")
    source.rename(tmp_path / "there" / "hospital.csv")
    (tmp_path / "here" / ".hospital.csv.sordino").rename(tmp_path / "there" / ".hospital.csv.sordino")
    assert main(["ledger", "adopt", "--epsilon", "0", "--yes", "--config", str(tmp_path / "there" / "hospital.toml")]) == 0
    capsys.readouterr()
    again = Visitor(tmp_path / "there" / "hospital.toml", limits=QUICK)
    try:
        assert again.ask("GET", f"/v1/releases/{paid['id']}", token).json()["record"] == paid["record"]
        assert again.ask("GET", "/v1/approvals", token).json()[0]["state"] == "pending"
    finally:
        again.close()


def test_two_processes_share_the_work_the_sessions_and_the_budget(tmp_path, monkeypatch):
    monkeypatch.setenv("SORDINO_STATE", str(tmp_path / "state"))
    file = write(tmp_path, purses="", epsilon=3)
    token = Tokens.beside(file).add("amina")
    server = Process(file, "--workers", "2")
    try:
        status, body = server.ask("POST", "/v1/plans", token, {"sql": COUNT})
        plan, seen = json.loads(body)["id"], set()
        for turn in range(12):
            status, body = server.ask("POST", f"/v1/plans/{plan}/release", token, {"epsilon": "0.5", "fresh": True}, f"k{turn}")
            seen.add(status)
        assert seen == {200, 402}
        assert json.loads(server.ask("GET", "/v1/budget", token)[1])["spent"] == pytest.approx(3)
    finally:
        assert server.stop() == 0


def test_the_unit_and_the_image_use_options_that_exist(capsys):
    deploy = Path(__file__).parents[2] / "deploy"
    assert main(["serve", "--help"]) == 0
    known = capsys.readouterr().out
    unit = re.search("ExecStart=(.*)", (deploy / "sordino.service").read_text())[1]
    image = re.search("ENTRYPOINT (.*)", (deploy / "Containerfile").read_text())[1]
    options = set(re.findall(r"--[a-z-]+", f"{unit} {image}"))
    assert {"--behind-https", "--workers", "--log", "--host"} <= options
    assert all(option in known for option in options)
    assert "--prefix" in (deploy / "nginx.conf").read_text()
    assert "--prefix" in known


def test_a_first_load_is_small_and_the_look_is_packed_and_kept(hall):
    browser = Browser(hall, hall.token())
    page = browser.get("/ask", sql=COUNT, within="60")
    assert "content-encoding" not in page.headers, "a page holds a proof beside text that others may choose"
    files = set(re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text))
    assert len(files) >= 4
    loaded = len(page.content)
    for file in files:
        raw = hall.ask("GET", file, headers={"Accept-Encoding": "identity"})
        packed = hall.ask("GET", file, headers={"Accept-Encoding": "gzip"})
        assert packed.content == raw.content, "the client unpacks it"
        loaded += int(packed.headers["content-length"])
        assert hall.ask("GET", file, headers={"If-None-Match": packed.headers["etag"]}).status_code == 304
        assert packed.headers["cache-control"] == "public, max-age=3600"
    assert loaded < 60_000, loaded
    assert hall.ask("GET", "/static/nothing.js").status_code == 404
    assert hall.ask("GET", "/static/../templates.py").status_code == 404
