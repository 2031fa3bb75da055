"""The outer wall: whole requests, strict headers, one sentence for a failure, and no answer beside a release of one's own."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
import time
from types import SimpleNamespace

import pytest

from sordino.server.app import ServerLimits
from sordino.server.clock import LARGEST, Intake
from sordino.session.execute import execute

from .hall import Visitor, write

COUNT = "SELECT COUNT(*) AS n FROM admissions"


def drive(body=(b"",), quiet=None):
    """One request through the wall; what was sent."""
    sent = []

    async def inner(scope, receive, send):
        await receive()
        scope["person"] = SimpleNamespace(name="amina")
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ok"})

    async def outer():
        parts = [{"type": "http.request", "body": part, "more_body": i < len(body) - 1} for i, part in enumerate(body)]

        async def receive():
            return parts.pop(0)

        async def send(message):
            sent.append(message)

        more = () if quiet is None else (quiet,)
        await Intake(inner, lambda *_, **__: None, *more)({"type": "http", "path": "/v1/x", "method": "GET"}, receive, send)

    asyncio.run(outer())
    return sent


def test_nothing_of_an_answer_is_sent_before_its_analyst_is_quiet():
    asked = []

    async def quiet(name):
        asked.append(name)

    assert drive(quiet=quiet)[0]["status"] == 200
    assert asked == ["amina"]


def test_a_request_that_is_too_large_is_refused_unread_and_an_absent_one_is_left():
    sent = drive((b"x" * LARGEST, b"y", b"z" * LARGEST))
    assert sent[0]["status"] == 413
    assert json.loads(sent[1]["body"])["code"] == "SRD-503"


def test_every_answer_carries_the_strict_headers(hall):
    answer = hall.ask("GET", "/v1/datasets", hall.token())
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert "unsafe" not in answer.headers["content-security-policy"]
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["x-content-type-options"] == "nosniff"


@pytest.mark.parametrize("beside", ["/v1/datasets", "/v1/budget", "/v1/ledger"])
def test_what_an_analyst_asks_beside_a_release_of_their_own_leaves_after_it_and_others_do_not_wait(tmp_path, beside):
    """How long a free answer takes shows how busy the machine is: not while one's own release is why."""
    working, go = threading.Event(), threading.Event()

    def slow(*given, **named):
        working.set()
        go.wait(20)
        return execute(*given, **named)

    hall = Visitor(write(tmp_path), execute=slow, limits=ServerLimits(rate=1_000, burst=1_000, deadline=0))
    try:
        token, other = hall.token(), hall.token("bela")
        plan, order = hall.plan(token, COUNT), []

        def ask(name, *given, **options):
            hall.ask(*given, **options)
            order.append(name)

        paid = threading.Thread(target=ask, args=("paid", "POST", f"/v1/plans/{plan}/release", token, "k"), kwargs={"json": {"epsilon": 1}})
        paid.start()
        assert working.wait(20)
        free = threading.Thread(target=ask, args=("free", "GET", beside, token))
        free.start()
        ask("other", "GET", "/v1/budget", other)
        time.sleep(0.1)
        assert order == ["other"]
        go.set()
        paid.join()
        free.join()
        assert set(order) == {"other", "paid", "free"}
    finally:
        go.set()
        hall.close()


def test_a_server_that_fails_says_one_sentence_and_logs_no_values(tmp_path, caplog):
    hall = Visitor(write(tmp_path))
    try:
        token = hall.token()
        hall.app.app.app.state.house.facts = lambda _: (_ for _ in ()).throw(RuntimeError("the secret of p17"))
        with caplog.at_level(logging.INFO, "sordino.server"):
            answer = hall.ask("GET", "/v1/datasets", token)
        assert (answer.status_code, answer.json()["code"]) == (500, "SRD-507")
        assert "p17" not in answer.text + caplog.text
        lines = [json.loads(record.getMessage()) for record in caplog.records if record.name == "sordino.server"]
        assert [line["event"] for line in lines] == ["failed", "answered"]
        assert (lines[1]["who"], lines[1]["status"], lines[1]["route"]) == ("amina", 500, "/v1/datasets")
        assert token not in caplog.text
    finally:
        hall.close()
