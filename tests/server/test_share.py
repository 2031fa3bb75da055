"""A shared table over the network: promised at once, paid once, at its deadline, recalled for nothing, and found again after a restart."""

from __future__ import annotations

import asyncio
import io
import re
import time
from dataclasses import replace
from urllib.parse import urlencode

import pytest

from sordino.server.app import ServerLimits
from sordino.server.share_jobs import ShareJob, ShareJobs

from .hall import QUICK, Visitor, write

WORDS = {"table": "admissions", "columns": ["age", "sex", "cost"], "method": "tree"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def post(hall, token, key="k", **more):
    body = {"share": WORDS, "epsilon": "1", "delta": "1e-8"} | more
    return hall.ask("POST", "/v1/shares", token, key, json=body)


@pytest.fixture
def rich(tmp_path):
    visitor = Visitor(write(tmp_path, epsilon=50, purses=""))
    yield visitor
    visitor.close()


def test_a_job_is_promised_paid_once_and_its_table_comes_as_often_as_it_is_asked_for(rich):
    token = rich.token()
    promised = post(rich, token)
    assert promised.status_code == 202, promised.text
    assert promised.headers["location"] == promised.json()["poll"]
    assert promised.json()["state"] == "promised"
    found = rich.ask("GET", promised.json()["poll"], token)
    assert found.status_code == 200
    table = found.json()
    assert (table["state"], table["progress"], table["paid"]) == ("done", 1.0, True)
    assert table["columns"] == ["age", "sex", "cost"]
    assert len(table["errors"]) == 7
    assert "not the private table's" in table["do_not_conclude"]
    assert rich.ask("GET", promised.json()["poll"], token).content == found.content, "the same bytes, made again"
    assert rich.spent(token) == pytest.approx(1, rel=1e-3)
    again = post(rich, token)
    assert again.json()["id"] == promised.json()["id"]
    assert again.json()["seconds"] == 0
    bela = rich.token("bela")
    other = rich.ask("GET", post(rich, bela, key="mine").json()["poll"], bela).json()
    assert (other["release"], other["paid"]) == (table["release"], False), "a recorded table is free for everybody"
    assert rich.spent(token) == pytest.approx(1, rel=1e-3)
    assert rich.ask("GET", f"/v1/releases/{table['release']}/card", token).json()["seed of the sampling"]


def test_the_files_have_the_rows_and_say_what_they_are(rich):
    from pyarrow import parquet

    token = rich.token()
    table = rich.ask("GET", post(rich, token).json()["poll"], token).json()
    text = rich.ask("GET", table["table"]["csv"], token).text.splitlines()
    assert text[0].strip('"').startswith(f"# {table['rows']} made-up rows")
    assert text[1] == "age,sex,cost"
    assert len(text) == 2 + table["rows"]
    rows = parquet.read_table(io.BytesIO(rich.ask("GET", table["table"]["parquet"], token).content))
    assert rows.num_rows == table["rows"]
    assert b"sordino.error" in rows.schema.metadata


def test_what_cannot_be_sold_is_refused_before_anything_is_promised(rich):
    token = rich.token()
    for body, status, code in (
        ({"epsilon": "60"}, 402, "SRD-301"),
        ({"epsilon": "0.0001"}, 422, "SRD-305"),
        ({"epsilon": "1", "at_most": "0.5"}, 409, "SRD-512"),
        ({"share": {"table": "nothing"}}, 422, "SRD-201"),
        ({"share": {"table": "admissions", "columns": ["patient"]}}, 422, "SRD-201"),
        ({"share": {"table": "admissions", "rows": 0}}, 422, "SRD-503"),
        ({"epsilon": "a lot"}, 422, "SRD-101"),
    ):
        found = post(rich, token, key=code, **body)
        assert (found.status_code, found.json()["code"]) == (status, code), found.text
        assert found.json()["spent"] is False
    assert rich.spent(token) == 0
    assert rich.ask("GET", "/v1/shares/nothing", token).status_code == 404
    begun = ShareJob("hospital", '{"share": {"table": "admissions"}}', ShareJob.of(post(rich, token).json()["id"]).wish, "never").id
    found = rich.ask("GET", f"/v1/shares/{begun}", token)
    assert (found.status_code, found.json()["code"]) == (404, "SRD-505")


def test_a_key_is_one_question_at_one_price(rich):
    token = rich.token()
    rich.ask("GET", post(rich, token).json()["poll"], token)
    assert post(rich, token, epsilon="2").status_code == 409
    plan = rich.plan(token)
    assert rich.ask("POST", f"/v1/plans/{plan}/release", token, "k", json={"epsilon": "1"}).status_code == 409


def test_prices_come_from_public_facts(rich):
    token = rich.token()
    found = rich.ask("POST", "/v1/shares/price", token, json={"share": WORDS}).json()
    assert [round(line["epsilon"], 2) for line in found["lines"]] == [0.1, 0.5, 1, 2, 5]
    assert found["recorded"] is None
    assert found["problem"] is None
    one = rich.ask("POST", "/v1/shares/price", token, json={"share": WORDS, "epsilon": "1"}).json()
    assert len(one["lines"]) == 1
    assert rich.spent(token) == 0


def test_a_dear_table_waits_for_the_owner_and_is_sent_again(tmp_path):
    hall = Visitor(write(tmp_path, epsilon=50, purses="", approve="approve_above = 0.5"))
    try:
        token, owner = hall.token(), hall.token("boss", "owner")
        assert post(hall, token).json()["code"] == "SRD-508"
        (asked,) = hall.ask("GET", "/v1/approvals", owner).json()
        hall.ask("POST", f"/v1/approvals/{asked['id']}", owner, json={"verdict": "approved"})
        assert hall.ask("GET", post(hall, token).json()["poll"], token).json()["state"] == "done"
    finally:
        hall.close()


def test_it_leaves_at_its_deadline_and_nothing_else_its_analyst_asks_leaves_before(tmp_path):
    hall = Visitor(write(tmp_path, epsilon=50, purses=""), limits=ServerLimits(rate=10_000, burst=10_000, deadline=2.0))
    try:
        token = hall.token()
        post(hall, token, key="first", epsilon="0.5")
        start = time.monotonic()
        hall.ask("GET", "/v1/budget", token)
        assert time.monotonic() - start > 1.5, "a question beside it leaves when it has left"
        promised = post(hall, token, fresh=True)
        assert promised.json()["seconds"] == 2.0
        start = time.monotonic()
        hall.ask("GET", promised.json()["poll"], token)
        assert 1.5 < time.monotonic() - start < 4
    finally:
        hall.close()


def test_one_who_asks_too_soon_hears_how_far_the_clock_is(tmp_path):
    limits = ServerLimits(rate=10_000, burst=10_000, deadline=2.0, patience=0.5)
    hall = Visitor(write(tmp_path, epsilon=50, purses=""), limits=limits)
    try:
        token = hall.token()
        place = post(hall, token).json()["poll"]
        early = hall.ask("GET", place, token)
        assert (early.status_code, early.json()["state"], early.json()["seconds"]) == (202, "running", 2.0)
        assert 0.2 <= early.json()["progress"] < 0.6
        assert hall.ask("GET", f"{place}/table.csv", token).status_code == 503
        while (found := hall.ask("GET", place, token)).status_code == 202:
            pass
        assert found.json()["state"] == "done"
    finally:
        hall.close()


def test_after_a_restart_the_charge_stands_and_the_answer_is_the_same(tmp_path):
    file = write(tmp_path, epsilon=50, purses="")
    hall = Visitor(file)
    token = hall.token()
    place = post(hall, token).json()["poll"]
    before = hall.ask("GET", place, token).content
    hall.close()

    def killed(plan, ledger, engine, *, request, analyst=None, wish=None, **named):
        ledger.charge(request, replace(plan.asked, wish=wish), plan.cost, analyst)
        raise MemoryError

    hall = Visitor(file, execute=killed, limits=QUICK)
    assert hall.ask("GET", place, token).content == before
    assert rows_after(hall, token)
    lost = post(hall, token, key="lost", epsilon="2").json()["poll"]
    hall.ask("GET", lost, token)
    hall.close()
    hall = Visitor(file)
    found = hall.ask("GET", lost, token)
    assert (found.status_code, found.json()["code"], found.json()["spent"]) == (500, "SRD-402", True)
    assert hall.spent(token) == pytest.approx(3, rel=1e-3), "charged, and never looked at again"
    hall.close()


def rows_after(hall, token):
    return hall.ask("GET", post(hall, token, key="other").json()["poll"], token).json()["paid"] is False


def test_the_pages_lead_from_columns_to_a_file(rich):
    token = rich.token()

    def send(path, **fields):
        return rich.ask("POST", path, content=urlencode(fields).encode(), headers=FORM)

    send("/login", token=token)
    assert "Show the price" in rich.ask("GET", "/share").text
    asked = {"priced": "1", "table": "admissions", "column": ["age", "sex"], "method": "tree", "epsilon": "1"}
    page = rich.ask("GET", f"/share?{urlencode(asked, doseq=True)}").text
    offer = page.split('id="offers"')[1]
    known = {name: re.search(rf'name="{name}" value="([^"]*)"', offer)[1] for name in ("form", "plan", "key", "epsilon")}
    promised = send("/share", **known)
    assert promised.status_code == 202
    place = re.search(r'href="(/shares/[^"]*)"', promised.text)[1]
    shown = rich.ask("GET", place).text
    assert "Do not conclude" in shown
    assert "<svg" in shown
    for file in ("shared.csv", "shared.parquet", "errors.svg", "card.html"):
        assert rich.ask("GET", f"{place}/{file}").status_code == 200
    assert rich.spent(token) == pytest.approx(1, rel=1e-3)
    wrong = {"priced": "1", "table": "admissions", "rows": "many"}
    assert "SRD-503" in rich.ask("GET", f"/share?{urlencode(wrong)}").text


def test_a_job_is_found_by_every_process_right_after_its_promise(tmp_path, monkeypatch):
    file = write(tmp_path, epsilon=50, purses="")
    begin = ShareJobs.start
    monkeypatch.setattr(ShareJobs, "start", lambda self, *job: asyncio.get_running_loop().call_later(1.0, begin, self, *job))
    one, other = Visitor(file, workers=2), Visitor(file, workers=2)
    hasty = Visitor(file, workers=2, limits=replace(QUICK, patience=0.2))
    try:
        token = one.token()
        promised = post(one, token).json()
        early = hasty.ask("GET", promised["poll"], token)
        assert (early.status_code, early.json()["state"]) == (202, "running")
        assert early.json()["seconds"] == promised["seconds"]
        found = other.ask("GET", promised["poll"], token)
        assert (found.status_code, found.json()["state"]) == (200, "done"), found.text
        assert other.ask("GET", promised["poll"], token).content == found.content
        never = ShareJob("hospital", '{"share": {"table": "admissions"}}', ShareJob.of(promised["id"]).wish, "never").id
        assert other.ask("GET", f"/v1/shares/{never}", token).status_code == 404
    finally:
        for hall in (one, other, hasty):
            hall.close()
